#pragma once

// Schedules made of one microbatch's building block (sim/orders/blocks): V-Half, V-Min, V-ZB, 1F1B-V.

#include <functional>

#include <pipeloom/schedule.hpp>
#include "sim/orders/blocks/block_words.hpp"

namespace pipeloom::schedules {

using orders::BlockBackward;
using orders::BuildingBlock;

/// The schedule of orders::block_words(block, microbatches) on Placement::wave(ranks, 2).
///
/// Above about 4 p microbatches the middle of the order repeats: the order is made for about 4 p microbatches
/// and its middle repeated. Steps: one per op, and O(p^3). Throws Stopped where `progress` says no, which is asked now and then.
[[nodiscard]] Schedule emit_block(const BuildingBlock& block, int microbatches,
                                  const std::function<bool(double)>& progress = {});

}  // namespace pipeloom::schedules
