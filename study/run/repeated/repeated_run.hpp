#pragma once

// Runs of many microbatches in the time of two short ones: queues that repeat a block add, from some block on, the same to every number of the
// run (sim/engine/repetition.hpp).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/run.hpp>
#include "sim/io/config/config.hpp"
#include "sim/roots/root_causes.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {

/// Ops from which on a run may be found from shorter ones. Reports of runs above it have root causes only where these repeat too.
inline constexpr std::size_t kLongRun = std::size_t{1} << 17;

/// The part of a run that its schedule and timeline leave out.
struct Repeated {
  std::int64_t times = 0;  ///< repetitions that are left out
  int microbatches = 0;    ///< of one repetition
  std::vector<Op> path;    ///< ops of the critical path, whose entries are positions here
  std::size_t path_entries =
      0;  ///< entries of the critical path, also where Run::critical_path leaves them out; 0 if they are not known
  bool peaks_early = false;      ///< each rank is fullest at an op of the same number in Run::schedule
  std::vector<RootCause> roots;  ///< of the idle time, largest first; empty if they are not known
};

/// Microbatches of the whole run.
[[nodiscard]] int microbatches_of(const Run& run);
/// The ops that CriticalPath::entries counts.
[[nodiscard]] std::span<const Op> path_ops(const Run& run);
/// Entries of the critical path, listed or not; 0 if it is not known.
[[nodiscard]] std::size_t path_entries(const Run& run);

/// evaluate() from two short runs of the same beginning and end: Run::repeated is set, and numbers and words are those of evaluate(), bit for bit. Nullopt
/// where ShortRuns::find() has none. Throws as evaluate() does. `least_ops`: shorter runs are none of its business.
[[nodiscard]] std::optional<Run> evaluate_repeated(const io::Config& config, const Limits& limits,
                                                   Depth depth, std::size_t least_ops = kLongRun);

}  // namespace pipeloom::study
