#pragma once

// Everything that a measured run says about costs. `pipeloom calibrate` and `pipeloom run` go through here both: the one has a timeline, the
// other knows besides how large its messages were and who waited for them.

#include <cstdint>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/cost/measured/measured_ops.hpp"
#include "sim/cost/measured/measured_transfers.hpp"
#include "study/calibrate/single_ops.hpp"
#include "study/calibrate/waits.hpp"

namespace pipeloom::study::calibrate {

struct Measurements : cost::MeasuredOps {
  TimeUnit unit = TimeUnit::Millisecond;
  /// Of whoever sent the messages itself; its link is nothing for a run that others timed.
  cost::MeasuredTransfers transfers = {};
  Waits waits = {};
  SingleOps single = {};
  /// What a usual entry takes: differences of a small part of it are none.
  Ticks usual_entry = 0;
  /// What every entry takes whatever its layers, and the ops above no longer have (chunk_constant.hpp).
  Ticks constant = 0;
  /// Layers of the model on each stage: those known of the run, else kEqualLayers on each; empty where stages are on several ranks. With them the rank that
  /// ran each, unless stage s was on rank s mod p.
  std::vector<std::int32_t> layers = {};
  std::vector<std::int32_t> stage_ranks = {};
  /// Of the run.
  int ranks = 0;
  int microbatches = 0;
  bool is_of_torch = false;
};

/// What is known of a run besides its times.
struct KnownOfRun {
  cost::MeasuredTransfers transfers = {};
  bool clocks_by_step = false;  ///< in every step each rank's clock begins anew
  ClockFit clocks = {};         ///< what reading took off already
  /// [op] or empty: ops whose times may hold the wait for their message (sim/io/traces/assemble.hpp).
  std::vector<bool> held = {};
  /// Layers of the model on each stage; empty: nobody says, and all stages are taken to have the same.
  std::vector<std::int32_t> layers = {};
  /// PyTorch ran it: stage 0 has no gradient of an input, and parts of a pair run one after the other.
  bool is_of_torch = false;
};

/// Whether gaps tell of messages: not where copies (O, L) run beside the queues, nor where ranks wait for sums over all (S, T).
[[nodiscard]] bool waits_for_messages_alone(const Schedule& schedule);

/// What every stage counts for where nobody says its layers: 2, 3, 4 and 6 chunks divide it.
inline constexpr std::int32_t kEqualLayers = 12;

/// Over all steps, ranks and microbatches. Of timelines whose gaps do not tell of messages alone `waits` has the step times only. Throws InputError
/// where times cannot have been.
[[nodiscard]] Measurements measure(const Timeline& timeline, const KnownOfRun& known = {});

}  // namespace pipeloom::study::calibrate
