#pragma once

// The end of the program: orders that were edited by hand and are in no file are asked about first, one after the other.

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
  /// Shows the order from before the edits again, so that no workspace keeps any, and quits.
  void discard(Session& session);
  void stay() { asks_ = false; }

  [[nodiscard]] bool asks() const { return asks_; }
  /// "hang.csv": the run whose order is asked about.
  [[nodiscard]] const std::string& title() const { return title_; }
  /// Further orders that are in no file.
  [[nodiscard]] std::size_t more() const { return more_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The file to save to; a name that nothing has yet, until the user writes another.
  std::string path;

  [[nodiscard]] std::string_view state_key() const override { return "quit"; }
  /// {"asks", "more", "path", "problem"}.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  bool asks_ = false;
  std::uint64_t asked_ = 0;
  std::size_t more_ = 0;
  std::string title_;
  std::string problem_;
};

}  // namespace pipeloom::gui
