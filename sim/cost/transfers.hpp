#pragma once

// The part of resolve() about transfers: from the input's values of links to the times of each hop of the placement.

#include <string>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/cost/cost_spec.hpp"
#include "sim/cost/source.hpp"

namespace pipeloom::cost {

/// Fills delays and sending times of `costs`, by slot. `links`, where there are any, override the input's values of hops. Throws InputError
/// for links of ranks that there are none of, matrices of another size, and times that overflow.
void resolve_transfers(const CostSpec& spec, const Links* links, const Placement& placement, Costs& costs);

/// Bytes without a bandwidth, and a bandwidth without bytes.
void warn_about_transfer(const TransferSpec& spec, std::vector<std::string>& warnings);

}  // namespace pipeloom::cost
