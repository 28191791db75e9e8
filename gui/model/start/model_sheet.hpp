#pragma once

// A model by name on a number of devices: a sheet of seven values that become a configuration, and what each schedule makes of it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

struct ModelChoice {
  std::string model = "llama3-8b";
  std::string hardware = "h100";
  int gpus = 64;
  int tensor = 2;
  int pipeline = 4;
  int sequence = 8192;
  int batch = 256;  ///< samples of a step
  friend bool operator==(const ModelChoice&, const ModelChoice&) = default;
};
/// Data-parallel replicas. REQUIRES: problem_of() finds nothing.
[[nodiscard]] int replicas_of(const ModelChoice& choice);
/// Says which of the numbers do not go together: "GPUs: a multiple of TP x PP = 8"; "" where they do.
[[nodiscard]] std::string problem_of(const ModelChoice& choice);
/// `costs.model` and all that the choice says, of a schedule. REQUIRES: problem_of() finds nothing.
[[nodiscard]] Assignments configuration_of(const ModelChoice& choice, const std::string& schedule);
/// The model, device and sizes of a configuration, where it has them; usual ones elsewhere.
[[nodiscard]] ModelChoice choice_in(const ConfigModel& config);

/// A schedule under the choice, as people read it.
struct ModelLine {
  std::string schedule;
  std::string step;  ///< "3.172 s"; "" where it cannot run
  std::string room;  ///< "fits, 23.2 GB free", "needs 2.0 GB more", or why it cannot run
  bool fits = false;
};

class ModelSheet : public Part {
 public:
  explicit ModelSheet(Session&) {}

  void show(Session& session);
  void hide(Session& session);
  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] const ModelChoice& choice() const { return choice_; }
  void choose(Session& session, const ModelChoice& choice);
  /// Schedules that fit, fastest first, then those that need more memory, then those that cannot run. Empty until they are computed.
  [[nodiscard]] const std::vector<ModelLine>& lines() const { return lines_; }
  /// "21 of 30 schedules fit; zbv is the fastest: 3.172 s."
  [[nodiscard]] const std::string& summary() const { return summary_; }
  /// Why there is nothing to show, in one line; "" where there is.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool pending() const { return under_way_; }
  /// The schedule that take() takes: the one that was named last, else the first line's.
  [[nodiscard]] std::string schedule() const;
  void name_schedule(const std::string& schedule) { named_ = schedule; }
  /// The configuration takes the place of the one under edit, as one step. Throws InputError where problem() says something.
  void take(Session& session);

  void stop(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "model_sheet"; }
  /// {"model", "hardware", "gpus", "tp", "pp", "seq", "batch", "schedule", "summary", "problem", "lines": [{"schedule", "step", "room",
  /// "fits"}]}; null while it is closed.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  struct Found {
    std::vector<ModelLine> lines;
    std::string summary;
    std::string problem;
  };
  static Found find(const ModelChoice& choice, const Cancelled& cancelled);
  void ask(Session& session);

  bool open_ = false;
  bool under_way_ = false;
  ModelChoice choice_;
  std::string named_;
  std::vector<ModelLine> lines_;
  std::string summary_;
  std::string problem_;
};

}  // namespace pipeloom::gui
