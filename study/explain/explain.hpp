#pragma once

// Where every tick between a predicted and a measured step time went.
//
// Causes are found first (clocks, order, ops, time of messages, links, pauses), then each gets its amount: what nothing explains is taken
// off first, then the noise of single ops, and the rest is dealt out by Shapley's rule, the mean over all orders in which the causes could
// have come one after another. Amounts are whole ticks and sum to measured - predicted exactly.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/simulate.hpp>
#include <pipeloom/units.hpp>
#include "study/explain/model.hpp"

namespace pipeloom::study::explain {

enum class CauseKind : std::uint8_t {
  Rank,
  Stage,
  Microbatch,
  Op,  ///< a kind of op, or all ops
  Link,
  MessageTime,
  Order,
  Hiccup,
  Pause,  ///< a rank, or every rank, is idle between ops that wait for nothing
  Costs,  ///< predicted costs that are wrong cell by cell, and causes too small to name
  Noise,
  Unexplained,
};
inline constexpr std::size_t kCauseKinds = 12;

/// "rank", "message_time", ...
[[nodiscard]] std::string_view name_of(CauseKind kind);

struct Cause {
  CauseKind kind = CauseKind::Unexplained;
  std::optional<Rank> rank = {};
  std::optional<Stage> stage = {};
  std::optional<Microbatch> microbatch = {};
  std::optional<OpKind> op_kind = {};
  std::optional<Rank> from = {};
  std::optional<Rank> to = {};
  bool both_ways = false;
  std::optional<double> factor = {};  ///< of the ops' time
  std::optional<Ticks> added = {};    ///< to each op or message, before each for a pause; in all for a hiccup
  std::optional<Ticks> each = {};     ///< what a factor adds to an op, where all of its ops are alike
  std::vector<Op> ops = {};           ///< of a hiccup
  std::vector<Rank> ranks = {};       ///< whose order differs
  Ticks amount = 0;                   ///< mean over the steps
  double sd = 0;                      ///< of the amount, ticks
  Ticks alone = 0;                    ///< what it does to the predicted step by itself
  Ticks if_fixed = 0;                 ///< what the measured step would gain without it
  std::vector<std::string> equivalent = {};  ///< other names that fit as well
  std::string text = {};
};

/// Ranks, and how much of what uneven work costs is theirs.
struct StragglerShare {
  std::vector<Rank> ranks;
  double removed = 0;  ///< (o - r) / (o - i): of what even ops would save, with even ops on these alone
  double added = 0;    ///< (a - i) / (o - i): of what uneven ops cost, with uneven ops on these alone
};

/// What uneven work costs. o is the step replayed with the measured times of ops and no pauses, i the same with the mean of its kind in
/// place of each op's time and of every link's latency the median, r is o with the ops of some at that mean, a is i with those at
/// their measured time. M_W and M_S of Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis" (2025,
/// arXiv 2505.05713), a worker being a rank.
struct Stragglers {
  double slowdown = 1;          ///< o / i
  StragglerShare workers = {};  ///< M_W: the slowest 3 % of the ranks, at least one, by what each adds alone
  StragglerShare last_stage = {};  ///< M_S: the ops of the last stage, on the ranks that hold it
};

/// Is told what share of the work is done, 0 to 1; says whether it is still wanted.
using GoesOn = std::function<bool(double)>;

struct Explanation {
  TimeUnit unit = TimeUnit::Unit;
  int steps = 1;
  Ticks predicted = 0;
  Ticks measured = 0;  ///< mean over the steps, clocks aligned
  /// Largest amount first; amounts sum to measured - predicted.
  std::vector<Cause> causes;
  /// There, but without effect on the step time.
  std::vector<Cause> hidden;
  double sigma = 0;       ///< spread of single ops, relative
  double cost_sigma = 0;  ///< spread of the predicted costs; 0 where they hold
  bool clocks_apart = false;
  std::vector<Ticks> clock_offset;       ///< [rank]
  std::optional<Stragglers> stragglers;  ///< nothing where even work would save less than 0.3 % of the step
  std::vector<std::string> warnings;
};

/// Explains `measured`, whose steps are those of one schedule: the same ops as the predicted one, in any order on a rank. Throws
/// InputError where ops are missing or stand on other ranks, and where its times cannot have been; InternalError if a sum is off. `goes_on` is
/// told what share is done; where it says no, Stopped is thrown.
[[nodiscard]] Explanation explain(const Predicted& predicted, const Timeline& measured,
                                  const GoesOn& goes_on = {});

}  // namespace pipeloom::study::explain
