#pragma once

// The configuration under edit: every change is simulated at once, off the frame thread, and can be undone.
//
// It is held as a list of assignments, key path -> JSON text, as --set would take them; a key without an assignment has its default. So an
// undo step is a small map, a command line is the list itself, and a file is the list, nested.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/edit/edit_history.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/run/assignments.hpp"

namespace pipeloom::gui {

using study::Assignments;
using study::assignments_of;
using study::config_of;
using study::shown_value;

/// One click that makes a refused configuration legal.
struct Fix {
  std::string label;  ///< "ranks 6", "leave out options.group_size"
  /// Key -> its new value as JSON text, or nothing where the key is to be left out.
  std::map<std::string, std::optional<std::string>> changes;
};

/// A value that the configuration's reader refuses.
struct Refusal {
  const io::Key* key = nullptr;
  std::string text;  ///< "ranks is 3.5; it must be a whole number from 1 to 1048576"
};
/// Every value that is refused by itself, in the order in which they are read.
[[nodiscard]] std::vector<Refusal> find_refusals(Assignments assignments);

/// The configuration as a file: nested, keys in the order of the table.
[[nodiscard]] std::string config_text(const Assignments& assignments);
/// `pipeloom simulate --schedule 1f1b --ranks 4 --microbatches 8 --set costs.forward=2`, quoted for a POSIX shell. Costs, memory and step that
/// are set to their defaults are left out.
[[nodiscard]] std::string command_line(const Assignments& assignments);
/// A value as people type it, once for each stage, as an array: "[1.5,1.5]", "[\"23.6ms\",\"23.6ms\"]"; "" is 1.
[[nodiscard]] std::string array_of(const std::string& value, int stages);

/// Changes that make a refused configuration legal, at most four: the nearest other microbatches, ranks, chunks and counts among the
/// options, ranks and microbatches together where neither alone helps; tables made as long as the shape wants them; a key left out. Tries
/// make the schedule, so this is a job's work; nothing for runs of more than 2e5 passes, or once `cancelled`.
[[nodiscard]] std::vector<Fix> find_fixes(const Assignments& assignments, const Cancelled& cancelled = {});
/// The first number of a count, from `from` in steps of `by` (1 or -1) within [least, most], that the schedule takes: DualPipe wants even ranks
/// and microbatches. Just the next one where none of 2 ranks + 16 is taken, or the schedule is a file. Makes nothing.
[[nodiscard]] int next_taken(const Assignments& assignments, const std::string& path, int from, int by,
                             int least, int most);
/// The configuration with a fix applied.
[[nodiscard]] Assignments with_fix(Assignments assignments, const Fix& fix);

/// "showcase", "seed/dualpipe": names of the ready configurations, sorted. They are the files below PIPELOOM_CONFIGS, else share/pipeloom/configs
/// of the installed program, else configs/ of the checkout that the program was built in; empty where there is no such folder.
[[nodiscard]] const std::vector<std::string>& preset_names();

class ConfigModel : public Part, public Undoable {
 public:
  /// Begins with an example, unless files are being opened whose names were on the command line: one of them may be a configuration.
  explicit ConfigModel(Session& session);

  [[nodiscard]] const Assignments& assignments() const { return now_; }
  /// The value of a key, as people type it; "" if it is not set. Keys below one that holds an object ("options.recompute.keep") are found in it.
  [[nodiscard]] std::string value(const std::string& path) const;
  [[nodiscard]] bool is_set(const std::string& path) const { return !value(path).empty(); }

  /// `text` is JSON, or a plain word. Changes of one key in quick succession (a drag) are one undo step. Throws InputError for a key that
  /// does not exist; the simulation reports wrong values.
  void set(Session& session, const std::string& path, const std::string& text);
  /// Back to the default.
  void reset(Session& session, const std::string& path);
  /// Another configuration altogether, as one step.
  void replace(Session& session, Assignments next);
  /// Replaces likewise during a drag: all changes in a row with the same `gesture`, however slow, are one step.
  void replace_held(Session& session, Assignments next, std::uint64_t gesture);
  /// The one that the first start shows, without a file.
  void start_anew(Session& session);
  /// REQUIRES: index < fixes().size().
  void take_fix(Session& session, std::size_t index);
  void undo(Session& session) override;
  void redo(Session& session) override;
  [[nodiscard]] bool can_undo() const override { return !undo_.empty(); }
  [[nodiscard]] bool can_redo() const override { return !redo_.empty(); }

  /// The configuration of a file takes the place of the one under edit, as one step. Throws InputError if it is none.
  void load(Session& session, const std::string& path, const std::string& text);
  /// One that came from `path` ("": from no file) and may have been changed since, as one step.
  void take_up(Session& session, const std::string& path, Assignments next);
  /// Writes config_text() to a file, through a temporary one next to it; "": the one that the configuration came from, which is always
  /// replaced. Throws InputError if another is there and may not be, SystemError if the disk refuses.
  void save(Session& session, const std::string& path, io::Overwrite overwrite = io::Overwrite::No);
  /// The file that it came from or went to last; "" if none.
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] bool unsaved() const { return now_ != saved_; }

  /// Loads a ready configuration. Throws InputError for a name that preset_names() lacks.
  void load_preset(Session& session, const std::string& name);

  /// The reason for which the configuration is refused, "" if it is not; the picture is then that of the latest one that was not.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The keys whose values are refused, each by itself; empty where values do not go together.
  [[nodiscard]] const std::vector<Refusal>& refusals() const { return refusals_; }
  /// Null where the key's value is not refused.
  [[nodiscard]] const Refusal* refusal_of(const io::Key& key) const;
  /// True while the picture on screen is not of the values that the fields show: they are refused, or have been under way for a while.
  [[nodiscard]] bool outdated() const;
  [[nodiscard]] const std::vector<Fix>& fixes() const { return fixes_; }
  /// Changes with every edit.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  /// True if the picture on screen is not yet of the latest revision.
  [[nodiscard]] bool pending() const { return shown_revision_ != revision_; }

  /// RunModel::id of the run that the latest simulation gave; 0 before the first. Another live run was edited by hand since.
  [[nodiscard]] std::uint64_t shown_run() const { return shown_run_; }

  /// True while it is the example of the first start: of no file, and never edited.
  [[nodiscard]] bool is_example() const;
  /// The name of the configuration and where it comes from: "1f1b (example)", "zbv (showcase.json)", "1f1b".
  [[nodiscard]] std::string name() const;
  /// Leaves the example out where nothing else came from it: what is opened has no run under edit, and takes its place.
  void leave_out_example(Session& session);
  /// Simulates again; edits do it themselves.
  void simulate(Session& session);

  bool update(Session& session) override;
  void stop(Session& session) override;
  [[nodiscard]] bool idle() const override { return started_; }
  [[nodiscard]] std::string_view state_key() const override { return "config"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  enum class Growth : std::uint8_t { WhileQuick, WhileHeld };
  void change(Session& session, Assignments next, const std::string& gesture,
              Growth growth = Growth::WhileQuick);
  void step(Session& session, std::vector<Assignments>& from, std::vector<Assignments>& to);
  void finish(Session& session, std::uint64_t revision, RunPtr run, std::string problem);
  [[nodiscard]] bool take_edits_back(Session& session);

  Assignments now_;
  Assignments saved_;
  Assignments on_screen_;  // of the live run
  std::vector<Assignments> undo_;
  std::vector<Assignments> redo_;
  std::string gesture_;  // key of the edit that may still grow
  std::chrono::steady_clock::time_point last_edit_at_;
  std::string file_;
  std::string problem_;
  std::vector<Fix> fixes_;
  std::vector<Refusal> refusals_;
  std::uint64_t revision_ = 1;
  std::uint64_t shown_revision_ = 0;
  std::uint64_t shown_run_ = 0;
  bool started_ = false;  // something was simulated, or nothing is to be
};

/// "zbv p=8 m=24 - Pipeloom": the active run's name, after a "*" if its configuration has changed since it was saved.
[[nodiscard]] std::string window_title(Session& session);

}  // namespace pipeloom::gui
