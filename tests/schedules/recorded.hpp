#pragma once

// Recorded orders and times of other programs, as the tests of schedules/ read them.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "sim/engine/simulator.hpp"

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
/// "xxxfFbwfFbw" of "x3(fFbw)2".
std::string unpacked(const std::string& packed);
/// A packed order of golden/zerobubble ("x3(fFbw)2", see its README) as our text: chunk c of the rank is the c-th of its stages.
std::string zero_bubble_text(const std::string& packed, const Placement& placement, Rank rank);
/// A case of golden/zerobubble; fields as its README says.
struct ZeroBubbleCase {
  std::string id;
  Params params;  ///< p, m, v and the size of a group
  UniformCosts costs;
  Bytes activation = 0;
  Bytes until_weight = 0;
  std::optional<Bytes> limit;  ///< of each rank
  Ticks cost = 0;
  Ticks makespan = 0;
  std::vector<Ticks> window;
  std::vector<Ticks> first_start;
  std::vector<Bytes> peak_bytes;
  std::vector<std::int32_t> peak_live;
  std::vector<Ticks> bubbles;        ///< of each setting of zbv_auto
  std::vector<Ticks> setting_costs;  ///< of each setting of zb_auto
  std::vector<std::string> orders;

  [[nodiscard]] Terms terms(const Placement& placement) const;
};
/// golden/zerobubble/<file>.json.
std::vector<ZeroBubbleCase> zero_bubble_cases(const std::string& file);
/// Fails the test where the case's orders, times or memory are not those of this schedule.
void check_zero_bubble_case(const ZeroBubbleCase& one, const Schedule& schedule);
/// SHA-256 in hexadecimal.
std::string sha256(const std::string& text);

/// Finds the name, applies its alias's defaults and makes the schedule.
Schedule make_named(const std::string& name, Params params);
/// Evaluates and fails the test if it hangs.
Totals evaluate(const Schedule& schedule, const Costs& costs);

/// The most that a rank holds at any time of its queue of F, I and W, which must leave nothing.
Bytes most_held(const MemoryModel& memory, std::span<const Op> queue);

}  // namespace pipeloom::recorded
