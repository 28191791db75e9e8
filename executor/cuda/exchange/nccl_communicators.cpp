#include "executor/cuda/exchange/nccl_communicators.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "executor/run/run_state.hpp"

namespace pipeloom::executor::cuda {
namespace {

constexpr auto kNoDeadline = NcclCommunicators::Deadline::max();

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string members_text(const Communicator& communicator) {
  std::string text;
  for (const Rank rank : communicator.members)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", rank.value());
  return text;
}

}  // namespace

void check(ncclResult_t result, const char* what, const char* file, int line) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const std::string_view detail = ncclGetLastError(nullptr);
  throw NcclError(fmt::format("{}: {}{}{} ({}:{})", what, ncclGetErrorString(result),
                              detail.empty() ? "" : ": ", detail, file_name(file), line));
}

std::vector<ncclUniqueId> make_unique_ids(std::size_t count) {
  std::vector<ncclUniqueId> ids(count);
  for (ncclUniqueId& id : ids) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  return ids;
}

NcclCommunicators::NcclCommunicators(CommunicatorLayout layout, Rank own)
    : layout_(std::move(layout)), own_(own), comms_(layout_.all.size()) {}

NcclCommunicators::~NcclCommunicators() {
  // Also after a run without failure: the others have ended, nothing is under way, and an orderly shutdown would wait for all of them.
  abort();
  aborting_.join();
}

void NcclCommunicators::create(std::span<const ncclUniqueId> ids, Deadline deadline) {
  for (std::uint32_t i = 0; i < comms_.size(); ++i) {
    if (!layout_.has(i, own_)) continue;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    {
      const std::lock_guard lock(mutex_);
      if (aborted_) throw Stopped();
      check(ncclCommInitRankConfig(&comms_[i], static_cast<int>(layout_.all[i].members.size()), ids[i],
                                   layout_.position_in(i, own_), &config),
            "ncclCommInitRankConfig");
    }
    settle(i, "creating an NCCL communicator", deadline);
  }
}

ncclResult_t NcclCommunicators::state_of(std::uint32_t communicator) {
  const std::lock_guard lock(mutex_);
  if (aborted_) throw Stopped();
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(comms_[communicator], &state), "ncclCommGetAsyncError");
  return state;
}

void NcclCommunicators::settle(std::uint32_t communicator, const char* what, Deadline deadline) {
  for (;;) {
    const ncclResult_t state = state_of(communicator);
    check(state, what);
    if (state == ncclSuccess) return;
    if (std::chrono::steady_clock::now() > deadline)
      throw NcclError(fmt::format("{} of ranks {} did not end in time; are all of them on GPUs of their own?",
                                  what, members_text(layout_.all[communicator])));
    std::this_thread::yield();
  }
}

void NcclCommunicators::group(std::uint32_t communicator, const std::function<void(ncclComm_t)>& fn) {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) throw Stopped();
    check(ncclGroupStart(), "ncclGroupStart");
    fn(comms_[communicator]);
    check(ncclGroupEnd(), "ncclGroupEnd");
  }
  settle(communicator, "sending and receiving", kNoDeadline);
}

void NcclCommunicators::watch() {
  for (std::uint32_t i = 0; i < comms_.size(); ++i)
    if (layout_.has(i, own_)) check(state_of(i), "NCCL");
}

void NcclCommunicators::abort() {
  const std::lock_guard lock(mutex_);
  if (aborted_) return;
  aborted_ = true;
  aborting_ = std::thread([comms = comms_] {
    for (ncclComm_t comm : comms)
      if (comm != nullptr) static_cast<void>(ncclCommAbort(comm));
  });
}

}  // namespace pipeloom::executor::cuda
