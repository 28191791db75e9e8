#pragma once

// The eight steps that DualPipe and DualPipeV share.
//
// Source: DeepSeek-AI, "DeepSeek-V3 Technical Report" (2024, arXiv 2412.19437), section 3.2.1, and the
// DualPipe repository.

#include <pipeloom/schedule.hpp>
#include "schedules/closed_form.hpp"
#include "schedules/queue_builder.hpp"

namespace pipeloom::schedules {

/// Changes that other stacks make to the steps, on the V only.
enum class DualPipeStyle {
  Pairs,          ///< DeepSeek's
  Whole,          ///< DeepSpeed: no I and W, no pairs, a forward before its backward
  BackwardFirst,  ///< MindSpore: no pairs, a backward before its forward; W's of lane 0 first; the outermost rank's all at the end
  WeightsLast,  ///< jaxpp: steps 6 and 7 have no W, every other backward of the end is whole, all of the outermost rank's are
};

/// Position of one rank. Lane 0 of its queue is the direction whose entry is nearer, lane 1 the other one.
struct DualPipeRank {
  int half;          ///< h: ranks of one direction up to the turn; p/2 for DualPipe, p for DualPipeV
  int depth;         ///< d: distance from the nearer entry, 0..h-1
  int microbatches;  ///< n: microbatches of each lane, n >= 2h - 1
  DualPipeStyle style = DualPipeStyle::Pairs;
};

/// Appends the rank's queue.
void emit_dualpipe_steps(const DualPipeRank& where, QueueBuilder& queue);

/// The makespan for halves of h ranks and n microbatches per lane: the work of the innermost rank,
/// (2h + 1) F + (h + 1) B + h(I + W) + (2n - 2h - 1) X, plus its idle time, (h - 1)(X + F - 2W).
/// Nullopt unless B = I + W, W <= I <= F and max(F, B) <= X <= F + B. REQUIRES: n >= 2h.
[[nodiscard]] Value dualpipe_makespan(int half, int microbatches, const UniformCosts& costs);

}  // namespace pipeloom::schedules
