#include "sim/messages/program_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/base/table_size.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/time_limits.hpp"
#include "sim/kinds.hpp"
#include "sim/messages/message_flow.hpp"
#include "sim/wait_graph.hpp"

namespace pipeloom {

namespace {

/// Something to be done at a time.
struct Work {
  using Kind = WorkRecord::Kind;
  Ticks when = 0;
  std::uint64_t sequence = 0;
  Kind kind = Kind::Advance;
  std::uint32_t index = 0;  // rank or message
  friend bool operator>(const Work& a, const Work& b) {
    return a.when != b.when ? a.when > b.when : a.sequence > b.sequence;
  }
};

/// Work that is not done yet: in time order where messages compete for links, else last in, first out, which is cheaper and finds the
/// same times.
class WorkList {
 public:
  explicit WorkList(bool in_time_order) : in_time_order_(in_time_order) {}
  void add(Work::Kind kind, std::uint32_t index, Ticks when) {
    const Work work{when, sequence_++, kind, index};
    if (in_time_order_)
      ordered_.push(work);
    else
      stack_.push_back(work);
  }
  bool take(Work& work) {
    if (in_time_order_ ? ordered_.empty() : stack_.empty()) return false;
    if (in_time_order_) {
      work = ordered_.top();
      ordered_.pop();
    } else {
      work = stack_.back();
      stack_.pop_back();
    }
    return true;
  }

 private:
  bool in_time_order_;
  std::uint64_t sequence_ = 0;
  std::vector<Work> stack_;
  std::priority_queue<Work, std::vector<Work>, std::greater<>> ordered_;
};

class ProgramEngine {
 public:
  ProgramEngine(const Program& program, const Costs& costs, const MessageRules& rules, Ticks optimizer,
                int steps, const EntryTimes* entry_times = nullptr)
      : program_(program),
        schedule_(program.schedule()),
        costs_(costs),
        entry_times_(entry_times),
        optimizer_(optimizer),
        steps_(steps),
        flow_(program, costs, rules, steps),
        work_(rules.shared_links),
        batches_(program.num_batches() * static_cast<std::size_t>(steps)),
        ranks_(static_cast<std::size_t>(schedule_.ranks())),
        ordered_(rules.shared_links) {
    for (std::uint32_t batch = 0; batch < batches_.size(); ++batch)
      batches_[batch].unfinished = static_cast<std::uint32_t>(program.batch(of_program(batch)).size());
    timeline_.unit = costs.unit;
    timeline_.steps = steps;
    timeline_.schedule = program.shared_schedule();
    timeline_.start.resize(table_size(schedule_.num_ops(), steps));
    timeline_.end.resize(timeline_.start.size());
    waits_.resize(ranks_.size());
    if (schedule_.has_copies()) reload_end_.assign(table_size(schedule_.stages(), schedule_.units()), 0);
  }

  /// Appends everything that is done from now on.
  void record_in(std::vector<WorkRecord>& works) { record_ = &works; }

  /// Returns false if the program hangs.
  bool run() {
    for (std::size_t r = ranks_.size(); r-- > 0;)
      work_.add(Work::Kind::Advance, static_cast<std::uint32_t>(r), 0);
    Work work;
    while (work_.take(work)) {
      ready_.clear();
      if (record_ != nullptr) record(work);
      switch (work.kind) {
        case Work::Kind::Advance:
          advance(Rank(static_cast<std::int32_t>(work.index)));
          break;
        case Work::Kind::Start:
          flow_.start(work.index);
          work_.add(Work::Kind::End, work.index, flow_.times()[work.index].end);
          break;
        case Work::Kind::End:
          end_message(work.index);
          break;
      }
      for (const std::uint32_t message : ready_)
        work_.add(Work::Kind::Start, message, flow_.times()[message].ready);
    }
    return std::all_of(ranks_.begin(), ranks_.end(), [](const RankState& rank) { return rank.done; });
  }

  ProgramRun result() && { return {std::move(timeline_), std::move(flow_).take_times(), std::move(waits_)}; }
  /// When each rank ended its last op of each step, [step][rank].
  [[nodiscard]] const std::vector<std::vector<Ticks>>& step_ends() const { return step_ends_; }

  [[nodiscard]] ProgramHang hang() const {
    std::vector<StuckRank> stuck;
    std::size_t done = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      done += ranks_[r].entries_done;
      if (ranks_[r].done) continue;
      stuck.push_back({Rank(static_cast<std::int32_t>(r)), ranks_[r].next, stuck_message(ranks_[r])});
    }
    return explain_stuck(program_, flow_, stuck, done);
  }

 private:
  struct Batch {
    std::uint32_t unfinished = 0;
    std::uint32_t last = kNoMessage;  // the message that ended last
    Ticks end = 0;
  };
  static constexpr std::uint32_t kNotWaiting = ~std::uint32_t{0};
  struct RankState {
    std::size_t next = 0;  // position in its instruction list
    std::uint32_t step = 0;
    std::uint32_t waits_for = kNotWaiting;  // a batch
    Ticks clock = 0;
    Ticks last_end = 0;  // of an op
    Ticks copy_clock = 0;
    std::size_t entries_done = 0;
    std::size_t pending_wait = 0;  // first of its waits that has no entry after it yet
    bool lane_paid = false;        // the messages of the next instruction took their rank time
    bool done = false;
  };

  void record(const Work& work) {
    const std::size_t instruction = work.kind == Work::Kind::Advance ? ranks_[work.index].next : 0;
    record_->push_back({work.when, work.kind, work.index, instruction});
  }
  [[nodiscard]] std::uint32_t of_program(std::uint32_t batch) const {
    return batch % static_cast<std::uint32_t>(std::max<std::size_t>(1, program_.num_batches()));
  }
  [[nodiscard]] std::uint32_t instance(std::uint32_t batch, std::uint32_t step) const {
    return batch + step * static_cast<std::uint32_t>(program_.num_batches());
  }

  /// Carries out instructions until one must wait. With links in time order, every entry ends the visit: what comes after it
  /// belongs to a later time.
  void advance(Rank rank) {
    RankState& state = ranks_[rank.at()];
    const auto list = program_.instructions(rank);
    for (;;) {
      if (state.next == list.size()) {
        end_step(rank, state);
        if (state.done) return;
        continue;
      }
      const auto [code, index] = list[state.next];
      if (code == Program::Code::Wait && !wait(rank, state, instance(index, state.step))) return;
      if (code != Program::Code::Run && pay_lane(rank, state, code, index) && ordered_) {
        work_.add(Work::Kind::Advance, static_cast<std::uint32_t>(rank.value()), state.clock);
        return;
      }
      state.lane_paid = false;
      ++state.next;
      if (code == Program::Code::Post)
        flow_.post(rank, instance(index, state.step), program_.batch(index), state.step, state.clock, ready_);
      if (code == Program::Code::Run) {
        run_entry(rank, state, index);
        if (!ordered_) continue;
        work_.add(Work::Kind::Advance, static_cast<std::uint32_t>(rank.value()), state.clock);
        return;
      }
    }
  }

  void end_step(Rank rank, RankState& state) {
    step_ends_.resize(std::max<std::size_t>(step_ends_.size(), state.step + 1),
                      std::vector<Ticks>(ranks_.size()));
    step_ends_[state.step][rank.at()] = state.last_end;
    if (++state.step == static_cast<std::uint32_t>(steps_)) {
      state.done = true;
      return;
    }
    state.next = 0;
    state.clock = std::max(state.clock, later(state.last_end, optimizer_));
    state.pending_wait = waits_[rank.at()].size();
    std::fill(reload_end_.begin(), reload_end_.end(), 0);
  }

  /// False if the batch is not done yet.
  bool wait(Rank rank, RankState& state, std::uint32_t number) {
    const Batch& batch = batches_[number];
    if (batch.unfinished > 0) {
      state.waits_for = number;
      return false;
    }
    state.waits_for = kNotWaiting;
    if (batch.end > state.clock) add_wait(rank, state, batch.end, batch.last);
    return true;
  }

  void add_wait(Rank rank, RankState& state, Ticks until, std::uint32_t message, bool is_lane = false) {
    if (state.step == 0)
      waits_[rank.at()].push_back({state.clock, until, message, RankWait::kAtEnd, is_lane});
    state.clock = until;
  }

  /// Pays the rank time of what the batch sends, before its post, or has received, after its wait. Returns false if there is none (any more).
  bool pay_lane(Rank rank, RankState& state, Program::Code code, std::uint32_t batch) {
    if (costs_.rank_time == 0 || state.lane_paid) return false;
    const auto ends = program_.batch(batch);
    const bool sends = code == Program::Code::Post;
    const auto count =
        std::count_if(ends.begin(), ends.end(), [&](const Endpoint& end) { return end.is_send == sends; });
    if (count == 0) return false;
    add_wait(rank, state, later(state.clock, count * costs_.rank_time), kNoMessage, true);
    state.lane_paid = true;
    return true;
  }

  void end_message(std::uint32_t message) {
    const Ticks end = flow_.times()[message].end;
    const auto count = static_cast<std::uint32_t>(program_.messages().size());
    const MessageInfo& info = program_.messages()[message % count];
    for (const bool is_send : {false, true}) {
      const std::uint32_t number = flow_.batch_of(message, is_send);
      Batch& batch = batches_[number];
      if (end >= batch.end) {
        batch.end = end;
        batch.last = message;
      }
      const Rank rank = is_send ? info.from_rank : info.to_rank;
      if (--batch.unfinished == 0 && ranks_[rank.at()].waits_for == number)
        work_.add(Work::Kind::Advance, static_cast<std::uint32_t>(rank.value()), batch.end);
    }
    flow_.finish(message, ready_);
  }

  [[nodiscard]] std::size_t pass_of(Op op) const {
    return op.stage().at() * static_cast<std::size_t>(schedule_.units()) + schedule_.unit_of(op);
  }

  void run_entry(Rank rank, RankState& state, std::size_t first) {
    const auto ops = schedule_.ops();
    ++state.entries_done;
    if (is_copy(ops[first].kind())) return run_copy(state, first);
    std::size_t last = first;
    Ticks reloaded = 0;
    do {
      if (!reload_end_.empty() && kWaitsForCopy.has(ops[last].kind()))
        reloaded = std::max(reloaded, reload_end_[pass_of(ops[last])]);
    } while (ops[last++].joined());
    if (reloaded > state.clock) add_wait(rank, state, reloaded, kNoMessage);
    auto& waits = waits_[rank.at()];
    for (; state.step == 0 && state.pending_wait < waits.size(); ++state.pending_wait)
      waits[state.pending_wait].before_op = static_cast<std::uint32_t>(first);
    give_times(rank, state, first, last);
  }

  void give_times(Rank rank, RankState& state, std::size_t first, std::size_t last) {
    const bool one_by_one = costs_.overlap.rule == OverlapRule::Sequential && last - first > 1;
    const auto end_of = [&](std::size_t i, Ticks start, Ticks planned) {
      return later(start, entry_times_ != nullptr ? (*entry_times_)(rank, i, start, planned) : planned);
    };
    Ticks start = state.clock;
    Ticks end = one_by_one ? start : end_of(first, start, costs_.entry_duration(schedule_, first, last));
    for (std::size_t i = first; i < last; ++i) {
      if (one_by_one) end = end_of(i, start, costs_.turn_duration(schedule_, first, i));
      const std::size_t at = timeline_.index(static_cast<int>(state.step), i);
      timeline_.start[at] = start;
      timeline_.end[at] = end;
      if (one_by_one) start = end;
    }
    state.clock = state.last_end = end;
  }

  void run_copy(RankState& state, std::size_t i) {
    const Op op = schedule_.ops()[i];
    const std::size_t at = timeline_.index(static_cast<int>(state.step), i);
    timeline_.start[at] = std::max(state.clock, state.copy_clock);
    timeline_.end[at] = later(timeline_.start[at], costs_.op_duration(schedule_, i));
    state.copy_clock = timeline_.end[at];
    if (kAwaitedCopies.has(op.kind())) reload_end_[pass_of(op)] = state.copy_clock;
  }

  /// A message of the batch for which the rank waits that is not done.
  [[nodiscard]] StuckMessage stuck_message(const RankState& state) const {
    const auto count = static_cast<std::uint32_t>(program_.messages().size());
    for (const Endpoint& end : program_.batch(of_program(state.waits_for))) {
      const std::uint32_t message = end.message + state.step * count;
      if (flow_.times()[message].end < 0) return {message, end.is_send};
    }
    throw InternalError("program engine: a rank waits for a batch that is done");
  }

  const Program& program_;
  const Schedule& schedule_;
  const Costs& costs_;
  const EntryTimes* entry_times_;  // null: the costs' durations
  Ticks optimizer_;
  int steps_;
  MessageFlow flow_;
  WorkList work_;
  std::vector<Batch> batches_;  // instances
  std::vector<RankState> ranks_;
  std::vector<std::vector<RankWait>> waits_;
  std::vector<Ticks> reload_end_;  // [stage * units + unit]; empty without copies
  std::vector<std::vector<Ticks>> step_ends_;
  std::vector<std::uint32_t> ready_;
  Timeline timeline_;
  bool ordered_;
  std::vector<WorkRecord>* record_ = nullptr;
};

/// The first step once more for every further one.
void repeat_step(Timeline& timeline, int steps, Ticks optimizer) {
  const std::size_t ops = timeline.schedule->num_ops();
  const Ticks period = later(span_of(timeline).length(), optimizer);
  if (period > kMaxTicks / steps) refuse_times();
  for (int step = 1; step < steps; ++step)
    for (std::size_t i = 0; i < ops; ++i) {
      timeline.start.push_back(timeline.start[i] + step * period);
      timeline.end.push_back(timeline.end[i] + step * period);
    }
  timeline.steps = steps;
}

}  // namespace

std::variant<ProgramRun, ProgramHang> run_program(const Program& program, const Costs& costs,
                                                  const MessageRules& rules, const Steps& steps,
                                                  const EntryTimes& entry_times) {
  if (easy_sum_of_times(program.schedule(), costs) >= kMaxTicks)
    (void)sum_of_times(program.schedule(), costs);
  const bool barrier = steps.rule == StepRule::Barrier;
  ProgramEngine engine(program, costs, rules, steps.optimizer, barrier ? 1 : steps.count,
                       entry_times ? &entry_times : nullptr);
  if (!engine.run()) return engine.hang();
  ProgramRun run = std::move(engine).result();
  if (barrier) repeat_step(run.timeline, steps.count, steps.optimizer);
  return run;
}

std::variant<ProgramRun, ProgramHang> run_program_recorded(const Program& program, const Costs& costs,
                                                           const MessageRules& rules,
                                                           std::vector<WorkRecord>& works) {
  ProgramEngine engine(program, costs, rules, 0, 1);
  engine.record_in(works);
  if (!engine.run()) return engine.hang();
  return std::move(engine).result();
}

Ticks steady_period(const Program& program, const Costs& costs, const MessageRules& rules,
                    const Steps& steps) {
  constexpr int kMostSteps = 32;
  if (steps.rule == StepRule::Barrier) {
    ProgramEngine engine(program, costs, rules, steps.optimizer, 1);
    if (!engine.run()) throw ScheduleError("the program hangs: " + describe(engine.hang(), program));
    return later(span_of(std::move(engine).result().timeline).length(), steps.optimizer);
  }
  Ticks growth = 0;
  for (int count = 4; count <= kMostSteps; count *= 2) {
    ProgramEngine engine(program, costs, rules, steps.optimizer, count);
    if (!engine.run()) throw ScheduleError("the program hangs: " + describe(engine.hang(), program));
    const auto& ends = engine.step_ends();
    const auto last = static_cast<std::size_t>(count) - 1;
    const auto grown = [&](std::size_t step, std::size_t rank) {
      return ends[step][rank] - ends[step - 1][rank];
    };
    growth = grown(last, 0);
    bool settled = true;
    for (std::size_t r = 0; r < ends[last].size(); ++r) {
      settled = settled && grown(last, r) == growth && grown(last - 1, r) == growth;
      growth = std::max(growth, grown(last, r));
    }
    if (settled) break;
  }
  return growth;
}

namespace {

bool posts_later(const Program& program, Rank rank, std::size_t from, MessageId message) {
  const auto list = program.instructions(rank);
  for (std::size_t at = from; at < list.size(); ++at) {
    if (list[at].code != Program::Code::Post) continue;
    const auto batch = program.batch(list[at].index);
    if (std::any_of(batch.begin(), batch.end(), [&](const Endpoint& end) { return end.message == message; }))
      return true;
  }
  return false;
}

/// "RECV_F of stage 3 microbatch 1 from rank 1".
std::string action_text(const MessageInfo& message, bool is_send) {
  const int step = message.to.value() - message.from.value();
  const int stage = message.producer.stage().value() + (is_send ? 0 : step);
  return fmt::format("{}_{} of stage {} microbatch {}{} {} rank {}", is_send ? "SEND" : "RECV",
                     message.is_forward() ? 'F' : 'B', stage, message.producer.microbatch().value(),
                     message.producer.is_sliced() ? fmt::format(" slice {}", message.producer.slice()) : "",
                     is_send ? "to" : "from", (is_send ? message.to_rank : message.from_rank).value());
}

std::string wait_text(const WaitNode<NeededMessage>& node, const Program& program) {
  const NeededMessage& needs = node.needs;
  std::string text = fmt::format("rank {} waits in {}", node.rank.value(),
                                 action_text(program.messages()[needs.message], needs.is_send));
  if (needs.queued_after != kNoMessage) {
    const MessageInfo& first = program.messages()[needs.queued_after];
    text += fmt::format(" (queued on rank {} behind {})", needs.queue_of.value(),
                        action_text(first, first.from_rank == needs.queue_of));
  }
  if (node.missing) text += fmt::format(", which rank {} never posts", node.on.value());
  return text;
}

}  // namespace

ProgramHang explain_stuck(const Program& program, const MessageFlow& flow,
                          const std::vector<StuckRank>& stuck, std::size_t entries_done) {
  const auto count = static_cast<std::uint32_t>(program.messages().size());
  ProgramHang hang;
  hang.done = entries_done;
  for (const StuckRank& rank : stuck) {
    const std::uint32_t message = rank.waits.message;
    WaitNode<NeededMessage> node;
    node.rank = rank.rank;
    node.at = rank.instruction;
    node.needs.message = message % count;
    node.needs.is_send = rank.waits.is_send;
    // The message that must move first: this one, or the one at the head of a queue that it waits in.
    std::uint32_t first = message;
    Rank own = rank.rank;
    if (flow.is_posted(message, true) && flow.is_posted(message, false)) {
      const auto ahead = flow.ahead_of(message);
      first = ahead.message;
      own = ahead.rank;
      if (first != message) {
        node.needs.queued_after = first % count;
        node.needs.queue_of = own;
      }
    }
    const MessageInfo& info = program.messages()[first % count];
    const bool lacks_send = info.from_rank != own;
    node.on = lacks_send ? info.from_rank : info.to_rank;
    if (!flow.is_posted(first, lacks_send)) {
      std::size_t from = program.instructions(node.on).size();
      for (const StuckRank& other : stuck)
        if (other.rank == node.on) from = other.instruction;
      node.missing = !posts_later(program, node.on, from, first % count);
    }
    hang.nodes.push_back(node);
  }
  hang.cycle = cycle_of(hang.nodes);
  return hang;
}

std::vector<std::string> wait_lines(const ProgramHang& hang, const Program& program) {
  return wait_lines(hang, [&](const WaitNode<NeededMessage>& node) { return wait_text(node, program); });
}

std::string describe(const ProgramHang& hang, const Program& program) {
  constexpr std::size_t kMostShown = 8;
  const auto lines = wait_lines(hang, program);
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostShown); ++i)
    text += (i == 0 ? "" : i < hang.cycle.size() ? " " : "; ") + lines[i];
  if (lines.size() > kMostShown) text += fmt::format(" ... {} more ranks", lines.size() - kMostShown);
  return text;
}

}  // namespace pipeloom
