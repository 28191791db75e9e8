#pragma once

// Runs of many microbatches in the time of two short ones: queues that repeat a block add, from some block on, the same to every number of the
// run (sim/engine/repetition.hpp).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/run.hpp>
#include "sim/io/config/config.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {

/// Ops from which on a run may be found from shorter ones. Reports of shorter runs have root causes, whose walks are not known to repeat.
inline constexpr std::size_t kLongRun = std::size_t{1} << 17;

/// The part of a run that its schedule and timeline leave out.
struct Repeated {
  std::int64_t times = 0;  ///< repetitions that are left out
  int microbatches = 0;    ///< of one repetition
  std::vector<Op> path;    ///< ops of the critical path, whose entries are positions here
};

/// The ops that CriticalPath::entries counts.
[[nodiscard]] std::span<const Op> path_ops(const Run& run);

/// evaluate() from two short runs of the same beginning and end: Run::repeated is set, and numbers and words are those of evaluate(), bit for bit. Nullopt
/// where queues do not repeat a block, where the run does not within a quarter of its microbatches, and where a number may not grow by the same with
/// every repetition. Throws as evaluate() does.
/// `least_ops`: shorter runs are none of its business.
[[nodiscard]] std::optional<Run> evaluate_repeated(const io::Config& config, const Limits& limits,
                                                   Depth depth, std::size_t least_ops = kLongRun);

}  // namespace pipeloom::study
