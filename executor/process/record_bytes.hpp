#pragma once

// What a rank wrote down, on its way to the coordinator.

#include "executor/net/wire.hpp"
#include "executor/run/run_plan.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

/// Times of the rank's own ops and messages only: nobody else's are in its record.
[[nodiscard]] net::Bytes to_bytes(const RankRecord& record, const RunPlan& plan, Rank rank);

/// Throws net::MalformedBytes for anything that to_bytes() would not write for this plan and rank.
[[nodiscard]] RankRecord record_from(std::span<const std::byte> bytes, const RunPlan& plan, Rank rank);

}  // namespace pipeloom::executor
