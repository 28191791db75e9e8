#pragma once

// Costs of a configuration on a real clock, and measured ones as tables.

#include <string>

#include <pipeloom/units.hpp>
#include "sim/cost/measured/measured_transfers.hpp"
#include "sim/io/config/config.hpp"

namespace pipeloom::cli {

/// Gives times in the abstract unit their length: every op time, delay and the optimizer's are multiplied by `unit` (ticks of real
/// time) and are in ms afterwards; op times that are not given become those of an empty configuration. REQUIRES: config.costs.unit is the
/// abstract one. Throws InputError if a time would pass kMaxTicks.
void put_on_clock(io::Config& config, Ticks unit);

/// Median and spread per stage and kind, in ms, of ops that ran alone, and the text of study::calibrate::unmeasured().
[[nodiscard]] std::string op_times_page(const cost::MeasuredOps& costs, bool colour);

/// Times of messages, in ms: of all messages, with `pairs` also between each two ranks, and the link that a waiting rank sees. "" if
/// there were no messages.
[[nodiscard]] std::string transfers_page(const cost::MeasuredTransfers& transfers, bool pairs, bool colour);

}  // namespace pipeloom::cli
