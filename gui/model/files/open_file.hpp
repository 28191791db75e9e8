#pragma once

// Opening files: every format that Pipeloom reads becomes a run on screen.
//
//   configuration                 the parameters, and with them the live run; opened below others, a run of its own
//   schedule (JSON, PyTorch CSV)  a simulated run; one that hangs shows the ops that ran and which rank waits for which
//   timeline, report with one     a run with the file's times
//   trace of a real run, its folder, or the file of one of its ranks next to those of the others: its run
//   result of a sweep             the panel Sweep
//   workspace                     everything in it, in the place of the present runs
//   mapping of names of ranges    for traces opened from then on, and for the one that was refused before
//
// Reading and simulating happen in a job. A problem of a file becomes the message, and the runs on screen stay.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gui/model/run/jobs.hpp"
#include "gui/model/run/run_model.hpp"
#include "gui/model/session/part.hpp"
#include "study/sweep/result/table.hpp"

namespace pipeloom::gui {

/// Facts that a session knows and a file may lack.
struct ReadHints {
  TimeUnit unit = TimeUnit::Unit;
  /// File that maps the names of a trace's ranges to ops; "": none.
  std::string mapping = {};
};

/// The content of a file, by its kind.
struct OpenedFile {
  enum class Kind : std::uint8_t { Configuration, Run, Sweep, Workspace, Mapping, Problem };
  Kind kind = Kind::Problem;
  /// The points of a sweep's result.
  std::shared_ptr<const sweep::ResultTable> sweep = {};
  /// Null for a problem, a sweep, a workspace, and for a configuration that was only read.
  RunPtr run = {};
  /// The text of a configuration or workspace.
  std::string text = {};
  /// One line for a problem: "file:line:column: what was found; what is allowed; what to do".
  std::string problem = {};
};

/// Simulate or only read a configuration: the caller may simulate it itself.
enum class Configurations : std::uint8_t { Simulate, Read };

/// Reads a file and simulates a run without times; a timeline that does not state its unit is in `unit`. Throws nothing: a fault is the
/// result. For jobs: the reading of a long result, the search for an order and an evaluation end early when they are cancelled.
[[nodiscard]] OpenedFile read_run_file(const std::string& path,
                                       Configurations configurations = Configurations::Simulate,
                                       const Cancelled& cancelled = {}, const ReadHints& hints = {});
/// Reads a run likewise from a text that is already there.
[[nodiscard]] OpenedFile read_run_text(std::string text, const std::string& path,
                                       Configurations configurations = Configurations::Simulate,
                                       const Cancelled& cancelled = {}, TimeUnit unit = TimeUnit::Unit);

/// Files that are being opened.
class FileOpener : public Part {
 public:
  explicit FileOpener(Session&) {}

  /// Called after a file was opened: for the list of recent files.
  std::vector<std::function<void(Session&, const std::string& path)>> on_opened;
  /// Opens a workspace's text; throws InputError.
  std::function<void(Session&, const std::string& path, const std::string& text)> on_workspace;

  /// Several files may be under way: each has a lane of its own.
  void open(Session& session, const std::string& path, bool compared);
  /// The files that a command line names, from the top of the stack in this order. The first configuration among them is the one under
  /// edit; the others are runs of their own.
  void open_named(const std::vector<std::string>& paths);
  /// Some of them are still to come.
  [[nodiscard]] bool brings_run() const override { return !named_.empty() || named_under_way_; }

  bool update(Session& session) override;
  void stop(Session& session) override;
  [[nodiscard]] bool idle() const override { return !brings_run(); }

 private:
  [[nodiscard]] ReadHints hints_beside(const Session& session, const std::string& path) const;
  void take_mapping(Session& session, const std::string& path);
  void finish(Session& session, const OpenedFile& opened, const std::string& path, bool compared);
  void finish_named(Session& session, const OpenedFile& opened, const std::string& path);

  std::deque<std::string> named_;
  bool named_under_way_ = false;
  /// The mapping that was opened last, and the trace before it that could not be read, opened below others or not.
  std::string mapping_;
  std::pair<std::string, bool> refused_trace_;
  /// One of the named files is the configuration under edit.
  bool edits_named_ = false;
};

/// Opens a file as the run on top, or, `compared`, below those that are there. A path that is open already is read again in its
/// place. Returns at once.
void open_path(Session& session, const std::string& path, bool compared);

}  // namespace pipeloom::gui
