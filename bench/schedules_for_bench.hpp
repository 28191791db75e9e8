#pragma once

// Inputs that several benchmarks share.

#include <cstdint>

#include <pipeloom/schedule.hpp>

namespace pipeloom::bench {

/// 1F1B on p ranks with about this many ops: m = ops / (2 p) microbatches.
Schedule one_f_one_b(int ranks, std::int64_t ops);

/// Thread CPU time in seconds: what a shared machine disturbs least.
double thread_cpu_seconds();

}  // namespace pipeloom::bench
