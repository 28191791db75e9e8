#include "executor/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/text.hpp"

namespace pipeloom::executor {
namespace {

/// FNV-1a over 64-bit words: finds any single damaged element.
std::uint64_t checksum_of(const Payload& payload) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const float value : payload.values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    sum = (sum ^ bits) * 0x100000001b3U;
  }
  return sum;
}

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

Exchange::Exchange(const Program& program, const RunOptions& options, int steps, const RunClock& clock)
    : program_(program),
      clock_(clock),
      queue_(options.queue),
      checksums_(options.checksums),
      in_transit_(options.in_transit),
      count_(static_cast<std::uint32_t>(program.messages().size())),
      delays_(delays_of(options, program.schedule().placement())),
      changed_(static_cast<std::size_t>(program.schedule().ranks())),
      flow_(program, delays_, {.queue = options.queue, .shared_links = false, .ranks_per_node = 0}, steps),
      arrivals_(std::size_t{count_} * static_cast<std::size_t>(steps)) {}

Exchange::ChannelKey Exchange::channel_of(std::uint32_t instance) const {
  const MessageInfo& info = program_.messages()[instance % count_];
  std::uint32_t apart = 0;
  if (queue_ == QueueDiscipline::None) apart = instance;
  if (queue_ == QueueDiscipline::PerDirection) apart = info.is_forward() ? 0 : 1;
  return {info.from_rank, info.to_rank, apart};
}

std::string Exchange::name_of(std::uint32_t instance) const {
  const MessageInfo& info = program_.messages()[instance % count_];
  return fmt::format("the output of {} from rank {} in step {}", to_text(info.producer),
                     info.from_rank.value(), instance / count_);
}

void Exchange::pair(std::uint32_t message, bool is_send) {
  Channel& channel = channels_[channel_of(message)];
  std::vector<std::uint32_t>& own = is_send ? channel.sent : channel.expected;
  const std::vector<std::uint32_t>& other = is_send ? channel.expected : channel.sent;
  const std::size_t n = own.size();
  own.push_back(message);
  if (n >= other.size() || other[n] == message || !mispaired_.empty()) return;
  const MessageInfo& info = program_.messages()[message % count_];
  mispaired_ = fmt::format("rank {} waits for {} and gets {}: sends and receives are in different orders",
                           info.to_rank.value(), name_of(is_send ? other[n] : message),
                           name_of(is_send ? message : other[n]));
  for (std::condition_variable& changed : changed_) changed.notify_all();
}

void Exchange::post(Rank rank, std::uint32_t batch, int step, std::vector<Payload> sends) {
  const auto ends = program_.batch(batch);
  std::vector<std::uint64_t> sums(sends.size());
  if (checksums_) std::transform(sends.begin(), sends.end(), sums.begin(), checksum_of);
  std::unique_lock lock(mutex_);
  std::size_t next = 0;
  for (const Endpoint& end : ends) {
    const std::uint32_t message = instance(end.message, step);
    pair(message, end.is_send);
    if (!end.is_send) continue;
    letters_[message] = {std::move(sends.at(next)), sums[next]};
    ++next;
  }
  std::vector<std::uint32_t> ready;
  const auto batches = static_cast<std::uint32_t>(program_.num_batches());
  flow_.post(rank, batch + static_cast<std::uint32_t>(step) * batches, ends, static_cast<std::uint32_t>(step),
             clock_.now(), ready);
  const std::vector<Rank> concerned = settle(ready);
  lock.unlock();  // a rank that is woken up needs the lock
  for (const Rank one : concerned) changed_[one.at()].notify_all();
}

std::vector<Rank> Exchange::settle(std::vector<std::uint32_t>& ready) {
  std::vector<Rank> concerned;
  while (!ready.empty()) {
    const std::uint32_t message = ready.back();
    ready.pop_back();
    flow_.start(message);
    const MessageInfo& info = program_.messages()[message % count_];
    concerned.push_back(info.to_rank);
    concerned.push_back(info.from_rank);
    flow_.finish(message, ready);
  }
  return concerned;
}

Ticks Exchange::end_of(std::uint32_t batch, int step) const {
  Ticks end = 0;
  for (const Endpoint& endpoint : program_.batch(batch)) {
    const Ticks message_end = flow_.times()[instance(endpoint.message, step)].end;
    if (message_end < 0) return -1;
    end = std::max(end, message_end);
  }
  return end;
}

bool Exchange::wait(Rank rank, std::uint32_t batch, int step) {
  std::unique_lock lock(mutex_);
  bool slept = false;
  for (;; slept = true) {
    if (stopped_) return false;
    if (!mispaired_.empty()) throw WrongMessage(mispaired_);
    const Ticks end = end_of(batch, step);
    if (end >= 0 && clock_.now() >= end) break;
    if (end < 0)
      changed_[rank.at()].wait(lock);
    else
      changed_[rank.at()].wait_until(lock, clock_.at(end));
  }
  // For a rank that slept a message is there when it wakes up: that is the latency that it sees.
  const Ticks now = clock_.now();
  for (const Endpoint& endpoint : program_.batch(batch))
    if (!endpoint.is_send) {
      const std::uint32_t message = instance(endpoint.message, step);
      arrivals_[message] = {slept ? now : flow_.times()[message].end, slept};
    }
  return true;
}

Exchange::Letter Exchange::take_letter(std::uint32_t instance) {
  const std::lock_guard lock(mutex_);
  const auto found = letters_.find(instance);
  Letter letter = std::move(found->second);
  letters_.erase(found);
  return letter;
}

Payload Exchange::take(MessageId message, int step, std::size_t elements) {
  Letter letter = take_letter(instance(message, step));
  if (in_transit_) in_transit_(message, step, letter.payload);
  if (letter.payload.values.size() != elements)
    throw WrongMessage(fmt::format("{} has {} elements instead of {}", name_of(instance(message, step)),
                                   letter.payload.values.size(), elements));
  if (checksums_ && checksum_of(letter.payload) != letter.checksum)
    throw WrongMessage(fmt::format("{} was damaged on its way: its checksum is not its sender's",
                                   name_of(instance(message, step))));
  return std::move(letter.payload);
}

void Exchange::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (std::condition_variable& changed : changed_) changed.notify_all();
}

std::vector<MeasuredMessage> Exchange::measured() const {
  const std::lock_guard lock(mutex_);
  std::vector<MeasuredMessage> out(arrivals_.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = {flow_.times()[i].sent, flow_.times()[i].received, arrivals_[i].done, arrivals_[i].waited};
  return out;
}

}  // namespace pipeloom::executor
