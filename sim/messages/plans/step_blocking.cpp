#include <algorithm>
#include <utility>
#include <vector>

#include "sim/engine/simulator.hpp"
#include "sim/kinds.hpp"
#include "sim/messages/message_plans.hpp"

namespace pipeloom {
namespace {

/// The step of every op when ranks run in lock step, each entry in the first step in which its inputs are there.
std::vector<Ticks> steps_of(const std::shared_ptr<const Schedule>& schedule) {
  Overlap overlap;
  overlap.rule = OverlapRule::Saving;  // a group is one step too
  overlap.saving = kMaxIndex;
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1,
                                                            .backward = 1,
                                                            .backward_input = 1,
                                                            .backward_weight = 1,
                                                            .copy = 0,
                                                            .overlap = overlap});
  return simulate(schedule, costs).start;
}

/// A message that its receiver takes in this step.
struct Arrival {
  Ticks step = 0;
  MessageId message = kNoMessage;
};

/// [rank], by step and, within one, by number.
std::vector<std::vector<Arrival>> arrivals_of(const MessageTable& messages, int ranks,
                                              const std::vector<Ticks>& steps) {
  std::vector<std::vector<Arrival>> arrivals(static_cast<std::size_t>(ranks));
  for (MessageId id = 0; id < messages.size(); ++id)
    arrivals[messages[id].to_rank.at()].push_back({steps[messages[id].producer_op], id});
  for (auto& list : arrivals)
    std::stable_sort(list.begin(), list.end(),
                     [](const Arrival& a, const Arrival& b) { return a.step < b.step; });
  return arrivals;
}

}  // namespace

Program step_blocking(std::shared_ptr<const Schedule> schedule) {
  const auto steps = steps_of(schedule);
  ProgramBuilder out(std::move(schedule));
  const Schedule& queues = out.schedule();
  out.reserve(queues.num_entries());
  const auto arrivals = arrivals_of(out.messages(), queues.ranks(), steps);
  std::vector<Endpoint> group;
  for (Rank rank{0}; rank < Rank(queues.ranks()); ++rank) {
    out.begin_rank(rank);
    const auto& list = arrivals[rank.at()];
    std::size_t next = 0;
    // One group per step: the messages that the rank's entry of the step sends, and those that others' entries of the step send to it.
    const auto receive_before = [&](Ticks step) {
      while (next < list.size() && list[next].step < step) {
        const Ticks own = list[next].step;
        for (; next < list.size() && list[next].step == own; ++next)
          group.push_back({list[next].message, false});
        out.exchange(group);
        group.clear();
      }
    };
    for_each_entry(queues, queues.queue_begin(rank), queues.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     if (is_copy(queues.ops()[first].kind())) return out.run(first);
                     receive_before(steps[first]);
                     out.run(first);
                     for (std::size_t i = first; i < last; ++i)
                       if (const MessageId id = out.messages().sent_by(i); id != kNoMessage)
                         group.push_back({id, true});
                     if (group.empty()) return;
                     for (; next < list.size() && list[next].step == steps[first]; ++next)
                       group.push_back({list[next].message, false});
                     out.exchange(group);
                     group.clear();
                   });
    receive_before(kMaxTicks);
  }
  return std::move(out).build();
}

}  // namespace pipeloom
