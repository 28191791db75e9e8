#include "gui/model/panels/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/run/build_run.hpp"
#include "schedules/generator.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "sim/kinds.hpp"
#include "study/report/hang_page.hpp"
#include "study/report/run_tables.hpp"
#include "study/report/torch_page.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/messages.hpp"

namespace pipeloom::gui {
namespace {

/// "rank 2 is blocked at 2B0 and waits for ..": the window says of the op what it says of it in the picture.
std::string blocked(std::string line) {
  constexpr std::string_view kStands = " stands at ";
  if (const std::size_t at = line.find(kStands); at != std::string::npos)
    line.replace(at, kStands.size(), " is blocked at ");
  return line;
}

/// The edits' own report, whose schedule is on screen or would be.
ProblemReport examine_edit(const QueueSnapshot& queues, const EditOutcome& outcome, const Costs* costs) {
  ProblemReport out = examine_schedule(queues.build(), "", "", costs);
  if (!outcome.problem.empty()) {
    out.problems.push_back({Problem::Kind::Error, "edit", outcome.problem, "", {}, {}, {}});
    out.page = outcome.page;
  }
  return out;
}

void write_problem(io::JsonWriter& out, const Problem& problem) {
  constexpr std::string_view kKinds[] = {"error", "warning", "note"};
  out.object()
      .member("kind", kKinds[static_cast<std::size_t>(problem.kind)])
      .member("code", problem.code)
      .member("message", problem.message)
      .member("place", problem.place);
  out.key("rank");
  problem.rank ? out.number(problem.rank->value()) : out.null();
  out.key("op");
  problem.op ? out.quoted(*problem.op) : out.null();
  out.close();
}

/// The inputs of the panel: the run, the edits that were made to it, and a configuration that is refused.
struct Subject {
  std::uint64_t run = 0;
  std::uint64_t edit = 0;
  std::uint64_t config = 0;
  friend bool operator==(const Subject&, const Subject&) = default;
};

/// The configuration under edit, if anybody edits one.
const ConfigModel* config_model(const Session& session) {
  for (const auto& [type, part] : session.parts())
    if (type == typeid(ConfigModel)) return static_cast<const ConfigModel*>(part.get());
  return nullptr;
}

/// A configuration whose messages hang. A value that is refused is said at its field, and not once more here.
ProblemReport examine_assignments(const Assignments& assignments, const Cancelled& cancelled) {
  try {
    ProblemReport report = examine_configuration(config_of(assignments), cancelled);
    return report.hangs() ? report : ProblemReport{};
  } catch (const Error&) {
    return {};
  }
}

/// Problems of the configuration come first: the run on screen is an older one then.
ProblemReport merged_reports(ProblemReport first, ProblemReport second) {
  if (first.problems.empty()) return second;
  first.problems.insert(first.problems.end(), second.problems.begin(), second.problems.end());
  return first;
}

}  // namespace

std::size_t ProblemReport::errors() const {
  return static_cast<std::size_t>(std::count_if(problems.begin(), problems.end(), [](const Problem& problem) {
    return problem.kind == Problem::Kind::Error;
  }));
}

bool ProblemReport::hangs() const {
  return std::ranges::any_of(problems, [](const Problem& problem) { return problem.code.ends_with("hang"); });
}

bool Problems::update(Session& session) {
  const RunModel* run = session.active_run();
  const auto& editor = session.part<ScheduleEditor>();
  const ConfigModel* config = config_model(session);
  const bool edited =
      run != nullptr && editor.editing() && editor.shown() == run->id && editor.queues().num_edits() > 0;
  const bool is_refused = config != nullptr && !config->problem().empty() && !config->pending();
  const Subject now{run == nullptr ? 0 : run->id, edited ? editor.outcome().revision : 0,
                    is_refused ? config->revision() : 0};
  if (now == Subject{run_, edit_, config_}) return false;
  // The first run of a window that was started with a file that it cannot read was not chosen by the user.
  if (run_ != 0) refused_file_.clear();
  run_ = now.run;
  edit_ = now.edit;
  config_ = now.config;
  pending_ = true;
  session.jobs.submit(
      "problems",
      [this, &session, file = refused_file_,
       model = run == nullptr ? nullptr : session.runs[session.active].run,
       queues = edited ? editor.queues().snapshot() : QueueSnapshot{},
       outcome = edited ? editor.outcome() : EditOutcome{},
       assignments = is_refused ? std::optional(config->assignments())
                                : std::nullopt](const Cancelled& cancelled) -> Jobs::Finish {
        ProblemReport of_run;
        if (queues.base)
          of_run = examine_edit(queues, outcome, model ? model->costs.get() : nullptr);
        else if (model)
          of_run = examine_run(*model);
        if (!file.empty()) of_run = merged_reports(examine_file(file), std::move(of_run));
        auto report = std::make_shared<const ProblemReport>(
            assignments ? merged_reports(examine_assignments(*assignments, cancelled), std::move(of_run))
                        : std::move(of_run));
        return [this, &session, report] { take(session, report); };
      });
  return true;
}

/// Something that hangs brings the panel to the front. Other problems only count: the panel's word has their number.
void Problems::take(Session& session, std::shared_ptr<const ProblemReport> report) {
  if (report->hangs() && !report_->hangs()) session.show_panel("problems");
  report_ = std::move(report);
  pending_ = false;
  ++revision_;
}

void Problems::show_file(Session& session, const std::string& path) {
  pending_ = true;
  refused_file_ = path;
  session.jobs.submit("problems", [this, &session, path](const Cancelled&) -> Jobs::Finish {
    auto report = std::make_shared<const ProblemReport>(examine_file(path));
    return [this, &session, report] { take(session, report); };
  });
}

bool Problems::select(Session& session, std::size_t problem) {
  if (problem >= report_->problems.size()) return false;
  const Problem& chosen = report_->problems[problem];
  const RunModel* run = session.active_run();
  if (run == nullptr || !chosen.rank || !chosen.op || chosen.rank->value() >= run->ranks()) return false;
  const auto queue = run->schedule->queue(*chosen.rank);
  const auto found = std::find(queue.begin(), queue.end(), *chosen.op);
  if (found == queue.end()) return false;
  const auto index =
      run->schedule->queue_begin(*chosen.rank) + static_cast<std::size_t>(found - queue.begin());
  select_from_list(session, {run->id, index});
  return true;
}

void Problems::write_state(const Session&, io::JsonWriter& out) const {
  constexpr std::size_t kListed = 20;
  out.object().member("pending", pending_).member("errors", report_->errors()).key("list").array();
  for (std::size_t i = 0; i < std::min(report_->problems.size(), kListed); ++i)
    write_problem(out, report_->problems[i]);
  out.close().member("waits", report_->waits).key("cycle").array();
  for (const Rank rank : report_->cycle) out.number(rank.value());
  out.close().key("remedies").array();
  for (const Repair& repair : report_->repairs) out.text(repair_text(repair, report_->unit));
  out.close().member("setting", report_->setting).member("page", report_->page).close();
}

// Problems of schedules, runs and files: the work for the panel.

namespace {

Problem problem_of(Problem::Kind kind, std::string code, std::string message) {
  Problem out;
  out.kind = kind;
  out.code = std::move(code);
  out.message = std::move(message);
  return out;
}

Problem problem_of(const Diagnostic& diagnostic, const io::SchedulePlaces* places) {
  Problem out = problem_of(Problem::Kind::Error, diagnostic.code, diagnostic.message);
  if (places != nullptr) out.place = places->of(diagnostic).text();
  if (diagnostic.code == "more") return out;
  out.rank = diagnostic.rank;
  // A missing op is in no queue, yet its neighbours may be: the message names it.
  if (diagnostic.code.starts_with("missing") || diagnostic.code == "idle-rank") return out;
  out.op = diagnostic.op.with_joined(false);
  out.slot = diagnostic.slot;
  return out;
}

/// The step with the costs of the run; nothing where its ops have durations of their own, which do not follow a move.
std::optional<Ticks> price_of(const Schedule& schedule, const Costs* costs) {
  if (costs != nullptr && !costs->per_op.empty()) return std::nullopt;
  const Timeline timeline = simulate(std::make_shared<const Schedule>(schedule),
                                     costs != nullptr ? *costs : default_costs(schedule.placement()));
  return timeline.end.empty() ? Ticks{0} : *std::ranges::max_element(timeline.end);
}

Repair repair_by(std::vector<Move> moves, const Schedule& schedule, const Costs* costs) {
  Repair out{std::move(moves), {}, {}};
  Schedule changed = schedule;
  for (const Move& move : out.moves) {
    out.words.push_back(describe(move, changed));
    changed = with_move(changed, move);
  }
  out.step = price_of(changed, costs);
  return out;
}

/// Single moves, each simulated; where none lets it run, several in a row.
void find_repairs(const Schedule& schedule, const Costs* costs, ProblemReport& out) {
  constexpr std::size_t kBudget = 50'000'000;
  constexpr std::size_t kTried = 24;
  if (costs != nullptr) out.unit = costs->unit;
  for (const Move& move : find_single_moves(schedule, kTried, kBudget))
    out.repairs.push_back(repair_by({move}, schedule, costs));
  std::ranges::stable_sort(out.repairs, {}, [](const Repair& repair) { return repair.step.value_or(0); });
  if (out.repairs.size() > kMostRepairs) out.repairs.resize(kMostRepairs);
  if (!out.repairs.empty()) return;
  if (auto moves = find_unblocking_moves(schedule, kBudget); moves && !moves->empty())
    out.repairs.push_back(repair_by(*std::move(moves), schedule, costs));
}

void explain_hang(const Schedule& schedule, const Costs* costs, ProblemReport& out) {
  const auto hang = find_hang(schedule);
  if (!hang) return;
  for (const std::string& line : wait_lines(*hang, schedule)) out.waits.push_back(blocked(line));
  for (const std::size_t i : hang->cycle) out.cycle.push_back(hang->nodes[i].rank);
  out.grid = hang_grid(schedule, *hang);
  find_repairs(schedule, costs, out);
}

/// Adds PyTorch's verdict on its file, and problems of the messages of a lowered one.
void explain_torch(const std::string& text, const std::string& file, const std::string& format,
                   ProblemReport& out) {
  const auto findings = study::examine_torch(text, file, format);
  if (!findings) return;
  const io::SchedulePlaces places(text, file);
  for (const torch::Lint& lint : findings->lints) {
    Problem problem = problem_of(Problem::Kind::Error, lint.code, lint.message);
    problem.place = places.of_cell(lint.rank, lint.step).text();
    problem.rank = lint.rank;
    out.problems.push_back(std::move(problem));
  }
  if (findings->hangs()) {
    out.problems.push_back(problem_of(
        Problem::Kind::Error, std::string(study::hang_code(*findings)),
        study::hang_text(*findings) + torch::describe(*findings->dry_run->stuck, findings->lists)));
    out.page += study::lowered_hang_page(findings->lists, findings->verdict.rank_of_stage, false);
  }
  out.page += study::torch_page(*findings, false);
}

/// Problems of a schedule file whose text is there.
ProblemReport examine_text(const Schedule& schedule, const std::string& text, const std::string& file,
                           const std::string& format, const Costs* costs = nullptr) {
  ProblemReport out = examine_schedule(schedule, text, file, costs);
  explain_torch(text, file, format, out);
  return out;
}

ProblemReport refused(const Error& error, std::string code) {
  ProblemReport out;
  out.problems.push_back(problem_of(Problem::Kind::Error, std::move(code), error.what()));
  out.problems.back().place = error.where().text();
  return out;
}

/// A configuration's text as its commands read it.
io::Config read_configuration(const std::string& text, const std::string& path) {
  io::Document document = io::Document::parse(text, path);
  io::inline_costs_file(document);
  return io::read_run_config(document.root());
}

bool holds_orders(const std::string& text, const std::string& path) {
  return io::is_schedule_file(io::Document::parse(text, path).root());
}

void add_limits(const RunModel& run, ProblemReport& out) {
  if (run.over_limit) {
    const OverLimit& over = *run.over_limit;
    Problem problem =
        problem_of(Problem::Kind::Error, "over-limit", study::over_limit_text(over, *run.memory));
    problem.rank = over.rank;
    problem.op = over.op.with_joined(false);
    out.problems.push_back(std::move(problem));
  }
  for (const std::string& warning : run.warnings)
    out.problems.push_back(problem_of(Problem::Kind::Warning, "warning", warning));
}

/// Problems of the file that a run was read from, if it still holds the run's schedule; no value otherwise.
std::optional<ProblemReport> examine_source(const RunModel& run) {
  if (run.source != RunSource::ScheduleFile || run.file.empty() || run.file == "-") return std::nullopt;
  try {
    const std::string text = io::read_file(run.file);
    const io::Imported read = io::read_schedule(text, run.file);
    const io::Format* format = io::format_by_content(text);
    if (!(*read.schedule == *whole_schedule(run))) return std::nullopt;
    return examine_text(*read.schedule, text, run.file, format == nullptr ? "" : format->name,
                        run.costs.get());
  } catch (const Error&) {
    return std::nullopt;  // it has changed since: only the run on screen is examined
  }
}

}  // namespace

std::string repair_text(const Repair& repair, TimeUnit unit) {
  std::string text;
  for (const std::string& words : repair.words) text += (text.empty() ? "" : "; then ") + words;
  return repair.step ? fmt::format("{}: step {}", text, duration_text(*repair.step, unit)) : text;
}

ProblemReport examine_schedule(const Schedule& schedule, std::string_view text, const std::string& file,
                               const Costs* costs) {
  ProblemReport out;
  const auto diagnostics = validate(schedule);
  if (diagnostics.empty()) return out;
  const io::SchedulePlaces places(text.empty() ? std::string_view("0F0\n") : text, file);
  for (const Diagnostic& diagnostic : diagnostics)
    out.problems.push_back(problem_of(diagnostic, text.empty() ? nullptr : &places));
  if (diagnostics.front().code == "hang") explain_hang(schedule, costs, out);
  return out;
}

ProblemReport examine_run(const RunModel& run) {
  ProblemReport out;
  if (auto from_file = examine_source(run))
    out = std::move(*from_file);
  else if (run.hang)
    out = examine_schedule(*whole_schedule(run), "", "", run.costs.get());
  if (out.page.empty()) out.page = run.explanation;
  add_limits(run, out);
  return out;
}

ProblemReport examine_configuration(const io::Config& config, const Cancelled& cancelled) {
  try {
    require_shown(config);
    Limits limits = window_limits(cancelled);
    limits.with_metrics = false;
    (void)study::evaluate(config, limits);
    return {};
  } catch (const study::MessageProblem& problem) {
    ProblemReport out = refused(problem, "message-hang");
    out.waits = problem.waits();
    out.setting = problem.remedy();
    out.page = study::message_hang_page(problem, false);
    return out;
  } catch (const Stopped&) {
    return {};
  } catch (const Error& error) {
    return refused(error, "refused");
  }
}

ProblemReport examine_file(const std::string& path) {
  std::string text;
  try {
    if (io::is_trace(path)) {
      (void)io::assemble(io::read_trace({io::whole_trace_of(path)}), io::Partial::LastStep);
      return {};
    }
    text = io::read_file(path);
  } catch (const Error& error) {
    return refused(error, "unreadable");
  }
  const io::Format* format = io::format_by_content(text);
  try {
    if (format == nullptr || (format->name == "json" && !holds_orders(text, path)))
      return examine_configuration(read_configuration(text, path));
    const io::Imported read = io::read_schedule(text, path);
    return examine_text(*read.schedule, text, path, format == nullptr ? "" : format->name);
  } catch (const Error& error) {
    ProblemReport out = refused(error, "unreadable");
    const auto form = format == nullptr ? std::nullopt : study::torch_form_of(format->name);
    if (form) out.page = study::torch_page_of_unreadable(text, path, *form);
    return out;
  }
}

}  // namespace pipeloom::gui
