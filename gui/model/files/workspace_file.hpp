#pragma once

// A workspace: everything in the window, as a file. Runs are kept by their sources (a configuration, a file, a schedule next to the
// configuration), so that a workspace is small and opens in any later version.
//
//   {"pipeloom_workspace": 1,
//    "configuration": {..},                         under edit; left out where no such run is on the chart
//    "configuration_file": "run.json",              where it came from or went to
//    "files": ["trace/", "order.csv"],              runs below it; names are relative to the workspace's folder
//    "schedules": ["zb-h1"],                        ticked in the table of schedules
//    "snapshots": [{"name": "before", "configuration": {..}, "shown": true}],
//    "edits": {"of": {"file": "order.csv"},         a run whose queues were edited by hand; left out: the one under edit, which is on top
//              "queues": [{"rank": 1, "queue": "1F0 1B0 1F1+ 1B1"}]},   of several runs: an array of these
//    "baseline": {"snapshot": "before"},            or {"file": ..}, {"schedule": ..}; left out: the run on top
//    "active": {"schedule": "zb-h1"},               the run of the panels; left out: the run on top
//    "time_unit": "ms", "range": [0, 12.5],         the visible part; null: everything
//    "marks": [{"time": 3, "text": "late", "kept": false}],
//    "view": {"colour": "kind", "show": ["minimap", ..], "hidden_kinds": ["F"], "row_height": 0, "pinned": [0], "collapsed": [], "hidden": [],
//             "rank_order": [1, 0]},
//    "layout": {..}}                                as the window's settings have it
//
// Every key but the first may be left out.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/units.hpp>
#include "gui/model/run/view_state.hpp"
#include "gui/model/session/session.hpp"
#include "study/run/assignments.hpp"

namespace pipeloom::gui {

struct KeptSnapshot {
  std::string name;
  study::Assignments config;
  bool shown = true;
  friend bool operator==(const KeptSnapshot&, const KeptSnapshot&) = default;
};

/// {"snapshot", its name}, likewise "file" and "schedule"; empty: the run on top.
using RunName = std::pair<std::string, std::string>;

/// Queues in an order of their own: by rank, each as a line (gui/model/edit/queue_edits.hpp).
struct KeptEdits {
  RunName of = {};
  std::map<int, std::string> queues = {};
};

struct Workspace {
  std::optional<study::Assignments> configuration = {};
  std::string configuration_file = {};
  std::vector<std::string> files = {};  ///< absolute
  std::vector<std::string> schedules = {};
  std::vector<KeptSnapshot> snapshots = {};
  std::vector<KeptEdits> edits = {};  ///< each of another run
  RunName baseline = {};              ///< the run that others are compared with
  RunName active = {};                ///< the run of the panels
  TimeUnit unit = TimeUnit::Unit;
  std::optional<MeasuredRange> range = {};
  std::vector<Mark> marks = {};
  ViewState view = {};      ///< without range and scroll
  Preferences layout = {};  ///< without the settings that are the user's alone: scale, wheel, recent files
};

/// True if a text is meant to be a workspace: its head names the key.
[[nodiscard]] bool looks_like_workspace(std::string_view text);

/// `path` is the workspace's: names of files are relative to its folder. Throws InputError (file:line:column) for a text that is no workspace,
/// is of a later version, or has a key or value that none has.
[[nodiscard]] Workspace read_workspace(std::string_view text, const std::string& path);
/// Equal workspaces give equal bytes.
[[nodiscard]] std::string workspace_text(const Workspace& workspace, const std::string& path);

}  // namespace pipeloom::gui
