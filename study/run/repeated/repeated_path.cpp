#include "study/run/repeated/repeated_path.hpp"

#include <algorithm>

#include "sim/analysis/critical_path.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom::study {
namespace {

std::vector<std::int32_t> microbatches_of(const Schedule& schedule, std::size_t replica) {
  std::vector<std::int32_t> out;
  for (Microbatch k{0}; k < Microbatch(schedule.microbatches()); ++k)
    if (schedule.replica_of(k).at() == replica) out.push_back(k.value());
  return out;
}

/// True if both ops are the same one, a repetition apart.
bool is_repeated(const Schedule& schedule, std::size_t earlier, std::size_t later, const RepeatedCuts& cuts) {
  const Rank rank = schedule.home_of(schedule.ops()[earlier]);
  return rank == schedule.home_of(schedule.ops()[later]) && later - earlier == cuts.repetition_ops(rank);
}

}  // namespace

MicrobatchShifts::MicrobatchShifts(const ShortRuns& runs) : runs_(runs) {
  for (std::size_t replica = 0; replica < of_size_.size(); ++replica) {
    const auto few = microbatches_of(*runs.shorter().schedule, replica);
    const auto more = microbatches_of(*runs.longer().schedule, replica);
    if (few.empty()) continue;
    of_size_.at(replica) = more.front() - few.front();
    of_repetition_.at(replica) = more.at(more.size() - few.size()) - more.front();
  }
}

bool MicrobatchShifts::is_regular(std::size_t first, bool repeats) const {
  const Schedule& shorter = *runs_.shorter().schedule;
  for (std::size_t index = first;; ++index) {
    const Op op = shorter.ops()[index];
    const std::size_t replica = shorter.replica_of(op.microbatch()).at();
    const Rank rank = shorter.home_of(op);
    const auto queue = runs_.longer().schedule->queue(rank);
    const std::size_t place = index - shorter.queue_begin(rank);
    const std::int32_t same = queue[place].microbatch().value();
    if (same - op.microbatch().value() != of_size_.at(replica)) return false;
    const std::size_t block = runs_.cuts().repetition_ops(rank);
    if (repeats && queue[place + block].microbatch().value() - same != of_repetition_.at(replica))
      return false;
    if (!op.joined()) return true;
  }
}

std::optional<RepeatedChain> repeated_chain(const ShortRuns& runs) {
  const Schedule& schedule = *runs.shorter().schedule;
  const RepeatedCuts& cuts = runs.cuts();
  const Run& run = runs.shorter();
  RepeatedChain out{run.program ? critical_entries(*run.program_run, *run.program)
                                : critical_path(run.timeline, *run.costs).entries};
  const std::vector<std::size_t>& chain = out.entries;
  const auto crossing = [&](std::size_t cut) {
    return std::partition_point(chain.begin(), chain.end(),
                                [&](std::size_t op) { return cuts.is_before(schedule, op, cut); }) -
           chain.begin();
  };
  const MicrobatchShifts shifts(runs);
  const auto is_regular = [&](std::ptrdiff_t begin, std::ptrdiff_t end, bool repeats) {
    return std::all_of(chain.begin() + begin, chain.begin() + end,
                       [&](std::size_t op) { return shifts.is_regular(op, repeats); });
  };
  // Waits for messages may lead the chain back and forth over a cut.
  const auto comes_before = [&](std::ptrdiff_t end) {
    return std::all_of(chain.begin(), chain.begin() + end,
                       [&](std::size_t op) { return cuts.is_before(schedule, op, cuts.last); });
  };
  const std::size_t blocks = cuts.repetition.blocks;
  for (std::size_t cut = cuts.last; cut >= cuts.repetition.first + blocks; cut -= blocks) {
    const auto to = crossing(cut);
    const auto from = crossing(cut - blocks);
    if (from == 0 ||
        !is_repeated(schedule, chain[static_cast<std::size_t>(from - 1)],
                     chain[static_cast<std::size_t>(to - 1)], cuts) ||
        !is_regular(0, from, false) || !is_regular(from, to, true) || !comes_before(to))
      continue;
    out.from = static_cast<std::size_t>(from);
    out.to = static_cast<std::size_t>(to);
    return out;
  }
  return std::nullopt;
}

NamedEntries entries_of(const RepeatedChain& chain, const ShortRuns& runs, std::int64_t times) {
  const Schedule& schedule = *runs.shorter().schedule;
  NamedEntries out;
  const auto add = [&](std::size_t begin, std::size_t end, std::int64_t time) {
    for (std::size_t i = begin; i < end; ++i) {
      out.entries.push_back(out.ops.size());
      for (std::size_t op = chain.entries[i];; ++op) {
        out.ops.push_back(op_of(runs, op, time, times));
        if (!schedule.ops()[op].joined()) break;
      }
    }
  };
  add(0, chain.to, 0);
  for (std::int64_t time = 1; time <= times; ++time) add(chain.from, chain.to, time);
  add(chain.to, chain.entries.size(), times);
  return out;
}

// Numbers of microbatches shift with the repetitions that come before an op, and, where replicas count on from each other, with all of them.
Op op_of(const ShortRuns& runs, std::size_t index, std::int64_t time, std::int64_t times) {
  const Schedule& shorter = *runs.shorter().schedule;
  const Op op = shorter.ops()[index];
  const Rank rank = shorter.home_of(op);
  const std::size_t place = index - shorter.queue_begin(rank);
  const auto queue = runs.longer().schedule->queue(rank);
  const std::size_t block = runs.cuts().repetition_ops(rank);
  const auto shift = [&](std::size_t other) {
    return std::int64_t{queue[other].microbatch().value()} - op.microbatch().value();
  };
  std::int64_t microbatch = op.microbatch().value();
  if (!runs.cuts().is_before(shorter, index, runs.cuts().last))
    microbatch += times * shift(place + block);
  else
    microbatch += times * shift(place) + (time > 0 ? time * (shift(place + block) - shift(place)) : 0);
  Op out(op.kind(), op.stage(), Microbatch(static_cast<std::int32_t>(microbatch)));
  if (op.is_sliced()) out = out.with_slice(op.slice());
  return out.with_joined(op.joined()).with_turn(op.in_turn());
}

}  // namespace pipeloom::study
