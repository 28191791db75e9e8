// A process with a GPU of its own: one rank of a run by NCCL.

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/exchange/nccl_exchange.hpp"
#include "executor/cuda/run/device_choice.hpp"
#include "executor/cuda/run/device_ranks.hpp"
#include "executor/cuda/run/device_runner.hpp"
#include "executor/cuda/run/run.hpp"
#include "executor/process/process_run.hpp"
#include "executor/run/rank_threads.hpp"

namespace pipeloom::executor::cuda {
namespace {

net::Bytes to_bytes(const std::vector<ncclUniqueId>& ids) {
  net::Bytes bytes(ids.size() * sizeof(ncclUniqueId));
  if (!bytes.empty()) std::memcpy(bytes.data(), ids.data(), bytes.size());
  return bytes;
}

std::vector<ncclUniqueId> ids_from(const net::Bytes& bytes, std::size_t count) {
  if (bytes.size() != count * sizeof(ncclUniqueId))
    throw net::MalformedBytes(fmt::format("found {} bytes instead of {} ids of NCCL", bytes.size(), count));
  std::vector<ncclUniqueId> ids(count);
  if (count > 0) std::memcpy(ids.data(), bytes.data(), bytes.size());
  return ids;
}

class NcclEngine : public ProcessEngine {
 public:
  NcclEngine(DeviceWork& work, int device) : ranks_(work), device_(device) {}
  [[nodiscard]] DeviceRanks& ranks() { return ranks_; }

  [[nodiscard]] std::vector<int> peers(const RunPlan& /*plan*/, Rank /*own*/) const override {
    return {};  // tensors need no sockets; that a process has gone is seen on the crew's
  }

  [[nodiscard]] std::unique_ptr<Exchange> make_exchange(
      std::shared_ptr<const RunPlan> plan, Rank own, net::Loop& /*loop*/, std::vector<net::Socket> /*data*/,
      std::function<void(Rank, const std::string&)> /*lost*/) override {
    auto exchange = std::make_unique<NcclExchange>(std::move(plan), own);
    exchange_ = exchange.get();
    return std::make_unique<DeviceMessages>(std::move(exchange));
  }

  [[nodiscard]] bool connect(Crew& crew, RunState& state) override {
    try {
      const std::size_t count = exchange_->num_communicators();
      const auto ids =
          crew.broadcast(crew.is_coordinator() ? to_bytes(make_unique_ids(count)) : net::Bytes{});
      if (!ids) return false;
      const std::chrono::duration<double> timeout(state.options().timeout_seconds);
      exchange_->connect(ids_from(*ids, count),
                         std::chrono::steady_clock::now() +
                             std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout));
    } catch (const Stopped&) {
    } catch (const std::exception& error) {
      state.fail(crew.rank(), error.what());
    }
    return !state.failure();
  }

  void run(RunState& state, Rank rank) override {
    check(cudaSetDevice(device_), "cudaSetDevice");
    DeviceRunner runner(state, *exchange_, clock_, rank);
    run_or_fail(state, rank, [&] { runner.run(); });
  }

  void finish() override {}

 private:
  DeviceRanks ranks_;
  int device_;
  DeviceClock clock_;
  NcclExchange* exchange_ = nullptr;
};

}  // namespace

ProcessResult run_with_nccl(const Program& program, DeviceWork& work, const RunOptions& options,
                            const net::World& world, const std::vector<net::Agreement>& agreements) {
  const int device = device_for(world, require_devices());
  check(cudaSetDevice(device), "cudaSetDevice");
  keep_freed_memory();
  RunOptions own = options;
  if (own.queue == QueueDiscipline::None) own.queue = QueueDiscipline::PerPair;
  const auto engine = std::make_shared<NcclEngine>(work, device);
  return run_as_process(program, engine->ranks(), own, world, agreements, engine);
}

}  // namespace pipeloom::executor::cuda
