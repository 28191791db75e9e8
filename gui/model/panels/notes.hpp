#pragma once

// Persistent marks next to the file that they belong to: FILE.pipeloom-notes.json,
//
//   {"schema_version": 1, "file": "run.json", "time_unit": "ms", "notes": [{"time": 12.5, "text": "first bubble"}]}
//
// Written whole or not at all, shortly after a change. A sidecar that cannot be read is never replaced: the window says so, and keeps
// new notes to itself.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/units.hpp>
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// "run.json.pipeloom-notes.json".
[[nodiscard]] std::string notes_path(std::string_view file);

/// Marks of a sidecar's text, all persistent, in order of time. Times in another unit than `unit` are converted, except from and to the
/// abstract unit: a number stays a number. Throws InputError (file:line:column).
[[nodiscard]] std::vector<Mark> read_notes(std::string_view text, const std::string& name, TimeUnit unit);
/// The persistent ones of `marks`. Equal marks give equal bytes.
[[nodiscard]] std::string notes_text(const std::vector<Mark>& marks, std::string_view file, TimeUnit unit);

/// Reads the sidecar of the active run's file when another file becomes active, and writes it when its marks change.
class Notes : public Part {
 public:
  explicit Notes(Session&) {}

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "notes"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  void read(Session& session);
  void write(Session& session);

  std::string file_;
  TimeUnit unit_ = TimeUnit::Unit;
  /// The content of the sidecar, as far as known.
  std::vector<Mark> kept_;
  /// The sidecar could not be read: it stays as it is.
  bool locked_ = false;
};

/// Adds a mark and keeps the order of time. It replaces one at the same time.
void add_mark(Session& session, Mark mark);
/// Adds a mark at this time, or removes the one that is there already.
void toggle_mark(Session& session, Ticks time, bool persistent);
/// Index of the mark within `distance` of a time, the nearest; no value if there is none.
[[nodiscard]] std::optional<std::size_t> mark_near(const Session& session, double time, double distance);
/// Moves the first mark after the middle of the view (or the last one before it) to the middle. Returns false if there is none.
bool jump_to_mark(Session& session, bool forward);

/// The time for a mark without a place: the pointer's time over the chart, else the start of the selection, else the middle of
/// the view.
[[nodiscard]] Ticks time_for_mark(Session& session);
/// "12.5" in the active run's unit, as ticks. Throws InputError.
[[nodiscard]] Ticks parse_time(const Session& session, std::string_view text);
/// "12.5 20", the argument of `command`: two times, the second after the first. Throws InputError.
[[nodiscard]] Span parse_span(const Session& session, const char* command, std::string_view text);

}  // namespace pipeloom::gui
