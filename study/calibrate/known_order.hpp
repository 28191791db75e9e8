#pragma once

// Which schedule an order is.

#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>

namespace pipeloom::study::calibrate {

struct KnownOrder {
  std::string name;
  Params params;  ///< with the options that it takes to be this order
};

/// Every schedule of the registry that makes this very order for its ranks, stages, microbatches and slices, those first whose default chunks these
/// are, else in the order of the registry; recomputation, copies and, of a forward pass, missing backwards aside. Those whose order depends on costs are not asked. Each schedule whose
/// placement fits is made once for each variant: O(ops) for each.
[[nodiscard]] std::vector<KnownOrder> known_orders(const Schedule& schedule);

/// "--schedule interleaved-1f1b --ranks 4 --microbatches 8 --chunks 2 --set options.group_size=4": what makes it.
[[nodiscard]] std::string arguments_of(const KnownOrder& order);

}  // namespace pipeloom::study::calibrate
