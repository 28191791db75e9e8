#include "study/calibrate/single_ops.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/cost/measured/measured_ops.hpp"
#include "study/calibrate/statistics.hpp"
#include "study/explain/robust.hpp"

namespace pipeloom::study::calibrate {
namespace {

using explain::median_of;

constexpr double kAgree = 0.75;

/// Repeats of one microbatch in a cell, by step.
struct Repeats {
  std::int32_t microbatch = 0;
  std::vector<Ticks> durations = {};
  std::vector<double> logs = {};
};

/// Ops of one kind on one stage, of one slice; or overlapped groups, by their forward and the stage of the other op.
struct Cell {
  OpKind kind = OpKind::Forward;
  std::int32_t stage = 0;
  std::int32_t slice = 0;
  bool of_groups = false;
  Ticks median = 0;
  double sigma = 0;
  std::vector<Repeats> microbatches = {};
};

/// What a microbatch takes more in all cells.
struct Common {
  std::int32_t microbatch = 0;
  double log = 0;
};

/// A row and how much it matters.
struct Found {
  cost::CostRow row;
  double size = 0;
};

double spread_of(std::vector<double> values) {
  if (values.size() < 2) return 0;
  const double middle = median_of(values);
  const auto count = static_cast<double>(values.size());
  for (double& value : values) value = std::abs(value - middle);
  return kOfNormal * median_of(std::move(values)) * std::sqrt(count / (count - 1));
}

std::vector<Cell> in_order(std::vector<Cell> cells) {
  for (Cell& cell : cells)
    std::sort(cell.microbatches.begin(), cell.microbatches.end(),
              [](const Repeats& a, const Repeats& b) { return a.microbatch < b.microbatch; });
  return cells;
}

/// Groups of one forward and others that ran at once; none of sliced sequences, whose parts have no times of their own.
std::vector<Cell> collect_groups(const Timeline& timeline) {
  const Schedule& schedule = *timeline.schedule;
  std::map<std::pair<std::int32_t, std::int32_t>, Cell> cells;
  bool in_turn = schedule.slices() > 1;
  const auto add = [&](std::size_t first, std::size_t last) {
    if (last - first < 2) return;
    in_turn = in_turn || timeline.start_of(first) != timeline.start_of(first + 1);
    const auto parts = schedule.ops().subspan(first, last - first);
    const auto is_forward = [](Op op) { return op.kind() == OpKind::Forward; };
    if (std::ranges::count_if(parts, is_forward) != 1) return;
    const Op forward = *std::ranges::find_if(parts, is_forward);
    const Op other = *std::ranges::find_if_not(parts, is_forward);
    Cell& cell = cells[{forward.stage().value(), other.stage().value()}];
    cell.stage = forward.stage().value();
    cell.of_groups = true;
    Repeats& of = cell.microbatches.emplace_back();
    of.microbatch = forward.microbatch().value();
    for (int step = 0; step < timeline.steps; ++step)
      of.durations.push_back(timeline.end_of(first, step) - timeline.start_of(first, step));
  };
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank), add);
  std::vector<Cell> out;
  if (in_turn) return out;
  for (auto& [stages, cell] : cells) out.push_back(std::move(cell));
  return in_order(std::move(out));
}

/// Ops that ran alone, microbatches of a cell in their order.
std::vector<Cell> collect(const Timeline& timeline, const std::vector<bool>& held) {
  const Schedule& schedule = *timeline.schedule;
  std::map<std::tuple<std::int32_t, OpKind, std::int32_t>, Cell> cells;
  const auto add = [&](std::size_t i) {
    if (!held.empty() && held[i]) return;
    const Op op = schedule.ops()[i];
    Cell& cell = cells[{op.stage().value(), op.kind(), op.slice()}];
    cell.kind = op.kind();
    cell.stage = op.stage().value();
    cell.slice = op.slice();
    Repeats& of = cell.microbatches.emplace_back();
    of.microbatch = op.microbatch().value();
    for (int step = 0; step < timeline.steps; ++step)
      of.durations.push_back(timeline.end_of(i, step) - timeline.start_of(i, step));
  };
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     const bool together =
                         last - first > 1 && timeline.start_of(first) == timeline.start_of(first + 1);
                     for (std::size_t i = first; i < last && !together; ++i) add(i);
                   });
  std::vector<Cell> out;
  for (auto& [name, cell] : cells) out.push_back(std::move(cell));
  return in_order(std::move(out));
}

/// Medians of cells and logarithms against them; without cells that take no time.
void take_logs(std::vector<Cell>& cells) {
  for (Cell& cell : cells) {
    std::vector<Ticks> all;
    for (const Repeats& of : cell.microbatches)
      all.insert(all.end(), of.durations.begin(), of.durations.end());
    cell.median = cost::sample_of(std::move(all)).median;
  }
  std::erase_if(cells, [](const Cell& cell) { return cell.median <= 0; });
  for (Cell& cell : cells)
    for (Repeats& of : cell.microbatches)
      for (const Ticks duration : of.durations)
        of.logs.push_back(
            std::log(static_cast<double>(std::max<Ticks>(duration, 1)) / static_cast<double>(cell.median)));
}

std::vector<double> logs_of(const Cell& cell) {
  std::vector<double> all;
  for (const Repeats& of : cell.microbatches) all.insert(all.end(), of.logs.begin(), of.logs.end());
  return all;
}

/// How far repeats lie from the median of their own microbatch.
std::vector<double> repeats_apart(const Cell& cell) {
  std::vector<double> all;
  for (const Repeats& of : cell.microbatches) {
    const double middle = median_of(of.logs);
    for (const double log : of.logs) all.push_back(log - middle);
  }
  return all;
}

/// The median of the cells' spreads. Where a cell has few microbatches a long one spreads it as noise does, and repeats over steps tell the two apart.
double set_sigmas(std::vector<Cell>& cells) {
  std::vector<double> known;
  for (Cell& cell : cells) {
    const bool few = cell.microbatches.size() < kFewest && cell.microbatches.front().logs.size() > 1;
    std::vector<double> logs = few ? repeats_apart(cell) : logs_of(cell);
    if (logs.size() < kFewest) continue;
    cell.sigma = spread_of(std::move(logs));
    known.push_back(cell.sigma);
  }
  const double pooled = median_of(std::move(known));
  for (Cell& cell : cells) cell.sigma = std::max(cell.sigma, pooled);
  return pooled;
}

/// Whether three quarters lie on the side of `value`, at least half as far.
bool agree(const std::vector<double>& logs, double value) {
  const auto there = std::count_if(logs.begin(), logs.end(), [&](double log) { return log / value >= 0.5; });
  return static_cast<double>(there) >= kAgree * static_cast<double>(logs.size());
}

/// Whether the medians of the first half of the steps and of the second lie on the side of `value`, more than half as far; of one step, and of
/// values of several cells in one, there are no halves. `logs` are by step.
bool both_halves_agree(const std::vector<double>& logs, double value) {
  if (logs.size() < 2) return true;
  const auto middle = logs.begin() + static_cast<std::ptrdiff_t>((logs.size() + 1) / 2);
  return median_of({logs.begin(), middle}) / value > 0.5 && median_of({middle, logs.end()}) / value > 0.5;
}

bool counts(double value, double error, double z) {
  return std::abs(std::exp(value) - 1) >= kLeastException && std::abs(value) > z * error;
}

/// Microbatches that are as much longer everywhere.
std::vector<Common> find_common(const std::vector<Cell>& cells, double sigma, double z) {
  std::map<std::int32_t, std::vector<double>> medians;  // of each cell over the steps
  std::size_t steps = 1;
  for (const Cell& cell : cells)
    for (const Repeats& of : cell.microbatches) {
      medians[of.microbatch].push_back(median_of(of.logs));
      steps = of.logs.size();
    }
  std::vector<Common> found;
  for (const auto& [microbatch, logs] : medians) {
    if (logs.size() < 2) continue;
    const double value = median_of(logs);
    std::vector<double> near = logs;
    std::erase_if(near, [&](double log) { return std::abs(log - value) > std::abs(value) / 2; });
    const double error = median_error(sigma, static_cast<double>(logs.size() * steps));
    if (counts(value, error, z) &&
        static_cast<double>(near.size()) >= kAgree * static_cast<double>(logs.size()))
      found.push_back({microbatch, value});
  }
  return found;
}

double common_log(const std::vector<Common>& common, std::int32_t microbatch) {
  const auto at = std::find_if(common.begin(), common.end(),
                               [&](const Common& one) { return one.microbatch == microbatch; });
  return at == common.end() ? 0 : at->log;
}

/// The op's row, if it is still another one beside what its microbatch has. What is left of `of.logs` is its noise then.
std::optional<Found> find_op(const Cell& cell, Repeats& of, double common, double z, bool sliced) {
  for (double& log : of.logs) log -= common;
  const double value = median_of(of.logs);
  const double error = median_error(cell.sigma, static_cast<double>(of.logs.size()));
  if (!counts(value, error, z) || !agree(of.logs, value) || !both_halves_agree(of.logs, value))
    return std::nullopt;
  for (double& log : of.logs) log -= value;
  cost::CostRow row;
  row.kind = cell.kind;
  row.stage = cell.stage;
  row.microbatch = of.microbatch;
  row.of_group = cell.of_groups;
  if (sliced) row.slice = cell.slice;
  row.number = cost::sample_of(of.durations).median;
  return Found{row, std::abs(value) * static_cast<double>(cell.median)};
}

/// Cells of sliced sequences, whose parts of a pass no key says.
std::vector<cost::CostRow> slice_rows(const std::vector<Cell>& cells) {
  std::vector<cost::CostRow> rows;
  for (const Cell& cell : cells) {
    cost::CostRow& row = rows.emplace_back();
    row.kind = cell.kind;
    row.stage = cell.stage;
    row.slice = cell.slice;
    row.number = cell.median;
  }
  return rows;
}

cost::CostRow row_of(const Common& common) {
  cost::CostRow row;
  row.microbatch = common.microbatch;
  row.is_factor = true;
  row.number = std::llround(std::exp(common.log) * static_cast<double>(kUnitScale));
  return row;
}

void add_largest(std::vector<Found> found, SingleOps& out) {
  if (found.size() > kMostExceptions) {
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& a, const Found& b) { return a.size > b.size; });
    out.left_out = found.size() - kMostExceptions;
    found.resize(kMostExceptions);
  }
  for (const Found& one : found) out.rows.push_back(one.row);
}

/// Of what rows and medians leave.
double spread_left(const std::vector<Cell>& cells) {
  std::vector<double> left;
  for (const Cell& cell : cells) {
    const std::vector<double> logs = logs_of(cell);
    if (logs.size() >= kFewest) left.insert(left.end(), logs.begin(), logs.end());
  }
  return spread_of(std::move(left));
}

}  // namespace

SingleOps find_single_ops(const Timeline& timeline, const std::vector<bool>& held) {
  SingleOps out;
  std::vector<Cell> cells = collect(timeline, held);
  take_logs(cells);
  const double sigma = set_sigmas(cells);
  std::vector<Cell> groups = collect_groups(timeline);
  take_logs(groups);
  set_sigmas(groups);
  std::size_t tests = 0;
  for (const std::vector<Cell>* some : {&cells, &groups})
    for (const Cell& cell : *some) tests += cell.microbatches.size();
  if (tests == 0) return out;
  const double z = z_of(tests);
  const bool sliced = timeline.schedule->slices() > 1;
  if (sliced) out.rows = slice_rows(cells);
  // A row with a factor is of the whole pass, so that slices with times of their own would lose it.
  const std::vector<Common> common = sliced ? std::vector<Common>() : find_common(cells, sigma, z);
  for (const Common& one : common) out.rows.push_back(row_of(one));
  std::vector<Found> found;
  for (Cell& cell : cells)
    for (Repeats& of : cell.microbatches)
      if (auto one = find_op(cell, of, common_log(common, of.microbatch), z, sliced))
        found.push_back(std::move(*one));
  for (Cell& cell : groups)
    for (Repeats& of : cell.microbatches)
      if (auto one = find_op(cell, of, 0, z, sliced)) found.push_back(std::move(*one));
  add_largest(std::move(found), out);
  out.sigma = spread_left(cells);
  return out;
}

}  // namespace pipeloom::study::calibrate
