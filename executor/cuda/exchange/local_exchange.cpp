#include "executor/cuda/exchange/local_exchange.hpp"

#include <algorithm>
#include <utility>

#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/kernels/checksum.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor::cuda {
namespace {

Costs no_delays(const Placement& placement) {
  Costs costs;
  costs.forward_delay.resize(static_cast<std::size_t>(placement.slots()));
  costs.backward_delay = costs.forward_delay;
  return costs;
}

}  // namespace

LocalExchange::LocalExchange(std::shared_ptr<const RunPlan> plan)
    : plan_(std::move(plan)),
      book_(plan_, all_ranks(plan_->schedule())),
      no_delays_(no_delays(plan_->schedule().placement())),
      flow_(program(), no_delays_,
            {.queue = plan_->options.queue, .shared_links = false, .ranks_per_node = 0}, plan_->all_steps()),
      transits_(program().messages().size()) {
  // Both queues of every message are made now, so that no thread adds one while others copy.
  for (MessageId id = 0; id < transits_.size(); ++id)
    for (const bool is_send : {false, true})
      queues_.try_emplace(queue_key(program().messages()[id], is_send));
}

LocalExchange::QueueKey LocalExchange::queue_key(const MessageInfo& message, bool is_send) const {
  const Rank own = is_send ? message.from_rank : message.to_rank;
  const Rank peer = is_send ? message.to_rank : message.from_rank;
  switch (plan_->options.queue) {
    case QueueDiscipline::PerRank:
      return {own, 0};
    case QueueDiscipline::PerDirection:
      return {own, message.is_forward() ? 0 : 1};
    case QueueDiscipline::PerPair:
    case QueueDiscipline::None:
      break;
  }
  return {own, 2 * static_cast<std::uint32_t>(peer.at()) + (is_send ? 0 : 1)};
}

void LocalExchange::post(Rank rank, std::uint32_t batch, int step, std::vector<DeviceTensor> sends,
                         cudaEvent_t posted) {
  const auto ends = program().batch(batch);
  const std::lock_guard lock(mutex_);
  if (stopped_) throw Stopped();  // the events of a rank that has ended are gone
  book_.note_post(batch, posted);
  std::size_t next = 0;
  for (const Endpoint& end : ends) {
    Transit& transit = transits_[end.message];
    (end.is_send ? transit.send_posted : transit.receive_posted) = posted;
    if (!end.is_send) continue;
    transit.sent = std::move(sends.at(next++));
    // Also if its copy never comes: the rank's own streams end before this does.
    transit.sent.buffer.free_on(queues_.at(queue_key(program().messages()[end.message], true)).get());
  }
  std::vector<std::uint32_t> ready;
  const auto batches = static_cast<std::uint32_t>(program().num_batches());
  flow_.post(rank, batch + static_cast<std::uint32_t>(step) * batches, ends, static_cast<std::uint32_t>(step),
             0, ready);
  settle(ready);
  changed_.notify_all();
}

void LocalExchange::settle(std::vector<std::uint32_t>& ready) {
  while (!ready.empty()) {
    const std::uint32_t instance = ready.back();
    ready.pop_back();
    flow_.start(instance);
    const auto count = static_cast<std::uint32_t>(transits_.size());
    queue_copy(instance % count, static_cast<int>(instance / count));
    flow_.finish(instance, ready);
  }
}

void LocalExchange::queue_copy(MessageId message, int step) {
  const MessageInfo& info = program().messages()[message];
  Transit& transit = transits_[message];
  cudaStream_t from = queues_.at(queue_key(info, true)).get();
  cudaStream_t to = queues_.at(queue_key(info, false)).get();
  transit.sender_ready.record(from);
  for (cudaEvent_t event : {transit.send_posted, transit.receive_posted, transit.sender_ready.get()})
    wait_for(to, event);
  book_.started(message).record(to);
  const std::size_t bytes = plan_->elements[message] * plan_->element_bytes;
  transit.received = {DeviceBuffer(bytes, to), plan_->elements[message]};
  check(cudaMemcpyAsync(transit.received.buffer.data(), transit.sent.buffer.data(), bytes,
                        cudaMemcpyDeviceToDevice, to),
        "cudaMemcpyAsync of a message");
  book_.done(message).record(to);
  if (plan_->options.checksums) compare(message, transit, to);
  book_.usable(message).record(to);
  wait_for(from, book_.usable(message).get());
  transit.sent = {};
  transit.queued_in = step;
}

void LocalExchange::compare(MessageId message, const Transit& transit, cudaStream_t stream) {
  const DeviceBuffer scratch(sizeof(std::uint64_t), stream);
  MessageSums& sums = book_.sums(message);
  for (const auto& [tensor, sum] :
       {std::pair{&transit.sent, &sums.sent}, {&transit.received, &sums.received}})
    queue_checksum(tensor->buffer.data(), tensor->elements * plan_->element_bytes,
                   scratch.as<std::uint64_t>(), sum, stream);
}

bool LocalExchange::wait(Rank /*rank*/, std::uint32_t batch, int step, cudaStream_t stream,
                         cudaEvent_t arrived) {
  const auto ends = program().batch(batch);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return stopped_ || std::all_of(ends.begin(), ends.end(), [&](const Endpoint& end) {
             return transits_[end.message].queued_in == step;
           });
  });
  if (stopped_) return false;
  book_.note_wait(batch, arrived);
  for (const Endpoint& end : ends) wait_for(stream, book_.usable(end.message).get());
  return true;
}

DeviceTensor LocalExchange::take(MessageId message, int /*step*/) {
  const std::lock_guard lock(mutex_);
  return std::move(transits_[message].received);
}

bool LocalExchange::swap(Rank rank, Rank other, std::span<const float> own, std::span<float> theirs,
                         cudaStream_t stream) {
  const Offer offer{own, theirs, stream};
  std::unique_lock lock(mutex_);
  if (stopped_) return false;
  if (const auto found = offers_.find({other, rank}); found != offers_.end()) {
    // Its thread waits below, so its stream can be queued on here.
    cross(found->second, offer);
    offers_.erase(found);
    changed_.notify_all();
    return true;
  }
  offers_[{rank, other}] = offer;
  changed_.wait(lock, [&] { return stopped_ || !offers_.contains({rank, other}); });
  return !stopped_;
}

void LocalExchange::cross(const Offer& one, const Offer& other) {
  const auto meet = [&] {
    Event here;
    Event there;
    here.record(one.stream);
    there.record(other.stream);
    wait_for(one.stream, there.get());
    wait_for(other.stream, here.get());
  };
  const auto copy = [](const Offer& from, const Offer& to) {
    check(cudaMemcpyAsync(to.theirs.data(), from.own.data(), from.own.size_bytes(), cudaMemcpyDeviceToDevice,
                          to.stream),
          "cudaMemcpyAsync between two ranks");
  };
  meet();  // both offers are complete
  copy(other, one);
  copy(one, other);
  meet();  // and may change again
}

bool LocalExchange::is_done(Rank rank) {
  const std::lock_guard lock(mutex_);
  return std::all_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
    return queue.first.first != rank || is_idle(queue.second.get());
  });
}

void LocalExchange::collect(Rank rank, int step, const StepClock& clock) {
  book_.collect(rank, step, clock, MessageBook::Starter::Receiver);
}

void LocalExchange::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace pipeloom::executor::cuda
