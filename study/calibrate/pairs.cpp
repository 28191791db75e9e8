#include "study/calibrate/pairs.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace pipeloom::study::calibrate {
namespace {

using explain::Message;
using explain::Wiring;

/// [entry]: the one of the last part of its group; itself where it has none.
std::vector<std::uint32_t> last_parts(const Schedule& grouped, const Wiring& wiring) {
  std::vector<std::uint32_t> last(wiring.entries());
  for (std::size_t e = wiring.entries(); e-- > 0;) {
    const bool goes_on = grouped.ops()[wiring.part_begin[e + 1] - 1].joined();
    last[e] = goes_on ? last[e + 1] : static_cast<std::uint32_t>(e);
  }
  return last;
}

/// True if all messages arrive when the last part of their group has ended.
bool arrive_after(const Wiring& wiring, const std::vector<std::uint32_t>& last,
                  const std::vector<explain::MeasuredStep>& steps) {
  for (const explain::MeasuredStep& step : steps)
    for (std::size_t e = 0; e < wiring.entries(); ++e)
      for (std::uint32_t i = wiring.message_begin[e]; i < wiring.message_begin[e + 1]; ++i)
        if (step.times.start[e] < step.times.end[last[wiring.messages[i].producer]]) return false;
  return true;
}

}  // namespace

Timeline with_parts_apart(const Timeline& timeline) {
  const Schedule& schedule = *timeline.schedule;
  ScheduleBuilder builder = builder_like(schedule);
  bool any = false;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    builder.begin_rank(rank);
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     const auto ops = schedule.ops().subspan(first, last - first);
                     const bool in_turn =
                         ops.size() > 1 && timeline.start_of(first) != timeline.start_of(first + 1);
                     any = any || in_turn;
                     if (ops.size() > 1 && !in_turn) return builder.add_group(ops);
                     for (const Op op : ops) builder.add(op);
                   });
  }
  Timeline out = timeline;
  if (any) out.schedule = std::make_shared<const Schedule>(std::move(builder).build());
  return out;
}

void send_after_groups(const Schedule& grouped, const std::vector<explain::MeasuredStep>& steps,
                       Wiring& wiring) {
  const std::vector<std::uint32_t> last = last_parts(grouped, wiring);
  if (!arrive_after(wiring, last, steps)) return;
  for (Message& message : wiring.messages) message.producer = last[message.producer];
  for (std::size_t e = 0; e < wiring.entries(); ++e)
    if (last[e] != e) wiring.sends[last[e]] += std::exchange(wiring.sends[e], 0);
}

}  // namespace pipeloom::study::calibrate
