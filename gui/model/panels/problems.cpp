#include "gui/model/panels/problems.hpp"

#include <algorithm>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/chart/select.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

/// The edits' own report, whose schedule is on screen or would be.
ProblemReport examine_edit(const QueueSnapshot& queues, const EditOutcome& outcome) {
  ProblemReport out = examine_schedule(queues.build(), "", "");
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

/// What the panel speaks of: the run, the edits that were made to it, and a configuration that is refused.
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

ProblemReport examine_assignments(const Assignments& assignments, const Cancelled& cancelled) {
  try {
    return examine_configuration(config_of(assignments), cancelled);
  } catch (const Error& error) {
    ProblemReport out;
    out.problems.push_back({Problem::Kind::Error, "refused", error.line(), "", {}, {}, {}});
    return out;
  }
}

/// What is wrong with the configuration comes first: the run on screen is an older one then.
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
  run_ = now.run;
  edit_ = now.edit;
  config_ = now.config;
  pending_ = true;
  session.jobs.submit(
      "problems",
      [this, &session, model = run == nullptr ? nullptr : session.runs[session.active].run,
       queues = edited ? editor.queues().snapshot() : QueueSnapshot{},
       outcome = edited ? editor.outcome() : EditOutcome{},
       assignments = is_refused ? std::optional(config->assignments())
                                : std::nullopt](const Cancelled& cancelled) -> Jobs::Finish {
        ProblemReport of_run;
        if (queues.base)
          of_run = examine_edit(queues, outcome);
        else if (model)
          of_run = examine_run(*model);
        auto report = std::make_shared<const ProblemReport>(
            assignments ? merged_reports(examine_assignments(*assignments, cancelled), std::move(of_run))
                        : std::move(of_run));
        return [this, &session, report] { take(session, report); };
      });
  return true;
}

/// What has just gone wrong is shown, whatever panels are open; who closes the panel then is not asked again.
void Problems::take(Session& session, std::shared_ptr<const ProblemReport> report) {
  if (report->errors() > 0 && report_->errors() == 0) session.preferences.panels["problems"] = true;
  report_ = std::move(report);
  pending_ = false;
  ++revision_;
}

void Problems::show_file(Session& session, const std::string& path) {
  pending_ = true;
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
  select_op(session, {run->id, index}, Reveal::Yes);
  return true;
}

void Problems::write_state(const Session&, io::JsonWriter& out) const {
  constexpr std::size_t kListed = 20;
  out.object().member("pending", pending_).member("errors", report_->errors()).key("list").array();
  for (std::size_t i = 0; i < std::min(report_->problems.size(), kListed); ++i)
    write_problem(out, report_->problems[i]);
  out.close().member("waits", report_->waits).key("cycle").array();
  for (const Rank rank : report_->cycle) out.number(rank.value());
  out.close()
      .member("remedies", report_->remedies)
      .member("setting", report_->setting)
      .member("page", report_->page)
      .close();
}

}  // namespace pipeloom::gui
