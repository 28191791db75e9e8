// Idle time, messages and the critical path of a program's run.

#include "sim/messages/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/kinds.hpp"
#include "sim/messages/program_engine.hpp"
#include "sim/text.hpp"

namespace pipeloom {

namespace {

/// The slot that an op's output goes to on another rank, or nothing.
bool crosses_ranks(const Schedule& schedule, Op op, Slot& from, Slot& to) {
  const int step = step_to_consumer(op.kind());
  const int next = op.stage().value() + step;
  if (step == 0 || next < 0 || next >= schedule.stages()) return false;
  from = schedule.slot_of(op);
  to = from + step;
  return schedule.placement().rank_of(from) != schedule.placement().rank_of(to);
}

std::string endpoint_text(const MessageInfo& message, bool is_send) {
  return is_send ? fmt::format("s{}>{}", to_text(message.producer), message.to_rank.value())
                 : fmt::format("r{}<{}", to_text(message.producer), message.from_rank.value());
}

std::string batch_text(const Program& program, std::uint32_t batch) {
  std::string text;
  for (const Endpoint& end : program.batch(batch))
    text += (text.empty() ? "" : ",") + endpoint_text(program.messages()[end.message], end.is_send);
  return text;
}

}  // namespace

MessageTable::MessageTable(const Schedule& schedule)
    : sent_(schedule.num_ops(), kNoMessage), needed_(schedule.num_ops(), kNoMessage) {
  if (schedule.shares_output())
    throw ScheduleError(
        "an output layer that all stages share (S, T) waits for all ranks at once, and programs have "
        "messages "
        "between two: simulate it under costs.transfer.model \"latency\"");
  const TensorIndex tensors(schedule);
  std::vector<MessageId> of_tensor(tensors.size(), kNoMessage);
  messages_.reserve(schedule.num_ops());
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
    const Op op = schedule.ops()[i];
    Slot from;
    Slot to;
    if (!crosses_ranks(schedule, op, from, to)) continue;
    sent_[i] = of_tensor[tensors.output_of(op)] = static_cast<MessageId>(messages_.size());
    const Placement& placement = schedule.placement();
    messages_.push_back({op.with_joined(false), from, to, placement.rank_of(from), placement.rank_of(to),
                         static_cast<std::uint32_t>(i), 0});
  }
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
    const Op op = schedule.ops()[i];
    if (step_to_producer(op.kind()) != 0) needed_[i] = of_tensor[tensors.input_of(op)];
    if (needed_[i] != kNoMessage) messages_[needed_[i]].consumer_op = static_cast<std::uint32_t>(i);
  }
  // On the last stage a backward's tensor is its own forward's output, which goes nowhere.
}

ProgramBuilder::ProgramBuilder(std::shared_ptr<const Schedule> schedule) {
  program_.messages_ = std::make_shared<const MessageTable>(*schedule);
  program_.schedule_ = std::move(schedule);
  program_.batch_begin_ = {0};
}

void ProgramBuilder::reserve(std::size_t batches) {
  program_.instructions_.reserve(program_.schedule_->num_entries() + 2 * batches);
  program_.endpoints_.reserve(2 * program_.messages_->size());
  program_.batch_begin_.reserve(batches + 1);
}

void ProgramBuilder::begin_rank(Rank rank) {
  if (rank.at() != program_.rank_begin_.size())
    throw InternalError("program builder: ranks must be started in order");
  program_.rank_begin_.push_back(program_.instructions_.size());
}

void ProgramBuilder::run(std::size_t first_op) {
  program_.instructions_.push_back({Program::Code::Run, static_cast<std::uint32_t>(first_op)});
}

std::uint32_t ProgramBuilder::post(std::span<const Endpoint> endpoints) {
  const auto number = static_cast<std::uint32_t>(program_.num_batches());
  program_.endpoints_.insert(program_.endpoints_.end(), endpoints.begin(), endpoints.end());
  program_.batch_begin_.push_back(program_.endpoints_.size());
  program_.instructions_.push_back({Program::Code::Post, number});
  return number;
}

void ProgramBuilder::wait(std::uint32_t batch) {
  program_.instructions_.push_back({Program::Code::Wait, batch});
}

void ProgramBuilder::exchange(std::span<const Endpoint> endpoints) {
  if (!endpoints.empty()) wait(post(endpoints));
}

Program ProgramBuilder::build() && {
  if (program_.rank_begin_.size() != static_cast<std::size_t>(program_.schedule_->ranks()))
    throw InternalError("program builder: a rank was never started");
  program_.rank_begin_.push_back(program_.instructions_.size());
  return std::move(program_);
}

namespace {

/// One pass over the instruction lists, then one over the messages.
class ProgramCheck {
 public:
  ProgramCheck(const Program& program, bool directions_apart)
      : program_(program),
        schedule_(program.schedule()),
        directions_apart_(directions_apart),
        runs_(schedule_.num_ops(), 0),
        ends_(program.messages().size()),
        arrived_at_(program.messages().size(), Rank(-1)) {}

  std::vector<Diagnostic> run() && {
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) check_rank(rank);
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i] != 1)
        report("not-run", schedule_.rank_of_op(i), 0, schedule_.ops()[i],
               fmt::format("{} runs {} times; once is right", to_text(schedule_.ops()[i]), runs_[i]));
    for (MessageId id = 0; id < ends_.size(); ++id) check_ends(id);
    check_pairs();
    return std::move(found_);
  }

 private:
  struct Ends {
    int sends = 0;
    int receives = 0;
  };
  /// Messages that pair in order: from, to, and the direction where that matters.
  struct Pair {
    Rank from;
    Rank to;
    bool gradients = false;
    friend auto operator<=>(const Pair&, const Pair&) = default;
  };
  struct Posted {
    MessageId message;
    std::size_t slot;
  };

  void report(std::string code, Rank rank, std::size_t slot, Op op, std::string message) {
    found_.push_back({std::move(code), rank, slot, op.with_joined(false),
                      fmt::format("rank {}: {}", rank.value(), std::move(message))});
  }

  void check_rank(Rank rank) {
    std::size_t slot = 0;
    for (const Program::Instruction& step : program_.instructions(rank)) {
      if (step.code == Program::Code::Run) {
        check_run(rank, slot, step.index);
      } else {
        for (const Endpoint& end : program_.batch(step.index)) {
          if (step.code == Program::Code::Post)
            check_post(rank, slot, end);
          else if (!end.is_send)
            arrived_at_[end.message] = rank;
        }
      }
      ++slot;
    }
  }

  void check_run(Rank rank, std::size_t slot, std::size_t first) {
    std::size_t i = first;
    do {
      ++runs_[i];
      const MessageId needed = program_.messages().needed_by(i);
      if (needed != kNoMessage && arrived_at_[needed] != rank)
        report("unwaited", rank, slot, schedule_.ops()[i],
               fmt::format("{} runs before the receive of {} was waited for", to_text(schedule_.ops()[i]),
                           to_text(program_.messages()[needed].producer)));
    } while (schedule_.ops()[i++].joined());
  }

  void check_post(Rank rank, std::size_t slot, const Endpoint& end) {
    const MessageInfo& message = program_.messages()[end.message];
    Ends& ends = ends_[end.message];
    if ((end.is_send ? message.from_rank : message.to_rank) != rank)
      report("unsent", rank, slot, message.producer,
             fmt::format("{} {}, but that is rank {}'s", end.is_send ? "sends" : "receives",
                         to_text(message.producer),
                         (end.is_send ? message.from_rank : message.to_rank).value()));
    ++(end.is_send ? ends.sends : ends.receives);
    if (end.is_send && runs_[message.producer_op] == 0)
      report("sent-early", rank, slot, message.producer,
             fmt::format("sends the output of {} before it has run", to_text(message.producer)));
    const Pair pair{message.from_rank, message.to_rank, directions_apart_ && !message.is_forward()};
    (end.is_send ? sends_ : receives_)[pair].push_back({end.message, slot});
  }

  void check_ends(MessageId id) {
    const MessageInfo& message = program_.messages()[id];
    const std::string what = to_text(message.producer);
    if (ends_[id].sends != 1)
      report("unsent", message.from_rank, 0, message.producer,
             fmt::format("the output of {} is sent {} times to rank {}; once is right", what, ends_[id].sends,
                         message.to_rank.value()));
    if (ends_[id].receives != 1)
      report("unreceived", message.to_rank, 0, message.producer,
             fmt::format("the output of {} is received {} times from rank {}; once is right", what,
                         ends_[id].receives, message.from_rank.value()));
  }

  void check_pairs() {
    for (const auto& [pair, sends] : sends_) {
      const auto& receives = receives_[pair];
      for (std::size_t n = 0; n < std::min(sends.size(), receives.size()); ++n) {
        if (sends[n].message == receives[n].message) continue;
        const Op sent = program_.messages()[sends[n].message].producer;
        const Op expected = program_.messages()[receives[n].message].producer;
        report("mispaired", pair.to, receives[n].slot, expected,
               fmt::format(
                   "message {} from rank {} is received as {}, but rank {} sends {} then; messages carry no "
                   "tags, so they pair in order: change the order on one side",
                   n, pair.from.value(), to_text(expected), pair.from.value(), to_text(sent)));
        break;
      }
    }
  }

  const Program& program_;
  const Schedule& schedule_;
  bool directions_apart_;
  std::vector<int> runs_;         // [op index]
  std::vector<Ends> ends_;        // [message]
  std::vector<Rank> arrived_at_;  // the rank that has waited for its receive, [message]
  std::map<Pair, std::vector<Posted>> sends_;
  std::map<Pair, std::vector<Posted>> receives_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> check_program(const Program& program, bool directions_apart) {
  return ProgramCheck(program, directions_apart).run();
}

std::string program_text(const Program& program, Rank rank) {
  const std::size_t count = program.instructions(rank).size();
  return program_text(program, rank, 0, count, count);
}

std::string program_text(const Program& program, Rank rank, std::size_t first, std::size_t last,
                         std::size_t marked) {
  const Schedule& schedule = program.schedule();
  const auto list = program.instructions(rank);
  std::string text;
  std::map<std::uint32_t, std::size_t> number;  // of asynchronous batches within the rank
  const auto add = [&](std::size_t at, const std::string& word) {
    if (at < first || at >= last) return;
    text += (text.empty() ? "" : " ") + word + (at == marked ? "?" : "");
  };
  for (std::size_t at = 0; at < last; ++at) {
    const auto [code, index] = list[at];
    if (code == Program::Code::Run) {
      std::size_t end = index + std::size_t{1};
      while (schedule.ops()[end - 1].joined()) ++end;
      add(at, entry_text(schedule, index, end));
    } else if (code == Program::Code::Wait) {
      add(at, fmt::format(">#{}", number.at(index)));
    } else if (at + 1 < list.size() && list[at + 1] == Program::Instruction{Program::Code::Wait, index}) {
      ++at;  // a blocking group is at the place of its wait
      add(at, "[" + batch_text(program, index) + "]");
    } else {
      const std::size_t own = number.size();
      number[index] = own;
      add(at, fmt::format("<{}#{}", batch_text(program, index), own));
    }
  }
  return text;
}

namespace {

/// Before its first backward a rank warms up, after its last forward it cools down.
class Phases {
 public:
  Phases(const Schedule& schedule, Rank rank) {
    first_backward_ = schedule.queue_end(rank);
    for (std::size_t i = schedule.queue_end(rank); i-- > schedule.queue_begin(rank);) {
      const OpKind kind = schedule.ops()[i].kind();
      if (carries_gradient(kind)) first_backward_ = i;
      if (kind == OpKind::Forward && !has_forward_) {
        last_forward_ = i;
        has_forward_ = true;
      }
    }
  }
  [[nodiscard]] IdleCause before(std::size_t op) const {
    if (first_backward_ >= op) return IdleCause::Warmup;
    return !has_forward_ || last_forward_ < op ? IdleCause::Cooldown : IdleCause::Imbalance;
  }

 private:
  std::size_t first_backward_ = 0;
  std::size_t last_forward_ = 0;
  bool has_forward_ = false;
};

/// Ends of a rank's activities, for walking back from a time to the activity that set it.
class RankPast {
 public:
  RankPast(const ProgramRun& run, Rank rank) : waits_(run.waits[rank.at()]) {
    const Schedule& schedule = *run.timeline.schedule;
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     if (is_copy(schedule.ops()[first].kind())) return;
                     entries_.push_back({first, run.timeline.start_of(first), run.timeline.end_of(last - 1)});
                   });
  }

  struct Entry {
    std::size_t first = 0;
    Ticks start = 0;
    Ticks end = 0;
  };
  /// The last entry that ended at this very time, or null.
  [[nodiscard]] const Entry* entry_ending(Ticks time) const {
    const auto after = std::partition_point(entries_.begin(), entries_.end(),
                                            [time](const Entry& entry) { return entry.end <= time; });
    return after == entries_.begin() || std::prev(after)->end != time ? nullptr : &*std::prev(after);
  }
  [[nodiscard]] const Entry* entry_before(std::size_t first) const {
    const auto at = std::partition_point(entries_.begin(), entries_.end(),
                                         [first](const Entry& entry) { return entry.first < first; });
    return at == entries_.begin() ? nullptr : &*std::prev(at);
  }
  [[nodiscard]] const RankWait* wait_ending(Ticks time) const {
    const auto at = std::partition_point(waits_.begin(), waits_.end(),
                                         [time](const RankWait& wait) { return wait.end < time; });
    return at == waits_.end() || at->end != time ? nullptr : &*at;
  }
  /// The same time, or when the lane began with messages if it was through with them then.
  [[nodiscard]] Ticks before_lane(Ticks time) const {
    for (const RankWait* wait = wait_ending(time); wait != nullptr && wait->is_lane && wait->start < time;
         wait = wait_ending(time))
      time = wait->start;
    return time;
  }
  [[nodiscard]] const Entry* last() const { return entries_.empty() ? nullptr : &entries_.back(); }

 private:
  const std::vector<RankWait>& waits_;
  std::vector<Entry> entries_;
};

/// Walks back from the last end to the beginning.
class CriticalWalk {
 public:
  CriticalWalk(const ProgramRun& run, const Program& program) : run_(run), program_(program) {
    for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank) ranks_.emplace_back(run, rank);
  }

  CriticalChain run() && {
    const RankPast::Entry* entry = nullptr;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (const auto* last = ranks_[r].last();
          last != nullptr && (entry == nullptr || last->end > entry->end)) {
        entry = last;
        rank_ = r;
      }
    // Every round goes to an earlier instruction or message, so this ends; the bound guards against ops without duration.
    for (std::size_t rounds = run_.timeline.start.size() + run_.messages.size() + 1;
         entry != nullptr && rounds > 0; --rounds) {
      path_.entries.push_back(entry->first);
      entry = before(*entry);
    }
    std::reverse(path_.entries.begin(), path_.entries.end());
    std::reverse(path_.messages.begin(), path_.messages.end());
    return std::move(path_);
  }

 private:
  /// The entry whose end, by way of messages or not, let this one start.
  const RankPast::Entry* before(const RankPast::Entry& entry) {
    const RankWait* wait = ranks_[rank_].wait_ending(ranks_[rank_].before_lane(entry.start));
    if (wait != nullptr && wait->before_op == entry.first && wait->message != kNoMessage)
      return before_message(wait->message);
    const auto* previous = ranks_[rank_].entry_before(entry.first);
    return previous != nullptr && previous->end <= entry.start ? previous : nullptr;
  }

  const RankPast::Entry* before_message(MessageId message) {
    for (std::size_t hops = 0; hops < run_.messages.size() + 1; ++hops) {
      const MessageTimes& times = run_.messages[message];
      path_.messages.push_back(message);
      if (times.queued_after != kNoMessage) {
        if (times.queued_after >= program_.messages().size()) return nullptr;  // of a later step
        message = times.queued_after;
        continue;
      }
      const MessageInfo& info = program_.messages()[message];
      rank_ = (times.sent >= times.received ? info.from_rank : info.to_rank).at();
      const Ticks posted = ranks_[rank_].before_lane(times.posted());
      if (const auto* entry = ranks_[rank_].entry_ending(posted)) return entry;
      const RankWait* wait = ranks_[rank_].wait_ending(posted);
      if (wait == nullptr || wait->message == kNoMessage) return nullptr;
      message = wait->message;
    }
    return nullptr;
  }

  const ProgramRun& run_;
  const Program& program_;
  std::vector<RankPast> ranks_;
  std::size_t rank_ = 0;
  CriticalChain path_;
};

}  // namespace

std::vector<IdleSpan> idle_spans(const ProgramRun& run, Rank rank) {
  const Schedule& schedule = *run.timeline.schedule;
  const Phases phases(schedule, rank);
  const Span whole = span_of(run.timeline);
  std::vector<IdleSpan> spans;
  const auto add = [&](Ticks start, Ticks end, IdleCause cause) {
    start = std::max(start, whole.start);
    if (end > start) spans.push_back({start, end, cause});
  };
  Ticks last_end = whole.start;
  for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i)
    if (!is_copy(schedule.ops()[i].kind())) last_end = std::max(last_end, run.timeline.end_of(i));
  for (const RankWait& wait : run.waits[rank.at()]) {
    if (wait.is_lane) {
      add(wait.start, std::min(wait.end, whole.end), IdleCause::Transfer);
      last_end = std::max(last_end, std::min(wait.end, whole.end));
      continue;
    }
    if (wait.before_op == RankWait::kAtEnd) continue;
    if (wait.message == kNoMessage) {
      add(wait.start, wait.end, IdleCause::Memory);
      continue;
    }
    const MessageTimes& message = run.messages[wait.message];
    const Ticks posted = std::clamp(message.posted(), wait.start, wait.end);
    const Ticks started = std::clamp(message.start, posted, wait.end);
    add(wait.start, posted, phases.before(wait.before_op));
    add(posted, started, IdleCause::Queueing);
    add(started, wait.end, IdleCause::Transfer);
  }
  add(last_end, whole.end, IdleCause::Cooldown);
  return spans;
}

std::vector<IdleCauses> idle_causes(const ProgramRun& run) {
  std::vector<IdleCauses> causes;
  for (Rank rank{0}; rank < Rank(run.timeline.schedule->ranks()); ++rank) {
    IdleCauses& sums = causes.emplace_back();
    for (const IdleSpan& span : idle_spans(run, rank)) sums.of(span.cause) += span.end - span.start;
  }
  return causes;
}

MessageTotals message_totals(const ProgramRun& run, const Program& program) {
  MessageTotals totals;
  totals.count = program.messages().size();
  for (const MessageTimes& message : std::span<const MessageTimes>(run.messages).first(totals.count)) {
    totals.transfer += message.end - message.start;
    totals.queued += message.start - message.posted();
    totals.head_of_line += message.ready - message.posted();
  }
  for (const IdleCauses& causes : idle_causes(run))
    totals.exposed += TickSum(causes.transfer) + causes.queueing;
  return totals;
}

CriticalChain critical_chain(const ProgramRun& run, const Program& program) {
  return CriticalWalk(run, program).run();
}

std::vector<std::size_t> critical_entries(const ProgramRun& run, const Program& program) {
  return critical_chain(run, program).entries;
}

}  // namespace pipeloom
