#include "sim/idle_causes.hpp"

#include <algorithm>
#include <array>

#include "sim/dependency.hpp"

namespace pipeloom {
namespace {

constexpr std::array<std::string_view, kIdleCauses> kNames = {"warmup",   "cooldown", "imbalance",
                                                              "transfer", "queueing", "memory"};

/// Walks one rank's entries and names each gap.
class GapWalk {
 public:
  GapWalk(const Timeline& timeline, const Costs& costs, const DependencyMap& dependencies, Span whole)
      : timeline_(timeline), costs_(costs), dependencies_(dependencies), whole_(whole) {}

  std::vector<IdleSpan> run(Rank rank) && {
    const Schedule& schedule = *timeline_.schedule;
    find_phases(schedule.queue(rank), schedule.queue_begin(rank));
    Ticks free_since = whole_.start;
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     if (is_copy(schedule.ops()[first].kind())) return;
                     if (timeline_.start_of(first) > free_since) name_gap(free_since, first, last);
                     free_since = std::max(free_since, timeline_.end_of(last - 1));
                   });
    add(free_since, whole_.end, IdleCause::Cooldown);
    return std::move(spans_);
  }

 private:
  /// Op indices: gaps before entries that start at or before `first_backward_` are warm-up, before entries after
  /// `last_forward_` cool-down.
  void find_phases(std::span<const Op> queue, std::size_t begin) {
    first_backward_ = begin + queue.size();
    last_forward_ = begin;
    bool has_forward = false;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (carries_gradient(queue[i].kind())) first_backward_ = std::min(first_backward_, begin + i);
      if (queue[i].kind() == OpKind::Forward) {
        last_forward_ = begin + i;
        has_forward = true;
      }
    }
    no_forward_ = !has_forward;
  }

  void name_gap(Ticks gap_start, std::size_t first, std::size_t last) {
    const Ticks gap_end = timeline_.start_of(first);
    const Binding binding = binding_of(first, last);
    // From here on only the reload was missing.
    const Ticks tensors_there =
        binding.reloaded >= gap_end ? std::clamp(binding.arrival, gap_start, gap_end) : gap_end;
    // What the entry did not wait for is not its cause: only the stretch up to the arrival is transfer. Time that no producer
    // explains (a measured run) is no transfer either.
    const Ticks produced = binding.arrival >= tensors_there
                               ? std::clamp(binding.produced, gap_start, tensors_there)
                               : tensors_there;
    add(gap_start, produced, phase_before(first));
    add(produced, tensors_there, IdleCause::Transfer);
    add(tensors_there, gap_end, IdleCause::Memory);
  }

  /// The tensor that arrives last and its producer's end (of several, the latest such end), and the end of the last reload; -1
  /// for what the entry does not need.
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
      const std::uint32_t producer = dependencies_.producer_of(i);
      if (producer == DependencyMap::kNone) continue;
      const Op op = schedule.ops()[i];
      const Ticks end = timeline_.end_of(producer);
      const Ticks arrives = end + arrival_delay(costs_, op.kind(), schedule.slot_of(op));
      if (arrives > binding.arrival || (arrives == binding.arrival && end > binding.produced)) {
        binding.arrival = arrives;
        binding.produced = end;
      }
    }
    return binding;
  }

  [[nodiscard]] IdleCause phase_before(std::size_t first) const {
    if (first_backward_ >= first) return IdleCause::Warmup;
    if (no_forward_ || last_forward_ < first) return IdleCause::Cooldown;
    return IdleCause::Imbalance;
  }

  void add(Ticks start, Ticks end, IdleCause cause) {
    if (end > start) spans_.push_back({start, end, cause});
  }

  const Timeline& timeline_;
  const Costs& costs_;
  const DependencyMap& dependencies_;
  Span whole_;
  std::size_t first_backward_ = 0;
  std::size_t last_forward_ = 0;
  bool no_forward_ = false;
  std::vector<IdleSpan> spans_;
};

}  // namespace

std::string_view name_of(IdleCause cause) {
  return kNames[static_cast<std::size_t>(cause)];
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
  return GapWalk(timeline, costs, dependencies, span_of(timeline)).run(rank);
}

std::vector<std::vector<IdleSpan>> all_idle_spans(const Timeline& timeline, const Costs& costs) {
  const DependencyMap dependencies(*timeline.schedule);
  const Span whole = span_of(timeline);
  std::vector<std::vector<IdleSpan>> spans;
  for (Rank rank{0}; rank < Rank(timeline.schedule->ranks()); ++rank)
    spans.push_back(GapWalk(timeline, costs, dependencies, whole).run(rank));
  return spans;
}

std::vector<IdleCauses> idle_causes(const Timeline& timeline, const Costs& costs) {
  const DependencyMap dependencies(*timeline.schedule);
  const Span whole = span_of(timeline);
  std::vector<IdleCauses> causes;
  for (Rank rank{0}; rank < Rank(timeline.schedule->ranks()); ++rank) {
    IdleCauses& sums = causes.emplace_back();
    for (const IdleSpan& span : GapWalk(timeline, costs, dependencies, whole).run(rank))
      sums.of(span.cause) += span.end - span.start;
  }
  return causes;
}

}  // namespace pipeloom
