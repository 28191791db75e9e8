#pragma once

// The user's settings, kept between sessions: $XDG_CONFIG_HOME/pipeloom/window.json, or ~/.config/pipeloom/window.json. JSON with the
// fields of Preferences; unknown keys are kept, so that an older program does not lose what a newer one wrote.

#include <string>
#include <string_view>

#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

inline constexpr std::size_t kMaxRecentFiles = 12;

/// "" where the environment names no home: then nothing is kept.
[[nodiscard]] std::string preferences_path();
/// The file next to it that keeps the window's state without a named workspace.
[[nodiscard]] std::string last_workspace_path();

/// Puts the settings in the text into `preferences`. Those with a bad value (a scale of 40) keep the old one. Throws InputError for anything
/// but a JSON object.
void read_preferences(std::string_view text, const std::string& name, Preferences& preferences);
/// `before` is the text that the file has now, "" if none: its unknown keys stay.
[[nodiscard]] std::string preferences_text(const Preferences& preferences, std::string_view before = {});

/// A path from any folder, without "." and ".."; "" stays.
[[nodiscard]] std::string absolute_path(const std::string& path);
/// Puts a path first in the recent files, once. Relative paths become absolute.
void add_recent(Preferences& preferences, const std::string& path);

class PreferencesStore : public Part {
 public:
  explicit PreferencesStore(Session&) {}

  /// Reads the file, if there is one, and writes changes to it from now on. What is wrong with it becomes the session's message.
  /// Never called: nothing is read or written (--no-session).
  void load(Session& session, std::string path = preferences_path());
  /// Writes the changes now: at the end of the program.
  void save(Session& session);
  /// Restores the settings of the first start; empties the recent files too.
  static void reset(Session& session);

  [[nodiscard]] std::string_view state_key() const override { return "preferences"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  std::string path_;
  std::string saved_;
};

}  // namespace pipeloom::gui
