#include "executor/cuda/fake/fake_nccl.hpp"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "executor/cuda/fake/fake_cuda.hpp"

namespace pipeloom::fake_nccl {
namespace {

/// A send that stands at its receiver's door.
struct Letter {
  const void* data = nullptr;
  std::size_t bytes = 0;
  bool taken = false;
};

/// What all ranks of a communicator share.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0;
  int here = 0;
  bool aborted = false;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Letter>>> ways;  // (from, to)
};

std::mutex mutex;
std::map<std::string, std::shared_ptr<Shared>> communicators;
std::atomic<unsigned> next_id = 0;
std::atomic<ncclResult_t> broken = ncclSuccess;
std::atomic<int> latency = 0;

struct Transfer {
  bool is_send = false;
  void* data = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
};

}  // namespace

void break_network(ncclResult_t error) {
  broken = error;
  const std::lock_guard lock(mutex);
  for (const auto& [id, shared] : communicators) shared->changed.notify_all();
}

void set_latency(int looks) {
  latency = looks;
}

}  // namespace pipeloom::fake_nccl

namespace fake = pipeloom::fake_nccl;

struct ncclComm {
  std::shared_ptr<fake::Shared> shared;
  int rank = 0;
  int looks_left = 0;
  std::vector<fake::Transfer> group;
  cudaStream_t stream = nullptr;
};

namespace {

thread_local std::vector<ncclComm_t> in_group;

void run_group(const std::shared_ptr<fake::Shared>& shared, int rank,
               const std::vector<fake::Transfer>& group) {
  std::unique_lock lock(shared->mutex);
  std::vector<std::shared_ptr<fake::Letter>> sent;
  for (const fake::Transfer& one : group)
    if (one.is_send) {
      sent.push_back(std::make_shared<fake::Letter>(fake::Letter{one.data, one.bytes, false}));
      shared->ways[{rank, one.peer}].push_back(sent.back());
    }
  shared->changed.notify_all();
  const auto may_go_on = [&] { return shared->aborted; };
  for (const fake::Transfer& one : group) {
    if (one.is_send) continue;
    auto& way = shared->ways[{one.peer, rank}];
    shared->changed.wait(lock, [&] { return may_go_on() || (fake::broken == ncclSuccess && !way.empty()); });
    if (shared->aborted) return;
    std::memcpy(one.data, way.front()->data, std::min(one.bytes, way.front()->bytes));
    way.front()->taken = true;
    way.pop_front();
    shared->changed.notify_all();
  }
  for (const auto& letter : sent) shared->changed.wait(lock, [&] { return may_go_on() || letter->taken; });
}

ncclResult_t add(ncclComm_t comm, fake::Transfer transfer, cudaStream_t stream) {
  comm->stream = stream;
  comm->group.push_back(transfer);
  if (in_group.empty() || in_group.back() != comm) in_group.push_back(comm);
  return ncclSuccess;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error" : "some error";
}
const char* ncclGetLastError(ncclComm_t /*comm*/) {
  return "";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 0, sizeof *id);
  const unsigned number = fake::next_id++;
  std::memcpy(id->internal, &number, sizeof number);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* /*config*/) {
  *comm = new ncclComm;
  (*comm)->rank = rank;
  (*comm)->looks_left = fake::latency;
  const std::lock_guard lock(fake::mutex);
  auto& shared = fake::communicators[std::string(id.internal, sizeof id.internal)];
  if (!shared) shared = std::make_shared<fake::Shared>();
  (*comm)->shared = shared;
  const std::lock_guard inner(shared->mutex);
  shared->size = size;
  ++shared->here;
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = fake::broken;
  if (*state != ncclSuccess) return ncclSuccess;
  const std::lock_guard lock(comm->shared->mutex);
  if (comm->shared->here < comm->shared->size || comm->looks_left-- > 0) *state = ncclInProgress;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  {
    const std::lock_guard lock(comm->shared->mutex);
    comm->shared->aborted = true;
    comm->shared->changed.notify_all();
  }
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  in_group.clear();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  for (ncclComm_t comm : in_group) {
    pipeloom::fake_cuda::queue(
        comm->stream, [shared = comm->shared, rank = comm->rank, group = std::exchange(comm->group, {})] {
          run_group(shared, rank, group);
        });
    comm->looks_left = fake::latency;
  }
  in_group.clear();
  return ncclInProgress;
}
ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t /*type*/, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(comm, {true, const_cast<void*>(data), count, peer}, stream);
}
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t /*type*/, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(comm, {false, data, count, peer}, stream);
}

}  // extern "C"
