#pragma once

// NCCL communicators that never block their host: a caller that waits for one sees a stop, a deadline, and errors of the network.

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <pipeloom/error.hpp>
#include "executor/cuda/exchange/communicators.hpp"

namespace pipeloom::executor::cuda {

/// what(): "ncclSend: unhandled system error: connection refused by node3 (nccl_exchange.cpp:31)".
class NcclError : public SystemError {
 public:
  using SystemError::SystemError;
};

/// Throws NcclError unless it succeeded or is still in progress. The place is the caller's, as in cuda_error.hpp.
void check(ncclResult_t result, const char* what, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

/// One id per communicator, made by one rank and told to all. Throws NcclError.
[[nodiscard]] std::vector<ncclUniqueId> make_unique_ids(std::size_t count);

/// One rank's share of a layout. Its own thread uses it; abort() is for any.
class NcclCommunicators {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  NcclCommunicators(CommunicatorLayout layout, Rank own);
  /// Waits until abort() has ended everything.
  ~NcclCommunicators();
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  /// Creates those that this rank is a member of, in the layout's order. Throws NcclError at the deadline, naming the ranks that it waits
  /// for; Stopped after abort(). REQUIRES: ids[i] is of layout().all[i]; the current device is this rank's; called once.
  void create(std::span<const ncclUniqueId> ids, Deadline deadline);

  [[nodiscard]] const CommunicatorLayout& layout() const { return layout_; }
  [[nodiscard]] Rank own() const { return own_; }

  /// Calls `fn` with the communicator between ncclGroupStart and ncclGroupEnd, and waits until all of it is launched, not until it is done.
  /// Throws NcclError, and Stopped after abort(). REQUIRES: created, this rank is a member.
  void group(std::uint32_t communicator, const std::function<void(ncclComm_t)>& fn);

  /// Throws NcclError if the network failed without any call noticing, Stopped after abort().
  void watch();

  /// Ends everything that is under way on the device and the host, now and later. Does not wait for the device: NCCL may, where a kernel
  /// that hangs is queued before the work that is to end, and the caller of abort() has other ranks to tell.
  void abort();

 private:
  /// Until nothing is in progress on it.
  void settle(std::uint32_t communicator, const char* what, Deadline deadline);
  [[nodiscard]] ncclResult_t state_of(std::uint32_t communicator);

  CommunicatorLayout layout_;
  Rank own_;
  std::mutex mutex_;               // held during every call of NCCL; guards the rest
  std::vector<ncclComm_t> comms_;  // [communicator], null: not a member, or not yet there
  bool aborted_ = false;
  std::thread aborting_;
};

}  // namespace pipeloom::executor::cuda
