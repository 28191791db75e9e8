#include "gui/model/schedule_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "gui/model/build_run.hpp"
#include "schedules/generator.hpp"
#include "study/evaluate.hpp"

namespace pipeloom::gui {
namespace {

constexpr double kMaxOps = 2e6;
constexpr const char* kOpCosts[] = {"costs.forward", "costs.backward", "costs.backward_input",
                                    "costs.backward_weight", "costs.recompute"};

int chunks_of(const Assignments& assignments) {
  const auto given = assignments.find("chunks");
  if (given != assignments.end()) return std::max(std::atoi(given->second.c_str()), 1);
  const auto schedule = assignments.find("schedule");
  if (schedule == assignments.end()) return 1;
  try {
    return schedules::default_chunks(schedules::find(shown_value(schedule->second)).generator->requirements,
                                     "");
  } catch (const Error&) {
    return 1;
  }
}

bool is_number(const std::string& json) {
  double value = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), value);
  return error == std::errc{} && end == json.data() + json.size();
}

std::string scaled(const std::string& json, int factor) {
  double value = 0;
  std::from_chars(json.data(), json.data() + json.size(), value);
  return fmt::format("{:.12g}", value * factor);
}

/// Costs of stages that are a v0-th of a rank, for stages of any size.
void give_per_rank(Assignments& assignments, int v0) {
  const auto per = assignments.find("costs.per");
  if (per != assignments.end() && per->second != "\"stage\"") return;
  bool any = false;
  for (const char* key : kOpCosts) {
    const auto found = assignments.find(key);
    if (found == assignments.end()) continue;
    any = true;
    if (!is_number(found->second)) return;
  }
  if (!any) {
    // The defaults of a run without costs, spelt out.
    assignments["costs.forward"] = "1";
    assignments["costs.backward"] = "2";
    assignments["costs.backward_input"] = "1";
    assignments["costs.backward_weight"] = "1";
  }
  for (const char* key : kOpCosts)
    if (const auto found = assignments.find(key); found != assignments.end())
      found->second = scaled(found->second, v0);
  assignments["costs.per"] = "\"rank\"";
}

void drop_foreign_options(Assignments& assignments, const schedules::Requirements& takes) {
  const std::pair<const char*, bool> options[] = {{"options.group_size", takes.takes_group_size},
                                                  {"options.slices", takes.takes_slices},
                                                  {"options.waves", takes.takes_waves},
                                                  {"options.updates", takes.takes_updates},
                                                  {"options.variant", false},
                                                  {"options.file", false}};
  for (const auto& [key, taken] : options)
    if (!taken) assignments.erase(key);
}

bool is_now(const Assignments& assignments, const std::string& schedule) {
  const auto now = assignments.find("schedule");
  if (now == assignments.end()) return false;
  try {
    return schedules::find(shown_value(now->second)).generator == schedules::find(schedule).generator;
  } catch (const Error&) {
    return false;
  }
}

ScheduleRow refused(ScheduleRow row, std::string why) {
  row.refusal = std::move(why);
  return row;
}

}  // namespace

Assignments with_schedule(const Assignments& assignments, const std::string& schedule) {
  if (schedule == io::kCustomSchedule) {
    Assignments custom = assignments;
    for (const char* key : {"ranks", "microbatches", "chunks"}) custom.erase(key);
    custom["schedule"] = nlohmann::json(schedule).dump();
    return custom;
  }
  if (is_now(assignments, schedule)) return assignments;
  const schedules::Requirements& takes = schedules::find(schedule).generator->requirements;
  const int v0 = chunks_of(assignments);
  Assignments out = assignments;
  out["schedule"] = nlohmann::json(schedule).dump();
  drop_foreign_options(out, takes);
  if (v0 < takes.min_chunks || v0 > takes.max_chunks || takes.takes_waves) out.erase("chunks");
  if (chunks_of(out) != v0) give_per_rank(out, v0);
  return out;
}

Assignments with_shape(const Session& session, Assignments assignments) {
  for (const OpenRun& open : session.runs)
    if (open.live) {
      assignments.emplace("ranks", std::to_string(open.run->schedule->ranks()));
      assignments.emplace("microbatches", std::to_string(open.run->schedule->microbatches()));
    }
  return assignments;
}

ScheduleRow evaluate_row(const Assignments& assignments, const std::string& schedule) {
  ScheduleRow row;
  row.name = schedule;
  try {
    const Assignments own = with_schedule(assignments, schedule);
    const io::RunConfig config = config_of(own);
    row.chunks = chunks_of(own);
    const double ops = 3.0 * config.ranks * config.microbatches * row.chunks;
    if (ops > kMaxOps) return refused(std::move(row), "too large for the table; choose it to simulate it");
    const study::Evaluation run = study::evaluate(config, window_limits());
    row.unit = run.timeline.unit;
    row.makespan = run.metrics.makespan;
    row.bubble_ratio = run.metrics.bubble_ratio;
    Bytes peak = 0;
    for (const RankMetrics& rank : run.metrics.ranks)
      peak = std::max(peak, rank.memory.peak_activation_bytes);
    row.peak_bytes = static_cast<double>(peak) * chunks_of(assignments) / row.chunks;
    const auto bound = static_cast<double>(run.metrics.lower_bound.value);
    row.gap = bound > 0 ? static_cast<double>(run.metrics.makespan) / bound - 1 : 0;
  } catch (const Error& error) {
    return refused(std::move(row), error.what());
  }
  return row;
}

void ScheduleTable::sort_by(Column column, bool descending) {
  column_ = column;
  descending_ = descending;
  sort();
}

void ScheduleTable::sort() {
  const auto key = [this](const ScheduleRow& row) -> double {
    switch (column_) {
      case Column::Makespan:
        return static_cast<double>(row.makespan);
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
                        std::shared_ptr<const Assignments> assignments, std::size_t index) {
  asked_ = revision;
  session.jobs.submit(
      "schedules", [this, &session, revision, assignments, index](const Cancelled&) -> Jobs::Finish {
        auto row = std::make_shared<ScheduleRow>(evaluate_row(*assignments, schedules::all()[index].name));
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

void ScheduleTable::forget_closed(const Session& session) {
  std::erase_if(ticked_, [&](const auto& ticked) {
    return ticked.second != 0 && session.find_run(ticked.second) == nullptr;
  });
}

bool ScheduleTable::update(Session& session) {
  forget_closed(session);
  if (!session.panel_open("schedules") && ticked_.empty()) return false;
  const auto& config = session.part<ConfigModel>();
  // What was just edited is simulated first; the table follows.
  if (config.pending()) return false;
  if (config.revision() != asked_ && session.panel_open("schedules"))
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

Stacked simulate_stacked(const Assignments& assignments, const std::string& schedule) {
  try {
    study::Evaluation run = study::evaluate(config_of(with_schedule(assignments, schedule)), window_limits());
    std::string title = title_of(run.effective);
    return {build_run(std::move(run), std::move(title), RunSource::Configuration, ""), ""};
  } catch (const Error& error) {
    return {nullptr, error.line()};
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
        [this, &session, schedule = schedule,
         assignments = with_shape(session, config.assignments())](const Cancelled&) -> Jobs::Finish {
          auto stacked = std::make_shared<Stacked>(simulate_stacked(assignments, schedule));
          return [this, &session, schedule, stacked] {
            const auto found = ticked_.find(schedule);
            if (found == ticked_.end()) return;
            if (!stacked->run) return session.say(stacked->problem, MessageKind::Problem);
            const std::uint64_t old = std::exchange(found->second, stacked->run->id);
            replace_run(session, old, stacked->run);
          };
        });
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

std::string ScheduleTable::state_json(const Session&) const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ScheduleRow& row : rows_)
    rows.push_back({{"name", row.name},
                    {"chunks", row.chunks},
                    {"legal", row.refusal.empty()},
                    {"refusal", row.refusal},
                    {"makespan", to_double(row.makespan, row.unit)},
                    {"bubble_ratio", row.bubble_ratio},
                    {"peak_bytes", row.peak_bytes},
                    {"gap", row.gap},
                    {"ticked", ticked_.contains(row.name)}});
  return nlohmann::ordered_json{{"pending", pending()}, {"rows", rows}}.dump();
}

}  // namespace pipeloom::gui
