#pragma once

// Persistent marks beside the file they speak of: FILE.pipeloom-notes.json,
//
//   {"schema_version": 1, "file": "run.json", "time_unit": "ms", "notes": [{"time": 12.5, "text": "first bubble"}]}
//
// Written whole or not at all, shortly after a change. A sidecar that cannot be read is never replaced: the window says so, and keeps
// new notes to itself.

#include <cstdint>
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
  /// What the sidecar holds, as far as we know.
  std::vector<Mark> kept_;
  /// The sidecar could not be read: it stays as it is.
  bool locked_ = false;
};

}  // namespace pipeloom::gui
