#pragma once

// Runs that were closed, for a while: Ctrl+Z brings them back where they stood.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "gui/model/edit/edit_history.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

class ClosedRuns : public Part, public Undoable {
 public:
  explicit ClosedRuns(Session&) {}

  /// Closes run `index` of the stack so that it can be brought back. The latest one can always be; those before it as long as all together
  /// are not too large to keep. REQUIRES: index < session.runs.size().
  void close(Session& session, std::size_t index);

  [[nodiscard]] bool can_undo() const override { return !closed_.empty(); }
  [[nodiscard]] bool can_redo() const override { return !back_.empty(); }
  /// Brings the latest one back. A run under edit in the place of one that was closed stays: there is at most one.
  void undo(Session& session) override;
  /// Closes the run that came back again.
  void redo(Session& session) override;

 private:
  struct Closed {
    OpenRun open;
    std::size_t index = 0;
    /// The name of its schedule, if the table of schedules stacked the run; else "".
    std::string ticked;
  };
  void push(Session& session, std::size_t index);

  std::deque<Closed> closed_;
  std::vector<std::uint64_t> back_;  // RunModel::id of those that came back
};

}  // namespace pipeloom::gui
