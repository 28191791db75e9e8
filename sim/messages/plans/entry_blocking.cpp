#include <utility>
#include <vector>

#include "sim/kinds.hpp"
#include "sim/messages/message_plans.hpp"
#include "sim/messages/plans/inbox.hpp"

namespace pipeloom {

Program entry_blocking(std::shared_ptr<const Schedule> schedule) {
  ProgramBuilder out(std::move(schedule));
  const Schedule& queues = out.schedule();
  out.reserve(queues.num_entries());
  plans::Inbox inbox(out.messages(), queues.ranks());
  std::vector<Endpoint> group;
  const auto exchange = [&] {
    out.exchange(group);
    group.clear();
  };
  for (Rank rank{0}; rank < Rank(queues.ranks()); ++rank) {
    out.begin_rank(rank);
    inbox.begin_rank(rank);
    for_each_entry(queues, queues.queue_begin(rank), queues.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     if (is_copy(queues.ops()[first].kind())) return out.run(first);
                     for (std::size_t i = first; i < last; ++i)
                       if (const MessageId id = out.messages().needed_by(i); id != kNoMessage)
                         inbox.take(id, [&](MessageId taken) { group.push_back({taken, false}); });
                     exchange();
                     out.run(first);
                     for (std::size_t i = first; i < last; ++i)
                       if (const MessageId id = out.messages().sent_by(i); id != kNoMessage)
                         group.push_back({id, true});
                   });
    exchange();
  }
  return std::move(out).build();
}

}  // namespace pipeloom
