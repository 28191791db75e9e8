#include "study/run/repeated/repeated_roots.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "sim/analysis/idle_causes.hpp"
#include "study/run/repeated/repeated_path.hpp"

namespace pipeloom::study {
namespace {

using IdleSpans = std::vector<std::vector<IdleSpan>>;  // [rank]

/// Position of an op in its rank's queue.
std::size_t place_of(const Schedule& schedule, std::size_t op) {
  return op - schedule.queue_begin(schedule.rank_of_op(op));
}

/// True if every walk from the last repetition, or from what comes after it, meets ops after the first cut alone: it is the same one in every longer run.
bool walks_repeat(const ShortRuns& runs, const RootFinder& finder, const IdleSpans& idle) {
  const Schedule& schedule = *runs.shorter().schedule;
  const RepeatedCuts& cuts = runs.cuts();
  const std::size_t last = cuts.last - cuts.repetition.blocks;
  bool is_within = true;
  const auto visit = [&](std::size_t op) {
    is_within = is_within && !cuts.is_before(schedule, op, cuts.repetition.first);
  };
  for (std::size_t r = 0; r < idle.size() && is_within; ++r)
    for (const IdleSpan& gap : idle[r]) {
      const Rank rank(static_cast<std::int32_t>(r));
      const auto after = finder.entry_after(rank, gap);
      if (!after || !cuts.is_before(schedule, *after, last)) static_cast<void>(finder.of(rank, gap, visit));
      if (!is_within) break;
    }
  return is_within;
}

/// Gives the op of a cause of the longer run its name in the run with `times` repetitions more than the shorter one. False if its number is not known.
bool name_op(const ShortRuns& runs, const MicrobatchShifts& shifts, const RootFinder& finder,
             const IdleSpans& idle, std::int64_t times, RootCause& root) {
  const Schedule& longer = *runs.longer().schedule;
  const Schedule& shorter = *runs.shorter().schedule;
  const RepeatedCuts& cuts = runs.cuts();
  const Rank rank = longer.rank_of_op(root.op);
  const auto after = finder.entry_after(root.at, idle[root.at.at()][root.span]);
  // A gap before the cut at which the longer run has its repetition is the same one in every run, and of others the last.
  const bool is_early = after && place_of(longer, *after) < cuts.queues.cut(root.at, cuts.last);
  const std::size_t place = place_of(longer, root.op);
  const std::size_t block = cuts.repetition_ops(rank);
  if (!is_early && place < block) return false;
  const std::size_t index = shorter.queue_begin(rank) + (is_early ? place : place - block);
  const bool is_before = cuts.is_before(shorter, index, cuts.last);
  if (is_before && !shifts.is_regular(index, !is_early)) return false;
  root.named = {op_of(runs, index, is_early ? 0 : times, times), rank};
  return true;
}

/// The cause with its part in every repetition.
RootCause extended(const RootCause& longer, const RootCause* shorter, std::int64_t times) {
  RootCause out = longer;
  const TickSum before = shorter != nullptr ? shorter->amount : TickSum();
  const TickSum more = TickSum::of((longer.amount - before).value() * static_cast<TickSum::Wide>(times - 1));
  out.amount = longer.amount + more;
  // Ratios are means by amount.
  if (out.kind == RootKind::SlowStage && out.amount > 0) {
    const double ratio_before = shorter != nullptr ? shorter->ratio : 1;
    const double total = longer.ratio * static_cast<double>(longer.amount);
    const double of_one = total - ratio_before * static_cast<double>(before);
    out.ratio = (total + of_one * static_cast<double>(times - 1)) / static_cast<double>(out.amount);
  }
  return out;
}

}  // namespace

std::vector<RootCause> repeated_roots(const ShortRuns& runs, std::int64_t times) {
  const Run& shorter = runs.shorter();
  if (shorter.program) return {};
  const LongerRun& longer = runs.longer();
  const RootFinder finder(shorter.timeline, *shorter.costs);
  const IdleSpans idle = all_idle_spans(shorter.timeline, *shorter.costs);
  if (!finder.is_even() || !walks_repeat(runs, finder, idle)) return {};
  const RootFinder longer_finder(longer.timeline, longer.costs);
  const IdleSpans longer_idle = all_idle_spans(longer.timeline, longer.costs);
  const MicrobatchShifts shifts(runs);
  const std::vector<RootCause> before = root_causes(finder, idle);
  std::vector<RootCause> roots = root_causes(longer_finder, longer_idle);
  for (RootCause& root : roots) {
    if (root.op != RootCause::kNoOp && !name_op(runs, shifts, longer_finder, longer_idle, times, root))
      return {};
    const auto same = std::find_if(before.begin(), before.end(),
                                   [&](const RootCause& one) { return is_same_cause(one, root); });
    root = extended(root, same == before.end() ? nullptr : &*same, times);
  }
  sort_causes(roots);
  return roots;
}

}  // namespace pipeloom::study
