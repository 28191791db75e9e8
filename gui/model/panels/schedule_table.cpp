#include "gui/model/panels/schedule_table.hpp"

#include <algorithm>
#include <utility>

#include "gui/model/run/build_run.hpp"
#include "schedules/generator.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::gui {

void ScheduleTable::sort_by(Column column, bool descending) {
  column_ = column;
  descending_ = descending;
  sort();
}

void ScheduleTable::sort() {
  const auto key = [this](const ScheduleRow& row) -> double {
    switch (column_) {
      case Column::Makespan:
        return row.update_time();
      case Column::Bubble:
        return row.bubble_ratio;
      case Column::Memory:
        return row.peak_bytes;
      case Column::Gap:
        return row.gap;
      case Column::Name:
        break;
    }
    return 0;
  };
  std::stable_sort(rows_.begin(), rows_.end(), [&](const ScheduleRow& a, const ScheduleRow& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    if (column_ == Column::Name) return descending_ ? b.name < a.name : a.name < b.name;
    return descending_ ? key(b) < key(a) : key(a) < key(b);
  });
}

void ScheduleTable::take(ScheduleRow row) {
  const auto same = std::find_if(rows_.begin(), rows_.end(),
                                 [&](const ScheduleRow& each) { return each.name == row.name; });
  if (same == rows_.end())
    rows_.push_back(std::move(row));
  else
    *same = std::move(row);
  sort();
}

void ScheduleTable::ask(Session& session, std::uint64_t revision,
                        const std::shared_ptr<const Assignments>& assignments, std::size_t index) {
  asked_ = revision;
  session.jobs.submit(
      "schedules",
      [this, &session, revision, assignments, index](const Cancelled& cancelled) -> Jobs::Finish {
        auto row = std::make_shared<ScheduleRow>(
            evaluate_row(*assignments, schedules::all()[index].name, cancelled));
        return [this, &session, revision, assignments, index, row] {
          if (asked_ != revision) return;  // a newer configuration is under way
          take(std::move(*row));
          if (index + 1 < schedules::all().size())
            ask(session, revision, assignments, index + 1);
          else
            shown_ = revision;
        };
      });
}

void ScheduleTable::mark_stale(std::uint64_t revision) {
  if (marked_ == revision) return;
  marked_ = revision;
  for (ScheduleRow& row : rows_) row.stale = true;
}

void ScheduleTable::forget_closed(const Session& session) {
  std::erase_if(ticked_, [&](const auto& ticked) {
    return ticked.second != 0 && session.find_run(ticked.second) == nullptr;
  });
}

namespace {

/// Whoever shows them: the table, or the bar that says whether one of them is better.
bool rows_wanted(const Session& session) {
  return session.panel_open("schedules") || session.panel_open("answer");
}

}  // namespace

bool ScheduleTable::update(Session& session) {
  forget_closed(session);
  if (!rows_wanted(session) && ticked_.empty()) return false;
  const auto& config = session.part<ConfigModel>();
  mark_stale(config.revision());
  // What was just edited is simulated first; the table follows.
  if (config.pending()) return false;
  if (config.revision() != asked_ && rows_wanted(session))
    ask(session, config.revision(),
        std::make_shared<const Assignments>(with_shape(session, config.assignments())), 0);
  if (config.revision() != ticked_revision_) refresh_ticked(session, config);
  return false;
}

namespace {

/// A stacked schedule's run, or why there is none.
struct Stacked {
  RunPtr run;
  std::string problem;
};

Stacked simulate_stacked(const Assignments& assignments, const std::string& schedule,
                         const Cancelled& cancelled) {
  try {
    const io::Config config = config_of(with_schedule(assignments, schedule));
    require_shown(config);
    Run run = study::evaluate(config, window_limits(cancelled));
    std::string title = title_of(*run.effective);
    return {build_run(std::move(run), std::move(title), RunSource::Configuration, ""), ""};
  } catch (const Error& error) {
    return {nullptr, error.line()};
  } catch (const Stopped& ended) {
    return {nullptr, ended.what()};
  }
}

void replace_run(Session& session, std::uint64_t old, RunPtr run) {
  for (OpenRun& open : session.runs)
    if (old != 0 && open.run->id == old) {
      open.run = std::move(run);
      return;
    }
  session.add_run(std::move(run), true);
}

}  // namespace

void ScheduleTable::refresh_ticked(Session& session, const ConfigModel& config) {
  ticked_revision_ = config.revision();
  for (const auto& [schedule, id] : ticked_)
    session.jobs.submit(
        "stack/" + schedule,
        [this, &session, schedule = schedule, assignments = with_shape(session, config.assignments())](
            const Cancelled& cancelled) -> Jobs::Finish {
          auto stacked = std::make_shared<Stacked>(simulate_stacked(assignments, schedule, cancelled));
          return [this, &session, schedule, stacked] {
            const auto found = ticked_.find(schedule);
            if (found == ticked_.end()) return;
            if (!stacked->run) return session.say(stacked->problem, MessageKind::Problem);
            const std::uint64_t old = std::exchange(found->second, stacked->run->id);
            replace_run(session, old, stacked->run);
          };
        });
}

/// Rows that were not reached stay marked as stale, schedules without a run are not ticked any more.
void ScheduleTable::stop(Session& session) {
  session.jobs.cancel("schedules");
  session.jobs.cancel_all("stack/");
  shown_ = asked_;
  std::erase_if(ticked_, [](const auto& ticked) { return ticked.second == 0; });
}

void ScheduleTable::tick(Session& session, const std::string& schedule, bool on) {
  if (on) {
    ticked_.emplace(schedule, 0);
    ticked_revision_ = 0;
    return;
  }
  const auto found = ticked_.find(schedule);
  if (found == ticked_.end()) return;
  const std::uint64_t id = found->second;
  ticked_.erase(found);
  session.jobs.cancel("stack/" + schedule);
  for (std::size_t i = 0; i < session.runs.size(); ++i)
    if (session.runs[i].run->id == id) return session.close_run(i);
}

std::string ScheduleTable::schedule_of(std::uint64_t run) const {
  const auto found = std::find_if(ticked_.begin(), ticked_.end(),
                                  [&](const auto& ticked) { return run != 0 && ticked.second == run; });
  return found == ticked_.end() ? "" : found->first;
}

void ScheduleTable::adopt(const std::string& schedule, std::uint64_t run) {
  // The parameters may have changed since the run was made.
  if (ticked_.emplace(schedule, run).second) ticked_revision_ = 0;
}

void ScheduleTable::write_state(const Session&, io::JsonWriter& out) const {
  out.object().member("pending", pending()).key("rows").array();
  for (const ScheduleRow& row : rows_)
    out.object()
        .member("name", row.name)
        .member("chunks", row.chunks)
        .member("legal", row.refusal.empty())
        .member("refusal", row.refusal)
        .member("makespan", to_double(row.makespan, row.unit))
        .member("updates", row.updates)
        .member("bubble_ratio", row.bubble_ratio)
        .member("peak_bytes", row.peak_bytes)
        .member("peak", row.peak_text)
        .member("gap", row.gap)
        .member("stale", row.stale)
        .member("ticked", ticked_.contains(row.name))
        .close();
  out.close().close();
}

Assignments with_shape(const Session& session, Assignments assignments) {
  for (const OpenRun& open : session.runs)
    if (open.live) {
      assignments.emplace("ranks", std::to_string(open.run->schedule->ranks()));
      assignments.emplace("microbatches", std::to_string(open.run->schedule->microbatches()));
    }
  return assignments;
}

ScheduleRow evaluate_row(const Assignments& assignments, const std::string& schedule,
                         const Cancelled& cancelled) {
  return {study::evaluate_row(assignments, schedule, window_limits(cancelled))};
}

}  // namespace pipeloom::gui
