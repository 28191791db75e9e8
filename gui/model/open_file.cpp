#include "gui/model/open_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <utility>

#include "gui/model/build_run.hpp"
#include "gui/model/session.hpp"
#include "sim/io/file.hpp"
#include "sim/io/formats.hpp"
#include "sim/io/run_config.hpp"
#include "sim/io/schedule_json.hpp"
#include "sim/io/schedule_places.hpp"
#include "sim/io/timeline_reader.hpp"
#include "sim/simulator.hpp"
#include "sim/validate.hpp"
#include "study/evaluate.hpp"

namespace pipeloom::gui {
namespace {

std::string name_of_file(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// What costs and memory a schedule file runs with: the defaults, one unit of time per forward.
io::RunConfig default_costs() {
  return io::read_run_config(io::Document().root(), io::Needs::CostsOnly);
}

OpenedFile run_of(RunPtr run) {
  OpenedFile out;
  out.kind = OpenedFile::Kind::Run;
  out.run = std::move(run);
  return out;
}

/// A schedule that is sound runs; one that only hangs shows how far it gets; any other is refused with its first fault.
OpenedFile open_schedule(const io::Imported& imported, const std::string& text, const std::string& path) {
  const auto& schedule = imported.schedule;
  const io::RunConfig config = default_costs();
  const std::string title = name_of_file(path);
  if (const auto structure = validate_structure(*schedule); !structure.empty())
    throw ScheduleError(io::SchedulePlaces(text, path).of(structure.front()), structure.front().message);
  if (find_deadlock(*schedule)) {
    const Costs costs = cost::resolve(config.costs, *schedule).costs;
    return run_of(build_hanging_run(schedule, costs, title, RunSource::ScheduleFile, path));
  }
  study::Evaluation run = study::evaluate_schedule(schedule, title, config);
  run.warnings.insert(run.warnings.begin(), imported.warnings.begin(), imported.warnings.end());
  return run_of(build_run(std::move(run), title, RunSource::ScheduleFile, path));
}

/// The format that reads this text as a schedule; null for JSON, which may be a configuration too.
const io::Format* schedule_format(const std::string& text, const std::string& path) {
  const io::Format* format = io::format_by_content(text);
  if (format == nullptr) format = io::format_by_extension(path);
  return format != nullptr && format->read && format->name != "json" ? format : nullptr;
}

OpenedFile open_configuration(const io::Document& document, std::string text, const std::string& path) {
  OpenedFile out;
  out.kind = OpenedFile::Kind::Configuration;
  study::Evaluation run = study::evaluate(io::read_run_config(document.root()));
  std::string title = title_of(run.effective);
  out.run = build_run(std::move(run), std::move(title), RunSource::Configuration, path);
  out.text = std::move(text);
  return out;
}

OpenedFile open_text(std::string text, const std::string& path) {
  if (io::looks_like_timeline(text))
    return run_of(build_timed_run(io::read_timeline(text, path), name_of_file(path), path));
  if (const io::Format* format = schedule_format(text, path))
    return open_schedule(io::read_schedule(text, path, format->name), text, path);
  const io::Document document = io::Document::parse(text, path);
  if (!io::is_schedule_file(document.root())) return open_configuration(document, std::move(text), path);
  io::Imported imported;
  imported.schedule = std::make_shared<const Schedule>(io::read_schedule_json(document.root()));
  return open_schedule(imported, text, path);
}

OpenedFile problem_of(std::string line) {
  OpenedFile out;
  out.problem = std::move(line);
  return out;
}

/// Timelines are long: 1e6 ops are some 60 MB.
constexpr std::size_t kMaxFile = std::size_t{2} << 30;

}  // namespace

OpenedFile read_run_text(std::string text, const std::string& path) {
  try {
    return open_text(std::move(text), path);
  } catch (const Error& error) {
    return problem_of(error.line());
  } catch (const std::bad_alloc&) {
    return problem_of(fmt::format("{}: error: out of memory; the run is too large for this machine", path));
  }
}

OpenedFile read_run_file(const std::string& path) {
  try {
    return read_run_text(io::read_file(path, kMaxFile), path);
  } catch (const Error& error) {
    return problem_of(error.line());
  }
}

void FileOpener::open(Session& session, const std::string& path, bool compared) {
  session.say(fmt::format("opening {}", path));
  session.jobs.submit("open/" + path, [this, &session, path, compared](const Cancelled&) -> Jobs::Finish {
    auto opened = std::make_shared<OpenedFile>(read_run_file(path));
    return [this, &session, path, compared, opened] { finish(session, std::move(*opened), path, compared); };
  });
}

namespace {

/// A path that is open already is read again in its place.
bool replace_open(Session& session, const std::string& path, const RunPtr& run) {
  for (OpenRun& open : session.runs) {
    if (open.live || open.run->file != path) continue;
    open.run = run;
    return true;
  }
  return false;
}

void put_on_top(Session& session, RunPtr run) {
  session.add_run(std::move(run), false);
  std::rotate(session.runs.begin(), session.runs.end() - 1, session.runs.end());
  session.active = 0;
}

}  // namespace

void FileOpener::finish(Session& session, OpenedFile opened, const std::string& path, bool compared) {
  if (opened.kind == OpenedFile::Kind::Problem) return session.say(opened.problem, MessageKind::Problem);
  session.say(fmt::format("opened {}", path));
  if (opened.kind == OpenedFile::Kind::Configuration && on_configuration && !compared)
    on_configuration(session, opened, path);
  else if (!replace_open(session, path, opened.run))
    compared ? session.add_run(opened.run, true) : put_on_top(session, opened.run);
  for (const auto& tell : on_opened) tell(session, path);
}

void open_path(Session& session, const std::string& path, bool compared) {
  session.part<FileOpener>().open(session, path, compared);
}

}  // namespace pipeloom::gui
