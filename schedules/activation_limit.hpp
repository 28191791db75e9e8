#pragma once

// How many bytes of activations an automatic schedule may hold on each rank, and where that number comes from.

#include <string>
#include <string_view>
#include <vector>

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

/// Bytes that one microbatch holds: the larger of the first two ranks' activations, all chunks of a rank together.
[[nodiscard]] Bytes microbatch_bytes(const Placement& placement, const MemoryModel& memory);

struct ActivationLimit {
  std::vector<Bytes> bytes;  ///< [rank]
  std::string text;          ///< "8 microbatches, 8 activations of a stage on every rank"
};

/// `microbatches`, in units of 1e-9, of microbatch_bytes() on every rank, rounded down to the byte.
[[nodiscard]] ActivationLimit limit_of_microbatches(Scale microbatches, const Placement& placement,
                                                    const MemoryModel& memory);

/// The limit that holds for these parameters: theirs; else what MemoryModel::limit leaves when the static bytes of a rank's stages, and
/// one receive buffer and the logits of each, are off; else p microbatches. Throws ScheduleError where nothing is left.
[[nodiscard]] ActivationLimit activation_limit(const Params& params, const Placement& placement,
                                               const MemoryModel& memory);

/// That the limit has no room on `rank` for the `needed` bytes of one microbatch, in words for the user of the schedule `name`.
[[nodiscard]] ScheduleError without_room(std::string_view name, const ActivationLimit& limit,
                                         const MemoryModel& memory, Rank rank, Bytes needed);

/// Throws ScheduleError where the times of all ops together, or the activations of all microbatches, are so large that sums of them
/// overflow. REQUIRES: one slot per stage.
void require_summable(const Params& params, const Terms& terms);

/// "4.0 GB (3.7 GiB) of activations"; "8 activations of a stage".
[[nodiscard]] std::string activations_text(const MemoryModel& memory, Bytes units);

/// "7 microbatches (7 activations of a stage)", for advice.
[[nodiscard]] std::string microbatches_text(int microbatches, const Placement& placement,
                                            const MemoryModel& memory);

}  // namespace pipeloom::schedules
