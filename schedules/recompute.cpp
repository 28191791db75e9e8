#include "schedules/recompute.hpp"

#include <vector>

#include "sim/kinds.hpp"
#include "sim/options.hpp"

namespace pipeloom::schedules {
namespace {

/// Which passes of one rank are recomputed, [stage * units + unit] over all ranks.
class Window {
 public:
  Window(const Schedule& schedule, const RecomputeOption& rule)
      : schedule_(schedule),
        rule_(rule),
        units_(static_cast<std::size_t>(schedule.units())),
        recomputed_(static_cast<std::size_t>(schedule.stages()) * units_) {
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) mark(schedule.queue(rank));
  }

  [[nodiscard]] bool has(Op op) const { return recomputed_[pass_of(op)]; }

 private:
  [[nodiscard]] std::size_t pass_of(Op op) const { return op.stage().at() * units_ + schedule_.unit_of(op); }

  static std::size_t outstanding(std::span<const Op> queue) {
    std::size_t forwards = 0;
    for (const Op op : queue) {
      if (carries_gradient(op.kind())) break;
      if (op.kind() == OpKind::Forward) ++forwards;
    }
    return forwards;
  }

  void mark(std::span<const Op> queue) {
    const std::size_t window = outstanding(queue);
    const auto keep = static_cast<std::size_t>(rule_.keep);
    std::size_t i = 0;
    for (const Op op : queue) {
      if (op.kind() != OpKind::Forward) continue;
      recomputed_[pass_of(op)] =
          takes_part(rule_.stages, op.stage().value()) && (window == 0 || i % window >= keep);
      ++i;
    }
  }

  const Schedule& schedule_;
  const RecomputeOption& rule_;
  std::size_t units_;
  std::vector<bool> recomputed_;
};

Op recompute_of(Op backward) {
  const Op op = recompute(backward.stage(), backward.microbatch());
  return backward.is_sliced() ? op.with_slice(backward.slice()) : op;
}

}  // namespace

Schedule with_recompute(const Schedule& schedule, const RecomputeOption& rule) {
  const Window window(schedule, rule);
  ScheduleBuilder out = builder_like(schedule);
  out.reserve(schedule.num_ops() * 3 / 2);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out.begin_rank(rank);
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     const auto ops = schedule.ops().subspan(first, last - first);
                     for (const Op op : ops)
                       if (carries_gradient(op.kind()) && window.has(op)) out.add(recompute_of(op));
                     out.add_group(ops);
                   });
  }
  return std::move(out).build();
}

Schedule without_added(const Schedule& schedule) {
  ScheduleBuilder out = builder_like(schedule);
  out.reserve(schedule.num_ops());
  std::vector<Op> kept;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out.begin_rank(rank);
    for_each_written_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                           [&](std::size_t first, std::size_t last) {
                             kept.clear();
                             for (const Op op : schedule.ops().subspan(first, last - first))
                               if (!kExtras.has(op.kind()) || kOutputKinds.has(op.kind())) kept.push_back(op);
                             if (!kept.empty()) out.add_group(kept);
                           });
  }
  return std::move(out).build();
}

}  // namespace pipeloom::schedules
