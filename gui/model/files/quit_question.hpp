#pragma once

// The end of the program: an order that was edited by hand and is in no file is asked about first.

#include <string>

#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

class QuitQuestion : public Part {
 public:
  explicit QuitQuestion(Session&) {}

  /// Ends the program, or asks: save, discard, stay.
  void quit(Session& session);
  /// Saves the order in `path`, which must not be there yet, and quits once it is written. The problem is kept otherwise.
  void save(Session& session);
  /// Shows the order from before the edits again, so that no workspace keeps them, and quits.
  void discard(Session& session);
  void stay() { asks_ = false; }

  [[nodiscard]] bool asks() const { return asks_; }
  /// "hang.csv": the run whose order is asked about.
  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The file to save to; a name that nothing has yet, until the user writes another.
  std::string path;

  [[nodiscard]] std::string_view state_key() const override { return "quit"; }
  /// {"asks", "path", "problem"}.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  bool asks_ = false;
  std::string title_;
  std::string problem_;
};

}  // namespace pipeloom::gui
