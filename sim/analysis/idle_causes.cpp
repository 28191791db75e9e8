#include "sim/analysis/idle_causes.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/dependency.hpp"
#include "sim/kinds.hpp"

namespace pipeloom {
namespace {

constexpr std::array<std::string_view, kIdleCauses> kCauseNames = {"warmup",   "cooldown", "imbalance",
                                                                   "transfer", "queueing", "memory"};

/// Walks one rank's entries and names each gap. The gaps at both ends need the whole step, which is known once all ranks are walked.
class GapWalk {
 public:
  GapWalk(const Timeline& timeline, const Costs& costs, const DependencyMap& dependencies)
      : timeline_(timeline), costs_(costs), dependencies_(dependencies) {}

  /// Calls fn(IdleSpan) for the rank's idle time within `whole`, in time order.
  template <class Fn>
  void run(Rank rank, Span whole, Fn&& fn) {
    const Schedule& schedule = *timeline_.schedule;
    find_phases(rank);
    Ticks free_since = whole.start;
    Ticks after = 0;
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     if (is_copy(schedule.ops()[first].kind())) return;
                     if (timeline_.start_of(first) > free_since) name_gap(free_since, after, first, last, fn);
                     free_since = std::max(free_since, timeline_.end_of(last - 1));
                     after = after_of(first, last);
                   });
    name_rest(free_since, after, whole.end, fn);
  }

  /// Gap after the rank's last entry, whose messages still take `after` of its lane.
  template <class Fn>
  static void name_rest(Ticks free_since, Ticks after, Ticks end, Fn&& fn) {
    const Ticks sent = std::min(end, free_since + after);
    add(free_since, sent, IdleCause::Transfer, fn);
    add(sent, end, IdleCause::Cooldown, fn);
  }

  /// Time of the rank's lane for the messages that this entry sends.
  [[nodiscard]] Ticks after_of(std::size_t first, std::size_t last) const {
    return lane_times(costs_, *timeline_.schedule, first, last).after;
  }

  /// Op indices: gaps before entries that start at or before `first_backward_` are warm-up, before entries after
  /// `last_forward_` cool-down.
  void find_phases(Rank rank) {
    const Schedule& schedule = *timeline_.schedule;
    const auto queue = schedule.queue(rank);
    const std::size_t begin = schedule.queue_begin(rank);
    const auto backward =
        std::find_if(queue.begin(), queue.end(), [](Op op) { return carries_gradient(op.kind()); });
    first_backward_ = begin + static_cast<std::size_t>(backward - queue.begin());
    const auto forward =
        std::find_if(queue.rbegin(), queue.rend(), [](Op op) { return op.kind() == OpKind::Forward; });
    no_forward_ = forward == queue.rend();
    last_forward_ = no_forward_ ? begin : begin + static_cast<std::size_t>(queue.rend() - forward) - 1;
  }

  /// The gap from `idle_since` to the entry of op indices [first, last). For its first `after` the lane still sends what the entry before
  /// it made, for its last stretch it receives.
  template <class Fn>
  void name_gap(Ticks idle_since, Ticks after, std::size_t first, std::size_t last, Fn&& fn) {
    const Ticks start = timeline_.start_of(first);
    const Ticks gap_start = std::min(start, idle_since + after);
    const Ticks gap_end =
        std::max(gap_start, start - lane_times(costs_, *timeline_.schedule, first, last).before);
    const Binding binding = binding_of(first, last);
    add(idle_since, gap_start, IdleCause::Transfer, fn);
    // From here on only the reload was missing.
    const Ticks tensors_there =
        binding.reloaded >= gap_end ? std::clamp(binding.arrival, gap_start, gap_end) : gap_end;
    // Time that the entry did not wait is not its cause: only the stretch up to the arrival is transfer. A measured rank may start some
    // time after its tensors are there, which is the phase's again.
    const Ticks arrived = std::clamp(binding.arrival, gap_start, tensors_there);
    const Ticks produced = std::clamp(binding.produced, gap_start, arrived);
    add(gap_start, produced, phase_before(first), fn);
    add(produced, arrived, IdleCause::Transfer, fn);
    add(arrived, tensors_there, phase_before(first), fn);
    add(tensors_there, gap_end, IdleCause::Memory, fn);
    add(gap_end, start, IdleCause::Transfer, fn);
  }

 private:
  /// The tensor that arrives last and its producer's end (of several, the latest such end), and the end of the last reload; -1
  /// for tensors that the entry does not need.
  struct Binding {
    Ticks arrival = -1;
    Ticks produced = -1;
    Ticks reloaded = -1;
  };
  [[nodiscard]] Binding binding_of(std::size_t first, std::size_t last) const {
    const Schedule& schedule = *timeline_.schedule;
    Binding binding;
    for (std::size_t i = first; i < last; ++i) {
      const std::uint32_t reload = dependencies_.reload_of(i);
      if (reload != DependencyMap::kNone)
        binding.reloaded = std::max(binding.reloaded, timeline_.end_of(reload));
      const Op op = schedule.ops()[i];
      const Ticks delay = arrival_delay(costs_, op, schedule.slot_of(op));
      dependencies_.each_producer(i, [&](std::uint32_t producer) {
        const Ticks end = timeline_.end_of(producer);
        const Ticks arrives = end + sending_time(producer) + delay;
        if (arrives > binding.arrival || (arrives == binding.arrival && end > binding.produced)) {
          binding.arrival = arrives;
          binding.produced = end;
        }
      });
    }
    return binding;
  }

  /// Time of its lane that the entry of this op takes before the op's result leaves.
  [[nodiscard]] Ticks sending_time(std::size_t op) const {
    if (costs_.rank_time == 0) return 0;
    const auto ops = timeline_.schedule->ops();
    std::size_t first = op;
    while (first > 0 && ops[first - 1].joined()) --first;
    while (ops[op].joined()) ++op;
    return after_of(first, op + 1);
  }

  [[nodiscard]] IdleCause phase_before(std::size_t first) const {
    if (first_backward_ >= first) return IdleCause::Warmup;
    if (no_forward_ || last_forward_ < first) return IdleCause::Cooldown;
    return IdleCause::Imbalance;
  }

  template <class Fn>
  static void add(Ticks start, Ticks end, IdleCause cause, Fn&& fn) {
    if (end > start) fn(IdleSpan{start, end, cause});
  }

  const Timeline& timeline_;
  const Costs& costs_;
  const DependencyMap& dependencies_;
  std::size_t first_backward_ = 0;
  std::size_t last_forward_ = 0;
  bool no_forward_ = false;
};

/// One rank's RankTimes in one pass. The gap before its first entry is left to the end, when the whole step is known.
class RankWalk {
 public:
  RankWalk(const Timeline& timeline, Rank rank) : timeline_(timeline), rank_(rank) {}

  void run(GapWalk* gaps) {
    const Schedule& schedule = *timeline_.schedule;
    const std::size_t begin = schedule.queue_begin(rank_);
    const std::size_t end = schedule.queue_end(rank_);
    if (begin == end) return;
    times_.window = {timeline_.start_of(begin), timeline_.end_of(begin)};
    if (gaps != nullptr) gaps->find_phases(rank_);
    for_each_entry(schedule, begin, end, [&](std::size_t first, std::size_t last) {
      Ticks start = timeline_.start_of(first);
      Ticks latest = timeline_.end_of(first);
      times_.window.start = std::min(times_.window.start, start);
      for (std::size_t i = first + 1; i < last; ++i) {
        times_.window.start = std::min(times_.window.start, timeline_.start_of(i));
        latest = std::max(latest, timeline_.end_of(i));
      }
      times_.window.end = std::max(times_.window.end, latest);
      if (is_copy(schedule.ops()[first].kind())) return;
      times_.busy += latest - start;
      const Ticks until = timeline_.end_of(last - 1);
      if (first_end_ == 0) {
        first_ = first;
        first_end_ = last;
        free_since_ = until;
        if (gaps != nullptr) after_ = gaps->after_of(first, last);
        return;
      }
      if (start > free_since_ && gaps != nullptr)
        gaps->name_gap(free_since_, after_, first, last, [&](const IdleSpan& span) { add(span); });
      if (gaps != nullptr) after_ = gaps->after_of(first, last);
      free_since_ = std::max(free_since_, until);
    });
  }

  /// Adds the gaps before the first entry and after the last.
  void finish(GapWalk& gaps, Span whole) {
    const auto sum = [&](const IdleSpan& span) { add(span); };
    if (first_end_ != 0) {
      gaps.find_phases(rank_);
      if (timeline_.start_of(first_) > whole.start) gaps.name_gap(whole.start, 0, first_, first_end_, sum);
    }
    const Ticks free_since = first_end_ != 0 ? std::max(free_since_, whole.start) : whole.start;
    if (whole.end > free_since) GapWalk::name_rest(free_since, after_, whole.end, sum);
  }

  [[nodiscard]] const RankTimes& times() const { return times_; }
  [[nodiscard]] bool has_ops() const {
    return timeline_.schedule->queue_begin(rank_) != timeline_.schedule->queue_end(rank_);
  }

 private:
  void add(const IdleSpan& span) { times_.idle.of(span.cause) += span.end - span.start; }

  const Timeline& timeline_;
  Rank rank_;
  RankTimes times_;
  std::size_t first_ = 0;      // the first entry that is no copy: op indices [first_, first_end_)
  std::size_t first_end_ = 0;  // 0: there is none
  Ticks free_since_ = 0;
  Ticks after_ = 0;  // of its lane after that, for messages
};

std::vector<IdleSpan> spans_of(GapWalk walk, Rank rank, Span whole) {
  std::vector<IdleSpan> spans;
  walk.run(rank, whole, [&](const IdleSpan& span) { spans.push_back(span); });
  return spans;
}

}  // namespace

std::string_view name_of(IdleCause cause) {
  return kCauseNames[static_cast<std::size_t>(cause)];
}

Ticks& IdleCauses::of(IdleCause cause) {
  Ticks* const all[kIdleCauses] = {&warmup, &cooldown, &imbalance, &transfer, &queueing, &memory};
  return *all[static_cast<std::size_t>(cause)];
}

Ticks IdleCauses::of(IdleCause cause) const {
  IdleCauses copy = *this;
  return copy.of(cause);
}

std::vector<IdleSpan> idle_spans(const Timeline& timeline, const Costs& costs, Rank rank) {
  const DependencyMap dependencies(*timeline.schedule);
  return spans_of(GapWalk(timeline, costs, dependencies), rank, span_of(timeline));
}

std::vector<std::vector<IdleSpan>> all_idle_spans(const Timeline& timeline, const Costs& costs) {
  const DependencyMap dependencies(*timeline.schedule);
  const Span whole = span_of(timeline);
  std::vector<std::vector<IdleSpan>> spans;
  for (Rank rank{0}; rank < Rank(timeline.schedule->ranks()); ++rank)
    spans.push_back(spans_of(GapWalk(timeline, costs, dependencies), rank, whole));
  return spans;
}

std::vector<IdleCauses> idle_causes(const Timeline& timeline, const Costs& costs) {
  std::vector<IdleCauses> causes;
  for (const RankTimes& rank : walk_ranks(timeline, &costs).ranks) causes.push_back(rank.idle);
  return causes;
}

StepTimes walk_ranks(const Timeline& timeline, const Costs* costs) {
  std::optional<DependencyMap> dependencies;
  std::optional<GapWalk> gaps;
  if (costs != nullptr) {
    dependencies.emplace(*timeline.schedule);
    gaps.emplace(timeline, *costs, *dependencies);
  }
  std::vector<RankWalk> walks;
  std::optional<Span> whole;
  for (Rank rank{0}; rank < Rank(timeline.schedule->ranks()); ++rank) {
    RankWalk& walk = walks.emplace_back(timeline, rank);
    walk.run(gaps ? &*gaps : nullptr);
    if (!walk.has_ops()) continue;
    const Span window = walk.times().window;
    whole = whole ? Span{std::min(whole->start, window.start), std::max(whole->end, window.end)} : window;
  }
  StepTimes times{whole.value_or(Span()), {}};
  for (RankWalk& walk : walks) {
    if (gaps) walk.finish(*gaps, times.whole);
    times.ranks.push_back(walk.times());
  }
  return times;
}

}  // namespace pipeloom
