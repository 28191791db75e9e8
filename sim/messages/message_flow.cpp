#include "sim/messages/message_flow.hpp"

#include <algorithm>
#include <array>

#include "sim/dependency.hpp"
#include "sim/engine/time_limits.hpp"

namespace pipeloom {

MessageFlow::MessageFlow(const Program& program, const Costs& costs, const MessageRules& rules, int steps)
    : table_(program.messages()),
      costs_(costs),
      rules_(rules),
      count_(static_cast<std::uint32_t>(table_.size())),
      times_(table_.size() * static_cast<std::size_t>(steps)),
      ends_(2 * times_.size()) {
  const auto ranks = static_cast<std::size_t>(program.schedule().ranks());
  if (!rules.shared_links) return;
  send_engine_.resize(ranks);
  receive_engine_.resize(ranks);
  if (rules.ranks_per_node <= 0) return;
  const std::size_t nodes = ranks / static_cast<std::size_t>(rules.ranks_per_node) + 1;
  nic_out_.resize(nodes);
  nic_in_.resize(nodes);
}

std::uint64_t MessageFlow::queue_of(Rank rank, const MessageInfo& message, bool is_send) const {
  const std::uint64_t own = static_cast<std::uint64_t>(rank.at()) << 32;
  switch (rules_.queue) {
    case QueueDiscipline::PerDirection:
      return own + (message.is_forward() ? 0 : 1);
    case QueueDiscipline::PerPair:
      return own + 2 * (is_send ? message.to_rank : message.from_rank).at() + (is_send ? 0 : 1);
    case QueueDiscipline::PerRank:
    case QueueDiscipline::None:
      break;
  }
  return own;
}

void MessageFlow::post(Rank rank, std::uint32_t batch, std::span<const Endpoint> ends, std::uint32_t step,
                       Ticks when, std::vector<std::uint32_t>& ready) {
  for (const Endpoint& endpoint : ends) {
    const std::uint32_t message = endpoint.message + step * count_;
    const std::uint32_t end = 2 * message + (endpoint.is_send ? 1 : 0);
    (endpoint.is_send ? times_[message].sent : times_[message].received) = when;
    ends_[end].batch = batch;
    if (rules_.queue != QueueDiscipline::None) enqueue(rank, end, batch, when);
  }
  // Only now are the batch's groups complete.
  for (const Endpoint& endpoint : ends) {
    const std::uint32_t message = endpoint.message + step * count_;
    if (times_[message].ready < 0 && is_ready(message)) {
      note_ready(message);
      ready.push_back(message);
    }
  }
}

void MessageFlow::enqueue(Rank rank, std::uint32_t end, std::uint32_t batch, Ticks when) {
  Queue& queue = queues_[queue_of(rank, info(end / 2), end % 2 == 1)];
  if (queue.tail == kNone || queue.batch != batch) {
    const auto group = static_cast<std::uint32_t>(groups_.size());
    groups_.emplace_back();
    groups_.back().posted = when;
    if (queue.tail == kNone) {
      groups_.back().head_since = when;
    } else {
      Group& before = groups_[queue.tail];
      before.next = group;
      if (before.unfinished == 0) {
        groups_.back().head_since = std::max(when, before.ended);
        groups_.back().queued_after = before.last;
      }
    }
    queue.tail = group;
    queue.batch = batch;
  }
  Group& group = groups_[queue.tail];
  ends_[end].group = queue.tail;
  ends_[end].next = group.first_end;
  group.first_end = end;
  ++group.unfinished;
}

bool MessageFlow::is_ready(std::uint32_t message) const {
  if (times_[message].sent < 0 || times_[message].received < 0) return false;
  if (rules_.queue == QueueDiscipline::None) return true;
  return groups_[end_of(message, false).group].head_since >= 0 &&
         groups_[end_of(message, true).group].head_since >= 0;
}

void MessageFlow::note_ready(std::uint32_t message) {
  MessageTimes& times = times_[message];
  times.ready = times.posted();
  if (rules_.queue == QueueDiscipline::None) return;
  for (const std::uint32_t end : {2 * message, 2 * message + 1}) {
    const Group& group = groups_[ends_[end].group];
    if (group.head_since <= times.ready) continue;
    times.ready = group.head_since;
    times.queued_after = group.queued_after;
  }
}

/// All links on the way are taken at once, from when the last of them is free.
void MessageFlow::take_links(const MessageInfo& what, std::uint32_t message, MessageTimes& times) {
  std::array<Link*, 4> links = {&send_engine_[what.from_rank.at()], &receive_engine_[what.to_rank.at()],
                                nullptr, nullptr};
  if (rules_.ranks_per_node > 0) {
    const int from = what.from_rank.value() / rules_.ranks_per_node;
    const int to = what.to_rank.value() / rules_.ranks_per_node;
    if (from != to) {
      links[2] = &nic_out_[static_cast<std::size_t>(from)];
      links[3] = &nic_in_[static_cast<std::size_t>(to)];
    }
  }
  for (const Link* link : links) {
    if (link == nullptr || link->free <= times.start) continue;
    times.start = link->free;
    times.queued_after = link->last;
  }
  const auto& sendings = what.is_forward() ? costs_.forward_sending : costs_.backward_sending;
  const Ticks whole = sendings.empty() ? 0 : sendings[what.to.at()];
  const Ticks sending =
      costs_.slice_end.empty() ? whole : slice_share(whole, costs_.slice_end, what.producer.slice());
  for (Link* link : links)
    if (link != nullptr) *link = {later(times.start, sending), message};
}

void MessageFlow::start(std::uint32_t message) {
  MessageTimes& times = times_[message];
  const MessageInfo& what = info(message);
  times.start = times.ready;
  if (rules_.shared_links) take_links(what, message, times);
  // The producer goes the way of its consumer, and is of the same slice.
  times.end = later(times.start, arrival_delay(costs_, what.producer, what.to));
}

void MessageFlow::finish(std::uint32_t message, std::vector<std::uint32_t>& ready) {
  if (rules_.queue == QueueDiscipline::None) return;
  for (const std::uint32_t end : {2 * message, 2 * message + 1}) {
    const std::uint32_t number = ends_[end].group;
    Group& group = groups_[number];
    if (times_[message].end >= group.ended) {
      group.ended = times_[message].end;
      group.last = message;
    }
    if (--group.unfinished == 0) move_up(number, ready);
  }
}

/// The group is done: the next one of its queue moves to the head.
void MessageFlow::move_up(std::uint32_t number, std::vector<std::uint32_t>& ready) {
  const Group& group = groups_[number];
  if (group.next == kNone) return;
  Group& next = groups_[group.next];
  next.head_since = std::max(next.posted, group.ended);
  next.queued_after = group.last;
  for (std::uint32_t end = next.first_end; end != kNone; end = ends_[end].next) {
    const std::uint32_t message = end / 2;
    if (times_[message].ready >= 0 || !is_ready(message)) continue;
    note_ready(message);
    ready.push_back(message);
  }
}

MessageFlow::Ahead MessageFlow::ahead_of(std::uint32_t message) const {
  const auto rank_of = [&](std::uint32_t end) {
    return end % 2 == 1 ? info(end / 2).from_rank : info(end / 2).to_rank;
  };
  const auto stands_behind = [&](std::uint32_t end) {
    return rules_.queue != QueueDiscipline::None && ends_[end].group != kNone &&
           groups_[ends_[end].group].head_since < 0;
  };
  for (const std::uint32_t own : {2 * message, 2 * message + 1}) {
    if (!stands_behind(own)) continue;
    const std::uint64_t queue = queue_of(rank_of(own), info(message), own % 2 == 1);
    for (std::uint32_t other = 0; other < ends_.size(); ++other)
      if (ends_[other].group != kNone && times_[other / 2].end < 0 && !stands_behind(other) &&
          queue_of(rank_of(other), info(other / 2), other % 2 == 1) == queue)
        return {other / 2, rank_of(own)};
  }
  return {message, rank_of(2 * message)};
}

}  // namespace pipeloom
