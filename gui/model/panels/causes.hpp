#pragma once

// The idle time of the active run: by cause, in total and per rank, and the longest gaps one by one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "gui/model/chart/roots.hpp"
#include "gui/model/session/session.hpp"
#include "sim/analysis/idle_causes.hpp"

namespace pipeloom::gui {

struct CausesSummary {
  std::uint64_t run = 0;  ///< RunModel::id
  CauseSums total;
  std::vector<IdleCauses> of_rank;  ///< [rank]
  /// The most that one rank idles: the scale of the bars.
  Ticks most_of_rank = 0;
  /// Longest first, then by rank and time: the order of longest_gap(). At most kMaxGaps.
  std::vector<GapRef> longest;
  std::size_t num_gaps = 0;
};
inline constexpr std::size_t kMaxGaps = 200;

/// Sums up the gaps of the first step. O(gaps + kept log kept).
[[nodiscard]] CausesSummary summarise_causes(const RunModel& run);

/// A line of the metrics: {"makespan", "33.0 ms", "how it is defined"}.
struct MetricLine {
  std::string name;
  std::string value;
  std::string help;
};
/// Lines of the run's known metrics. Measured runs have makespan, idle share and counts only.
[[nodiscard]] std::vector<MetricLine> metric_lines(const RunModel& run, const CausesSummary& causes);

/// The meaning of a cause such as "transfer", in a sentence.
[[nodiscard]] std::string_view explanation_of(IdleCause cause);

/// A root cause: {"stage 3, 1.6 x the others", "F and B of stage 3 take ...", 43.2 units, 0.545}.
struct RootLine {
  std::string text;
  std::string what;  ///< its meaning, as a clause
  TickSum amount;
  double share = 0;  ///< of all idle time
};
/// Largest first: one for each of roots.causes.
[[nodiscard]] std::vector<RootLine> root_lines(const RunRoots& roots);

class CausesModel : public Part {
 public:
  explicit CausesModel(Session&) {}
  /// Both speak of the active run, or of the run before while a job works on this one. Null at first.
  [[nodiscard]] const CausesSummary* summary() const { return summary_.get(); }
  [[nodiscard]] const std::vector<MetricLine>& metrics() const { return metrics_; }
  /// Empty until they are found.
  [[nodiscard]] const std::vector<RootLine>& roots() const { return roots_; }
  /// The run that summary() is of; null if it is no longer on screen.
  [[nodiscard]] RunPtr run(const Session& session) const;
  /// "3.0 ms, transfer" and, once the index of the run's ops is there, the op that the rank waits for. Kept, so that a list draws it every frame.
  [[nodiscard]] const std::string& gap_text(Session& session, std::size_t i);
  /// Selects the i-th longest gap and brings it into view. False if there is no such gap any more.
  bool select(Session& session, std::size_t i) const;

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "causes"; }
  /// {"total": {"idle": 9.0, "warmup": ...}, "gaps", "largest": {"rank", "span", "start", "end", "length", "cause", "text"} or null, "roots":
  /// [{"text", "what", "amount", "share"}]}; times in the run's unit; null until known.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  void take_roots(Session& session);

  std::shared_ptr<const CausesSummary> summary_;
  std::vector<MetricLine> metrics_;
  std::vector<RootLine> roots_;
  std::uint64_t roots_of_ = 0;  ///< RunModel::id
  std::uint64_t asked_ = 0;
  std::vector<std::pair<std::string, bool>> texts_;  // [i]: text, true if it names the op waited for
};

}  // namespace pipeloom::gui
