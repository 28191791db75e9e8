#include "study/run/schedule_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <tuple>
#include <utility>

#include <pipeloom/metrics.hpp>
#include "schedules/generator.hpp"
#include "sim/base/number_text.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/memory.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/training.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {
namespace {

constexpr double kMaxOps = 2e6;
/// A schedule of as many ranks takes some tenths of a second, however few its ops.
constexpr int kMaxRowRanks = 1 << 14;
constexpr double kMaxSearchedOps = 1000;
constexpr const char* kOpCosts[] = {"costs.forward",         "costs.backward",  "costs.backward_input",
                                    "costs.backward_weight", "costs.recompute", "costs.output",
                                    "costs.output_weight"};

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

std::string scaled_quantity(const Quantity& quantity, int factor) {
  const std::string number = fmt::format("{:.12g}", quantity.value * factor);
  return quantity.unit.empty() ? number : io::json_string(number + quantity.unit);
}

/// "[2,3]" -> "[24,36]"; nothing where an entry is no quantity.
std::optional<std::string> scaled_limit(const std::string& json, int factor) {
  if (json.empty() || json.front() != '[') {
    const auto one = quantity_of(json);
    return one ? std::optional(scaled_quantity(*one, factor)) : std::nullopt;
  }
  std::string out;
  for (std::size_t at = 1; at < json.size();) {
    const std::size_t end = std::min(json.find_first_of(",]", at), json.size());
    const auto one = quantity_of(json.substr(at, end - at));
    if (!one) return std::nullopt;
    out += (out.empty() ? "[" : ",") + scaled_quantity(*one, factor);
    at = end + 1;
  }
  return out + "]";
}

/// Multiplies what of these keys is there; REQUIRES: can_scale().
template <std::size_t N>
void scale_costs(Assignments& assignments, const char* const (&keys)[N], int factor) {
  for (const char* key : keys)
    if (const auto found = assignments.find(key); found != assignments.end())
      found->second = scaled_quantity(*quantity_of(found->second), factor);
}

template <std::size_t N>
bool can_scale(const Assignments& assignments, const char* const (&keys)[N]) {
  return std::all_of(std::begin(keys), std::end(keys), [&](const char* key) {
    const auto found = assignments.find(key);
    return found == assignments.end() || quantity_of(found->second);
  });
}

constexpr const char* kSizes[] = {"memory.activation_bytes", "memory.released_at_input",
                                  "memory.static_bytes", "memory.stash_bytes"};

/// Bytes of stages that are a v0-th of a rank; they follow costs.per. Arrays cannot be dealt out again: they stay as they are.
void give_bytes_per_rank(Assignments& assignments, int v0) {
  if (assignments.count("memory.per") != 0) return;
  if (can_scale(assignments, kSizes))
    scale_costs(assignments, kSizes, v0);
  else
    assignments["memory.per"] = "\"stage\"";
}

/// Costs of stages that are a v0-th of a rank, for stages of any size.
void give_per_rank(Assignments& assignments, int v0) {
  // A model's numbers follow from the stages, and where layers are given numbers are dealt out by them.
  if (assignments.contains("costs.model") || assignments.contains("costs.layers")) return;
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
  scale_costs(assignments, kOpCosts, v0);
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

/// As `simulate` tells it. Its activations are of this row's stages, these are of the given run, so that rows compare: of v0 on a rank
/// one holds v0-th of the layers, and all of them where sizes are given per rank.
void tell_peak(const Assignments& assignments, MemoryModel model, Bytes peak, ScheduleRow& row) {
  auto units = static_cast<Bytes>(std::llround(row.peak_bytes));
  if (counts_activations(model)) {
    const int v0 = chunks_of(assignments);
    model.passes = row.chunks * (is_per_stage(assignments) ? 1 : v0);
    units = peak * v0;
  }
  row.peak_text = memory_cell(model, units);
  row.peak_note = memory_text(model, units) + (counts_activations(model) ? "" : " of activations");
}

/// What the fullest rank holds, and whether that fits.
void tell_memory(const Run& run, ScheduleRow& row) {
  const Bytes held = run.metrics->ranks[run.metrics->peak_rank.at()].memory.peak_bytes;
  const bool relative = counts_activations(*run.memory);
  row.held = relative ? row.peak_bytes : run.memory->in_bytes(held);
  row.held_text = relative ? row.peak_text : memory_cell(*run.memory, held);
  const std::optional<Bytes> left = headroom_of(*run.memory, *run.metrics);
  if (!left) return;
  row.headroom = run.memory->in_bytes(*left);
  row.headroom_text = memory_cell(*run.memory, *left);
}

void tell_rates(const Run& run, ScheduleRow& row) {
  if (!run.model) return;
  row.tokens_per_s = tokens_per_s(run.model->training, row.step_time);
  row.mfu = mfu(run.model->training, row.step_time);
}

/// Null where it is not.
const char* why_too_large(const io::Config& config, int chunks, const Requirements& takes) {
  const double ops = 3.0 * config.ranks * config.microbatches * chunks;
  if (ops > kMaxOps || config.ranks > kMaxRowRanks)
    return "too large for a table of all schedules; simulate it by itself";
  return takes.slow_search && ops > kMaxSearchedOps ? "its search takes a while; simulate it by itself"
                                                    : nullptr;
}

ScheduleRow refused_row(ScheduleRow row, std::string why) {
  row.refusal = std::move(why);
  return row;
}

}  // namespace

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

bool is_per_stage(const Assignments& assignments) {
  for (const char* key : {"memory.per", "costs.per"})
    if (const auto given = assignments.find(key); given != assignments.end())
      return given->second == "\"stage\"";
  return true;
}

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
  Assignments out = with_costs_inlined(assignments);
  out["schedule"] = io::json_string(schedule);
  drop_foreign_options(out, takes);
  if (v0 < takes.min_chunks || v0 > takes.max_chunks || generator.complete) out.erase("chunks");
  if (chunks_of(out) != v0) give_per_rank(out, v0);
  return out;
}

Assignments with_sizes_scaled(const Assignments& assignments, int factor) {
  constexpr const char* kOthers[] = {"memory.receive_bytes", "memory.logits_bytes"};
  Assignments out = assignments;
  out.try_emplace("memory.activation_bytes", "1");
  if (!can_scale(out, kSizes) || !can_scale(out, kOthers)) return assignments;
  if (const auto limit = out.find("memory.limit_bytes"); limit != out.end()) {
    const auto scaled = scaled_limit(limit->second, factor);
    if (!scaled) return assignments;
    limit->second = *scaled;
  }
  scale_costs(out, kSizes, factor);
  scale_costs(out, kOthers, factor);
  return out;
}

ScheduleRow evaluate_row(const Assignments& assignments, const std::string& schedule, const Limits& limits) {
  ScheduleRow row;
  row.name = schedule;
  try {
    const Assignments own = with_schedule(assignments, schedule);
    const io::Config config = config_of(own);
    row.chunks = chunks_of(own);
    const Requirements& takes = schedules::find(schedule).generator->requirements;
    if (const char* why = why_too_large(config, row.chunks, takes); why != nullptr)
      return refused_row(std::move(row), why);
    if (takes.takes.has(Option::Updates))
      row.updates = config.options.updates.value_or(takes.default_updates);
    const Run run = study::evaluate(config, limits);
    row.unit = run.timeline.unit;
    row.makespan = run.metrics->makespan;
    row.step_time = run.metrics->step_time;
    row.bubble_ratio = run.metrics->bubble_ratio;
    Bytes peak = 0;
    for (const RankMetrics& rank : run.metrics->ranks)
      peak = std::max(peak, rank.memory.peak_activation_bytes);
    // A model's stages hold what their layers do; sizes that are stated per stage are those of the given run's stages.
    const bool is_divided =
        config.memory.has_sizes() ? config.memory.per != cost::Per::Stage : run.model != nullptr;
    row.peak_bytes = static_cast<double>(peak);
    if (!is_divided) row.peak_bytes *= static_cast<double>(chunks_of(assignments)) / row.chunks;
    tell_peak(assignments, *run.memory, peak, row);
    tell_memory(run, row);
    tell_rates(run, row);
    const auto bound = static_cast<double>(run.metrics->lower_bound.value);
    row.gap = bound > 0 ? static_cast<double>(run.metrics->makespan) / bound - 1 : 0;
  } catch (const Error& error) {
    return refused_row(std::move(row), error.what());
  } catch (const Stopped& ended) {
    return refused_row(std::move(row), ended.what());
  }
  return row;
}

std::vector<ScheduleRow> schedule_rows(const Assignments& assignments, const Limits& limits) {
  std::vector<ScheduleRow> out;
  for (const schedules::Generator& generator : schedules::all())
    out.push_back(evaluate_row(assignments, generator.name, limits));
  const auto key = [](const ScheduleRow& row) {
    return std::tuple(!row.refusal.empty(), !row.fits(), static_cast<double>(row.step_time) / row.updates);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const ScheduleRow& a, const ScheduleRow& b) { return key(a) < key(b); });
  return out;
}

}  // namespace pipeloom::study
