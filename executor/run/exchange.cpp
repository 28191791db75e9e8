#include "executor/run/exchange.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom::executor {

std::optional<Payload> Exchange::swap(Rank /*rank*/, Rank /*other*/, const Payload& /*own*/) {
  throw InternalError("this exchange carries no tensors of the host");
}

std::uint64_t checksum_of(const Payload& payload) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const float value : payload.values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    sum = (sum ^ bits) * 0x100000001b3U;
  }
  return sum;
}

std::string name_of(const Program& program, MessageInstance message) {
  const MessageInfo& info = info_of(program, message);
  return fmt::format("the output of {} from rank {} in step {}", to_text(info.producer),
                     info.from_rank.value(), message / program.messages().size());
}

std::string mispaired(const Program& program, MessageInstance expected, MessageInstance sent) {
  return fmt::format("rank {} waits for {} and gets {}: sends and receives are in different orders",
                     info_of(program, expected).to_rank.value(), name_of(program, expected),
                     name_of(program, sent));
}

ChannelKey channel_of(const Program& program, QueueDiscipline queue, MessageInstance message) {
  const MessageInfo& info = info_of(program, message);
  std::uint32_t apart = 0;
  if (queue == QueueDiscipline::None) apart = message;
  if (queue == QueueDiscipline::PerDirection) apart = info.is_forward() ? 0 : 1;
  return {info.from_rank, info.to_rank, apart};
}

Payload checked(const Program& program, MessageInstance message, Payload payload, std::size_t elements,
                const std::uint64_t* checksum) {
  if (payload.values.size() != elements)
    throw WrongMessage(fmt::format("{} has {} elements instead of {}", name_of(program, message),
                                   payload.values.size(), elements));
  if (checksum != nullptr && checksum_of(payload) != *checksum)
    throw WrongMessage(fmt::format("{} was damaged on its way: its checksum is not its sender's",
                                   name_of(program, message)));
  return payload;
}

void Swaps::give(Rank from, Rank to, Payload tensor) {
  const std::lock_guard lock(mutex_);
  given_[{from, to}].push_back(std::move(tensor));
  changed_.notify_all();
}

std::optional<Payload> Swaps::take(Rank from, Rank to) {
  std::unique_lock lock(mutex_);
  std::deque<Payload>& queue = given_[{from, to}];
  changed_.wait(lock, [&] { return stopped_ || !queue.empty(); });
  if (stopped_) return {};
  Payload tensor = std::move(queue.front());
  queue.pop_front();
  return tensor;
}

void Swaps::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace pipeloom::executor
