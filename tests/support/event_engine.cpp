#include "support/event_engine.hpp"

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <queue>

#include "sim/dependency.hpp"
#include "sim/engine/wait_for.hpp"
#include "sim/kinds.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom {
namespace {

/// Something that happens to a rank: a tensor arrives for it, or its running entry's op ends. Events are ordered by time, then
/// by the sequence in which they were scheduled: a total order, the same on every machine.
struct Event {
  Ticks when = 0;
  std::uint64_t sequence = 0;
  Rank rank;
  std::size_t tensor = 0;   // that arrived, or that the op wrote
  std::size_t op = 0;       // the op that ended; kArrival: a tensor arrived
  bool frees_rank = false;  // the op is the last of its entry
  friend auto operator<=>(const Event& a, const Event& b) {
    return a.when != b.when ? a.when <=> b.when : a.sequence <=> b.sequence;
  }
};
constexpr std::size_t kArrival = static_cast<std::size_t>(-1);
constexpr std::size_t kReloaded = kArrival - 1;  // a reload ended: the rank may go on

class EventRun {
 public:
  EventRun(const Schedule& schedule, const Costs& costs, Network& network, Timeline& out)
      : schedule_(schedule),
        costs_(costs),
        network_(network),
        out_(out),
        tensors_(schedule),
        arrived_(tensors_.size(), 0),
        next_(static_cast<std::size_t>(schedule.ranks())),
        running_(next_.size(), 0),
        copy_clock_(next_.size(), 0) {
    if (schedule.has_copies())
      reload_end_.assign(
          static_cast<std::size_t>(schedule.stages()) * static_cast<std::size_t>(schedule.units()), 0);
    std::fill_n(arrived_.begin(), tensors_.first_produced(), char{1});
  }

  /// Let every rank start what it can; then take what happens next, in time order. Returns the number of entries run.
  std::size_t run() {
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
      next_[rank.at()] = schedule_.queue_begin(rank);
      start_if_ready(rank, 0);
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.op == kArrival)
        arrived_[event.tensor] = 1;
      else if (event.op != kReloaded)
        end_op(event);
      start_if_ready(event.rank, event.when);
      // Sums of all stages, and what all of them read, may let anybody go on.
      if (schedule_.shares_output())
        for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) start_if_ready(rank, event.when);
    }
    return entries_done_;
  }

  [[nodiscard]] std::vector<Wait> waits() const {
    std::vector<Wait> waits;
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
      std::size_t op = next_[rank.at()];
      if (op == schedule_.queue_end(rank)) continue;
      while (has_arrived(op)) ++op;
      waits.push_back({rank, op, tensors_.input_of(schedule_.ops()[op])});
    }
    return waits;
  }

 private:
  /// Whatever is neither F, B, I, S nor T needs only what stands before it in the same queue.
  [[nodiscard]] bool has_arrived(std::size_t i) const {
    const Op op = schedule_.ops()[i];
    const bool waits = op.kind() == OpKind::Forward || carries_gradient(op.kind()) || is_output(op);
    return !waits || arrived_[tensors_.input_of(op)] != 0;
  }

  [[nodiscard]] static bool is_output(Op op) {
    return op.kind() == OpKind::Output || op.kind() == OpKind::OutputWeight;
  }

  [[nodiscard]] Ticks& reload_end(Op op) {
    return reload_end_[op.stage().at() * static_cast<std::size_t>(schedule_.units()) + schedule_.unit_of(op)];
  }

  /// Issues the copies at the rank's cursor: they run on its copy stream, one after another.
  void issue_copies(Rank rank, Ticks now) {
    for (std::size_t& i = next_[rank.at()]; i < schedule_.queue_end(rank); ++i) {
      const Op op = schedule_.ops()[i];
      if (!is_copy(op.kind())) return;
      Ticks& clock = copy_clock_[rank.at()];
      out_.start[i] = std::max(now, clock);
      clock = out_.end[i] = out_.start[i] + costs_.op_duration(schedule_, i);
      ++entries_done_;
      if (op.kind() != OpKind::Reload) continue;
      reload_end(op) = clock;
      schedule_event({clock, 0, rank, 0, kReloaded, false});
    }
  }

  void schedule_event(Event event) {
    event.sequence = sequence_++;
    events_.push(event);
  }

  void start_if_ready(Rank rank, Ticks now) {
    if (running_[rank.at()] != 0) return;
    issue_copies(rank, now);
    const std::size_t first = next_[rank.at()];
    if (first == schedule_.queue_end(rank)) return;
    std::size_t last = first;
    do {
      if (!has_arrived(last)) return;
      if (!reload_end_.empty() && reload_end(schedule_.ops()[last]) > now) return;
    } while (schedule_.ops()[last++].joined());
    running_[rank.at()] = 1;
    next_[rank.at()] = last;
    const bool one_by_one = costs_.overlap.rule == OverlapRule::Sequential;
    const Ticks entry_end = now + costs_.entry_duration(schedule_, first, last);
    for (std::size_t i = first; i < last; ++i) {
      const Op op = schedule_.ops()[i];
      out_.start[i] = now;
      out_.end[i] = one_by_one ? now + costs_.op_duration(schedule_, i) : entry_end;
      if (one_by_one) now = out_.end[i];
      schedule_event({out_.end[i], 0, rank, tensors_.output_of(op), i, i + 1 == last});
    }
  }

  void end_op(const Event& event) {
    if (event.frees_rank) {
      running_[event.rank.at()] = 0;
      ++entries_done_;
    }
    const Op op = schedule_.ops()[event.op];
    if (is_output(op)) {
      arrived_[event.tensor] = ++parts_[event.tensor] == schedule_.stages() ? 1 : 0;
      return;
    }
    const Placement& placement = schedule_.placement();
    const Slot from = schedule_.slot_of(op);
    const int step = op.kind() == OpKind::Forward ? 1 : -1;
    const int next_stage = op.stage().value() + step;
    const bool leaves_stage = (op.kind() == OpKind::Forward || carries_gradient(op.kind())) &&
                              next_stage >= 0 && next_stage < schedule_.stages();
    // What the rank itself consumes is there at once.
    if (!leaves_stage || placement.rank_of(from + step) == event.rank) {
      arrived_[event.tensor] = 1;
      return;
    }
    const Slot to = from + step;
    const Message message{op.with_joined(false), from, to, event.rank, placement.rank_of(to)};
    schedule_event({network_.post(message, event.when), 0, message.to_rank, event.tensor, kArrival, false});
  }

  const Schedule& schedule_;
  const Costs& costs_;
  Network& network_;
  Timeline& out_;
  TensorIndex tensors_;
  std::vector<char> arrived_;         // [tensor]
  std::map<std::size_t, int> parts_;  // of the sums over all stages, by tensor: how many are there
  std::vector<std::size_t> next_;     // op index of the entry at the rank's cursor
  std::vector<char> running_;         // [rank]
  std::vector<Ticks> copy_clock_;     // when the rank's copy stream is free, [rank]
  std::vector<Ticks> reload_end_;     // [stage * units + unit]; empty without copies
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t sequence_ = 0;
  std::size_t entries_done_ = 0;
};

}  // namespace

Ticks LatencyNetwork::post(const Message& message, Ticks now) {
  return now + arrival_delay(*costs_, message.producer, message.to);
}

std::variant<Timeline, ScheduleHang> simulate_events(std::shared_ptr<const Schedule> schedule,
                                                     const Costs& costs, Network& network) {
  Timeline timeline;
  timeline.unit = costs.unit;
  timeline.start.resize(schedule->num_ops());
  timeline.end.resize(schedule->num_ops());
  EventRun run(*schedule, costs, network, timeline);
  const std::size_t done = run.run();
  if (done != schedule->num_entries()) return explain_waits(*schedule, run.waits(), done);
  timeline.schedule = std::move(schedule);
  return timeline;
}

}  // namespace pipeloom
