#pragma once

// Costs of a configuration on a real clock, and measured ones as a file.

#include <iosfwd>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "executor/measure/measured_costs.hpp"
#include "sim/io/config/config.hpp"

namespace pipeloom::cli {

/// Gives times in the abstract unit their length: every op time, delay and the optimizer's are multiplied by `unit` (ticks of real
/// time) and are in ms afterwards; op times that are not given become those of an empty configuration. REQUIRES: config.costs.unit is the
/// abstract one. Throws InputError if a time would pass kMaxTicks.
void put_on_clock(io::Config& config, Ticks unit);

/// Puts the medians in the place of all costs: uses what write_costs() would write with the costs that were there as its rules.
void take_costs(io::Config& config, const executor::MeasuredCosts& costs);

/// The medians as a file that "costs" of a configuration may name: one number per stage and kind, in ms; latency and bandwidth of messages as
/// far as they were seen; of `rules`, what was run, how messages and overlapped groups behave; and under "measured", which no simulation
/// reads, the spreads. Ops that never ran alone: B is I + W where these did; what else is known in shares of groups only is left out.
void write_costs(std::ostream& out, const executor::MeasuredCosts& costs, const cost::CostSpec& rules);

/// "B of stages 0, 3 ran in groups only: costs take I + W for it": a line for each kind of which that is so.
[[nodiscard]] std::vector<std::string> unmeasured(const executor::MeasuredCosts& costs);

/// Median and spread per stage and kind, in ms, of ops that ran alone, and unmeasured().
[[nodiscard]] std::string op_times_page(const executor::MeasuredCosts& costs, bool colour);

/// What messages did with their time, in ms: of all, with `pairs` also between each two ranks, and the link that a waiting rank sees. "" if
/// there were none.
[[nodiscard]] std::string transfers_page(const executor::MeasuredTransfers& transfers, bool pairs,
                                         bool colour);

}  // namespace pipeloom::cli
