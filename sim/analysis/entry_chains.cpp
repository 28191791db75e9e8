#include "sim/analysis/entry_chains.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/table_size.hpp"
#include "sim/dependency.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/wait_for.hpp"
#include "sim/kinds.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom {
namespace {

/// Goes through all queues twice. Forwards as the engine does, but without a clock: a rank goes on until a tensor is missing, and an
/// entry's head is when its tensors are there. Then the same visits backwards: the entries after an entry are known before it.
///
/// Every rank reads and writes stretches of its own, more than the hardware follows: the memory that the next visits need is
/// asked for ahead.
class EntryChains {
 public:
  EntryChains(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule),
        costs_(costs),
        tensors_(schedule),
        one_by_one_(costs.overlap.rule == OverlapRule::Sequential),
        ops_alike_(costs.microbatch_scale.empty() && costs.slice_end.empty() && costs.per_op.empty()),
        groups_add_up_(costs.entry == 0 && (one_by_one_ || costs.overlap.rule == OverlapRule::Sum)) {
    prepare_links();
    prepare_ranks();
  }

  std::vector<std::vector<EntryChain>> run() && {
    find_heads();
    find_tails();
    return std::move(chains_);
  }

 private:
  static constexpr Ticks kMissing = -1;          // on the way forwards
  static constexpr Ticks kNothing = -kMaxTicks;  // on the way back
  static constexpr std::size_t kNoTensor = std::numeric_limits<std::size_t>::max();
  static constexpr std::ptrdiff_t kAhead = 24;  // elements of 8 bytes that a rank's next visits go through
  static constexpr int kForWriting = 1;

  /// Constants of the ops of one kind on one slot.
  struct Link {
    std::size_t input = 0;  // tensors, minus the unit
    std::size_t output = 0;
    bool is_part = false;  // of a tensor that several ranks read
    Ticks delay = 0;
    Ticks duration = 0;  // of a whole op
    Rank consumer;
  };
  struct RankState {
    std::size_t next = 0;  // op; on the way back the end of the rest
    std::size_t waits_for = kNoTensor;
    std::size_t left = 0;  // on the way back: chains without a tail
  };
  struct Parts {
    Ticks latest = 0;
    std::int32_t left = 0;
  };
  /// Entries that a rank ran through at once, from here to the beginning of its next visit.
  struct Visit {
    std::uint32_t rank = 0;
    std::uint32_t begin = 0;  // op
  };

  void prepare_links() {
    const Placement& placement = schedule_.placement();
    links_.resize(kOpKinds * static_cast<std::size_t>(placement.slots()));
    for (Slot slot{0}; slot < Slot(placement.slots()); ++slot)
      for (const OpKind kind : kAllOpKinds) {
        const Stage stage = placement.stage_of(slot);
        links_[slot.at() * kOpKinds + index_of(kind)] = {
            tensors_.input_base(kind, stage),
            tensors_.output_base(kind, stage),
            tensors_.shared_row(tensors_.output_base(kind, stage)).has_value(),
            arrival_delay(costs_, kind, slot),
            costs_.duration[index_of(kind)][slot.at()] + costs_.entry,
            consumer_of(placement, kind, slot)};
      }
  }

  void prepare_ranks() {
    ranks_.resize(static_cast<std::size_t>(schedule_.ranks()));
    chains_.resize(ranks_.size());
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
      ranks_[rank.at()].next = schedule_.queue_begin(rank);
      std::size_t entries = 0;
      for (const Op op : schedule_.queue(rank))
        if (!op.joined() && !is_copy(op.kind())) ++entries;
      chains_[rank.at()].reserve(entries);
    }
  }

  void find_heads() {
    values_.assign(tensors_.size(), kMissing);
    std::fill_n(values_.begin(), tensors_.first_produced(), Ticks{0});
    if (schedule_.has_copies()) reloads_.assign(num_passes(), kMissing);
    for (Rank rank(schedule_.ranks() - 1); rank >= Rank(0); rank = rank - 1) runnable_.push_back(rank);
    while (!runnable_.empty()) {
      const Rank rank = runnable_.back();
      runnable_.pop_back();
      visit(rank);
    }
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank)
      if (ranks_[rank.at()].next != schedule_.queue_end(rank)) refuse_hang();
  }

  void visit(Rank rank) {
    RankState& state = ranks_[rank.at()];
    std::vector<EntryChain>& chains = chains_[rank.at()];
    const std::size_t begin = state.next;
    const std::size_t end = schedule_.queue_end(rank);
    __builtin_prefetch(schedule_.ops().data() + begin + kAhead);
    __builtin_prefetch(chains.data() + chains.size() + kAhead / 2, kForWriting);
    while (state.next < end && find_head(state, chains)) {
    }
    if (state.next != begin)
      visits_.push_back({static_cast<std::uint32_t>(rank.value()), static_cast<std::uint32_t>(begin)});
  }

  /// The rank's next entry; false if a tensor is missing.
  bool find_head(RankState& rank, std::vector<EntryChain>& chains) {
    const std::size_t first = rank.next;
    std::size_t last = first;
    Ticks head = 0;
    do {
      const Op op = schedule_.ops()[last];
      const Link& link = link_of(op);
      const std::size_t tensor = link.input + schedule_.unit_of(op);
      if (values_[tensor] == kMissing) {
        rank.waits_for = tensor;
        return false;
      }
      head = std::max(head, values_[tensor] + delay_of(op, link));
      if (waits_for_reload(op)) head = std::max(head, reloads_[pass_of(op)]);
    } while (schedule_.ops()[last++].joined());
    const Ticks duration = entry_duration(first, last);
    if (!is_copy(schedule_.ops()[first].kind())) chains.push_back({head, 0});
    Ticks visible = one_by_one_ ? head : head + duration;
    for (std::size_t i = first; i < last; ++i) {
      const Op op = schedule_.ops()[i];
      if (one_by_one_) visible += op_duration(i) - (i == first ? 0 : costs_.entry);
      publish(op, visible);
    }
    rank.next = last;
    return true;
  }

  void publish(Op op, Ticks end) {
    const Link& link = link_of(op);
    const std::size_t tensor = link.output + schedule_.unit_of(op);
    if (link.is_part) return publish_part(tensor, *tensors_.shared_row(link.output), end);
    values_[tensor] = end;
    __builtin_prefetch(values_.data() + tensor + kAhead, kForWriting);
    if (kAwaitedCopies.has(op.kind())) reloads_[pass_of(op)] = end;
    RankState& consumer = ranks_[link.consumer.at()];
    if (consumer.waits_for != tensor) return;
    consumer.waits_for = kNoTensor;
    runnable_.push_back(link.consumer);
  }

  /// A shared tensor is there for all stages when all its parts are.
  void publish_part(std::size_t tensor, int shared, Ticks end) {
    Parts& parts = parts_.try_emplace(tensor, Parts{0, tensors_.writers(shared)}).first->second;
    parts.latest = std::max(parts.latest, end);
    if (--parts.left != 0) return;
    values_[tensor] = parts.latest;
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
      if (ranks_[rank.at()].waits_for != tensor) continue;
      ranks_[rank.at()].waits_for = kNoTensor;
      runnable_.push_back(rank);
    }
  }

  [[noreturn]] void refuse_hang() const {
    const auto hang = find_hang(schedule_);
    throw HangError("the schedule hangs" + (hang ? ": " + describe(*hang, schedule_) : std::string()));
  }

  /// Values are now the longest chains from a tensor's appearance to the end of the step.
  void find_tails() {
    values_.assign(values_.size(), kNothing);
    reloads_.assign(reloads_.size(), kNothing);
    for (std::size_t r = 0; r < ranks_.size(); ++r) ranks_[r].left = chains_[r].size();
    for (auto visit = visits_.rbegin(); visit != visits_.rend(); ++visit) {
      RankState& rank = ranks_[visit->rank];
      std::vector<EntryChain>& chains = chains_[visit->rank];
      __builtin_prefetch(schedule_.ops().data() + rank.next - kAhead);
      __builtin_prefetch(chains.data() + rank.left - kAhead / 2, kForWriting);
      while (rank.next > visit->begin) {
        const std::size_t last = rank.next--;
        while (rank.next > visit->begin && schedule_.ops()[rank.next - 1].joined()) --rank.next;
        const Ticks tail = find_tail(rank.next, last);
        if (!is_copy(schedule_.ops()[rank.next].kind())) chains[--rank.left].tail = tail;
      }
    }
  }

  Ticks find_tail(std::size_t first, std::size_t last) {
    const Ticks duration = entry_duration(first, last);
    Ticks tail = 0;
    Ticks hidden = one_by_one_ ? duration : 0;  // rest of the entry when its op's result is there
    for (std::size_t i = first; i < last; ++i) {
      const Op op = schedule_.ops()[i];
      if (one_by_one_) hidden -= op_duration(i) - (i == first ? 0 : costs_.entry);
      const Ticks* const value = values_.data() + link_of(op).output + schedule_.unit_of(op);
      __builtin_prefetch(value - kAhead);
      tail = std::max(tail, *value - hidden);
      if (kAwaitedCopies.has(op.kind())) tail = std::max(tail, reloads_[pass_of(op)]);
    }
    for (std::size_t i = first; i < last; ++i) {
      const Op op = schedule_.ops()[i];
      const Link& link = link_of(op);
      Ticks* const value = values_.data() + link.input + schedule_.unit_of(op);
      __builtin_prefetch(value - kAhead, kForWriting);
      *value = std::max(*value, delay_of(op, link) + duration + tail);
      if (!waits_for_reload(op)) continue;
      Ticks& reload = reloads_[pass_of(op)];
      reload = std::max(reload, duration + tail);
    }
    return tail;
  }

  [[nodiscard]] const Link& link_of(Op op) const {
    return links_[schedule_.slot_of(op).at() * kOpKinds + index_of(op.kind())];
  }
  [[nodiscard]] Ticks delay_of(Op op, const Link& link) const {
    return costs_.slice_end.empty() ? link.delay : arrival_delay(costs_, op, schedule_.slot_of(op));
  }
  [[nodiscard]] Ticks op_duration(std::size_t i) const {
    return ops_alike_ ? link_of(schedule_.ops()[i]).duration : costs_.op_duration(schedule_, i);
  }
  [[nodiscard]] Ticks entry_duration(std::size_t first, std::size_t last) const {
    if (last - first > 1 && !groups_add_up_) return costs_.entry_duration(schedule_, first, last);
    Ticks sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += op_duration(i);
    return sum;
  }
  [[nodiscard]] bool waits_for_reload(Op op) const {
    return !reloads_.empty() && kWaitsForCopy.has(op.kind());
  }
  [[nodiscard]] std::size_t num_passes() const { return table_size(schedule_.stages(), schedule_.units()); }
  [[nodiscard]] std::size_t pass_of(Op op) const {
    return op.stage().at() * static_cast<std::size_t>(schedule_.units()) + schedule_.unit_of(op);
  }

  const Schedule& schedule_;
  const Costs& costs_;
  TensorIndex tensors_;
  bool one_by_one_;
  bool ops_alike_;                                // ops of one kind and slot take the same time
  bool groups_add_up_;                            // groups take the sum of their parts
  std::vector<Link> links_;                       // [slot * kOpKinds + kind]
  std::vector<Ticks> values_;                     // [tensor] forwards when it is there
  std::vector<Ticks> reloads_;                    // [stage * units + unit]; empty without copies
  std::unordered_map<std::size_t, Parts> parts_;  // of shared tensors, by tensor
  std::vector<RankState> ranks_;                  // [rank]
  std::vector<Rank> runnable_;                    // a stack
  std::vector<Visit> visits_;                     // in the order of the way forwards
  std::vector<std::vector<EntryChain>> chains_;   // [rank]
};

}  // namespace

std::vector<std::vector<EntryChain>> entry_chains(const Schedule& schedule, const Costs& costs) {
  return EntryChains(schedule, costs).run();
}

}  // namespace pipeloom
