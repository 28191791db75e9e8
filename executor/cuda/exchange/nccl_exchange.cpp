#include "executor/cuda/exchange/nccl_exchange.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/kernels/checksum.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor::cuda {
namespace {

constexpr std::size_t kTokenBytes = 4;
/// A slot of its own, so that no rank writes where another one reads.
constexpr std::size_t kTokenSlot = 16;

}  // namespace

NcclExchange::NcclExchange(std::shared_ptr<const RunPlan> plan, Rank own)
    : plan_(std::move(plan)),
      comms_(communicators(plan_->program.messages(), plan_->options.queue, replica_pairs(plan_->schedule())),
             own),
      book_(plan_, {own}),
      streams_(comms_.layout().all.size()) {
  if (streams_.empty()) return;
  tokens_ = DeviceBuffer(streams_.size() * kTokenSlot, streams_.front().get());
  check(cudaStreamSynchronize(streams_.front().get()), "cudaStreamSynchronize");
}

bool NcclExchange::has_tokens(std::uint32_t communicator) const {
  return plan_->options.handshake && comms_.layout().all[communicator].is_directed;
}

int NcclExchange::peer_of(const Endpoint& end) const {
  const MessageInfo& info = plan_->program.messages()[end.message];
  return comms_.layout().position_in(comms_.layout().of_message[end.message],
                                     end.is_send ? info.to_rank : info.from_rank);
}

void NcclExchange::connect(std::span<const ncclUniqueId> ids, NcclCommunicators::Deadline deadline) {
  comms_.create(ids, deadline);
  for (std::uint32_t i = 0; i < streams_.size(); ++i)
    if (comms_.layout().has(i, comms_.own())) warm_up(i);
  while (!is_done(comms_.own())) {
    if (std::chrono::steady_clock::now() > deadline)
      throw NcclError(
          "NCCL: the first message to each peer did not arrive in time; do the GPUs reach each other?");
    std::this_thread::yield();
  }
}

void NcclExchange::warm_up(std::uint32_t communicator) {
  // Every way that messages or their tokens take, in one group: then the order of ranks does not matter.
  std::set<std::pair<Rank, Rank>> ways;
  const MessageTable& messages = plan_->program.messages();
  for (MessageId id = 0; id < messages.size(); ++id) {
    if (comms_.layout().of_message[id] != communicator) continue;
    ways.insert({messages[id].from_rank, messages[id].to_rank});
    if (has_tokens(communicator)) ways.insert({messages[id].to_rank, messages[id].from_rank});
  }
  for (const auto& [pair, on] : comms_.layout().of_pair)
    if (on == communicator) ways.insert({pair, {pair.second, pair.first}});
  auto* token = tokens_.as<std::byte>() + communicator * kTokenSlot;
  cudaStream_t stream = streams_[communicator].get();
  comms_.group(communicator, [&](ncclComm_t comm) {
    for (const auto& [from, to] : ways) {
      const auto position = [&](Rank rank) { return comms_.layout().position_in(communicator, rank); };
      if (from == comms_.own())
        check(ncclSend(token, kTokenBytes, ncclInt8, position(to), comm, stream), "ncclSend");
      if (to == comms_.own())
        check(ncclRecv(token + kTokenSlot / 2, kTokenBytes, ncclInt8, position(from), comm, stream),
              "ncclRecv");
    }
  });
}

void NcclExchange::post(Rank /*rank*/, std::uint32_t batch, int /*step*/, std::vector<DeviceTensor> sends,
                        cudaEvent_t posted) {
  book_.note_post(batch, posted);
  std::map<std::uint32_t, std::vector<Part>> by_communicator;
  std::size_t next = 0;
  for (const Endpoint& end : plan_->program.batch(batch)) {
    const std::uint32_t on = comms_.layout().of_message[end.message];
    Part part{end, end.is_send ? std::move(sends.at(next++)) : DeviceTensor{}, {}};
    if (!end.is_send)
      part.tensor = {DeviceBuffer(bytes_of_message(end.message), streams_[on].get()),
                     plan_->elements[end.message]};
    by_communicator[on].push_back(std::move(part));
  }
  for (auto& [communicator, parts] : by_communicator) {
    wait_for(streams_[communicator].get(), posted);
    const bool tokens = has_tokens(communicator);
    for (std::size_t i = 0; tokens && i < parts.size(); ++i) {
      queue_tokens(communicator, parts[i].end);
      queue_together(communicator, std::span(parts).subspan(i, 1));
    }
    if (!tokens) queue_together(communicator, parts);
  }
}

void NcclExchange::queue_tokens(std::uint32_t communicator, const Endpoint& end) {
  auto* token = tokens_.as<std::byte>() + communicator * kTokenSlot;
  cudaStream_t stream = streams_[communicator].get();
  comms_.group(communicator, [&](ncclComm_t comm) {
    if (end.is_send)
      check(ncclRecv(token + kTokenSlot / 2, kTokenBytes, ncclInt8, peer_of(end), comm, stream), "ncclRecv");
    else
      check(ncclSend(token, kTokenBytes, ncclInt8, peer_of(end), comm, stream), "ncclSend");
  });
}

void NcclExchange::queue_together(std::uint32_t communicator, std::span<Part> parts) {
  cudaStream_t stream = streams_[communicator].get();
  for (Part& part : parts) {
    if (plan_->options.checksums) queue_sums(part, stream, true);
    book_.started(part.end.message).record(stream);
  }
  comms_.group(communicator, [&](ncclComm_t comm) {
    for (Part& part : parts) transfer(comm, part, stream);
  });
  for (Part& part : parts) {
    book_.done(part.end.message).record(stream);
    if (plan_->options.checksums) queue_sums(part, stream, false);
    book_.usable(part.end.message).record(stream);
    part.tensor.buffer.free_on(stream);
    if (!part.end.is_send) received_[part.end.message] = std::move(part.tensor);
  }
}

void NcclExchange::transfer(ncclComm_t comm, Part& part, cudaStream_t stream) {
  const std::size_t bytes = bytes_of_message(part.end.message);
  void* data = part.tensor.buffer.data();
  const int peer = peer_of(part.end);
  const auto move = [&](void* what, std::size_t size) {
    if (part.end.is_send)
      check(ncclSend(what, size, ncclInt8, peer, comm, stream), "ncclSend");
    else
      check(ncclRecv(what, size, ncclInt8, peer, comm, stream), "ncclRecv");
  };
  move(data, bytes);
  if (!part.sums.empty()) move(part.sums.data(), sizeof(std::uint64_t));
}

void NcclExchange::queue_sums(Part& part, cudaStream_t stream, bool before) {
  MessageSums& sums = book_.sums(part.end.message);
  const std::size_t bytes = bytes_of_message(part.end.message);
  if (before) part.sums = DeviceBuffer(2 * sizeof(std::uint64_t), stream);
  auto* sum = part.sums.as<std::uint64_t>();
  if (part.end.is_send) {
    if (before) queue_checksum(part.tensor.buffer.data(), bytes, sum, &sums.sent, stream);
    return;
  }
  if (before) return;
  check(cudaMemcpyAsync(&sums.sent, sum, sizeof *sum, cudaMemcpyDefault, stream),
        "cudaMemcpyAsync of a checksum");
  queue_checksum(part.tensor.buffer.data(), bytes, sum + 1, &sums.received, stream);
}

bool NcclExchange::wait(Rank /*rank*/, std::uint32_t batch, int /*step*/, cudaStream_t stream,
                        cudaEvent_t arrived) {
  book_.note_wait(batch, arrived);
  for (const Endpoint& end : plan_->program.batch(batch)) wait_for(stream, book_.usable(end.message).get());
  return true;
}

DeviceTensor NcclExchange::take(MessageId message, int /*step*/) {
  const auto found = received_.find(message);
  DeviceTensor tensor = std::move(found->second);
  received_.erase(found);
  return tensor;
}

bool NcclExchange::swap(Rank rank, Rank other, std::span<const float> own, std::span<float> theirs,
                        cudaStream_t stream) {
  const std::uint32_t on = comms_.layout().of_pair.at(std::minmax(rank, other));
  const int peer = comms_.layout().position_in(on, other);
  comms_.group(on, [&](ncclComm_t comm) {
    check(ncclSend(own.data(), own.size_bytes(), ncclInt8, peer, comm, stream), "ncclSend");
    check(ncclRecv(theirs.data(), theirs.size_bytes(), ncclInt8, peer, comm, stream), "ncclRecv");
  });
  return true;
}

bool NcclExchange::is_done(Rank /*rank*/) {
  comms_.watch();
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const Stream& stream) { return is_idle(stream.get()); });
}

void NcclExchange::collect(Rank rank, int step, const StepClock& clock) {
  // A communicator's own way is known by discipline, so all messages of a run have the same starter.
  const bool tokens = num_communicators() > 0 && has_tokens(0);
  book_.collect(rank, step, clock, tokens ? MessageBook::Starter::Sender : MessageBook::Starter::Both);
}

}  // namespace pipeloom::executor::cuda
