#include "schedules/offload.hpp"

#include <algorithm>
#include <vector>

#include "sim/kinds.hpp"
#include "sim/options.hpp"

namespace pipeloom::schedules {
namespace {

/// An entry of a rank's queue, and the copies that are issued around it.
struct EntryCopies {
  std::span<const Op> ops;
  std::vector<Op> reloads;   // in front of it
  std::vector<Op> offloads;  // after it
};

Op copy_of(OpKind kind, Op op) {
  const Op copy(kind, op.stage(), op.microbatch());
  return op.is_sliced() ? copy.with_slice(op.slice()) : copy;
}

/// Plans the copies of one rank.
class RankCopies {
 public:
  RankCopies(const Schedule& schedule, Rank rank, const OffloadOption& rule)
      : schedule_(schedule), rule_(rule), units_(static_cast<std::size_t>(schedule.units())) {
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     entries_.push_back({schedule.ops().subspan(first, last - first), {}, {}});
                   });
    column_.assign(static_cast<std::size_t>(schedule.placement().slots()), kNowhere);
    for (const Slot slot : offloaded_slots(schedule.placement(), rank, rule)) column_[slot.at()] = columns_++;
    plan();
  }

  void write(ScheduleBuilder& out) const {
    for (const EntryCopies& entry : entries_) {
      for (const Op op : entry.reloads) out.add(op);
      out.add_group(entry.ops);
      for (const Op op : entry.offloads) out.add(op);
    }
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  [[nodiscard]] std::size_t pass_of(Op op) const {
    const std::size_t column = column_[schedule_.slot_of(op).at()];
    return column == kNowhere ? kNowhere : column * units_ + schedule_.unit_of(op);
  }

  void plan() {
    std::vector<std::size_t> forward_at(columns_ * units_, kNowhere);
    for (std::size_t e = 0; e < entries_.size(); ++e)
      for (const Op op : entries_[e].ops) {
        const std::size_t pass = pass_of(op);
        if (pass == kNowhere) continue;
        if (op.kind() == OpKind::Forward) forward_at[pass] = e;
        if (!kWaitsForCopy.has(op.kind()) || forward_at[pass] == kNowhere) continue;
        add_copies(op, forward_at[pass], e);
        forward_at[pass] = kNowhere;  // the backward after R needs no further copy
      }
  }

  void add_copies(Op op, std::size_t forward_entry, std::size_t needed_by) {
    if (needed_by - forward_entry <= static_cast<std::size_t>(rule_.min_gap)) return;
    const auto ahead = std::min(needed_by - forward_entry - 1, static_cast<std::size_t>(rule_.prefetch));
    entries_[forward_entry].offloads.push_back(copy_of(OpKind::Offload, op));
    entries_[needed_by - ahead].reloads.push_back(copy_of(OpKind::Reload, op));
  }

  const Schedule& schedule_;
  const OffloadOption& rule_;
  std::size_t units_;
  std::size_t columns_ = 0;
  std::vector<std::size_t> column_;  // of an offloaded slot, [slot]
  std::vector<EntryCopies> entries_;
};

}  // namespace

std::vector<Slot> offloaded_slots(const Placement& placement, Rank rank, const OffloadOption& rule) {
  std::vector<Slot> out;
  std::vector<int> chunk(static_cast<std::size_t>(placement.replicas()), 0);
  for (const Slot slot : placement.slots_of(rank)) {
    if (chunk[placement.replica_of(slot).at()]++ >= rule.chunks.value_or(kMaxIndex)) continue;
    if (takes_part(rule.stages, placement.stage_of(slot).value())) out.push_back(slot);
  }
  return out;
}

Schedule with_offload(const Schedule& schedule, const OffloadOption& rule) {
  ScheduleBuilder out = builder_like(schedule);
  out.reserve(schedule.num_ops() * 2);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out.begin_rank(rank);
    RankCopies(schedule, rank, rule).write(out);
  }
  return std::move(out).build();
}

}  // namespace pipeloom::schedules
