#include "gui/model/session/session.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/run/build_run.hpp"
#include "gui/model/run/waiting_ops.hpp"

namespace pipeloom::gui {

std::string_view name_of(GanttColour colour) {
  constexpr std::string_view kNames[] = {"kind", "chunk", "stage", "microbatch", "slack"};
  return kNames[static_cast<std::size_t>(colour)];
}

Session::Session() : jobs([this] { wake(); }) {}
Session::~Session() = default;

const RunModel* Session::active_run() const {
  return active < runs.size() ? runs[active].run.get() : nullptr;
}

const OpenRun* Session::find_run(std::uint64_t id) const {
  const auto found =
      std::find_if(runs.begin(), runs.end(), [&](const OpenRun& open) { return open.run->id == id; });
  return found == runs.end() ? nullptr : &*found;
}

const OpenRun* Session::baseline_run() const {
  if (const OpenRun* chosen = find_run(baseline)) return chosen;
  return runs.empty() ? nullptr : &runs.front();
}

namespace {

bool shows_all(const ViewState& view, Span span) {
  return view.range.start <= static_cast<double>(span.start) &&
         view.range.end >= static_cast<double>(span.end);
}

/// From the first start to the last end of all runs.
Span span_of_all(const std::vector<OpenRun>& runs) {
  Span all = drawn_span(*runs.front().run);
  for (const OpenRun& open : runs) {
    all.start = std::min(all.start, open.run->span().start);
    all.end = std::max(all.end, drawn_span(*open.run).end);
  }
  return all;
}

void show_everything(Session& session) {
  if (session.runs.empty()) return;
  const Span all = span_of_all(session.runs);
  session.view.range = {static_cast<double>(all.start),
                        static_cast<double>(std::max(all.end, all.start + 1))};
  session.view.placed = true;
}

/// Removes everything from the selection that is in the run `old`.
void forget_run(Session& session, std::uint64_t old) {
  Selection& selection = session.selection;
  if (selection.op && selection.op->run == old) selection.op.reset();
  if (selection.gap && selection.gap->run == old) selection.gap.reset();
  if (selection.hover && selection.hover->run == old) selection.hover.reset();
  if (selection.waiting && selection.waiting->run == old) selection.waiting.reset();
}

/// The place of the op in the run; no value where it does not run.
std::optional<OpRef> position_in(const RunModel& run, Op op) {
  const auto ops = run.schedule->ops();
  const auto found = std::find(ops.begin(), ops.end(), op);
  if (found == ops.end()) return std::nullopt;
  return OpRef{run.id, static_cast<std::size_t>(found - ops.begin())};
}

/// The op of this run that is selected, or would be if the run reached it.
std::optional<Op> selected_op(const Selection& selection, const RunModel& run) {
  if (selection.op && selection.op->run == run.id)
    return run.schedule->ops()[selection.op->op % run.schedule->num_ops()];
  return waiting_selection(selection, run.id);
}

/// The selection follows its op from a run to the one that takes its place.
void select_again(Selection& selection, Op op, const RunModel& run) {
  selection.op = position_in(run, op);
  if (!selection.op && run.hang) selection.waiting = WaitingRef{run.id, op};
}

}  // namespace

void Session::show_live(RunPtr run) {
  const auto live = std::find_if(runs.begin(), runs.end(), [](const OpenRun& open) { return open.live; });
  const bool everything = !view.placed || runs.empty() || shows_all(view, span_of_all(runs));
  if (live == runs.end()) {
    // Files opened by name stay on top of the example that comes up by itself.
    runs.push_back(OpenRun{std::move(run), true, false});
  } else {
    const RunPtr old = std::exchange(live->run, std::move(run));
    const std::optional<Op> selected = selected_op(selection, *old);
    forget_run(*this, old->id);
    if (selected) select_again(selection, *selected, *live->run);
  }
  if (everything) show_everything(*this);
}

void Session::analyse(ShownRun shown) {
  if (!shown.run || shown.run->analysed) return;
  jobs.submit("analyse", [this, shown = std::move(shown)](const Cancelled& cancelled) -> Jobs::Finish {
    try {
      return [this, run = analysed(shown, window_limits(cancelled))] {
        for (OpenRun& open : runs)
          if (open.run->id == run->id) open.run = run;
      };
    } catch (const Stopped&) {
      return {};
    } catch (const std::bad_alloc&) {
      return {};  // the picture stays without them
    }
  });
}

void Session::add_run(RunPtr run, bool compared) {
  const bool everything = !view.placed || runs.empty() || shows_all(view, span_of_all(runs));
  runs.push_back(OpenRun{std::move(run), false, compared});
  if (everything) show_everything(*this);
}

void Session::insert_run(OpenRun run, std::size_t index) {
  active = std::min(index, runs.size());
  runs.insert(runs.begin() + static_cast<std::ptrdiff_t>(active), std::move(run));
  if (!view.placed) show_everything(*this);
}

void Session::close_run(std::size_t index) {
  if (index >= runs.size()) return;
  forget_run(*this, runs[index].run->id);
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(index));
  if (active >= index && active > 0) --active;
}

void Session::say(std::string text, MessageKind kind) {
  message = {std::move(text), kind};
}

bool Session::panel_open(const std::string& id) const {
  const auto set = preferences.panels.find(id);
  if (set != preferences.panels.end()) return set->second;
  const auto usual = panel_defaults.find(id);
  return usual != panel_defaults.end() && usual->second;
}

void Session::show_panel(const std::string& id) {
  preferences.panels[id] = true;
  focus_request = id;
}

void Session::forget_closed_runs() {
  if (selection.op && find_run(selection.op->run) == nullptr) selection.op.reset();
  if (selection.gap && find_run(selection.gap->run) == nullptr) selection.gap.reset();
  if (selection.hover && find_run(selection.hover->run) == nullptr) selection.hover.reset();
  if (selection.waiting && find_run(selection.waiting->run) == nullptr) selection.waiting.reset();
  if (active >= runs.size()) active = runs.empty() ? 0 : runs.size() - 1;
}

bool Session::update() {
  bool changed = jobs.poll();
  const std::optional<double> progress = jobs.progress();
  const int percent = progress ? static_cast<int>(100 * *progress) : -1;
  changed = std::exchange(shown_percent_, percent) != percent || changed;
  forget_closed_runs();
  // Parts may make others while they work.
  for (std::size_t i = 0; i < parts_.size(); ++i) changed = parts_[i].second->update(*this) || changed;
  return changed;
}

void Session::stop() {
  if (idle()) return say("nothing is being computed");
  say("stopped; the picture is as it was before");
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].second->stop(*this);
}

bool Session::idle() const {
  return jobs.idle() &&
         std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part.second->idle(); });
}

bool Session::run_comes() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part.second->brings_run(); });
}

}  // namespace pipeloom::gui
