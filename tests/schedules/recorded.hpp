#pragma once

// Recorded orders and times of other programs, as the tests of schedules/ read them.

#include <string>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/schedule.hpp"
#include "sim/simulator.hpp"

namespace pipeloom::recorded {

/// tests/golden/<path>.
std::string read_text(const std::string& path);
/// tests/golden/<path> as lines, line ends removed.
std::vector<std::string> read_lines(const std::string& path);

/// "F3.7 D3.7 F0.7+B7.13" in our text: "3F7 3I7 (0F7;7B13)OVERLAP_F_B". Pairs may also be spelt "X0.7/7.13"; `stage_step` and
/// `stage_offset` turn a recorded number c into the stage c * step + offset.
std::string our_text(const std::string& order, int stage_step = 1, int stage_offset = 0);
/// The queues of a schedule in the words of PP-Schedule-Visualization, joined by line feeds.
std::string ppviz_text(const Schedule& schedule);
/// A packed order of golden/zerobubble ("x3(fFbw)2", see its README) as our text: chunk c of the rank is the c-th of its stages.
std::string zero_bubble_text(const std::string& packed, const Placement& placement, Rank rank);
/// SHA-256 in hexadecimal.
std::string sha256(const std::string& text);

/// Finds the name, applies its alias's defaults and makes the schedule.
Schedule make_named(const std::string& name, schedules::Params params);
/// Evaluates and fails the test if it hangs.
Totals evaluate(const Schedule& schedule, const Costs& costs);

}  // namespace pipeloom::recorded
