#include "executor/run/steady_heap.hpp"

#include <climits>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace pipeloom::executor {

void keep_freed_memory() {
#ifdef __GLIBC__
  // The most that is allowed: half of what one arena's heap may hold. Larger tensors are still mapped one by one.
  constexpr int kMapFrom = 32 * 1024 * 1024;
  static_cast<void>(mallopt(M_MMAP_THRESHOLD, kMapFrom));
  static_cast<void>(mallopt(M_TRIM_THRESHOLD, INT_MAX));
#endif
}

}  // namespace pipeloom::executor
