#pragma once

// The automatic order of ZB-V: two chunks per rank on a V, an order found for given times and a memory limit.
// Source: the heuristic of the zero-bubble papers' own program (Qi et al., arXiv 2401.10241, V schedule).
//
// For equal stages the orders are the program's own. Where stages differ, every pass has its own durations, delays and bytes; idle
// time is weighed against the rank that has most to do (what a rank has less to do than that one, it may idle for free); and two
// ways to warm up are tried.

#include <array>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom::schedules {

/// Whether a rank whose next pass would have it idle for too long runs one W first, although the pass then starts later: before an I
/// of its second chunk, before an F. (Before an I of its first chunk it always does.)
struct ZbvAutoSetting {
  bool fill_backward = true;
  bool fill_forward = true;
  friend bool operator==(const ZbvAutoSetting&, const ZbvAutoSetting&) = default;
};

/// In the order in which they are tried.
inline constexpr std::array<ZbvAutoSetting, 4> kZbvAutoSettings = {
    {{.fill_backward = true, .fill_forward = true},
     {.fill_backward = true, .fill_forward = false},
     {.fill_backward = false, .fill_forward = true},
     {.fill_backward = false, .fill_forward = false}}};

struct ZbvAutoTrial {
  ZbvAutoSetting setting;
  /// cost - what the busiest rank has to do; with equal stages the longest that a rank idles between its first and its last op.
  Ticks bubble = 0;
  friend bool operator==(const ZbvAutoTrial&, const ZbvAutoTrial&) = default;
};

struct ZbvAutoResult {
  Schedule schedule;
  /// The first cheapest of `trials`.
  ZbvAutoTrial best;
  /// The longest that any rank takes from its first start to its last end when every op starts as early as it can.
  Ticks cost = 0;
  /// All that were tried: the four settings, or the one asked for.
  std::vector<ZbvAutoTrial> trials;
};

/// A limit that not even one microbatch after the other keeps.
struct ZbvAutoShortage {
  Rank rank;  ///< the first such
  Bytes limit = 0;
  Bytes needed = 0;  ///< what is enough for this rank
};

/// The order on Placement::wave(ranks, 2): F, I and W of every stage and microbatch, each kind of a stage in microbatch order. In
/// queue order the activations of rank r never exceed limit[r], [rank] in bytes. Orders run without waiting in a cycle.
///
/// `terms` has the shapes of that placement, 2 * ranks slots; `setting` asks for one setting. Costs::microbatch_scale and slices are
/// not looked at: the order is the one for microbatches that cost the same.
///
/// REQUIRES: ranks, microbatches >= 1; limit.size() == ranks; durations, delays >= 0, all of a rank's work fits kMaxTicks.
///
/// Steps: O(ranks * microbatches + ranks^2) for each run of the rule. A setting takes two runs or more, as long as the bubble shrinks;
/// twice that where stages differ.
[[nodiscard]] std::variant<ZbvAutoResult, ZbvAutoShortage> zbv_auto_order(
    const Terms& terms, int ranks, int microbatches, std::span<const Bytes> limit,
    const std::optional<ZbvAutoSetting>& setting = {});

}  // namespace pipeloom::schedules
