#pragma once

// A start without files: one sentence about the example, and what can be done instead of it. Gone for good after the first edit.

#include <span>
#include <string>
#include <string_view>

#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// A button of the strip: the command that it runs.
struct FirstStep {
  const char* id;  ///< "open", of its item
  const char* label;
  const char* command;
  const char* argument;  ///< that is asked for first; "" where the command runs at once
  const char* help;
};
[[nodiscard]] std::span<const FirstStep> first_steps();

class FirstMinute : public Part {
 public:
  explicit FirstMinute(Session&) {}

  /// "A step of 1F1B on 4 ranks. Change a number, or:"; "" where the strip is not shown.
  [[nodiscard]] const std::string& sentence() const { return sentence_; }
  /// Does what a button says. REQUIRES: step < first_steps().size().
  static void take(Session& session, std::size_t step);

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "first_minute"; }
  /// The sentence, or null.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  std::string sentence_;
};

}  // namespace pipeloom::gui
