#pragma once

// The search box and the sheet of keys. The box finds commands, made from their table, and whatever other parts add: ops, fields.
//
// The typed text is matched letter by letter against titles, ids and groups, best first. A command's id with a blank and its argument runs
// the command with that argument ("colour stage"); where a command takes one of a few words, these are offered.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/session/command.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// A score of the match of `typed` with `text`: its letters must be in it in this order, in either case. Beginnings of words and runs of neighbours
/// count more, gaps less; 0 is no match, an empty `typed` matches everything. Fills `at`, if given, with the places of the letters.
[[nodiscard]] int fuzzy_score(std::string_view typed, std::string_view text,
                              std::vector<std::size_t>* at = nullptr);

struct PaletteEntry {
  std::string id;        ///< of the command
  std::string argument;  ///< to run it with
  std::string title;     ///< "Zoom in", "Colour ops by: stage"
  std::string group;
  std::string keys;   ///< "Ctrl+Shift+P, F1"
  std::string wants;  ///< argument that is still to be typed, "" if it can run as it is
  int score = 0;
};

/// Adds the entries of a part that match a typed text.
using EntryFinder = void (*)(Session& session, std::string_view typed, std::vector<PaletteEntry>& entries);

/// All commands and schedules that match the typed text, best first; equal ones in the order of the table. O(commands).
[[nodiscard]] std::vector<PaletteEntry> palette_entries(const Session& session, std::string_view typed);

/// "Ctrl+Shift+P, F1"
[[nodiscard]] std::string keys_text(const Command& command);

/// The sheet: groups in the order of the table, with their commands that have keys.
struct SheetGroup {
  std::string name;
  std::vector<const Command*> commands;
};
[[nodiscard]] std::vector<SheetGroup> sheet_groups();

/// State of what is open on top of the panels, and the text typed there.
class PaletteModel : public Part {
 public:
  explicit PaletteModel(Session&) {}

  /// Those that are asked beside the commands, in this order.
  std::vector<EntryFinder> finders;

  [[nodiscard]] bool is_open() const { return open_; }
  void open(Session& session);
  void close() { open_ = false; }
  [[nodiscard]] const std::string& typed() const { return typed_; }
  void type(Session& session, std::string text);
  /// Opens with the text typed, and gives the field the keyboard.
  void begin(Session& session, std::string text);
  /// Opens with a command whose argument is to be typed.
  void ask(Session& session, std::string_view id);
  [[nodiscard]] const std::vector<PaletteEntry>& entries() const { return entries_; }
  [[nodiscard]] std::size_t chosen() const { return chosen_; }
  /// Up and down, round the ends.
  void move(int by);
  /// Runs entry `i`: closes, unless an argument is still to be typed; then the typed text becomes "id ".
  void run(Session& session, std::size_t i);

  /// True while the field has the keyboard. The view says it.
  bool has_keyboard = false;
  /// Frames in which the cursor still goes to the end of the field: one that gets the keyboard selects its text, and the text there is
  /// to be continued. The view counts down.
  int cursor_frames = 0;
  bool sheet_open = false;
  /// The text that the sheet is narrowed to.
  std::string filter;
  /// The hint of the tour that is shown; -1: none.
  int tour = -1;

  [[nodiscard]] std::string_view state_key() const override { return "palette"; }
  /// {"open", "typed", "entries": [first ten titles], "chosen", "sheet", "tour"}
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  bool open_ = false;
  std::string typed_;
  std::vector<PaletteEntry> entries_;
  std::size_t chosen_ = 0;
};

}  // namespace pipeloom::gui
