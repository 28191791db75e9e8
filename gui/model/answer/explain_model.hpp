#pragma once

// Causes of the difference between a prediction and a measured run, with their amounts, and their ops in both runs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"
#include "study/explain/explain.hpp"

namespace pipeloom::gui {

/// Positions in timeline.start of the ops of a cause, in every step, ascending; for links and messages those of the ops that wait
/// for them. Empty where the cause concerns all ops or none: noise, wrong costs, the unexplained rest. O(ops).
[[nodiscard]] std::vector<std::size_t> ops_of(const RunModel& run, const study::explain::Cause& cause);

/// A cause as people read it. Empty texts: it has no such number.
struct CauseRow {
  std::string text;
  std::string amount;    ///< "+64.8 ms"
  std::string spread;    ///< "1.2 ms", a standard deviation
  std::string share;     ///< of the predicted step
  std::string alone;     ///< its effect on the predicted step by itself
  std::string if_fixed;  ///< how much shorter the measured step is without it
};

class ExplainModel : public Part {
 public:
  explicit ExplainModel(Session&) {}

  /// The explanation of the runs that measured() and predicted() name; null while it is not known.
  [[nodiscard]] const study::explain::Explanation* explanation() const { return found_.get(); }
  [[nodiscard]] const std::vector<CauseRow>& rows() const { return rows_; }
  /// The line above them: "measured 402.8 ms, predicted 338.0 ms: +64.8 ms (+19.17 %)".
  [[nodiscard]] const std::string& headline() const { return headline_; }
  /// The first sentence about the measured run: slower than predicted by how much, and why; "" until that is known.
  [[nodiscard]] std::string why() const;
  /// Says why there is none; "" while it is sought, or found.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// The runs are large: it is found when asked for.
  [[nodiscard]] bool waits_for_question() const { return waits_; }
  [[nodiscard]] bool pending() const { return under_way_; }
  /// RunModel::id; 0: there is no such run.
  [[nodiscard]] std::uint64_t predicted() const { return predicted_ ? predicted_->id : 0; }
  [[nodiscard]] std::uint64_t measured() const { return measured_ ? measured_->id : 0; }

  /// Finds it now, however large the runs are. Throws InputError where there are not two such runs.
  void ask(Session& session);
  /// Dims all but the ops of this cause in both runs until another is named; "" takes that back. Throws InputError.
  void highlight(Session& session, std::string_view cause);
  /// Highlights likewise while the pointer rests on a cause.
  void hover(std::optional<std::size_t> cause);
  /// Selects that op of a cause whose duration differs most, in the measured run, and has it in sight. Throws InputError.
  void go_to(Session& session, std::string_view cause);

  bool update(Session& session) override;
  void stop(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "explain"; }
  /// {"headline", "refusal", "causes": [{"text", "kind", "amount", "sd", "alone", "if_fixed", "ops": in the measured run}], "highlight": n or null};
  /// times in the runs' unit. Null where there are not two such runs.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  void choose_runs(const Session& session);
  void submit(Session& session);
  void take(std::shared_ptr<const study::explain::Explanation> found);
  void show_highlight(Session& session);
  [[nodiscard]] std::size_t index_in(const char* command, std::string_view cause) const;

  RunPtr predicted_;
  RunPtr measured_;
  std::shared_ptr<const study::explain::Explanation> found_;
  std::vector<CauseRow> rows_;
  std::string headline_;
  std::string refusal_;
  bool waits_ = false;
  bool under_way_ = false;
  std::optional<std::size_t> pinned_;
  std::optional<std::size_t> hovered_;
  std::optional<std::size_t> shown_;  ///< the one on the chart
};

}  // namespace pipeloom::gui
