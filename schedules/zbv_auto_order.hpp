#pragma once

// The automatic order of ZB-V: two chunks per rank on a V, an order found for given times and a memory limit.
// Source: the heuristic of the zero-bubble papers' own program (Qi et al., arXiv 2401.10241, V schedule).
//
// For equal stages the orders are the program's own. Where stages differ, every pass has its own durations, delays and bytes; idle
// time is weighed against the rank that has most to do (what a rank has less to do than that one, it may idle for free); and two
// ways to warm up are tried.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom::schedules {

/// True if a rank that would idle too long before its next pass runs one W first, although the pass then starts later: before an I
/// of its second chunk, before an F. (Before an I of its first chunk it always does.)
struct ZbvAutoSetting {
  bool fill_backward = true;
  bool fill_forward = true;
  friend bool operator==(const ZbvAutoSetting&, const ZbvAutoSetting&) = default;
};

/// The settings, in the order in which they are tried.
inline constexpr std::array<ZbvAutoSetting, 4> kZbvAutoSettings = {
    {{.fill_backward = true, .fill_forward = true},
     {.fill_backward = true, .fill_forward = false},
     {.fill_backward = false, .fill_forward = true},
     {.fill_backward = false, .fill_forward = false}}};

struct ZbvAutoTrial {
  ZbvAutoSetting setting;
  /// cost - ZbvAutoRun::most_work(); with equal stages the longest that a rank idles between its first and its last op.
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
  Bytes needed = 0;  ///< enough for this rank
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

// One run of the rule that zbv_auto_order() uses: for one setting, and for idle times that an earlier run had.

/// Passes of a rank, by kind and chunk; each in microbatch order. The first four are in the order in which a microbatch runs
/// through them: ranks upwards, downwards, upwards, downwards.
enum class ZbvPass : std::uint8_t { Forward0, Forward1, Input1, Input0, Weight0, Weight1 };
inline constexpr std::size_t kZbvPasses = 6;
/// Number of passes that others wait for: all but the W.
inline constexpr std::size_t kZbvChainPasses = 4;

/// MayOverrun: a forward of chunk 0 in warm-up may still run when the first one of chunk 1 arrives, as in the program's rule for one
/// chunk per rank. Where stages differ, forwards rarely end just at that arrival, and a rank may be short of one for the whole run.
enum class ZbvWarmUp : std::uint8_t { EndsInTime, MayOverrun };

/// Plays the rule; keeps its memory between runs.
///
/// A run issues passes one after another, each at the end of its rank's queue and at the earliest possible time:
///
///   1. Warm-up: forwards of chunk 0 until the first forward of chunk 1 is back from the last rank, as far as the limit allows.
///   2. Levelling: each rank gets as many forwards as the one before it.
///   3. Rounds: every rank issues one I, then every rank one forward.
///   4. What W are left.
///
/// In rounds, W are issued before other passes: to free memory, and to fill the time until the input arrives.
///
/// Where stages differ the rule may name a pass that cannot run yet; then it is left out of its round. Still each round issues
/// something, because no forward is issued that would keep the oldest microbatches from running to their end
/// (RankState::keeps_room()). So the rounds end, and the limit is kept.
class ZbvAutoRun {
 public:
  /// REQUIRES: as zbv_auto_order().
  ZbvAutoRun(const Terms& terms, int ranks, int microbatches, std::span<const Bytes> limit);

  /// The first rank whose limit has no room for one microbatch. play() requires that there is none.
  [[nodiscard]] std::optional<ZbvAutoShortage> shortage() const;

  /// Runs the rule. False if it gave up because the bubble reached `bound`. `approved` is idle() of an earlier run, or empty: a rank
  /// may idle by as much as the worst rank idled longer than it, without a W being put first.
  bool play(ZbvAutoSetting setting, ZbvWarmUp how, std::span<const Ticks> approved, Ticks bound);

  /// Results of the last run: ZbvAutoTrial::bubble, and the passes, [rank * 6 m + position].
  [[nodiscard]] Ticks bubble() const { return bubble_; }
  [[nodiscard]] const std::vector<ZbvPass>& order() const { return order_; }
  /// [rank], from the first op to the last, less what the rank has less to do than the busiest one.
  [[nodiscard]] std::vector<Ticks> idle() const;
  /// Total time of the busiest rank's passes.
  [[nodiscard]] Ticks most_work() const { return most_work_; }
  /// True if the passes of a kind take equally long on all stages.
  [[nodiscard]] bool has_equal_stages() const { return has_equal_stages_; }

 private:
  /// A rank's times and bytes, and how far the run has got on it.
  struct RankState {
    std::array<Ticks, kZbvPasses> duration = {};
    std::array<Bytes, kZbvPasses> bytes = {};  ///< held more after the pass than before it
    std::array<Ticks, kZbvChainPasses> delay = {};
    Bytes limit = 0;
    Bytes spare = 0;  ///< room for an I that adds to what is held until its W
    Ticks work = 0;

    std::array<int, kZbvChainPasses> done = {};
    Bytes held = 0;
    Ticks clock = 0;
    Ticks idle = 0;
    Ticks approved = 0;  ///< how much longer the worst rank idled in the earlier run
    ZbvPass* end_of_order = nullptr;
    const ZbvPass* pending = nullptr;  ///< W whose I is done: [pending, end_of_pending)
    ZbvPass* end_of_pending = nullptr;

    [[nodiscard]] int count(ZbvPass pass) const { return done[static_cast<std::size_t>(pass)]; }
    [[nodiscard]] bool has_pending() const { return pending != end_of_pending; }
    [[nodiscard]] Ticks time(ZbvPass pass) const { return duration[static_cast<std::size_t>(pass)]; }
    [[nodiscard]] Bytes size(ZbvPass pass) const { return bytes[static_cast<std::size_t>(pass)]; }
    [[nodiscard]] Bytes smallest_limit() const {
      return size(ZbvPass::Forward0) + size(ZbvPass::Forward1) + spare;
    }
    [[nodiscard]] bool keeps_room(ZbvPass forward) const;
    [[nodiscard]] bool has_room_to_warm_up(int rank) const;
  };

  void reset(std::span<const Ticks> approved);
  void warm_up(ZbvWarmUp how);
  [[nodiscard]] bool takes_another(int rank, ZbvWarmUp how) const;
  void level();
  [[nodiscard]] bool is_behind(int rank) const;
  void issue_inputs();
  void issue_forwards();
  [[nodiscard]] ZbvPass input_of_round(int rank, int done_before) const;
  [[nodiscard]] std::optional<ZbvPass> forward_of_round(int rank) const;

  [[nodiscard]] int feeder(int rank, ZbvPass pass) const;
  [[nodiscard]] bool is_ready(int rank, ZbvPass pass) const;
  [[nodiscard]] Ticks arrival(int rank, ZbvPass pass) const;
  bool issue_forward(int rank, ZbvPass pass);
  bool issue_input(int rank, ZbvPass pass);
  void issue(int rank, ZbvPass pass, Ticks arrival);
  void issue_weight(int rank);
  void fill_gap(int rank, Ticks arrival, bool overfill);

  [[nodiscard]] RankState& state(int rank) { return states_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RankState& state(int rank) const { return states_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t end_index(ZbvPass pass, int rank, int microbatch) const {
    const auto row = static_cast<std::size_t>(pass) * states_.size() + static_cast<std::size_t>(rank);
    return row * static_cast<std::size_t>(microbatches_) + static_cast<std::size_t>(microbatch);
  }

  int ranks_;
  int microbatches_;
  ZbvAutoSetting setting_;
  Ticks most_work_ = 0;
  bool has_equal_stages_ = true;
  Ticks bubble_ = 0;
  std::int64_t passes_left_ = 0;  // F and I
  std::vector<RankState> states_;
  std::vector<Ticks> end_;          // of F and I, see end_index()
  std::vector<ZbvPass> weights_;    // in the order of their I, [rank * 2 m + i]
  std::vector<ZbvPass> order_;      // [rank * 6 m + position]
  std::vector<char> is_postponed_;  // [rank], this round: its I comes after all I of chunk 0
};

}  // namespace pipeloom::schedules
