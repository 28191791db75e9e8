#include "gui/model/panels/search.hpp"

#include <algorithm>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/run/build_run.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

/// What a search depends on besides its text: the runs, and whose unit bare times are in.
std::vector<std::uint64_t> runs_on_screen(const Session& session) {
  std::vector<std::uint64_t> ids;
  for (const OpenRun& open : session.runs) ids.push_back(open.run->id);
  return ids;
}

struct Task {
  RunPtr run;
  SearchQuery query;
};

/// A text that is wrong for the unit of another run finds nothing there.
std::vector<Task> tasks_of(const Session& session, const std::string& text) {
  std::vector<Task> tasks;
  for (const OpenRun& open : session.runs) {
    try {
      tasks.push_back({open.run, SearchQuery::parse(text, open.run->timeline.unit)});
    } catch (const InputError&) {
      continue;
    }
  }
  return tasks;
}

TimeUnit unit_of_active(const Session& session) {
  const RunModel* run = session.active_run();
  return run == nullptr ? TimeUnit::Unit : run->timeline.unit;
}

}  // namespace

void SearchModel::understand(const Session& session) {
  error_.clear();
  try {
    const SearchQuery query = SearchQuery::parse(text_, unit_of_active(session));
    query_text_ = query.empty() ? "" : text_;
  } catch (const InputError& error) {
    error_ = error.line();
  }
}

void SearchModel::set(Session& session, std::string text) {
  text_ = std::move(text);
  understand(session);
  if (error_.empty()) submit(session);
}

void SearchModel::submit(Session& session) {
  runs_ = runs_on_screen(session);
  if (!active()) {
    session.jobs.cancel("search");
    under_way_ = false;
    pending_step_.reset();
    take(session, {});
    return;
  }
  under_way_ = true;
  session.jobs.submit(
      "search",
      [&session, tasks = tasks_of(session, query_text_)](const Cancelled& cancelled) -> Jobs::Finish {
        std::vector<std::pair<std::uint64_t, Found>> results;
        for (const Task& task : tasks) {
          const std::vector<Ticks> slack =
              task.query.asks_slack() ? run_slack(*task.run) : std::vector<Ticks>();
          results.emplace_back(task.run->id, std::make_shared<const std::vector<std::size_t>>(
                                                 task.query.find(*task.run, slack, cancelled)));
        }
        return [&session, results] { session.part<SearchModel>().take(session, results); };
      });
}

void SearchModel::take(Session& session, const std::vector<std::pair<std::uint64_t, Found>>& results) {
  under_way_ = false;
  ++revision_;
  found_.clear();
  auto& chart = session.part<ChartPart>();
  chart.matches.clear();
  for (const auto& [run, found] : results) {
    found_[run] = found;
    if (session.find_run(run) != nullptr) chart.matches[run] = found;
  }
  if (const auto forward = std::exchange(pending_step_, std::nullopt)) step(session, *forward);
}

Found SearchModel::found(std::uint64_t run) const {
  const auto result = found_.find(run);
  return result == found_.end() ? nullptr : result->second;
}

bool SearchModel::matches(std::uint64_t run, std::size_t position) const {
  const Found positions = found(run);
  return !positions || std::binary_search(positions->begin(), positions->end(), position);
}

std::optional<std::size_t> SearchModel::current(const Session& session) const {
  const RunModel* run = session.active_run();
  const auto& selected = session.selection.op;
  const Found positions = run == nullptr ? nullptr : found(run->id);
  if (!positions || !selected || selected->run != run->id) return std::nullopt;
  const auto at = std::lower_bound(positions->begin(), positions->end(), selected->op);
  if (at == positions->end() || *at != selected->op) return std::nullopt;
  return static_cast<std::size_t>(at - positions->begin());
}

void SearchModel::step(Session& session, bool forward) {
  const RunModel* run = session.active_run();
  if (run == nullptr || !active()) return session.say("nothing is searched for; type a search first");
  if (under_way_) {
    pending_step_ = forward;
    return;
  }
  const Found positions = found(run->id);
  if (!positions || positions->empty())
    return session.say("no op matches '" + shortened(query_text_, 80) + "'");
  const auto& selected = session.selection.op;
  auto next = forward ? positions->begin() : std::prev(positions->end());
  if (selected && selected->run == run->id) {
    const auto behind = std::upper_bound(positions->begin(), positions->end(), selected->op);
    const auto from = std::lower_bound(positions->begin(), positions->end(), selected->op);
    if (forward && behind != positions->end()) next = behind;
    if (!forward && from != positions->begin()) next = std::prev(from);
  }
  select_op(session, {run->id, *next}, Reveal::Yes);
}

bool SearchModel::update(Session& session) {
  if (text_.empty() || runs_on_screen(session) == runs_) return false;
  // The new runs may have another unit of time.
  understand(session);
  submit(session);
  return true;
}

void SearchModel::write_state(const Session& session, io::JsonWriter& out) const {
  const RunModel* run = session.active_run();
  const Found positions = run == nullptr ? nullptr : found(run->id);
  out.object()
      .member("active", active())
      .member("count", positions ? positions->size() : 0)
      .member("current", current(session))
      .member("error", error_)
      .member("text", text_)
      .close();
}

}  // namespace pipeloom::gui
