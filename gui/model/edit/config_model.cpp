#include "gui/model/edit/config_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "gui/model/edit/param_words.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/edit/shown_costs.hpp"
#include "gui/model/run/build_run.hpp"
#include "schedules/generator.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/messages.hpp"

namespace pipeloom::gui {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKnown = "showcase.json";

/// The folder, "" if there is none: from the program's place upwards, as it is installed or built.
fs::path find_folder() {
  if (const char* named = std::getenv("PIPELOOM_CONFIGS")) return named;
  std::error_code ignored;
  fs::path at = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (int level = 0; level < 6 && !at.empty(); ++level) {
    for (const fs::path& folder : {at / "share/pipeloom/configs", at / "configs"})
      if (fs::is_regular_file(folder / kKnown, ignored)) return folder;
    if (at == at.root_path()) break;
    at = at.parent_path();
  }
  return {};
}

const fs::path& folder() {
  static const fs::path found = find_folder();
  return found;
}

/// Suites and baselines are JSON too, but no configurations, and so are devices, models and what is swept.
bool is_configuration(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.extension() == ".json" && name.find("suite") == std::string::npos &&
         name.find("baseline") == std::string::npos;
}

bool holds_configurations(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name != "hardware" && name != "models" && name != "refused" && name != "sweeps";
}

std::vector<std::string> find_presets() {
  std::vector<std::string> names;
  std::error_code ignored;
  if (folder().empty()) return names;
  for (fs::recursive_directory_iterator it(folder(), ignored), end; it != end; it.increment(ignored)) {
    if (it->is_directory(ignored) && !holds_configurations(it->path())) it.disable_recursion_pending();
    if (it->is_regular_file(ignored) && is_configuration(it->path()))
      names.push_back(fs::relative(it->path(), folder(), ignored).replace_extension().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The file of a preset.
std::string preset_path(const std::string& name) {
  return (folder() / (name + ".json")).string();
}

/// Edits of one key that follow each other faster than this are one gesture: a slider that is dragged, a button held down.
constexpr std::chrono::milliseconds kGesture{700};
constexpr std::size_t kUndoSteps = 500;

/// The example of the very first start: the textbook's schedule, small enough to count along.
const Assignments kExample = {{"schedule", "\"1f1b\""}, {"ranks", "4"}, {"microbatches", "8"}};

/// The result of a simulation.
struct Outcome {
  ShownRun shown;
  std::string problem;
  std::vector<Fix> fixes;
  std::vector<Refusal> refusals = {};
};

/// "costs.transfer.queue=per-pair".
std::vector<Fix> fix_of_remedy(const std::string& remedy) {
  const std::size_t equals = remedy.find('=');
  if (equals == std::string::npos) return {};
  io::Document document;
  document.set(remedy.substr(0, equals), remedy.substr(equals + 1), "remedy");
  Fix fix{remedy, {}};
  for (auto& [path, value] : assignments_of(document.root())) fix.changes[path] = value;
  return {fix};
}

Outcome simulate_config(const Assignments& assignments, const std::string& file, const Cancelled& cancelled) {
  try {
    const io::Config config = config_of(assignments);
    require_shown(config);
    const Limits limits = window_limits(cancelled);
    Run run = study::evaluate(config, limits, study::Depth::Metrics);
    if (cancelled) return {};
    std::string title = title_of(*run.effective);
    return {build_shown(std::move(run), std::move(title), RunSource::Configuration, file, limits), "", {}};
  } catch (const study::MessageProblem& problem) {
    return {{}, problem.line(), fix_of_remedy(problem.remedy())};
  } catch (const Error& error) {
    return {{}, error.line(), find_fixes(assignments, cancelled), find_refusals(assignments)};
  } catch (const Stopped&) {
    return {};
  } catch (const std::bad_alloc&) {
    return {{}, "error: out of memory; make the run smaller", {}};
  }
}

/// Removes "error: ", before or after the place: a panel does not need it.
std::string without_prefix(std::string text) {
  const std::string_view word = "error: ";
  const std::size_t at = text.find(word);
  if (at != std::string::npos) text.erase(at, word.size());
  return text;
}

/// An object without one of its members.
std::string without_member(const std::string& json, std::string_view name) {
  const io::Document object = io::Document::parse(json, "configuration");
  const io::Value& members = object.root();
  return io::written_json(io::kPackedStyle, [&](io::JsonWriter& out) {
    out.object();
    for (std::size_t i = 0; i < members.keys().size(); ++i)
      if (const std::string& key = members.keys()[i].name; key != name)
        out.key(key).raw(members.items()[i].canonical_text());
    out.close();
  });
}

/// Texts of files, which mean something relative to the configuration's own folder, from anywhere.
void resolve_files(Assignments& assignments, const std::string& path) {
  for (const char* key : {"options.file", "costs"}) {
    const auto found = assignments.find(key);
    if (found == assignments.end()) continue;
    const std::optional<io::Value> value = io::read_json(found->second);
    if (value && value->is(io::ValueKind::String))
      found->second = io::json_string(io::relative_to(path, value->text()));
  }
}

/// The kinds whose durations have fields.
KindSet kinds_of_live_run(const Session& session) {
  for (const OpenRun& open : session.runs)
    if (open.live) return open.run->schedule->kinds();
  return {OpKind::Forward, OpKind::Backward};
}

}  // namespace

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = find_presets();
  return names;
}

ConfigModel::ConfigModel(Session& session) : now_(kExample), saved_(kExample) {
  (void)ConfigModel::update(session);
}

const Refusal* ConfigModel::refusal_of(const io::Key& key) const {
  const auto found = std::ranges::find(refusals_, &key, &Refusal::key);
  return found == refusals_.end() ? nullptr : &*found;
}

bool ConfigModel::outdated() const {
  constexpr std::chrono::milliseconds kWhile{400};
  return !problem_.empty() || (pending() && std::chrono::steady_clock::now() - last_edit_at_ > kWhile);
}

bool ConfigModel::update(Session& session) {
  // The example is for a start without a configuration.
  if (started_ || session.run_comes()) return false;
  simulate(session);
  return true;
}

std::string ConfigModel::value(const std::string& path) const {
  const auto found = now_.find(path);
  if (found != now_.end()) return shown_value(found->second);
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {};
  const auto parent = now_.find(path.substr(0, dot));
  if (parent == now_.end() || !parent->second.starts_with('{')) return {};
  const std::optional<io::Value> members = io::read_json(parent->second);
  const io::Value* member = members ? members->find(path.substr(dot + 1)) : nullptr;
  return member == nullptr ? std::string() : shown_value(member->canonical_text());
}

void ConfigModel::change(Session& session, Assignments next, const std::string& gesture, Growth growth) {
  // Without a run under edit, the same values bring it.
  const bool on_screen = pending() || std::ranges::any_of(session.runs, &OpenRun::live);
  if (next == now_ && started_ && on_screen) return;
  const auto now = std::chrono::steady_clock::now();
  const bool soon = growth == Growth::WhileHeld || now - last_edit_at_ < kGesture;
  const bool grows = !gesture.empty() && gesture == gesture_ && soon && !undo_.empty();
  // Nothing was there before the first simulation that an undo could bring back.
  if (!grows && started_ && next != now_) {
    undo_.push_back(now_);
    session.part<EditHistory>().note(*this);
  }
  if (undo_.size() > kUndoSteps) undo_.erase(undo_.begin());
  redo_.clear();
  gesture_ = gesture;
  last_edit_at_ = now;
  now_ = std::move(next);
  simulate(session);
}

void ConfigModel::set(Session& session, const std::string& path, const std::string& text) {
  const bool element = !path.empty() && io::find_config_key(path.substr(0, path.rfind('.'))) != nullptr;
  if (io::find_config_key(path) == nullptr && !element) {
    std::vector<std::string> names;
    for (const io::Key& key : io::config_keys()) names.emplace_back(key.path);
    throw InputError::unknown_name(Where{"set"}, "key", path, names);
  }
  // The reader of --set knows paths into arrays and tables; its result is taken apart again.
  io::Document document = io::Document::parse(config_text(now_), "configuration");
  const io::Key* key = io::find_config_key(path);
  document.set(path, key == nullptr ? text : plain_count(*key, text), path);
  change(session, with_shown_costs(now_, assignments_of(document.root()), path, kinds_of_live_run(session)),
         path);
}

void ConfigModel::reset(Session& session, const std::string& path) {
  Assignments next = without_key(now_, path);
  const std::size_t dot = std::min(path.rfind('.'), path.size());
  const auto parent = next.find(path.substr(0, dot));
  if (dot < path.size() && parent != next.end() && parent->second.starts_with('{')) {
    parent->second = without_member(parent->second, path.substr(dot + 1));
    if (parent->second == "{}") next.erase(parent);
  }
  change(session, std::move(next), path);
}

void ConfigModel::replace(Session& session, Assignments next) {
  change(session, std::move(next), "");
}

void ConfigModel::replace_held(Session& session, Assignments next, std::uint64_t gesture) {
  change(session, std::move(next), fmt::format("held {}", gesture), Growth::WhileHeld);
}

void ConfigModel::start_anew(Session& session) {
  file_.clear();
  saved_ = kExample;
  change(session, kExample, "");
}

void ConfigModel::take_fix(Session& session, std::size_t index) {
  change(session, with_fix(now_, fixes_.at(index)), "");
}

void ConfigModel::step(Session& session, std::vector<Assignments>& from, std::vector<Assignments>& to) {
  if (from.empty()) return;
  to.push_back(std::exchange(now_, std::move(from.back())));
  from.pop_back();
  gesture_.clear();
  if (!take_edits_back(session)) simulate(session);
}

/// Steps lead to parameters that had a run with edits of its own: that run is there again, and nothing is simulated.
bool ConfigModel::take_edits_back(Session& session) {
  if (!session.part<ScheduleEditor>().take_back(session, now_)) return false;
  session.jobs.cancel("simulate");
  on_screen_ = now_;
  shown_revision_ = ++revision_;
  problem_.clear();
  fixes_.clear();
  refusals_.clear();
  return true;
}

void ConfigModel::undo(Session& session) {
  step(session, undo_, redo_);
}

void ConfigModel::redo(Session& session) {
  step(session, redo_, undo_);
}

void ConfigModel::load(Session& session, const std::string& path, const std::string& text) {
  const io::Document document = io::Document::parse(text, path);
  (void)io::read_run_config(document.root());  // a file is taken whole or not at all
  Assignments next = assignments_of(document.root());
  resolve_files(next, path);
  file_ = path;
  saved_ = next;
  change(session, std::move(next), "");
}

void ConfigModel::save(Session& session, const std::string& path, io::Overwrite overwrite) {
  const std::string target = path.empty() ? file_ : path;
  if (target.empty()) throw InputError(Where{"save-configuration"}, "name the file to save to");
  const std::string text = config_text(now_);
  // The file that the configuration came from is its own.
  const io::Overwrite may = target == file_ ? io::Overwrite::Yes : overwrite;
  io::write_file(target, may, [&text](std::ostream& out) { out << text; });
  file_ = target;
  saved_ = now_;
  session.say(fmt::format("saved {}", target));
}

void ConfigModel::take_up(Session& session, const std::string& path, Assignments next) {
  file_ = path;
  saved_.clear();
  change(session, std::move(next), "");
}
void ConfigModel::load_preset(Session& session, const std::string& name) {
  if (std::ranges::find(preset_names(), name) == preset_names().end())
    throw InputError::unknown_name(Where{"preset"}, "preset", name, preset_names());
  const std::string path = preset_path(name);
  load(session, path, io::read_file(path));
}

void ConfigModel::simulate(Session& session) {
  ++revision_;
  started_ = true;
  session.jobs.cancel("schedules");  // its rows are of the configuration before
  session.jobs.cancel_all("analyse");
  session.jobs.submit(
      "simulate",
      [this, &session, revision = revision_, assignments = now_,
       file = file_](const Cancelled& cancelled) -> Jobs::Finish {
        auto outcome = std::make_shared<Outcome>(simulate_config(assignments, file, cancelled));
        return [this, &session, revision, outcome] {
          fixes_ = std::move(outcome->fixes);
          refusals_ = std::move(outcome->refusals);
          finish(session, revision, outcome->shown.run, outcome->problem);
          session.analyse(std::move(outcome->shown));
        };
      },
      Jobs::Turn::Next);
}

bool ConfigModel::is_example() const {
  return file_.empty() && now_ == kExample && undo_.empty() && redo_.empty();
}

std::string ConfigModel::name() const {
  const std::string schedule = value("schedule");
  if (!file_.empty()) return fmt::format("{} ({})", schedule, fs::path(file_).filename().string());
  return now_ == kExample ? schedule + " (example)" : schedule;
}

void ConfigModel::leave_out_example(Session& session) {
  const bool alone = session.runs.empty() || (session.runs.size() == 1 && session.runs[0].live &&
                                              session.runs[0].run->id == shown_run_);
  if (!is_example() || !alone) return;
  session.jobs.cancel("simulate");
  session.close_run(0);
  started_ = true;
  shown_revision_ = revision_;
}

void ConfigModel::stop(Session& session) {
  session.jobs.cancel("simulate");
  shown_revision_ = revision_;
}

void ConfigModel::finish(Session& session, std::uint64_t revision, RunPtr run, std::string problem) {
  shown_revision_ = revision;
  const std::string before = std::exchange(problem_, without_prefix(std::move(problem)));
  // The panel may be closed, and scripts judge a command by the session's message.
  if (!problem_.empty())
    session.say(problem_, MessageKind::Problem);
  else if (!before.empty() && session.message.text == before)
    session.say("");
  if (!run) return;
  session.part<ScheduleEditor>().set_aside(session, on_screen_);
  on_screen_ = now_;
  shown_run_ = run->id;
  session.show_live(std::move(run));
}

void ConfigModel::write_state(const Session&, io::JsonWriter& out) const {
  out.object().key("values").object();
  for (const auto& [path, text] : now_) {
    const std::optional<io::Value> value = io::read_json(text);
    out.key(path);
    value ? out.value(*value) : out.null();
  }
  out.close().member("problem", problem_).member("outdated", outdated()).key("refusals").object();
  for (const Refusal& refusal : refusals_)
    out.member(refusal.key->path, refusal_line(*refusal.key, refusal.text));
  out.close().key("fixes").array();
  for (const Fix& fix : fixes_) out.text(fix.label);
  out.close()
      .member("file", file_)
      .member("name", name())
      .member("unsaved", unsaved())
      .member("undo", undo_.size())
      .member("redo", redo_.size())
      .close();
}

std::string window_title(Session& session) {
  if (session.active >= session.runs.size()) return "Pipeloom";
  const OpenRun& run = session.runs[session.active];
  const auto& editor = session.part<ScheduleEditor>();
  const bool edited = editor.is_unsaved(session, run.run->id);
  const bool unsaved = edited || (run.live && session.part<ConfigModel>().unsaved());
  return fmt::format("{}{} - Pipeloom", unsaved ? "* " : "", run.title());
}

}  // namespace pipeloom::gui
