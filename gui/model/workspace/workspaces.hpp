#pragma once

// The workspace that is open: gathered from the session, put back into it, and written again as it changes.
//
// Opening replaces everything in the window, in steps: the configuration, then snapshots and files one after the other in jobs, then the
// things that refer to them. A file that cannot be read is reported; the rest opens. Once a workspace has a name it is written a second after a
// change and at the end of the program, whole or not at all; a file that another program has written meanwhile is left as it is. Without a name the
// window's state is kept in the folder of the settings, for `reopen-last`.

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/files/file_watch.hpp"
#include "gui/model/files/workspace_file.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::gui {

/// The session's, with names of the runs that no workspace can hold (edited by hand and in no file).
struct Gathered {
  Workspace workspace;
  std::vector<std::string> left_out;
};
[[nodiscard]] Gathered gather(Session& session);

class Workspaces : public Part {
 public:
  explicit Workspaces(Session&) {}

  /// Throws InputError where the file cannot be read or is no workspace; the runs on screen then stay.
  void open(Session& session, const std::string& path);
  /// Opens a text that was read from `path`.
  void open_text(Session& session, const std::string& path, std::string_view text);
  /// Writes it now, and from now on as it changes; "": where it was opened or saved last. Throws InputError for "" without such a file, where
  /// another file is there and may not be replaced, or, once, where another program has written the file; SystemError if the disk refuses.
  void save(Session& session, const std::string& path, io::Overwrite overwrite);

  /// Keeps a window without a named workspace in this file from now on, and the file's old content for reopen_last().
  void keep_last(const std::string& path);
  /// Opens the window's state at the end of the previous session. Throws InputError where that is not known.
  void reopen_last(Session& session);
  /// Writes the changes now: at the end of the program.
  void flush(Session& session);

  bool update(Session& session) override;
  void stop(Session& session) override;
  [[nodiscard]] bool idle() const override { return !finishing_; }
  [[nodiscard]] bool brings_run() const override { return !idle(); }
  [[nodiscard]] std::string_view state_key() const override { return "workspace"; }
  /// {"file", "opening"}.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  /// A run that is still to come: a snapshot where it has a name, else a file.
  struct Step {
    KeptSnapshot snapshot;
    std::string file;
  };

  void begin(Session& session, Workspace workspace);
  void take_step(Session& session);
  void take_edits(Session& session);
  void finish(Session& session);
  void write(Session& session);
  /// True if the file is another one than was opened or written here. False if it is gone.
  [[nodiscard]] bool is_changed_by_others() const;
  /// From now on the file stays as it is, until it is opened or saved.
  InputError give_way();
  /// The session's workspace, with the sources that could not be opened: they may come back.
  [[nodiscard]] Gathered gathered(Session& session) const;
  [[nodiscard]] const std::string& target() const { return path_.empty() ? last_path_ : path_; }

  std::string path_;
  std::string last_path_;
  std::string last_text_;
  std::string saved_;
  bool locked_ = false;             // unwritable, or written by another program; it stays as it is
  std::optional<FileStamp> stamp_;  // of the file with a name, when it was opened or written
  Workspace opening_;
  std::deque<Step> steps_;
  bool under_way_ = false;
  bool finishing_ = false;  // all runs are there, but for those of the table of schedules
  std::string problem_;
  /// The sources that could not be read or run when it was opened.
  struct Missing {
    std::vector<std::string> files;
    std::vector<KeptSnapshot> snapshots;
  };
  Missing missing_;
  bool schedules_ticked_ = false;
  std::chrono::steady_clock::time_point next_write_;
};

}  // namespace pipeloom::gui
