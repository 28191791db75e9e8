#include "executor/process/own_ends.hpp"

#include <fmt/format.h>

#include <utility>

namespace pipeloom::executor {

OwnEnds::OwnEnds(std::shared_ptr<const RunPlan> plan, Rank own)
    : plan_(std::move(plan)),
      own_(own),
      flags_(program().messages().size() * static_cast<std::size_t>(plan_->all_steps())) {}

OwnEnds::Queue& OwnEnds::queue_of(MessageInstance message) {
  const MessageInfo& what = info(message);
  std::uint32_t key = 0;
  if (discipline() == QueueDiscipline::PerDirection) key = what.is_forward() ? 0 : 1;
  if (discipline() == QueueDiscipline::PerPair)
    key = static_cast<std::uint32_t>(is_send(message) ? 2 * what.to_rank.at() : 2 * what.from_rank.at() + 1);
  return queues_[key];
}

void OwnEnds::post(std::uint32_t batch, int step, Actions& todo) {
  const std::uint64_t number = std::uint64_t{program().num_batches()} * static_cast<unsigned>(step) + batch;
  for (const Endpoint& end : program().batch(batch)) {
    const MessageInstance message = instance_of(program(), end.message, step);
    set(message, kPosted);
    Channel& channel = channels_[channel_of(program(), discipline(), message)];
    (end.is_send ? channel.sends : channel.receives).push_back(message);
    if (discipline() != QueueDiscipline::None) enqueue(message, number);
  }
  // Only now are the batch's groups complete.
  for (const Endpoint& end : program().batch(batch)) {
    const MessageInstance message = instance_of(program(), end.message, step);
    serve(message, todo);
    if (discipline() == QueueDiscipline::None)
      come_to_head(message, todo);
    else
      move_up(message, todo);
  }
}

void OwnEnds::enqueue(MessageInstance message, std::uint64_t batch) {
  Queue& queue = queue_of(message);
  if (queue.empty() || queue.back().batch != batch) queue.push_back({.batch = batch, .ends = {}});
  queue.back().ends.push_back(message);
  ++queue.back().unfinished;
}

void OwnEnds::move_up(MessageInstance message, Actions& todo) {
  if (discipline() == QueueDiscipline::None) return;
  Queue& queue = queue_of(message);
  while (!queue.empty()) {
    Group& group = queue.front();
    if (!std::exchange(group.at_head, true))
      for (const MessageInstance end : group.ends) come_to_head(end, todo);
    if (group.unfinished > 0) return;
    queue.pop_front();
  }
}

void OwnEnds::come_to_head(MessageInstance message, Actions& todo) {
  set(message, kAtHead);
  if (is_send(message)) {
    serve(message, todo);
    return;
  }
  if (plan_->options.handshake) todo.push_back({Action::What::Ask, message});
  if (has(message, kPaired)) finish(message, todo);
}

void OwnEnds::finish(MessageInstance message, Actions& todo) {
  set(message, kDone);
  if (!is_send(message)) todo.push_back({Action::What::Received, message});
  if (discipline() != QueueDiscipline::None) --queue_of(message).front().unfinished;
}

void OwnEnds::serve(MessageInstance message, Actions& todo) {
  const auto found = channels_.find(channel_of(program(), discipline(), message));
  if (found == channels_.end()) return;
  Channel& channel = found->second;
  const bool handshake = plan_->options.handshake;
  while (!channel.sends.empty() && has(channel.sends.front(), kAtHead) && (!handshake || channel.asked > 0)) {
    todo.push_back({Action::What::Send, channel.sends.front()});
    channel.sends.pop_front();
    if (handshake) --channel.asked;
  }
  pair(channel, todo);
  if (channel.sends.empty() && channel.receives.empty() && channel.tensors.empty() && channel.asked == 0)
    channels_.erase(found);
}

void OwnEnds::pair(Channel& channel, Actions& todo) {
  while (!channel.receives.empty() && !channel.tensors.empty()) {
    const MessageInstance expected = channel.receives.front();
    const MessageInstance sent = channel.tensors.front();
    channel.receives.pop_front();
    channel.tensors.pop_front();
    if (sent != expected) {
      if (mispairing_.empty()) mispairing_ = mispaired(program(), expected, sent);
      continue;
    }
    set(expected, kPaired);
    if (has(expected, kAtHead)) finish(expected, todo);
  }
}

void OwnEnds::hear(Rank from, MessageInstance message, bool is_tensor) {
  const char* what = is_tensor ? "the tensor" : "the word that it is ready";
  if (message >= flags_.size())
    throw WrongMessage(fmt::format("rank {} sent {} of message {}, but this run has only {}", from.value(),
                                   what, message, flags_.size()));
  if (!is_tensor && !plan_->options.handshake)
    throw WrongMessage(fmt::format("rank {} sent {} in a run without handshake", from.value(), what));
  const Rank sender = is_tensor ? from : own_;
  const Rank receiver = is_tensor ? own_ : from;
  if (info(message).from_rank != sender || info(message).to_rank != receiver)
    throw WrongMessage(fmt::format("rank {} sent rank {} {} for {} to rank {}", from.value(), own_.value(),
                                   what, name_of(program(), message), info(message).to_rank.value()));
  if (has(message, kHeard))
    throw WrongMessage(
        fmt::format("rank {} sent {} for {} twice", from.value(), what, name_of(program(), message)));
  set(message, kHeard);
}

void OwnEnds::asked(Rank from, MessageInstance message, Actions& todo) {
  hear(from, message, false);
  ++channels_[channel_of(program(), discipline(), message)].asked;
  serve(message, todo);
}

void OwnEnds::arrived(Rank from, MessageInstance message, Actions& todo) {
  hear(from, message, true);
  Channel& channel = channels_[channel_of(program(), discipline(), message)];
  if (plan_->options.handshake && (channel.receives.empty() || !has(channel.receives.front(), kAtHead)))
    throw WrongMessage(fmt::format("rank {} sent the tensor for {} before it was asked for", from.value(),
                                   name_of(program(), message)));
  channel.tensors.push_back(message);
  serve(message, todo);
  move_up(message, todo);
}

void OwnEnds::left(MessageInstance message, Actions& todo) {
  finish(message, todo);
  move_up(message, todo);
}

}  // namespace pipeloom::executor
