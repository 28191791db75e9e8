#pragma once

// The first answers that a user wants of the active run: how good it is, which limits hold it back, which schedule would be better. Numbers
// for the bar over the chart, and the sentences next to them.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/units.hpp>
#include "gui/model/answer/spare_memory.hpp"
#include "gui/model/chart/roots.hpp"
#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// Stages (or ranks, where a rank has several stages) that have more to do than the others.
struct Bottleneck {
  bool of_stages = true;
  std::vector<int> places;  ///< stages, or ranks
  double ratio = 1;         ///< of their work to the mean of the others'
  /// The step time if all had the same work in sum; nothing where that was not simulated.
  std::optional<Ticks> when_equal;
};

/// The one that matters: work more than kUnequal above the mean. Nothing where all are about equal.
[[nodiscard]] std::optional<Bottleneck> find_bottleneck(const RunModel& run);
inline constexpr double kUnequal = 0.02;

/// "Stage 3 is 1.6 x the others; with equal stages 41.20 ms."; "Equal stages: no rank stands out." where there is none.
[[nodiscard]] std::string bottleneck_text(const std::optional<Bottleneck>& bottleneck, bool of_stages,
                                          TimeUnit unit);

/// The fullest rank; where ranks have limits, the one that has least left.
struct PeakAnswer {
  Rank rank;
  Bytes held = 0;
  std::optional<Bytes> limit;
  double held_bytes = 0;
  std::optional<double> limit_bytes;
  std::string held_text;  ///< "56.8 GB"; "8" where activations are counted
  std::string note;       ///< "fits 80.0 GB, 23.2 GB free", "needs 2.0 GB more"
  [[nodiscard]] bool fits() const { return !limit || held <= *limit; }
};

/// The answer for one run; independent of the other runs.
struct RunAnswer {
  std::uint64_t run = 0;  ///< RunModel::id
  TimeUnit unit = TimeUnit::Unit;
  /// The step time; of a run that was measured: its span.
  Ticks step_time = 0;
  std::optional<double> tokens_per_s;
  double bubble_ratio = 0;
  std::optional<IdleCause> largest_cause;       ///< nothing where no rank idles
  std::array<double, kIdleCauses> shares = {};  ///< of the idle time, by cause
  std::optional<PeakAnswer> peak;
  Ticks lower_bound = 0;      ///< 0: unknown
  std::optional<double> gap;  ///< how far above it the run is
  std::string bottleneck;     ///< the sentence
  bool hangs = false;
  /// One step as far as it was recorded.
  bool cut = false;
  std::string
      incomplete;  ///< "Rank 2 ends early: shown are the steps that are whole."; "" where nothing is missing
};
/// O(ops), and a simulation of as many where the stages differ and there are not too many. For jobs.
[[nodiscard]] RunAnswer answer_of(const RunModel& run);

/// A better schedule than the one under edit, from the table of schedules.
struct Suggestion {
  std::string schedule;
  double saves = 0;  ///< share of the step time
};
struct Outlook {
  std::optional<Suggestion> better;
  std::string
      text;  ///< "zbv fits and takes 18.7 % less time"; "Nothing that fits is faster. zb-h2 would need 2.0 GB more."
};
/// The fastest row of the registry that fits and keeps the meaning of a step: rows without flushes are candidates for such a run only.
/// Differences below kWorthShowing count as none.
[[nodiscard]] Outlook outlook_of(std::span<const ScheduleRow> rows, std::string_view now);
inline constexpr double kWorthShowing = 0.005;

/// The root cause of the largest part of the bubble.
struct CauseAnswer {
  RootKind kind = RootKind::Fill;
  std::string text;  ///< "stage 3, 1.6 x the others"
  std::string what;  ///< "F and B of stage 3 take 1.6 x as long as the others'"
  TickSum amount;
  double share = 0;  ///< of the idle time
  Rank rank;         ///< where it is seen
  std::string op;    ///< there, "3/3B0"; "" where it is no op's
};
/// Returns nullopt if no rank idles.
[[nodiscard]] std::optional<CauseAnswer> cause_answer(const RunRoots& roots);

class AnswerModel : public Part {
 public:
  explicit AnswerModel(Session&) {}

  /// The answer for the active run, or while a job works on it for the previous run; null before the first.
  [[nodiscard]] const RunAnswer* run() const { return run_ ? &*run_ : nullptr; }
  /// The cause for the run of run(); nullopt until it is found: then the largest cause is known by its phase alone.
  [[nodiscard]] const std::optional<CauseAnswer>& cause() const { return cause_; }
  /// Share by which the step is longer than the baseline's; nothing where the active run is the baseline, or times cannot be compared.
  [[nodiscard]] std::optional<double> change() const { return change_; }
  [[nodiscard]] const std::string& baseline() const { return baseline_; }  ///< its title
  [[nodiscard]] const Outlook& outlook() const { return outlook_; }
  /// A change that uses the memory that the model under edit leaves free; nothing until it is found, and where there is none.
  [[nodiscard]] const std::optional<SpareUse>& spare() const { return spare_; }
  /// It takes the place of the configuration under edit. Throws InputError where there is none.
  void use_spare(Session& session);
  /// Of a measured run beside a prediction: how much slower it is, and why; "" elsewhere.
  [[nodiscard]] const std::string& why() const { return why_; }
  /// True if the suggested schedule is on the chart already.
  [[nodiscard]] bool shows_suggestion(Session& session) const;
  /// Stacks the suggested schedule below the run; once it is there, takes it. Throws InputError where there is none.
  void show_suggestion(Session& session);

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "answer"; }
  /// {"step_time", "tokens_per_s", "change", "bubble_ratio", "why", "spare", "largest_cause": "stage 3, 1.6 x the others", "cause": {"kind", "what", "amount",
  /// "share", "rank", "op"} or null, "peak_bytes", "peak_rank", "limit_bytes", "fits", "gap", "text", "suggestion": {"schedule", "saves"} or
  /// null}; times in the run's unit; null until known.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  void ask(Session& session);
  void compare(const Session& session);
  void look_around(Session& session);
  void find_spare(Session& session);
  void look_at_explanation(Session& session);
  void find_cause(Session& session);

  std::optional<RunAnswer> run_;
  std::optional<CauseAnswer> cause_;
  std::uint64_t cause_of_ = 0;  ///< RunModel::id
  std::optional<double> change_;
  std::string baseline_;
  Outlook outlook_;
  std::optional<SpareUse> spare_;
  std::uint64_t spare_revision_ = 0;  ///< of the configuration that it was asked for
  std::string why_;
  std::uint64_t asked_ = 0;
  /// Inputs of the outlook: the live run, and the revision of the table.
  std::uint64_t looked_run_ = 0;
  std::uint64_t looked_revision_ = 0;
};

}  // namespace pipeloom::gui
