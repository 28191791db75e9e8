#pragma once

// Group sizes that Megatron-LM takes: fewer than would run.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

/// Megatron-LM's check of microbatch_group_size_per_vp_stage (N, by default p), as the defaults of the alias of this name:
/// throws ScheduleError unless p >= 2, v >= 2, p <= N <= m, and m mod N is 0 or at least p. (Without overlap_p2p_comm it
/// also wants p >= 3; the order is the same.) An order of sizes that it takes never hangs.
[[nodiscard]] std::function<void(Params&)> megatron_groups(std::string alias);

/// True if the groups are equal, p <= N <= m, and m mod N is 0 or at least p.
[[nodiscard]] bool takes_megatron_groups(const Params& params);

/// Generator::messages of the interleaved schedules: Megatron-LM's loops, for the N and m that it takes.
[[nodiscard]] std::optional<Program> megatron_interleaved_messages(const Params& params,
                                                                   std::shared_ptr<const Schedule> schedule,
                                                                   MessageStyle style);

}  // namespace pipeloom::schedules
