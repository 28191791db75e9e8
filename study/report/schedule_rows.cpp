#include "study/report/schedule_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <pipeloom/metrics.hpp>
#include "schedules/generator.hpp"
#include "sim/memory.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/repeated/repeated_run.hpp"
#include "study/run/training.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {
namespace {

constexpr double kMaxOps = 2e6;
/// A schedule of as many ranks takes some tenths of a second, however few its ops.
constexpr int kMaxRowRanks = 1 << 14;
constexpr double kMaxSearchedOps = 1000;

/// As `simulate` tells it. Its activations are of this row's stages, these are of the given run, so that rows compare: of v0 on a rank
/// one holds v0-th of the layers, and all of them where sizes are given per rank.
void tell_peak(const Workload& workload, MemoryModel model, Bytes peak, ScheduleRow& row) {
  Bytes units = peak;
  if (counts_activations(model)) {
    const int v0 = workload.chunks;
    const bool is_per_stage = workload.config.memory.per == cost::Per::Stage;
    model.passes = row.chunks * (is_per_stage ? 1 : v0);
    units = peak * v0;
  }
  row.peak_text = memory_cell(model, units);
  row.peak_note = memory_text(model, units) + (counts_activations(model) ? "" : " of activations");
}

/// Fills in the bytes that the fullest rank holds, and the headroom that its limit leaves.
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

double most_ops(const io::Config& config, int chunks) {
  return 3.0 * config.ranks * config.microbatches * chunks;
}

constexpr const char* kTooLarge = "too large for a table of all schedules; simulate it by itself";

/// Null where it is not.
const char* why_too_large(const io::Config& config, int chunks, const Requirements& takes) {
  if (config.ranks > kMaxRowRanks) return kTooLarge;
  return takes.slow_search && most_ops(config, chunks) > kMaxSearchedOps
             ? "its search takes a while; simulate it by itself"
             : nullptr;
}

/// Nullopt where every op would have to be evaluated, and there are too many.
std::optional<Run> totals_of(const io::Config& config, int chunks, const Limits& limits) {
  if (most_ops(config, chunks) > kMaxOps) return evaluate_repeated(config, limits, Depth::All);
  Limits totals = limits;
  totals.totals_only = true;
  return study::evaluate(config, totals);
}

ScheduleRow refused_row(ScheduleRow row, std::string why) {
  row.refusal = std::move(why);
  return row;
}

}  // namespace

ScheduleRow evaluate_row(const Workload& workload, const std::string& schedule, const Limits& limits) {
  ScheduleRow row;
  row.name = schedule;
  try {
    const io::Config config = with_schedule(workload, schedule);
    row.chunks = chunks_of(config);
    const Requirements& takes = schedules::find(schedule).generator->requirements;
    if (const char* why = why_too_large(config, row.chunks, takes); why != nullptr)
      return refused_row(std::move(row), why);
    if (takes.takes.has(Option::Updates))
      row.updates = config.options.updates.value_or(takes.default_updates);
    const std::optional<Run> found = totals_of(config, row.chunks, limits);
    if (!found) return refused_row(std::move(row), kTooLarge);
    const Run& run = *found;
    row.unit = run.timeline.unit;
    row.makespan = run.metrics->makespan;
    row.step_time = run.metrics->step_time;
    row.bubble_ratio = run.metrics->bubble_ratio;
    Bytes peak = 0;
    for (const RankMetrics& rank : run.metrics->ranks)
      peak = std::max(peak, rank.memory.peak_activation_bytes);
    row.peak_bytes = run.memory->in_bytes(peak);
    tell_peak(workload, *run.memory, peak, row);
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

std::vector<ScheduleRow> schedule_rows(const Workload& workload, const Limits& limits) {
  std::vector<ScheduleRow> out;
  for (const schedules::Generator& generator : schedules::all())
    out.push_back(evaluate_row(workload, generator.name, limits));
  const auto key = [](const ScheduleRow& row) {
    return std::tuple(!row.refusal.empty(), !row.fits(), static_cast<double>(row.step_time) / row.updates);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const ScheduleRow& a, const ScheduleRow& b) { return key(a) < key(b); });
  return out;
}

}  // namespace pipeloom::study
