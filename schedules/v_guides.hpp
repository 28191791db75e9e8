#pragma once

// Where searches over V schedules start: orders that are known before times are.

#include <string>
#include <vector>

#include "schedules/generator.hpp"
#include "schedules/v_blocks.hpp"
#include "schedules/v_passes.hpp"

namespace pipeloom::schedules {

/// An order that can be made for any number of microbatches.
struct VGuide {
  enum class Kind {
    Stamped,  ///< a block repeated every `period` slots; weight passes right after their input passes
    Moved,    ///< block_orders() of a block
    Named,    ///< what a schedule of the registry emits
    Serial,   ///< one microbatch after another
  };
  Kind kind = Kind::Serial;
  VBlock block = {};
  int period = kBlockPeriod;
  Generator (*schedule)() = nullptr;
};

[[nodiscard]] PassOrders make_guide(const VGuide& guide, int ranks, int microbatches);
/// For reports.
[[nodiscard]] std::string text_of(const VGuide& guide, int ranks);

/// Fixed schedules and the serial order.
[[nodiscard]] std::vector<VGuide> fixed_guides();
/// The stamped blocks that fit the problem with weights at once. If those are few, blocks that do not fit are repeated less often, as often as fits.
[[nodiscard]] std::vector<VGuide> stamped_guides(const VProblem& problem, int microbatches);

}  // namespace pipeloom::schedules
