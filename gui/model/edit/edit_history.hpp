#pragma once

// Ctrl+Z and Ctrl+Shift+Z: parameters, queues and closed runs each keep their own steps, and this history knows which of them made the last step.

#include <string_view>
#include <vector>

#include "gui/model/session/part.hpp"

namespace pipeloom::gui {

/// A part of the session that keeps steps. Undoing where there is nothing to undo changes nothing.
class Undoable {
 public:
  Undoable() = default;
  Undoable(const Undoable&) = delete;
  Undoable& operator=(const Undoable&) = delete;
  virtual ~Undoable() = default;

  [[nodiscard]] virtual bool can_undo() const = 0;
  [[nodiscard]] virtual bool can_redo() const = 0;
  virtual void undo(Session& session) = 0;
  virtual void redo(Session& session) = 0;
};

class EditHistory : public Part {
 public:
  explicit EditHistory(Session&) {}

  /// `who`, a part of the same session, just made a step.
  void note(Undoable& who);
  [[nodiscard]] bool can_undo() const;
  [[nodiscard]] bool can_redo() const;
  /// Takes the latest step back, of whichever part made it.
  void undo(Session& session);
  void redo(Session& session);

  [[nodiscard]] std::string_view state_key() const override { return "undo"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  std::vector<Undoable*> known_;  // all parts that ever made a step
  std::vector<Undoable*>
      done_;  // whose steps they are, the latest last; steps that were forgotten may still be named
  std::vector<Undoable*> undone_;  // the same of the steps that were taken back
};

}  // namespace pipeloom::gui
