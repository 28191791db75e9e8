#include "gui/model/workspace/workspaces.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/answer/snapshots.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/files/open_file.hpp"
#include "gui/model/panels/notes.hpp"
#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/session/preferences.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::size_t kMaxWorkspaceBytes = std::size_t{16} << 20;
constexpr std::chrono::seconds kBetweenWrites{1};

RunName name_of_file(const RunModel& run) {
  const bool of_file = !run.file.empty() && run.file != "-";
  return of_file ? RunName{"file", absolute_path(run.file)} : RunName{};
}

/// The run's name in a workspace, kind and name; empty where it has none.
RunName name_of_run(Session& session, const OpenRun& open) {
  for (const Snapshot& each : session.part<Snapshots>().all())
    if (each.run->id == open.run->id) return {"snapshot", each.name};
  if (open.live) return {};
  // An order that was edited by hand has the name of the run that it was.
  for (const EditedOrder& edited : session.part<ScheduleEditor>().edited())
    if (edited.run == open.run->id) return name_of_file(*edited.origin);
  if (const std::string schedule = session.part<ScheduleTable>().schedule_of(open.run->id); !schedule.empty())
    return {"schedule", schedule};
  return name_of_file(*open.run);
}

/// The edited queues of every run, that of the run under edit last; nothing of runs without a name, or past what a workspace should hold.
std::vector<KeptEdits> edits_of(Session& session) {
  constexpr std::size_t kMostOps = 200'000;
  std::vector<KeptEdits> out;
  std::size_t ops = 0;
  for (const EditedOrder& edited : session.part<ScheduleEditor>().edited()) {
    const OpenRun* open = session.find_run(edited.run);
    if (open == nullptr) continue;
    KeptEdits kept{name_of_run(session, *open), {}};
    if (kept.of.first.empty() && !open->live) continue;
    for (const auto& [rank, queue] : edited.queues) ops += queue.size();
    if (ops > kMostOps) break;
    for (const auto& [rank, queue] : edited.queues) kept.queues[rank] = queue_line(queue);
    out.push_back(std::move(kept));
  }
  return out;
}

/// The queues of a workspace in the run that they are of.
void restore_edits(Session& session, const KeptEdits& edits, const OpenRun* run) {
  if (run == nullptr) return;
  std::map<int, std::vector<Op>> queues;
  for (const auto& [rank, line] : edits.queues) queues[rank] = parse_queue_line(line);
  session.active = static_cast<std::size_t>(run - session.runs.data());
  session.part<ScheduleEditor>().restore(session, queues);
}

/// The run under edit, or null.
const OpenRun* live_run_of(const Session& session) {
  const auto found = std::ranges::find(session.runs, true, &OpenRun::live);
  return found == session.runs.end() ? nullptr : &*found;
}

/// The preferences that are part of a workspace: without those that are the user's alone.
Preferences layout_of(Preferences preferences) {
  const Preferences usual;
  preferences.scale = usual.scale;
  preferences.wheel_zooms = usual.wheel_zooms;
  preferences.recent.clear();
  return preferences;
}

void take_layout(Preferences& preferences, Preferences layout) {
  layout.scale = preferences.scale;
  layout.wheel_zooms = preferences.wheel_zooms;
  layout.recent = std::move(preferences.recent);
  preferences = std::move(layout);
}

void take_view(ViewState& view, const ViewState& kept) {
  const ViewState before = view;
  view = kept;
  view.range = before.range;
  view.placed = before.placed;
}

/// Null where no run has that name: the run on top counts then.
const OpenRun* run_named(Session& session, const RunName& name) {
  if (name.first.empty()) return nullptr;
  for (const OpenRun& open : session.runs)
    if (name_of_run(session, open) == name) return &open;
  return nullptr;
}

bool shows_all(const Session& session) {
  const Span all = span_of_runs(session);
  return session.view.range.start <= static_cast<double>(all.start) &&
         session.view.range.end >= static_cast<double>(all.end);
}

/// True if the window is as it started without a file.
bool shows_example_only(Session& session) {
  const auto& config = session.part<ConfigModel>();
  return session.runs.size() == 1 && session.runs.front().live && config.file().empty() &&
         !config.unsaved() && session.part<ScheduleEditor>().edited().empty();
}

void close_all(Session& session) {
  auto& snapshots = session.part<Snapshots>();
  while (!snapshots.all().empty()) snapshots.remove(session, std::string(snapshots.all().back().name));
  auto& table = session.part<ScheduleTable>();
  for (std::size_t i = session.runs.size(); i-- > 0;) {
    if (session.runs[i].live) continue;
    const std::string schedule = table.schedule_of(session.runs[i].run->id);
    schedule.empty() ? session.close_run(i) : table.tick(session, schedule, false);
  }
  session.marks.clear();
  session.selection.clear();
  session.range.reset();
}

}  // namespace

Gathered gather(Session& session) {
  Gathered out;
  Workspace& workspace = out.workspace;
  const auto& config = session.part<ConfigModel>();
  for (const OpenRun& open : session.runs) {
    if (open.live) {
      workspace.configuration = config.assignments();
      workspace.configuration_file = absolute_path(config.file());
      continue;
    }
    const auto& [kind, name] = name_of_run(session, open);
    if (kind == "schedule") workspace.schedules.push_back(name);
    if (kind == "file") workspace.files.push_back(name);
    if (kind.empty()) out.left_out.push_back(open.title());
  }
  for (const Snapshot& each : session.part<Snapshots>().all())
    workspace.snapshots.push_back({each.name, each.config, each.shown});
  workspace.edits = edits_of(session);
  if (const OpenRun* baseline = session.baseline_run(); baseline != nullptr && session.baseline != 0)
    workspace.baseline = name_of_run(session, *baseline);
  if (session.active > 0 && session.active < session.runs.size())
    workspace.active = name_of_run(session, session.runs[session.active]);
  if (const RunModel* run = session.active_run()) workspace.unit = run->timeline.unit;
  if (!session.runs.empty() && !shows_all(session)) {
    const Ticks start = std::max<Ticks>(0, nearest_tick(session.view.range.start));
    workspace.range = MeasuredRange{start, std::max(start + 1, nearest_tick(session.view.range.end))};
  }
  workspace.marks = session.marks;
  workspace.view = session.view;
  workspace.layout = layout_of(session.preferences);
  return out;
}

void Workspaces::open(Session& session, const std::string& path) {
  open_text(session, path, io::read_file(path, kMaxWorkspaceBytes));
}

void Workspaces::open_text(Session& session, const std::string& path, std::string_view text) {
  Workspace workspace = read_workspace(text, path);
  flush(session);  // writes the last changes of the old workspace
  path_ = path;
  stamp_ = stamp_of(path);
  locked_ = false;
  add_recent(session.preferences, path);
  begin(session, std::move(workspace));
}

void Workspaces::begin(Session& session, Workspace workspace) {
  session.jobs.cancel("open workspace");  // of one that was still opening
  under_way_ = false;
  schedules_ticked_ = false;
  session.part<ScheduleEditor>().discard_all(session);
  close_all(session);
  steps_.clear();
  problem_.clear();
  missing_ = {};
  for (KeptSnapshot& snapshot : workspace.snapshots) steps_.push_back({std::move(snapshot), ""});
  for (const std::string& file : workspace.files) steps_.push_back({{}, file});
  opening_ = std::move(workspace);
  finishing_ = true;
  take_layout(session.preferences, opening_.layout);
  auto& config = session.part<ConfigModel>();
  if (opening_.configuration) {
    config.take_up(session, opening_.configuration_file, *opening_.configuration);
    return;
  }
  config.leave_out_example(session);
  for (std::size_t i = session.runs.size(); i-- > 0;)
    if (session.runs[i].live) session.close_run(i);
}

/// One after the other, so that they stack in the order in which they stood.
void Workspaces::take_step(Session& session) {
  under_way_ = true;
  auto step = std::make_shared<const Step>(std::move(steps_.front()));
  steps_.pop_front();
  session.jobs.submit("open workspace", [this, &session, step](const Cancelled& cancelled) -> Jobs::Finish {
    const bool of_file = !step->file.empty();
    auto opened = std::make_shared<const OpenedFile>(
        of_file
            ? read_run_file(step->file, Configurations::Simulate, cancelled)
            : read_run_text(config_text(step->snapshot.config), "-", Configurations::Simulate, cancelled));
    return [this, &session, step, opened, of_file] {
      under_way_ = false;
      if (!opened->run) {
        of_file ? missing_.files.push_back(step->file) : missing_.snapshots.push_back(step->snapshot);
        problem_ = opened->problem.empty() ? step->file + ": error: it holds no run" : opened->problem;
      } else if (of_file) {
        session.add_run(opened->run, true);
      } else {
        session.part<Snapshots>().put(
            {step->snapshot.name, opened->run, step->snapshot.config, step->snapshot.shown});
      }
    };
  });
}

/// The edits of one run, each once those before are simulated; the run under edit comes last, and stays so.
void Workspaces::take_edits(Session& session) {
  const KeptEdits edits = std::move(opening_.edits.front());
  opening_.edits.erase(opening_.edits.begin());
  try {
    restore_edits(session, edits,
                  edits.of.first.empty() ? live_run_of(session) : run_named(session, edits.of));
  } catch (const Error& error) {
    problem_ = error.line();
  }
}

/// Restores the things that refer to runs, once all runs are there.
void Workspaces::finish(Session& session) {
  finishing_ = false;
  const OpenRun* const active = run_named(session, opening_.active);
  session.active = active == nullptr ? 0 : static_cast<std::size_t>(active - session.runs.data());
  const OpenRun* const baseline = run_named(session, opening_.baseline);
  session.baseline = baseline == nullptr ? 0 : baseline->run->id;
  take_view(session.view, opening_.view);
  for (const Mark& mark : opening_.marks) add_mark(session, mark);
  fit_all(session);
  if (opening_.range)
    show_range(session,
               {static_cast<double>(opening_.range->start), static_cast<double>(opening_.range->end)});
  if (problem_.empty())
    session.say(fmt::format("opened {}", path_.empty() ? "what the window showed last" : path_));
  else
    session.say(problem_, MessageKind::Problem);
  opening_ = {};
  saved_ = workspace_text(gathered(session).workspace, target());
}

Gathered Workspaces::gathered(Session& session) const {
  Gathered out = gather(session);
  Workspace& workspace = out.workspace;
  workspace.files.insert(workspace.files.end(), missing_.files.begin(), missing_.files.end());
  for (const KeptSnapshot& snapshot : missing_.snapshots) {
    const auto same = [&](const KeptSnapshot& other) { return other.name == snapshot.name; };
    if (std::ranges::none_of(workspace.snapshots, same)) workspace.snapshots.push_back(snapshot);
  }
  return out;
}

void Workspaces::save(Session& session, const std::string& path, io::Overwrite overwrite) {
  const std::string& to = path.empty() ? path_ : path;
  if (to.empty())
    throw InputError(Where{"save-workspace"}, "no file is named; name one, such as study.pipeloom");
  if (to == path_ && !locked_ && is_changed_by_others()) throw give_way();
  const Gathered now = gathered(session);
  std::string text = workspace_text(now.workspace, to);
  io::write_file(to, to == path_ ? io::Overwrite::Yes : overwrite, [&](std::ostream& out) { out << text; });
  path_ = to;
  stamp_ = stamp_of(to);
  saved_ = std::move(text);
  locked_ = false;
  add_recent(session.preferences, to);
  if (now.left_out.empty()) return session.say(fmt::format("saved {}; it follows what you do", to));
  session.say(fmt::format("saved {} without {}: edited by hand and in no file; save-schedule keeps it", to,
                          fmt::join(now.left_out, ", ")));
}

void Workspaces::keep_last(const std::string& path) {
  last_path_ = path;
  if (path.empty()) return;
  try {
    last_text_ = io::read_file(path, kMaxWorkspaceBytes);
  } catch (const Error&) {
    last_text_.clear();  // there was no session before
  }
}

void Workspaces::reopen_last(Session& session) {
  if (last_text_.empty())
    throw InputError(Where{"reopen-last"}, "nothing is known of a session before this one");
  Workspace workspace = read_workspace(last_text_, last_path_);
  path_.clear();
  begin(session, std::move(workspace));
}

bool Workspaces::is_changed_by_others() const {
  const std::optional<FileStamp> now = path_.empty() ? std::nullopt : stamp_of(path_);
  return now && now != stamp_;
}

InputError Workspaces::give_way() {
  locked_ = true;
  return {Where{path_},
          "somebody else has written this workspace, and it stays as it is; open it to go on from there, or "
          "save it again to replace it"};
}

void Workspaces::write(Session& session) {
  if (target().empty() || locked_) return;
  if (is_changed_by_others()) return session.say(give_way().line(), MessageKind::Problem);
  std::string now = workspace_text(gathered(session).workspace, target());
  if (saved_.empty() && shows_example_only(session)) saved_ = now;  // an unchanged window need not be kept
  if (now == saved_) return;
  saved_ = std::move(now);
  try {
    if (path_.empty()) {
      std::error_code error;
      std::filesystem::create_directories(std::filesystem::path(last_path_).parent_path(), error);
    }
    io::write_file(target(), io::Overwrite::Yes, [&](std::ostream& out) { out << saved_; });
    if (!path_.empty()) stamp_ = stamp_of(path_);
  } catch (const Error& error) {
    locked_ = true;
    session.say(error.line() + "; the workspace is not written any more until it is saved",
                MessageKind::Problem);
  }
}

void Workspaces::flush(Session& session) {
  if (idle() && !session.runs.empty()) write(session);
}

bool Workspaces::update(Session& session) {
  if (finishing_) {
    if (under_way_ || session.part<ConfigModel>().pending()) return false;
    if (!steps_.empty()) {
      take_step(session);
      return true;
    }
    // The table runs them from its next update on.
    auto& table = session.part<ScheduleTable>();
    if (!std::exchange(schedules_ticked_, true)) {
      for (const std::string& schedule : opening_.schedules) table.tick(session, schedule, true);
      return true;
    }
    if (!session.jobs.idle()) return false;
    if (!opening_.edits.empty()) {
      take_edits(session);
      return true;
    }
    finish(session);
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < next_write_ || !session.jobs.idle() || session.runs.empty()) return false;
  next_write_ = now + kBetweenWrites;
  write(session);
  return false;
}

void Workspaces::stop(Session& session) {
  session.jobs.cancel("open workspace");
  steps_.clear();
  under_way_ = false;
  // Only a part has been opened, so it must not be written over the whole.
  if (std::exchange(finishing_, false)) path_.clear();
}

void Workspaces::write_state(const Session&, io::JsonWriter& out) const {
  out.object().member("file", path_).member("opening", finishing_).close();
}

}  // namespace pipeloom::gui
