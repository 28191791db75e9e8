#pragma once

// A program whose messages cost their latency alone: nothing waits for a receiver.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/messages/program.hpp"

namespace pipeloom::test {

/// Ends of every message that a rank's entry needs (receives) or sends.
inline std::vector<Endpoint> needs_of(const MessageTable& messages, const Schedule& schedule,
                                      std::size_t first) {
  std::vector<Endpoint> ends;
  std::size_t i = first;
  do {
    if (messages.needed_by(i) != kNoMessage) ends.push_back({messages.needed_by(i), false});
  } while (schedule.ops()[i++].joined());
  return ends;
}
inline std::vector<Endpoint> sends_of(const MessageTable& messages, const Schedule& schedule,
                                      std::size_t first) {
  std::vector<Endpoint> ends;
  std::size_t i = first;
  do {
    if (messages.sent_by(i) != kNoMessage) ends.push_back({messages.sent_by(i), true});
  } while (schedule.ops()[i++].joined());
  return ends;
}

/// All receives are posted before the rank's first entry, so that no message waits for its receiver.
inline Program eager_program(const std::shared_ptr<const Schedule>& schedule) {
  ProgramBuilder out(schedule);
  for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank) {
    out.begin_rank(rank);
    std::vector<std::pair<std::size_t, std::vector<std::uint32_t>>> entries;
    for_each_entry(*schedule, schedule->queue_begin(rank), schedule->queue_end(rank),
                   [&](std::size_t first, std::size_t) {
                     entries.emplace_back(first, std::vector<std::uint32_t>{});
                     for (const Endpoint& end : needs_of(out.messages(), *schedule, first))
                       entries.back().second.push_back(out.post(std::vector<Endpoint>{end}));
                   });
    for (const auto& [first, receives] : entries) {
      for (const std::uint32_t batch : receives) out.wait(batch);
      out.run(first);
      for (const Endpoint& end : sends_of(out.messages(), *schedule, first))
        (void)out.post(std::vector<Endpoint>{end});
    }
  }
  return std::move(out).build();
}

}  // namespace pipeloom::test
