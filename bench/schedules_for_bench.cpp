#include "bench/schedules_for_bench.hpp"

#include <ctime>

#include "schedules/generator.hpp"

namespace pipeloom::bench {

Schedule one_f_one_b(int ranks, std::int64_t ops) {
  Params params;
  params.ranks = ranks;
  params.microbatches = static_cast<int>(ops / (2 * ranks));
  return schedules::make(*schedules::find("1f1b").generator, params);
}

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace pipeloom::bench
