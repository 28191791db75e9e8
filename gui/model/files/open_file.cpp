#include "gui/model/files/open_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <utility>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/files/workspace_file.hpp"
#include "gui/model/panels/problems.hpp"
#include "gui/model/panels/sweep_model.hpp"
#include "gui/model/run/build_run.hpp"
#include "gui/model/session/session.hpp"
#include "schedules/generator.hpp"
#include "sim/analysis/validate.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/cost/bind.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/range_names.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "study/run/input.hpp"

namespace pipeloom::gui {
namespace {

/// The last name in a path, also of a folder whose path ends with a slash.
std::string name_of_file(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

OpenedFile run_of(RunPtr run) {
  OpenedFile out;
  out.kind = OpenedFile::Kind::Run;
  out.run = std::move(run);
  return out;
}

/// A schedule that is sound runs; one that only hangs shows how far it gets; any other is refused with its first fault.
RunPtr open_schedule(const study::Input& input, const Cancelled& cancelled) {
  const std::string title = name_of_file(input.name);
  require_shown(input.schedule->ranks(), static_cast<double>(input.schedule->num_ops()), title);
  if (const auto structure = validate_structure(*input.schedule); !structure.empty())
    throw ScheduleError(io::SchedulePlaces(input.text, input.name).of(structure.front()),
                        structure.front().message);
  if (find_hang(*input.schedule)) {
    cost::ResolvedCosts resolved = cost::resolve(input.config.costs, *input.schedule);
    cost::bind_costs(resolved.costs, resolved.ops, *input.schedule);
    return build_hanging_run(input.schedule, resolved.costs, title, RunSource::ScheduleFile, input.name);
  }
  return build_run(study::evaluate(input, window_limits(cancelled)), title, RunSource::ScheduleFile,
                   input.name);
}

RunPtr open_times(Timeline timeline, const std::string& path, std::vector<std::string> warnings,
                  const std::vector<io::TracedMessage>& messages, const Recorded& recorded) {
  const std::string title = name_of_file(path);
  require_shown(timeline.schedule->ranks(), static_cast<double>(timeline.start.size()), title);
  return build_timed_run(std::move(timeline), title, path, std::move(warnings), messages, recorded);
}

RunPtr open_timeline(const std::string& text, const std::string& path, TimeUnit unit) {
  io::TimelineFile read = study::read_times(text, path, unit, io::Partial::LastStep);
  const std::string failure = io::failure_of_partial(text);
  Recorded recorded;
  if (!failure.empty()) {
    read.warnings.push_back(
        fmt::format("{}: the run that wrote it failed ({}); its last step is shown as far as it got", path,
                    shortened(failure, 256)));
    recorded = {"the run failed", true};
  }
  return open_times(std::move(read.timeline), path, std::move(read.warnings), {}, recorded);
}

std::string ends_early(const std::vector<std::int32_t>& ranks) {
  if (ranks.empty()) return {};
  return ranks.size() == 1 ? fmt::format("rank {} ends early", ranks.front())
                           : fmt::format("{} ranks end early", ranks.size());
}

/// Reads a trace with the mapping that gives its ranges' names a meaning, if one fits: traces without names of their own, and those whose
/// names are known, are read without it.
io::Trace read_trace_with(const std::string& path, const std::string& mapping) {
  if (mapping.empty()) return io::read_trace({path});
  try {
    return io::read_trace({path}, {.from = {}, .mapping = mapping});
  } catch (const InputError&) {
    return io::read_trace({path});
  }
}

/// A user who chooses the file of one rank wants the whole run.
RunPtr open_trace(const std::string& path, const std::string& mapping) {
  const std::string whole = io::whole_trace_of(path);
  io::TraceRun read = io::assemble(read_trace_with(whole, mapping), io::Partial::LastStep);
  return open_times(std::move(read.timeline), whole, std::move(read.warnings), read.messages,
                    {ends_early(read.truncated), read.is_cut});
}

/// A mapping is checked when it is opened, not when a trace wants it.
OpenedFile open_mapping(const std::string& path) {
  const io::RangeNames names(path);
  OpenedFile out;
  out.kind = OpenedFile::Kind::Mapping;
  return out;
}

OpenedFile open_text(std::string text, const std::string& path, Configurations configurations,
                     const Cancelled& cancelled, TimeUnit unit) {
  if (looks_like_workspace(text)) return {.kind = OpenedFile::Kind::Workspace, .text = std::move(text)};
  if (io::looks_like_timeline(text)) return run_of(open_timeline(text, path, unit));
  if (io::looks_like_mapping(text)) return open_mapping(path);
  Request texts;
  texts.file = path;
  texts.text = text;
  const study::Input input = study::read_input(texts);
  if (input.schedule) return run_of(open_schedule(input, cancelled));
  OpenedFile out;
  out.kind = OpenedFile::Kind::Configuration;
  out.text = std::move(text);
  if (configurations == Configurations::Read) return out;
  require_shown(input.config);
  Run run = study::evaluate(input, window_limits(cancelled));
  std::string title = title_of(*run.effective);
  out.run = build_run(std::move(run), std::move(title), RunSource::Configuration, path);
  return out;
}

OpenedFile problem_of(std::string line) {
  OpenedFile out;
  out.problem = std::move(line);
  return out;
}

OpenedFile read_sweep(const std::string& path, const Cancelled& cancelled) {
  OpenedFile out;
  out.kind = OpenedFile::Kind::Sweep;
  out.sweep = std::make_shared<const sweep::ResultTable>(
      sweep::ResultTable::read(path, [&cancelled] { return static_cast<bool>(cancelled); }));
  return out;
}

OpenedFile out_of_memory(const std::string& path) {
  return problem_of(fmt::format("{}: error: out of memory; it is too large for this machine", path));
}

/// Timelines are long: 1e6 ops are some 60 MB.
constexpr std::size_t kMaxFile = std::size_t{2} << 30;

}  // namespace

OpenedFile read_run_text(std::string text, const std::string& path, Configurations configurations,
                         const Cancelled& cancelled, TimeUnit unit) {
  try {
    return open_text(std::move(text), path, configurations, cancelled, unit);
  } catch (const Error& error) {
    return problem_of(error.line());
  } catch (const Stopped& ended) {
    return problem_of(fmt::format("{}: {}", path, ended.what()));
  } catch (const std::bad_alloc&) {
    return out_of_memory(path);
  }
}

OpenedFile read_run_file(const std::string& path, Configurations configurations, const Cancelled& cancelled,
                         const ReadHints& hints) {
  try {
    if (io::is_trace(path)) return run_of(open_trace(path, hints.mapping));
    if (sweep::is_result_file(path)) return read_sweep(path, cancelled);
    return read_run_text(io::read_file(path, kMaxFile), path, configurations, cancelled, hints.unit);
  } catch (const Error& error) {
    return problem_of(error.line());
  } catch (const std::bad_alloc&) {
    return out_of_memory(path);
  }
}

namespace {

/// The unit of timelines that do not state theirs: that of the first run on screen that is of another file, as in `pipeloom compare`.
TimeUnit unit_beside(const Session& session, const std::string& path) {
  for (const OpenRun& open : session.runs)
    if (open.live || open.run->file != path) return open.run->timeline.unit;
  return TimeUnit::Unit;
}

}  // namespace

ReadHints FileOpener::hints_beside(const Session& session, const std::string& path) const {
  return {unit_beside(session, path), mapping_};
}

/// The trace that could not be read without it is read again.
void FileOpener::take_mapping(Session& session, const std::string& path) {
  mapping_ = path;
  session.say(fmt::format("{} says what the names of ranges mean; traces are opened with it", path));
  const auto [trace, compared] = std::exchange(refused_trace_, {});
  if (!trace.empty()) open(session, trace, compared);
}

void FileOpener::open(Session& session, const std::string& path, bool compared) {
  session.say(fmt::format("opening {}", path));
  // The panel that edits a configuration simulates it itself.
  const auto todo = compared ? Configurations::Simulate : Configurations::Read;
  session.jobs.submit(
      "open/" + path,
      [this, &session, path, compared, todo,
       hints = hints_beside(session, path)](const Cancelled& cancelled) -> Jobs::Finish {
        auto opened = std::make_shared<OpenedFile>(read_run_file(path, todo, cancelled, hints));
        return [this, &session, path, compared, opened] { finish(session, *opened, path, compared); };
      });
}

void FileOpener::open_named(const std::vector<std::string>& paths) {
  for (std::vector<std::string>& of_run : study::files_by_run(paths, {}))
    named_.push_back(std::move(of_run.front()));
}

/// One after the other: each takes its place below those before it, and the kind of a file decides how the next is read.
bool FileOpener::update(Session& session) {
  if (named_.empty() || named_under_way_) return false;
  if (edits_named_ && session.part<ConfigModel>().pending()) return false;
  const std::string path = std::move(named_.front());
  named_.pop_front();
  named_under_way_ = true;
  if (session.message.kind != MessageKind::Problem) session.say(fmt::format("opening {}", path));
  const auto todo = edits_named_ ? Configurations::Simulate : Configurations::Read;
  session.jobs.submit("open named",
                      [this, &session, path, todo,
                       hints = hints_beside(session, path)](const Cancelled& cancelled) -> Jobs::Finish {
                        auto opened =
                            std::make_shared<OpenedFile>(read_run_file(path, todo, cancelled, hints));
                        return [this, &session, path, opened] { finish_named(session, *opened, path); };
                      });
  return true;
}

void FileOpener::stop(Session& session) {
  session.jobs.cancel_all("open");
  named_.clear();
  named_under_way_ = false;
}

void FileOpener::finish_named(Session& session, const OpenedFile& opened, const std::string& path) {
  edits_named_ = edits_named_ || (opened.kind == OpenedFile::Kind::Configuration && !opened.run);
  const Message before = session.message;
  finish(session, opened, path, !session.runs.empty());
  // The opening of another file does not hide the problem of the previous one.
  if (before.kind == MessageKind::Problem) session.message = before;
  named_under_way_ = false;
}

namespace {

/// Opens the explanation for a measured run next to a prediction: how they differ is the first question.
void offer_explanation(Session& session, const RunModel& opened) {
  const bool beside = std::any_of(session.runs.begin(), session.runs.end(),
                                  [](const OpenRun& open) { return open.run->costs != nullptr; });
  if (opened.source == RunSource::TimelineFile && beside) session.preferences.panels["explain"] = true;
}

/// A path that is open already is read again in its place.
bool replace_open(Session& session, const std::string& path, const RunPtr& run) {
  for (OpenRun& open : session.runs) {
    if (open.live || open.run->file != path) continue;
    open.run = run;
    return true;
  }
  return false;
}

/// A run that is opened takes the place of the example of the first start, unless it was edited.
void put_on_top(Session& session, RunPtr run) {
  session.part<ConfigModel>().leave_out_example(session);
  session.add_run(std::move(run), false);
  std::rotate(session.runs.begin(), session.runs.end() - 1, session.runs.end());
  session.active = 0;
}

/// A file is taken whole or not at all.
void edit_configuration(Session& session, const OpenedFile& opened, const std::string& path) {
  try {
    session.part<ConfigModel>().load(session, path, opened.text);
  } catch (const Error& error) {
    session.say(error.line(), MessageKind::Problem);
  }
}

}  // namespace

void FileOpener::finish(Session& session, const OpenedFile& opened, const std::string& path, bool compared) {
  if (opened.kind == OpenedFile::Kind::Mapping) return take_mapping(session, path);
  if (opened.kind == OpenedFile::Kind::Problem) {
    if (io::is_trace(path)) refused_trace_ = {path, compared};
    session.part<Problems>().show_file(session, path);  // all that is wrong; the message is the first of it
    return session.say(opened.problem, MessageKind::Problem);
  }
  if (opened.kind == OpenedFile::Kind::Workspace) {
    try {
      return on_workspace(session, path, opened.text);
    } catch (const Error& error) {
      return session.say(error.line(), MessageKind::Problem);
    }
  }
  session.part<Problems>().forget_file(path);
  // The file of one rank has opened its trace.
  const std::string& shown = opened.run ? opened.run->file : path;
  const bool broken = opened.run && !opened.run->partial.empty() && !opened.run->warnings.empty();
  session.say(broken ? fmt::format("opened {}; {}", shown, opened.run->warnings.front())
                     : fmt::format("opened {}", shown));
  if (opened.kind == OpenedFile::Kind::Sweep) session.part<ConfigModel>().leave_out_example(session);
  if (opened.kind == OpenedFile::Kind::Sweep)
    session.part<SweepModel>().show(session, path, opened.sweep);
  else if (!opened.run)
    edit_configuration(session, opened, path);
  else if (!replace_open(session, shown, opened.run))
    compared ? session.add_run(opened.run, true) : put_on_top(session, opened.run);
  if (opened.run) offer_explanation(session, *opened.run);
  for (const auto& tell : on_opened) tell(session, shown);
}

void open_path(Session& session, const std::string& path, bool compared) {
  session.part<FileOpener>().open(session, path, compared);
}

}  // namespace pipeloom::gui
