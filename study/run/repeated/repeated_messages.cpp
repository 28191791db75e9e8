#include "study/run/repeated/repeated_messages.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/tick_sum.hpp"
#include "study/run/repeated/extended.hpp"

namespace pipeloom::study {

std::optional<RecordedMessages> RecordedMessages::of(const Program& program, const Costs& costs,
                                                     const MessageRules& rules,
                                                     const RepeatingQueues& queues) {
  std::vector<MessageRules> all = {rules};
  if (rules.queue != QueueDiscipline::None) all.emplace_back(rules).queue = QueueDiscipline::None;
  std::vector<RecordedRun> runs;
  for (const MessageRules& one : all) {
    auto run = RecordedRun::of(program, costs, one);
    if (!run) return std::nullopt;
    runs.push_back(*std::move(run));
  }
  return RecordedMessages(queues, std::move(runs));
}

std::size_t RecordedMessages::reach(std::size_t cuts) const {
  return repeating_.reach(runs_.front(), cuts);
}

Ticks RecordedMessages::delay(const RecordedRun& run, std::size_t cut, std::size_t blocks) const {
  Rank rank{0};
  while (queues_->block_ops(rank) == 0) ++rank;
  return run.end_of(rank, queues_->cut(rank, cut) - 1) -
         run.end_of(rank, queues_->cut(rank, cut - blocks) - 1);
}

std::optional<Repetition> RecordedMessages::repetition(std::size_t cuts, std::size_t most) const {
  const std::size_t length = reach(cuts);
  for (std::size_t to = length + 1; to <= cuts; ++to)
    for (std::size_t blocks = 1; blocks <= std::min(most, to - length); ++blocks) {
      if (!runs_.front().delay(*queues_, to - blocks, to)) continue;  // quickly told, and seldom true
      const auto repeats = [&](const RecordedRun& run) {
        return repeating_.repeats(run, to, blocks, delay(run, to, blocks), length, 0);
      };
      if (std::all_of(runs_.begin(), runs_.end(), repeats))
        return Repetition{to - blocks, blocks, delay(runs_.front(), to, blocks)};
    }
  return std::nullopt;
}

bool RecordedMessages::is_repeated_in(const RecordedMessages& longer, std::size_t cut,
                                      std::size_t blocks) const {
  const std::size_t length = reach(cut);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const Ticks time = delay(runs_[i], cut, blocks);
    if (!repeating_.repeats(runs_[i], cut, blocks, time, length, length) ||
        !repeating_.is_longer(runs_[i], longer.runs_[i], cut, blocks, time))
      return false;
  }
  return true;
}

MessageSummary MessagesOfTwo::extended(std::int64_t times, Ticks makespan) const {
  MessageSummary out = shorter;
  out.totals.count =
      static_cast<std::size_t>(study::extended(static_cast<std::int64_t>(shorter.totals.count),
                                               static_cast<std::int64_t>(longer.totals.count), times));
  for (TickSum MessageTotals::*sum : {&MessageTotals::transfer, &MessageTotals::queued,
                                      &MessageTotals::head_of_line, &MessageTotals::exposed})
    out.totals.*sum = study::extended(shorter.totals.*sum, longer.totals.*sum, times);
  out.lost_to_queues = std::max<Ticks>(0, makespan - study::extended(free_shorter, free_longer, times));
  return out;
}

}  // namespace pipeloom::study
