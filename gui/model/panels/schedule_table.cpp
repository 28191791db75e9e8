#include "gui/model/panels/schedule_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include <pipeloom/metrics.hpp>
#include "gui/model/run/build_run.hpp"
#include "schedules/generator.hpp"
#include "sim/base/number_text.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/memory.hpp"
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

bool ScheduleTable::update(Session& session) {
  forget_closed(session);
  if (!session.panel_open("schedules") && ticked_.empty()) return false;
  const auto& config = session.part<ConfigModel>();
  mark_stale(config.revision());
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

namespace {

constexpr double kMaxOps = 2e6;
/// A schedule of as many ranks takes some tenths of a second, however few its ops.
constexpr int kMaxRowRanks = 1 << 14;
constexpr double kMaxSearchedOps = 1000;
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

/// A number, or one with its unit: 1.5, "23.6ms", "80 GB". Tables and words are none.
struct Quantity {
  double value = 0;
  std::string unit;  ///< "" for a plain number
};

std::optional<Quantity> quantity_of(const std::string& json) {
  const std::string text = shown_value(json);
  Quantity out;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  if (error != std::errc{}) return std::nullopt;
  out.unit.assign(end, text.data() + text.size());
  const bool literal = parse_time_literal(text) || parse_bytes_literal(text);
  return out.unit.empty() || literal ? std::optional(out) : std::nullopt;
}

std::string scaled(const Quantity& quantity, int factor) {
  const std::string number = fmt::format("{:.12g}", quantity.value * factor);
  return quantity.unit.empty() ? number : io::json_string(number + quantity.unit);
}

/// Multiplies what of these keys is there; REQUIRES: can_scale().
template <std::size_t N>
void scale(Assignments& assignments, const char* const (&keys)[N], int factor) {
  for (const char* key : keys)
    if (const auto found = assignments.find(key); found != assignments.end())
      found->second = scaled(*quantity_of(found->second), factor);
}

template <std::size_t N>
bool can_scale(const Assignments& assignments, const char* const (&keys)[N]) {
  return std::all_of(std::begin(keys), std::end(keys), [&](const char* key) {
    const auto found = assignments.find(key);
    return found == assignments.end() || quantity_of(found->second);
  });
}

/// Bytes of stages that are a v0-th of a rank; they follow costs.per. Arrays cannot be dealt out again: they stay as they are.
void give_bytes_per_rank(Assignments& assignments, int v0) {
  if (assignments.count("memory.per") != 0) return;
  constexpr const char* kBytes[] = {"memory.activation_bytes", "memory.released_at_input",
                                    "memory.static_bytes", "memory.stash_bytes"};
  if (can_scale(assignments, kBytes))
    scale(assignments, kBytes, v0);
  else
    assignments["memory.per"] = "\"stage\"";
}

/// Costs of stages that are a v0-th of a rank, for stages of any size.
void give_per_rank(Assignments& assignments, int v0) {
  const auto per = assignments.find("costs.per");
  if (per != assignments.end() && per->second != "\"stage\"") return;
  if (!can_scale(assignments, kOpCosts)) return;
  const bool any = std::any_of(std::begin(kOpCosts), std::end(kOpCosts),
                               [&](const char* key) { return assignments.contains(key); });
  if (!any) {
    // The defaults of a run without costs, spelt out.
    assignments["costs.forward"] = "1";
    assignments["costs.backward"] = "2";
    assignments["costs.backward_input"] = "1";
    assignments["costs.backward_weight"] = "1";
  }
  scale(assignments, kOpCosts, v0);
  assignments["costs.per"] = "\"rank\"";
  give_bytes_per_rank(assignments, v0);
}

void drop_foreign_options(Assignments& assignments, const Requirements& takes) {
  for (const io::Key& key : io::config_keys()) {
    if (!key.option) continue;
    // A variant and a file are of one schedule only.
    const bool own = key.option == Option::Variant || key.option == Option::File;
    if (own || !schedules::takes_option(takes, *key.option)) assignments.erase(std::string(key.path));
  }
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

/// Whether sizes are those of one stage each: memory.per, which follows costs.per.
bool is_per_stage(const Assignments& assignments) {
  for (const char* key : {"memory.per", "costs.per"})
    if (const auto given = assignments.find(key); given != assignments.end())
      return given->second == "\"stage\"";
  return true;
}

/// As `simulate` tells it. Its activations are of this row's stages, these are of those under edit, so that rows compare: of v0 on a rank
/// one holds v0-th of the layers, and all of them where sizes are given per rank.
void tell_peak(const Assignments& assignments, MemoryModel model, Bytes peak, ScheduleRow& row) {
  auto units = static_cast<Bytes>(std::llround(row.peak_bytes));
  if (counts_activations(model)) {
    const int v0 = chunks_of(assignments);
    model.passes = row.chunks * (is_per_stage(assignments) ? 1 : v0);
    units = peak * v0;
  }
  row.peak_text = memory_cell(model, units);
  row.peak_note = memory_text(model, units);
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
    custom["schedule"] = io::json_string(schedule);
    return custom;
  }
  if (is_now(assignments, schedule)) return assignments;
  const schedules::Generator& generator = *schedules::find(schedule).generator;
  const Requirements& takes = generator.requirements;
  const int v0 = chunks_of(assignments);
  Assignments out = assignments;
  out["schedule"] = io::json_string(schedule);
  drop_foreign_options(out, takes);
  if (v0 < takes.min_chunks || v0 > takes.max_chunks || generator.complete) out.erase("chunks");
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

ScheduleRow evaluate_row(const Assignments& assignments, const std::string& schedule,
                         const Cancelled& cancelled) {
  ScheduleRow row;
  row.name = schedule;
  try {
    const Assignments own = with_schedule(assignments, schedule);
    const io::Config config = config_of(own);
    row.chunks = chunks_of(own);
    const double ops = 3.0 * config.ranks * config.microbatches * row.chunks;
    if (ops > kMaxOps || config.ranks > kMaxRowRanks)
      return refused(std::move(row), "too large for the table; choose it to simulate it");
    const Requirements& takes = schedules::find(schedule).generator->requirements;
    if (takes.slow_search && ops > kMaxSearchedOps)
      return refused(std::move(row), "its search takes a while; choose it to simulate it");
    if (takes.takes.has(Option::Updates))
      row.updates = config.options.updates.value_or(takes.default_updates);
    const Run run = study::evaluate(config, window_limits(cancelled));
    row.unit = run.timeline.unit;
    row.makespan = run.metrics->makespan;
    row.bubble_ratio = run.metrics->bubble_ratio;
    Bytes peak = 0;
    for (const RankMetrics& rank : run.metrics->ranks)
      peak = std::max(peak, rank.memory.peak_activation_bytes);
    const bool is_divided = config.memory.has_sizes() && config.memory.per != cost::Per::Stage;
    row.peak_bytes = static_cast<double>(peak);
    if (!is_divided) row.peak_bytes *= static_cast<double>(chunks_of(assignments)) / row.chunks;
    tell_peak(assignments, *run.memory, peak, row);
    const auto bound = static_cast<double>(run.metrics->lower_bound.value);
    row.gap = bound > 0 ? static_cast<double>(run.metrics->makespan) / bound - 1 : 0;
  } catch (const Error& error) {
    return refused(std::move(row), error.what());
  } catch (const Stopped& ended) {
    return refused(std::move(row), ended.what());
  }
  return row;
}

}  // namespace pipeloom::gui
