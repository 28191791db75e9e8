// What a program's run says about idle time, messages and the critical path.

#include <algorithm>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/kind_masks.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom {
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

/// Ends of a rank's activities, for walking back from a time to what set it.
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

  std::vector<std::size_t> run() && {
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
      path_.push_back(entry->first);
      entry = before(*entry);
    }
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  /// The entry whose end, by way of messages or not, let this one start.
  const RankPast::Entry* before(const RankPast::Entry& entry) {
    const RankWait* wait = ranks_[rank_].wait_ending(entry.start);
    if (wait != nullptr && wait->before_op == entry.first && wait->message != kNoMessage)
      return before_message(wait->message);
    const auto* previous = ranks_[rank_].entry_before(entry.first);
    return previous != nullptr && previous->end <= entry.start ? previous : nullptr;
  }

  const RankPast::Entry* before_message(MessageId message) {
    for (std::size_t hops = 0; hops < run_.messages.size() + 1; ++hops) {
      const MessageTimes& times = run_.messages[message];
      if (times.behind != kNoMessage) {
        if (times.behind >= program_.messages().size()) return nullptr;  // of a later step
        message = times.behind;
        continue;
      }
      const MessageInfo& info = program_.messages()[message];
      rank_ = (times.sent >= times.received ? info.from_rank : info.to_rank).at();
      if (const auto* entry = ranks_[rank_].entry_ending(times.posted())) return entry;
      const RankWait* wait = ranks_[rank_].wait_ending(times.posted());
      if (wait == nullptr || wait->message == kNoMessage) return nullptr;
      message = wait->message;
    }
    return nullptr;
  }

  const ProgramRun& run_;
  const Program& program_;
  std::vector<RankPast> ranks_;
  std::size_t rank_ = 0;
  std::vector<std::size_t> path_;
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
  for (const RankWait& wait : run.waits[rank.at()]) {
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
  Ticks last_end = whole.start;
  for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i)
    if (!is_copy(schedule.ops()[i].kind())) last_end = std::max(last_end, run.timeline.end_of(i));
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

std::vector<std::size_t> critical_entries(const ProgramRun& run, const Program& program) {
  return CriticalWalk(run, program).run();
}

}  // namespace pipeloom
