#include "cli/many_files.hpp"

#include <sys/resource.h>

namespace pipeloom::cli {

void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace pipeloom::cli
