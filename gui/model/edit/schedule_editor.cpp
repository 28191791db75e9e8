#include "gui/model/edit/schedule_editor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <ostream>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/run/build_run.hpp"
#include "gui/model/run/waiting_ops.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/report/hang_page.hpp"
#include "study/report/metric.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::string_view kSuffix = " (edited)";

Costs costs_of(const RunModel& run, const Schedule& schedule) {
  return run.costs ? *run.costs : default_costs(schedule.placement());
}

bool hangs(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& diagnostic) { return diagnostic.code == "hang"; });
}

/// "before", "now" and "difference" of the state dump: null where there is no number.
void write_edited_metrics(io::JsonWriter& out, const RunModel* run) {
  if (run == nullptr || !run->metrics) {
    out.null();
    return;
  }
  const study::RunNumbers numbers = study::numbers_of(*run);
  out.object();
  for (const study::Metric* metric : study::listed(&study::Metric::edited))
    if (const auto value = metric->get(numbers))
      std::visit([&](auto number) { out.member(metric->name, number); },
                 state_value(*metric, *value, run->timeline.unit));
  out.close();
}

}  // namespace

io::Config config_of(const RunModel& run) {
  if (!run.effective) return {};
  io::Document document = io::Document::parse(io::effective_config_text(*run.effective), run.title);
  io::Config config = io::read_run_config(document.root());
  config.options.recompute = {};
  config.options.offload = {};
  config.options.forward_only = false;
  return config;
}

const std::shared_ptr<const Schedule>& whole_schedule(const RunModel& run) {
  return run.whole ? run.whole : run.schedule;
}

EditOutcome evaluate_edit(const QueueSnapshot& queues, const io::Config& config, const std::string& title,
                          const RunModel& before) {
  EditOutcome out;
  const auto schedule = std::make_shared<const Schedule>(queues.build());
  try {
    out.diagnostics = validate(*schedule);
    if (out.diagnostics.empty()) {
      const Limits limits = window_limits();
      out.shown =
          build_shown(study::evaluate_schedule(schedule, title, config, limits, study::Depth::Metrics), title,
                      before.source, "", limits);
      out.run = out.shown.run;
    } else if (hangs(out.diagnostics)) {
      out.page = study::hang_page(*schedule, false);
      out.run = build_hanging_run(schedule, costs_of(before, *schedule), title, before.source, "");
    }
  } catch (const study::MessageProblem& problem) {
    out.problem = problem.what();
    out.page = study::message_hang_page(problem, false);
  } catch (const Error& error) {
    out.problem = error.line();
  } catch (const std::bad_alloc&) {
    out.problem = "error: out of memory; the edited run does not fit beside the one from before the edits";
  }
  return out;
}

void ScheduleEditor::begin(Session& session) {
  const RunModel* run = session.active_run();
  if (run == nullptr)
    throw InputError(Where{"edit"}, "nothing is open; open a schedule or a configuration first");
  if (editing() && run->id == shown_) return;
  if (run->source == RunSource::TimelineFile)
    throw InputError(Where{"edit"}, fmt::format("the times of {} come from a file and would not follow; "
                                                "edit a simulated run",
                                                run->title));
  end();
  if (auto kept = kept_.take(run->id)) return resume(session, std::move(*kept));
  config_ = config_of(*run);
  before_ = session.runs[session.active].run;
  edits_ = std::make_shared<QueueEdits>(whole_schedule(*before_));
  shown_ = before_->id;
  outcome_ = {++revision_, before_, {}, "", ""};
  begun_ = saved_revision_ = revision_;
}

/// Editing goes on where it ended: an order that was not saved then still is not.
void ScheduleEditor::resume(Session& session, EditWork work) {
  edits_ = std::move(work.edits);
  before_ = std::move(work.origin);
  config_ = std::move(work.config);
  outcome_ = std::move(work.outcome);
  shown_ = work.run;
  const bool pending = outcome_.revision != work.revision;
  outcome_.revision = begun_ = ++revision_;
  saved_revision_ = work.saved ? revision_ : 0;
  if (pending) changed(session);
}

std::uint64_t ScheduleEditor::revision_of(std::uint64_t run) {
  if (editing() && run == shown_) return revision_;
  const EditWork* kept = kept_.find(run);
  return kept == nullptr ? 0 : kept->revision;
}

void ScheduleEditor::note_saved(std::uint64_t revision, const std::string& path) {
  saved_files_.insert(path);
  if (editing() && revision >= saved_revision_ && revision <= revision_ && revision >= begun_)
    saved_revision_ = revision;
  for (EditWork& each : kept_.all())
    if (each.revision == revision) each.saved = true;
}

std::vector<EditedOrder> ScheduleEditor::edited() const {
  std::vector<EditedOrder> out;
  const auto add = [&](std::optional<EditedOrder> order) {
    if (order) out.push_back(std::move(*order));
  };
  for (const EditWork& each : kept_.all()) add(edited_order(each.run, each.origin, each.edits->snapshot()));
  if (editing()) add(edited_order(shown_, before_, edits_->snapshot()));
  return out;
}

std::vector<UnsavedOrder> ScheduleEditor::unsaved(const Session& session) const {
  std::vector<UnsavedOrder> out;
  if (editing() && edits_->num_edits() > 0 && saved_revision_ != revision_)
    out.push_back({shown_, before_, edits_->snapshot(), revision_});
  for (const EditWork& each : kept_.all())
    if (!each.saved && session.find_run(each.run) != nullptr)
      out.push_back({each.run, each.origin, each.edits->snapshot(), each.revision});
  return out;
}

bool ScheduleEditor::is_unsaved(const Session& session, std::uint64_t run) const {
  const std::vector<UnsavedOrder> all = unsaved(session);
  return std::ranges::find(all, run, &UnsavedOrder::run) != all.end();
}

void ScheduleEditor::restore(Session& session, const std::map<int, std::vector<Op>>& queues) {
  begin(session);
  for (const auto& [rank, queue] : queues) {
    edits_->take_queue(Rank(rank), queue);
    session.part<EditHistory>().note(*this);
  }
  changed(session);
}

void ScheduleEditor::end() {
  if (editing() && (edits_->num_edits() > 0 || edits_->can_redo()))
    kept_.keep({.run = shown_,
                .origin = before_,
                .edits = edits_,
                .config = config_,
                .outcome = outcome_,
                .revision = revision_,
                .saved = saved_revision_ == revision_ || edits_->num_edits() == 0});
  edits_.reset();
  before_.reset();
  drag_.reset();
  outcome_ = {};
  shown_ = 0;
  refused_ops_.clear();
}

void ScheduleEditor::discard(Session& session) {
  if (!editing()) return;
  session.jobs.cancel("edit");
  if (shown_ != before_->id) show(session, before_);
  const std::uint64_t run = shown_;
  end();
  (void)kept_.take(run);
}

void ScheduleEditor::discard_all(Session& session) {
  discard(session);
  kept_.forget_all();
}

void ScheduleEditor::set_aside(Session& session, const Assignments& parameters) {
  const auto live = std::ranges::find(session.runs, true, &OpenRun::live);
  if (live == session.runs.end()) return;
  if (editing() && shown_ == live->run->id) {
    session.jobs.cancel("edit");
    end();
  }
  EditWork* kept = kept_.find(live->run->id);
  if (kept == nullptr || kept->edits->num_edits() == 0) return;
  kept->set_aside = live->run;
  kept->parameters = parameters;
  kept->announced = false;
}

std::vector<SetAside> ScheduleEditor::take_set_aside() {
  std::vector<SetAside> out;
  for (EditWork& each : kept_.all())
    if (each.set_aside && !std::exchange(each.announced, true))
      out.push_back({each.set_aside, each.parameters});
  return out;
}

bool ScheduleEditor::is_set_aside(std::uint64_t run) const {
  return std::ranges::any_of(kept_.all(),
                             [&](const EditWork& each) { return each.set_aside && each.run == run; });
}

bool ScheduleEditor::take_back(Session& session, const Assignments& parameters) {
  const EditWork* kept = kept_.find_set_aside(parameters);
  if (kept == nullptr) return false;
  const RunPtr run = kept->set_aside;
  for (std::size_t i = session.runs.size(); i-- > 0;)
    if (session.runs[i].run->id == run->id && !session.runs[i].live) session.close_run(i);
  session.show_live(run);
  const auto live = std::ranges::find(session.runs, true, &OpenRun::live);
  session.active = static_cast<std::size_t>(live - session.runs.begin());
  begin(session);
  return true;
}

std::optional<std::pair<Rank, Op>> ScheduleEditor::find_selected(const Session& session) {
  const auto& selected = session.selection.op;
  const RunModel* run = session.active_run();
  if (run == nullptr) return std::nullopt;
  if (selected && selected->run == run->id) {
    const std::size_t op = selected->op % run->schedule->num_ops();
    return std::pair(run->schedule->rank_of_op(op), run->schedule->ops()[op].with_joined(false));
  }
  const std::optional<Op> waiting = waiting_selection(session.selection, run->id);
  if (!waiting || !run->whole) return std::nullopt;
  const Schedule& whole = *run->whole;
  return std::pair(whole.placement().rank_of(whole.slot_of(*waiting)), waiting->with_joined(false));
}

std::pair<Rank, Op> ScheduleEditor::selected(const Session& session) const {
  const auto found = find_selected(session);
  if (!found)
    throw InputError(Where{"edit"}, "no op is selected; click one of the active run, or name it: RANK/0F7");
  return *found;
}

void ScheduleEditor::move(Session& session, Rank rank, Op op, std::size_t position) {
  begin(session);
  edits_->move(rank, op, position);
  edited(session);
}

void ScheduleEditor::shift(Session& session, Rank rank, Op op, int by) {
  begin(session);
  const auto entry = edits_->find(rank, op);
  if (!entry) return edits_->move(rank, op, 0);  // says that there is no such op
  const auto last = static_cast<std::int64_t>(edits_->num_entries(rank)) - 1;
  const std::int64_t to = std::clamp<std::int64_t>(static_cast<std::int64_t>(entry->position) + by, 0, last);
  move(session, rank, op, static_cast<std::size_t>(to));
}

void ScheduleEditor::remove_weight(Session& session, Rank rank, Op op) {
  begin(session);
  edits_->remove_weight(rank, op);
  edited(session);
}

void ScheduleEditor::insert_weight(Session& session, Rank rank, Op op, std::size_t position) {
  begin(session);
  edits_->insert_weight(rank, op, position);
  edited(session);
}

void ScheduleEditor::split(Session& session, Rank rank, Op op) {
  begin(session);
  edits_->split(rank, op);
  edited(session);
}

void ScheduleEditor::join_next(Session& session, Rank rank, Op op) {
  begin(session);
  edits_->join_next(rank, op);
  edited(session);
}

void ScheduleEditor::apply_moves(Session& session, const std::vector<Move>& moves) {
  begin(session);
  for (const Move& move : moves) {
    const auto entry = edits_->entry_at(move.rank, move.from);
    if (!entry) return;
    edits_->move(move.rank, edits_->queue(move.rank)[entry->first].with_joined(false), move.to);
    session.part<EditHistory>().note(*this);
  }
  changed(session);
}

void ScheduleEditor::apply_remedy(Session& session) {
  begin(session);
  session.jobs.submit(
      "remedy",
      [this, &session, revision = revision_, queues = edits_->snapshot()](const Cancelled&) -> Jobs::Finish {
        const auto moves = find_unblocking_moves(queues.build());
        return [this, &session, revision, moves] {
          if (!editing() || revision != revision_) return;
          if (!moves)
            return session.say("no change of up to three entries was found that lets it run",
                               MessageKind::Problem);
          if (moves->empty()) return session.say("it runs as it is");
          apply_moves(session, *moves);
        };
      });
}

void ScheduleEditor::undo(Session& session) {
  if (!can_undo()) return;
  const std::string what = edits_->last_edit();
  edits_->undo();
  changed(session);
  session.say("undone: " + what);
}

void ScheduleEditor::redo(Session& session) {
  if (!can_redo()) return;
  edits_->redo();
  changed(session);
  session.say("redone: " + edits_->last_edit());
}

void ScheduleEditor::edited(Session& session) {
  session.part<EditHistory>().note(*this);
  changed(session);
}

void ScheduleEditor::changed(Session& session) {
  drag_.reset();
  ++revision_;
  if (edits_->num_edits() > 0) {
    session.say(edits_->last_edit());
    return evaluate(session);
  }
  // Nothing is changed any more: the run from before is the answer.
  session.jobs.cancel("edit");
  take(session, {revision_, before_, {}, "", ""});
}

void ScheduleEditor::evaluate(Session& session) {
  std::string title = before_->title;
  if (!title.ends_with(kSuffix)) title += kSuffix;
  session.jobs.cancel_all("analyse/");
  session.jobs.submit(
      "edit",
      [this, &session, revision = revision_, queues = edits_->snapshot(), config = config_,
       title = std::move(title), before = before_](const Cancelled&) -> Jobs::Finish {
        auto outcome = std::make_shared<EditOutcome>(evaluate_edit(queues, config, title, *before));
        outcome->revision = revision;
        return [this, &session, outcome] { take(session, std::move(*outcome)); };
      },
      Jobs::Turn::Next);
}

void ScheduleEditor::take(Session& session, EditOutcome outcome) {
  if (!editing() || outcome.revision != revision_) return;
  outcome_ = std::move(outcome);
  if (outcome_.run && outcome_.run->id != shown_) show(session, outcome_.run);
  session.analyse(std::exchange(outcome_.shown, {}));
  find_refused(session);
  if (!outcome_.problem.empty())
    session.say(outcome_.problem, MessageKind::Problem);
  else if (!outcome_.diagnostics.empty())
    session.say(outcome_.diagnostics.front().message, MessageKind::Problem);
}

std::string ScheduleEditor::refusal() const {
  if (!editing() || hangs(outcome_.diagnostics)) return "";
  std::string why = outcome_.problem;
  if (!outcome_.diagnostics.empty()) why = outcome_.diagnostics.front().message;
  if (why.empty()) return "";
  constexpr std::string_view kWord = "error: ";
  if (why.starts_with(kWord)) why.erase(0, kWord.size());
  return why + "\nThe picture is that of the order before. Esc or Ctrl+Z takes the edit back.";
}

/// Finds the ops that the refusal names. Missing ones are left out: the picture still shows them.
void ScheduleEditor::find_refused(const Session& session) {
  constexpr std::size_t kMost = 16;
  refused_ops_.clear();
  const OpenRun* open = session.find_run(shown_);
  if (open == nullptr || refusal().empty()) return;
  std::vector<Op> named;
  for (const auto& [rank, op] : edits_->removed_weights()) named.push_back(op);
  for (const Diagnostic& diagnostic : outcome_.diagnostics)
    if (!diagnostic.code.starts_with("missing") && diagnostic.code != "idle-rank" &&
        diagnostic.code != "more")
      named.push_back(diagnostic.op.with_joined(false));
  const auto ops = open->run->schedule->ops();
  for (std::size_t i = 0; i < std::min(named.size(), kMost); ++i)
    if (const auto found = std::find(ops.begin(), ops.end(), named[i]); found != ops.end())
      refused_ops_.push_back({shown_, static_cast<std::size_t>(found - ops.begin())});
}

/// Shows the run in the place of the one that edits change. show_live() keeps view and selection; the configuration's own run, if that is another
/// one, stays the live one.
void ScheduleEditor::show(Session& session, const RunPtr& run) {
  const OpenRun* place = session.find_run(shown_);
  if (place == nullptr) return;
  const auto index = static_cast<std::size_t>(place - session.runs.data());
  std::vector<bool> live;
  for (OpenRun& open : session.runs) {
    live.push_back(open.live);
    open.live = &open == place;
  }
  session.show_live(run);
  for (std::size_t i = 0; i < session.runs.size(); ++i) session.runs[i].live = live[i];
  session.active = index;
  shown_ = run->id;
}

bool ScheduleEditor::update(Session& session) {
  if (!editing() || session.find_run(shown_) != nullptr) return false;
  // Another run took its place, or it was closed: its edits come back with it.
  session.jobs.cancel("edit");
  end();
  return true;
}

void ScheduleEditor::write_state(const Session& session, io::JsonWriter& out) const {
  const OpenRun* shown = session.find_run(shown_);
  const RunModel* now = shown == nullptr ? nullptr : shown->run.get();
  out.object()
      .member("on", editing())
      .member("edits", editing() ? edits_->num_edits() : 0)
      .member("last", editing() ? edits_->last_edit() : "")
      .member("can_undo", can_undo())
      .member("can_redo", can_redo())
      .member("unsaved", !unsaved(session).empty())
      .member("kept", kept_.all().size())
      .member("pending", pending())
      .member("dragging", dragging())
      .member("valid", editing() && outcome_.diagnostics.empty() && outcome_.problem.empty())
      .member("hangs", hangs(outcome_.diagnostics))
      .member("problem", outcome_.problem)
      .member("refusal", refusal())
      .member("refused", refused_ops_.size());
  out.key("diagnostics").array();
  for (const Diagnostic& diagnostic : outcome_.diagnostics) out.text(diagnostic.code);
  out.close();
  write_edited_metrics(out.key("before"), before_.get());
  write_edited_metrics(out.key("now"), now);
  const bool both = before_ && before_->metrics && now != nullptr && now->metrics;
  out.key("difference");
  both ? out.number(to_double(now->metrics->makespan - before_->metrics->makespan, now->timeline.unit))
       : out.null();
  out.close();
}

}  // namespace pipeloom::gui
