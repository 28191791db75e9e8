#include "sim/engine/fixed_order.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include <pipeloom/error.hpp>
#include "sim/dependency.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/kinds.hpp"

namespace pipeloom {

/// Turns entries into records, level by level.
class FixedOrder::Builder {
 public:
  Builder(const Schedule& schedule, bool per_op, FixedOrder& out)
      : schedule_(schedule), per_op_(per_op), out_(out), dependencies_(schedule) {
    if (schedule.is_extended())
      throw InternalError("fixed order: recomputation, copies and slices need the engine");
    if (schedule.num_ops() + static_cast<std::size_t>(schedule.ranks()) + 1 >= DependencyMap::kNone)
      throw InputError("a fixed order holds at most 2^32 - 1 records; use fewer microbatches");
    long_ago_ = static_cast<std::uint32_t>(schedule.ranks());
    position_of_op_.resize(schedule.num_ops());
    row_of_single_.assign(kOpKinds * static_cast<std::size_t>(schedule.placement().slots()),
                          DependencyMap::kNone);
    previous_.resize(static_cast<std::size_t>(schedule.ranks()));
    for (std::size_t r = 0; r < previous_.size(); ++r) previous_[r] = static_cast<std::uint32_t>(r);
  }

  void build() {
    out_.records_.reserve(schedule_.num_ops());
    out_.first_of_rank_.assign(previous_.size(), 0);
    for (const std::uint32_t first : entries_by_level(schedule_)) add_entry(first);
    out_.last_of_rank_ = previous_;
    for (const CostRow& row : out_.rows_)
      out_.rank_of_row_.push_back(schedule_.placement().rank_of(row.slot));
    out_.uses_of_row_.assign(out_.rows_.size(), 0);
    for (const Record& record : out_.records_) ++out_.uses_of_row_[record.cost];
  }

 private:
  void add_entry(std::uint32_t first) {
    const auto ops = schedule_.ops();
    std::size_t last = first + std::size_t{1};
    while (ops[last - 1].joined()) ++last;
    std::uint32_t& previous = previous_[schedule_.home_of(ops[first]).at()];
    // The group's duration counts once all its tensors are there: in the last record of the chain.
    for (std::size_t i = first; i < last; ++i) {
      const std::uint32_t producer = dependencies_.producer_of(i);
      const bool has_producer = producer != DependencyMap::kNone;
      out_.records_.push_back({previous, has_producer ? position_of_op_[producer] : long_ago_,
                               row_of(first, i, i + 1 == last ? last : first)});
      if (per_op_) out_.first_op_.push_back(first);
      previous = static_cast<std::uint32_t>(long_ago_ + out_.records_.size());
    }
    std::uint32_t& first_entry = out_.first_of_rank_[schedule_.home_of(ops[first]).at()];
    if (first_entry == 0) first_entry = previous;
    std::fill(position_of_op_.begin() + first, position_of_op_.begin() + static_cast<std::ptrdiff_t>(last),
              previous);
  }

  /// The cost row of op `op` in the entry that begins at `first`; `parts_end` == first means no duration.
  std::uint32_t row_of(std::size_t first, std::size_t op, std::size_t parts_end) {
    const Op waiting = schedule_.ops()[op];
    const Slot slot = schedule_.slot_of(waiting);
    if (parts_end - first != 1) return group_row_of(first, {waiting.kind(), slot, {}}, parts_end);
    // Nearly all entries are single ops: one look-up by kind and slot.
    std::uint32_t& row = row_of_single_[slot.at() * kOpKinds + index_of(waiting.kind())];
    if (row == DependencyMap::kNone) row = add_row({waiting.kind(), slot, {{waiting.kind(), slot}}});
    return row;
  }

  std::uint32_t group_row_of(std::size_t first, CostRow row, std::size_t parts_end) {
    for (std::size_t i = first; i < parts_end; ++i)
      row.parts.push_back({schedule_.ops()[i].kind(), schedule_.slot_of(schedule_.ops()[i])});
    const auto found = group_rows_.find(row);
    if (found != group_rows_.end()) return found->second;
    return group_rows_[row] = add_row(row);
  }

  std::uint32_t add_row(const CostRow& row) {
    out_.rows_.push_back(row);
    return static_cast<std::uint32_t>(out_.rows_.size() - 1);
  }

  const Schedule& schedule_;
  bool per_op_;
  FixedOrder& out_;
  DependencyMap dependencies_;
  std::uint32_t long_ago_ = 0;
  std::vector<std::uint32_t> position_of_op_;
  std::vector<std::uint32_t> previous_;       // position of the rank's latest record, [rank]
  std::vector<std::uint32_t> row_of_single_;  // [slot * kOpKinds + kind]
  std::map<CostRow, std::uint32_t> group_rows_;
};

FixedOrder::FixedOrder(const Schedule& schedule, bool per_op) : ranks_(schedule.ranks()) {
  Builder(schedule, per_op, *this).build();
}

bool FixedOrder::supports(const Costs& costs, bool per_op) {
  if (costs.overlap.rule == OverlapRule::Sequential || costs.rank_time != 0) return false;
  return costs.per_op.empty() ? costs.microbatch_scale.empty() : per_op;
}

FixedOrder::Step FixedOrder::step(std::size_t record) const {
  const Record& one = records_[record];
  const CostRow& row = rows_[one.cost];
  return {one.previous, one.producer, one.cost, row.kind, row.slot, first_op_[record], !row.parts.empty()};
}

Ticks FixedOrder::duration_of(std::size_t record, const Costs& costs) const {
  const std::vector<Costs::Part>& parts = rows_[records_[record].cost].parts;
  if (parts.empty()) return 0;
  return costs.parts_duration(parts, costs.per_op.empty() ? 0 : first_op_[record]);
}

template <std::size_t kCount>
void FixedOrder::run(std::span<const Costs* const, kCount> costs, std::vector<Ticks>& end) const {
  const bool per_op =
      std::any_of(costs.begin(), costs.end(), [](const Costs* one) { return !one->per_op.empty(); });
  per_op ? run_records<true>(costs, end) : run_records<false>(costs, end);
}

/// end[position * kCount + lane]; positions as Record describes.
template <bool kPerOp, std::size_t kCount>
void FixedOrder::run_records(std::span<const Costs* const, kCount> costs, std::vector<Ticks>& end) const {
  std::vector<RowTimes<kCount>> table(rows_.size());
  for (std::size_t row = 0; row < rows_.size(); ++row)
    for (std::size_t lane = 0; lane < kCount; ++lane) {
      table[row].delay[lane] = arrival_delay(*costs[lane], rows_[row].kind, rows_[row].slot);
      if (!rows_[row].parts.empty() && costs[lane]->per_op.empty())
        table[row].duration[lane] = costs[lane]->parts_duration(rows_[row].parts);
    }
  // In front of the records' ends: one end of 0 for each rank, which is before its first record, and one long ago, which is the
  // producer of each record that waits for none.
  const auto first = static_cast<std::size_t>(ranks_) + 1;
  end.resize((first + records_.size()) * kCount);
  std::fill_n(end.begin(), (first - 1) * kCount, Ticks{0});
  std::fill_n(end.begin() + static_cast<std::ptrdiff_t>((first - 1) * kCount), kCount, -kMaxTicks);
  follow_records<kPerOp, kCount>(costs, table.data(), end.data());
}

/// In a function of its own, so that all that its loop needs stays in registers.
template <bool kPerOp, std::size_t kCount>
void FixedOrder::follow_records(std::span<const Costs* const, kCount> costs, const RowTimes<kCount>* table,
                                Ticks* ends) const {
  Ticks* out = ends + (static_cast<std::size_t>(ranks_) + 1) * kCount;
  for (const Record& record : records_) {
    const RowTimes<kCount>& row = table[record.cost];
    const Ticks* const previous = ends + record.previous * kCount;
    const Ticks* const producer = ends + record.producer * kCount;
    // Records come after those that they wait for, so both ends are there. Lanes lie side by side for vector instructions.
    for (std::size_t lane = 0; lane < kCount; ++lane) {
      Ticks duration = row.duration[lane];
      if constexpr (kPerOp)
        duration = duration_of(static_cast<std::size_t>(&record - records_.data()), *costs[lane]);
      out[lane] = std::max(previous[lane], producer[lane] + row.delay[lane]) + duration;
    }
    out += kCount;
  }
}

Ticks FixedOrder::makespan(const Costs& costs, std::vector<Ticks>& scratch,
                           std::vector<Ticks>* last_end) const {
  const Costs* const one[] = {&costs};
  run<1>(one, scratch);
  Ticks latest = 0;
  if (last_end != nullptr) last_end->clear();
  for (const std::uint32_t position : last_of_rank_) {
    latest = std::max(latest, scratch[position]);
    if (last_end != nullptr) last_end->push_back(scratch[position]);
  }
  return latest;
}

void FixedOrder::totals(const Costs& costs, std::vector<Ticks>& scratch, Totals& out) const {
  const Costs* const one[] = {&costs};
  run<1>(one, scratch);
  const auto ranks = static_cast<std::size_t>(ranks_);
  out.busy.assign(ranks, 0);
  if (costs.per_op.empty()) {
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (!rows_[row].parts.empty())
        out.busy[rank_of_row_[row].at()] += uses_of_row_[row] * costs.parts_duration(rows_[row].parts);
  } else {
    for (std::size_t record = 0; record < records_.size(); ++record)
      out.busy[rank_of_row_[records_[record].cost].at()] += duration_of(record, costs);
  }
  out.first_start.resize(ranks);
  out.last_end.resize(ranks);
  Ticks earliest = kMaxTicks;
  Ticks latest = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    out.first_start[r] = scratch[first_of_rank_[r]] - duration_of(first_of_rank_[r] - ranks - 1, costs);
    out.last_end[r] = scratch[last_of_rank_[r]];
    earliest = std::min(earliest, out.first_start[r]);
    latest = std::max(latest, out.last_end[r]);
  }
  out.makespan = latest - earliest;
}

std::size_t FixedOrder::bytes() const {
  return sizeof(*this) + records_.capacity() * sizeof(Record) + first_op_.capacity() * sizeof(std::uint32_t) +
         rows_.capacity() *
             (sizeof(CostRow) + 2 * sizeof(Costs::Part) + sizeof(Rank) + sizeof(std::int64_t)) +
         2 * last_of_rank_.capacity() * sizeof(std::uint32_t);
}

void FixedOrder::makespans(std::span<const Costs> costs, std::span<Ticks> out,
                           std::vector<Ticks>& scratch) const {
  std::size_t done = 0;
  for (; done + kLanes <= costs.size(); done += kLanes) {
    std::array<const Costs*, kLanes> lanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = &costs[done + lane];
    run<kLanes>(std::span<const Costs* const, kLanes>(lanes), scratch);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      Ticks latest = 0;
      for (const std::uint32_t position : last_of_rank_)
        latest = std::max(latest, scratch[position * kLanes + lane]);
      out[done + lane] = latest;
    }
  }
  for (; done < costs.size(); ++done) out[done] = makespan(costs[done], scratch);
}

/// A counting sort, since there are fewer levels than ops.
std::vector<std::uint32_t> entries_by_level(const Schedule& schedule) {
  const Costs one_tick = uniform_costs(
      schedule.placement(), {.forward = 1, .backward = 1, .backward_input = 1, .backward_weight = 1});
  const Timeline levels =
      simulate(std::shared_ptr<const Schedule>(std::shared_ptr<void>(), &schedule), one_tick);
  std::vector<std::uint32_t> begin(static_cast<std::size_t>(span_of(levels).end) + 2, 0);
  const auto visit = [&](auto&& fn) {
    for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t) {
      fn(static_cast<std::size_t>(levels.start[first]), static_cast<std::uint32_t>(first));
    });
  };
  visit([&](std::size_t level, std::uint32_t) { ++begin[level + 1]; });
  for (std::size_t level = 1; level < begin.size(); ++level) begin[level] += begin[level - 1];
  std::vector<std::uint32_t> sorted(schedule.num_entries());
  visit([&](std::size_t level, std::uint32_t first) { sorted[begin[level]++] = first; });
  return sorted;
}

}  // namespace pipeloom
