// Preloaded into a program, this makes malloc fail for a while where the program itself calls it (its operator new does): from the call
// numbered FAILING_MALLOC_FROM (from 1) on, so many times as FAILING_MALLOC_COUNT says. Calls count from when the program started its
// first thread, in all threads together. What libraries do without memory is not asked: their own calls go through.

#include <link.h>
#include <sys/single_threaded.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

extern "C" void* __libc_malloc(std::size_t bytes);  // NOLINT(bugprone-reserved-identifier): glibc's name

namespace {

using Range = std::pair<std::uintptr_t, std::uintptr_t>;

/// Where the program's own code lies: the first object that is told.
Range range_of_program() {
  Range range{UINTPTR_MAX, 0};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* out) {
        Range& found = *static_cast<Range*>(out);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = object->dlpi_phdr[i];
          if (part.p_type != PT_LOAD) continue;
          const std::uintptr_t from = object->dlpi_addr + part.p_vaddr;
          found = {std::min(found.first, from), std::max(found.second, from + part.p_memsz)};
        }
        return 1;
      },
      &range);
  return range;
}

long number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

const Range program = range_of_program();
const long from = number("FAILING_MALLOC_FROM");
const long end = from + number("FAILING_MALLOC_COUNT");
std::atomic<long> calls = 0;

}  // namespace

extern "C" void* malloc(std::size_t bytes) {
  if (__libc_single_threaded != 0) return __libc_malloc(bytes);
  const auto caller = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (caller >= program.first && caller < program.second) {
    const long at = ++calls;
    if (at >= from && at < end) return nullptr;
  }
  return __libc_malloc(bytes);
}
