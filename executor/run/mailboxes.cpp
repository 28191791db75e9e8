#include "executor/run/mailboxes.hpp"

#include <algorithm>
#include <utility>

namespace pipeloom::executor {
namespace {

Costs delays_of(const RunOptions& options, const Placement& placement) {
  Costs costs;
  const auto slots = static_cast<std::size_t>(placement.slots());
  costs.forward_delay = options.forward_delay;
  costs.backward_delay = options.backward_delay;
  costs.forward_delay.resize(slots);
  costs.backward_delay.resize(slots);
  return costs;
}

}  // namespace

Mailboxes::Mailboxes(std::shared_ptr<const RunPlan> plan)
    : plan_(std::move(plan)),
      delays_(delays_of(plan_->options, program().schedule().placement())),
      changed_(static_cast<std::size_t>(program().schedule().ranks())),
      flow_(program(), delays_, {.queue = plan_->options.queue, .shared_links = false, .ranks_per_node = 0},
            plan_->all_steps()),
      arrivals_(program().messages().size() * static_cast<std::size_t>(plan_->all_steps())) {}

void Mailboxes::pair(MessageInstance message, bool is_send) {
  Channel& channel = channels_[channel_of(program(), plan_->options.queue, message)];
  std::vector<MessageInstance>& own = is_send ? channel.sent : channel.expected;
  const std::vector<MessageInstance>& other = is_send ? channel.expected : channel.sent;
  const std::size_t n = own.size();
  own.push_back(message);
  if (n >= other.size() || other[n] == message || !mispaired_.empty()) return;
  mispaired_ = mispaired(program(), is_send ? other[n] : message, is_send ? message : other[n]);
  for (std::condition_variable& changed : changed_) changed.notify_all();
}

void Mailboxes::post(Rank rank, std::uint32_t batch, int step, std::vector<Payload> sends) {
  const auto ends = program().batch(batch);
  std::vector<std::uint64_t> sums(sends.size());
  if (plan_->options.checksums) std::transform(sends.begin(), sends.end(), sums.begin(), checksum_of);
  std::unique_lock lock(mutex_);
  std::size_t next = 0;
  for (const Endpoint& end : ends) {
    const MessageInstance message = instance(end.message, step);
    pair(message, end.is_send);
    if (!end.is_send) continue;
    letters_[message] = {std::move(sends.at(next)), sums[next]};
    ++next;
  }
  std::vector<MessageInstance> ready;
  const auto batches = static_cast<std::uint32_t>(program().num_batches());
  flow_.post(rank, batch + static_cast<std::uint32_t>(step) * batches, ends, static_cast<std::uint32_t>(step),
             plan_->clock.now(), ready);
  const std::vector<Rank> concerned = settle(ready);
  lock.unlock();  // a rank that is woken up needs the lock
  for (const Rank one : concerned) changed_[one.at()].notify_all();
}

std::vector<Rank> Mailboxes::settle(std::vector<MessageInstance>& ready) {
  std::vector<Rank> concerned;
  while (!ready.empty()) {
    const MessageInstance message = ready.back();
    ready.pop_back();
    flow_.start(message);
    const MessageInfo& info = info_of(program(), message);
    concerned.push_back(info.to_rank);
    concerned.push_back(info.from_rank);
    flow_.finish(message, ready);
  }
  return concerned;
}

Ticks Mailboxes::end_of(std::uint32_t batch, int step) const {
  Ticks end = 0;
  for (const Endpoint& endpoint : program().batch(batch)) {
    const Ticks message_end = flow_.times()[instance(endpoint.message, step)].end;
    if (message_end < 0) return -1;
    end = std::max(end, message_end);
  }
  return end;
}

bool Mailboxes::wait(Rank rank, std::uint32_t batch, int step) {
  std::unique_lock lock(mutex_);
  bool slept = false;
  for (;; slept = true) {
    if (stopped_) return false;
    if (!mispaired_.empty()) throw WrongMessage(mispaired_);
    const Ticks end = end_of(batch, step);
    if (end >= 0 && plan_->clock.now() >= end) break;
    if (end < 0)
      changed_[rank.at()].wait(lock);
    else
      changed_[rank.at()].wait_until(lock, plan_->clock.at(end));
  }
  // A rank that slept sees a message when it wakes up: so the time of waking is its arrival.
  const Ticks now = plan_->clock.now();
  for (const Endpoint& endpoint : program().batch(batch))
    if (!endpoint.is_send) {
      const MessageInstance message = instance(endpoint.message, step);
      arrivals_[message] = {slept ? now : flow_.times()[message].end, slept};
    }
  return true;
}

Mailboxes::Letter Mailboxes::take_letter(MessageInstance message) {
  const std::lock_guard lock(mutex_);
  const auto found = letters_.find(message);
  Letter letter = std::move(found->second);
  letters_.erase(found);
  return letter;
}

Payload Mailboxes::take(MessageId message, int step, std::size_t elements) {
  Letter letter = take_letter(instance(message, step));
  if (plan_->options.in_transit) plan_->options.in_transit(message, step, letter.payload);
  return checked(program(), instance(message, step), std::move(letter.payload), elements,
                 plan_->options.checksums ? &letter.checksum : nullptr);
}

std::optional<Payload> Mailboxes::swap(Rank rank, Rank other, const Payload& own) {
  swaps_.give(rank, other, own);
  return swaps_.take(other, rank);
}

void Mailboxes::stop() {
  swaps_.stop();
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (std::condition_variable& changed : changed_) changed.notify_all();
}

std::vector<MeasuredMessage> Mailboxes::measured() const {
  const std::lock_guard lock(mutex_);
  std::vector<MeasuredMessage> out(arrivals_.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = {.sent = flow_.times()[i].sent,
              .received = flow_.times()[i].received,
              .started = flow_.times()[i].start,
              .done = arrivals_[i].done,
              .waited = arrivals_[i].waited};
  return out;
}

}  // namespace pipeloom::executor
