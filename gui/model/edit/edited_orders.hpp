#pragma once

// Orders that were edited by hand and are not being edited at the moment. Nothing of them is lost: editing one again goes on where it ended,
// with all steps of its undo.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/queue_edits.hpp"
#include "gui/model/run/build_run.hpp"
#include "gui/model/session/session.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::gui {

/// The result of an edit of the queues.
struct EditOutcome {
  /// ScheduleEditor::revision() when the job was started.
  std::uint64_t revision = 0;
  /// Null where there is nothing to simulate: structural errors, or messages that hang.
  RunPtr run;
  std::vector<Diagnostic> diagnostics;
  /// Messages that hang or mispair, costs that do not fit: one line, "" if none.
  std::string problem;
  /// The page that explains a hang of queues or messages, "" if none.
  std::string page;
  /// `run`, and the inputs of the results that are found later.
  ShownRun shown = {};
};

/// A run whose queues were edited by hand.
struct EditedOrder {
  std::uint64_t run = 0;  ///< RunModel::id of the one on screen
  RunPtr origin;          ///< the run from before all edits
  /// The queues that differ from the origin's, by rank.
  std::map<int, std::vector<Op>> queues;
};

/// The queues of `now` that differ from the run's; no value if none does.
[[nodiscard]] std::optional<EditedOrder> edited_order(std::uint64_t run, const RunPtr& origin,
                                                      const QueueSnapshot& now);

/// All that editing one run needs.
struct EditWork {
  std::uint64_t run = 0;  ///< RunModel::id of the one on screen
  RunPtr origin;          ///< the run from before all edits
  std::shared_ptr<QueueEdits> edits;
  io::Config config;
  EditOutcome outcome;
  std::uint64_t revision = 0;
  bool saved = false;  ///< in a file
  /// The edited run, once the run under edit has other parameters; else null.
  RunPtr set_aside = {};
  /// The parameters that it had.
  Assignments parameters = {};
  bool announced = false;  ///< set_aside was handed out
};

class EditedOrders {
 public:
  /// Adds one; forgets the oldest ones that are not on screen, if there are many.
  void keep(EditWork work);
  /// Null if the run has no edits.
  [[nodiscard]] EditWork* find(std::uint64_t run);
  /// Removes it from those that are kept.
  [[nodiscard]] std::optional<EditWork> take(std::uint64_t run);
  /// One that was set aside with these parameters; null if there is none.
  [[nodiscard]] EditWork* find_set_aside(const Assignments& parameters);
  [[nodiscard]] const std::vector<EditWork>& all() const { return all_; }
  std::vector<EditWork>& all() { return all_; }
  void forget_all() { all_.clear(); }

 private:
  std::vector<EditWork> all_;  // the latest last
};

/// Writes a schedule as `.json` or PyTorch's `.csv` and reads it back. Throws InputError for other names, a file that is there and may not be
/// replaced, a schedule that PyTorch has no text for, and if another schedule is read back; SystemError if the disk refuses.
void save_schedule(const Schedule& schedule, const std::string& path, io::Overwrite overwrite);

}  // namespace pipeloom::gui
