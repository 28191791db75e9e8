#pragma once

// NCCL without devices: communicators whose ranks are threads of this process, on the streams of fake_cuda.hpp. A send waits for its receive;
// those of a group run together; nothing is buffered.

#include <nccl.h>

namespace pipeloom::fake_nccl {

/// From now on ncclCommGetAsyncError() reports this for every communicator, and what is under way stays so. ncclSuccess: no more.
void break_network(ncclResult_t error);

/// Every call that may be in progress stays so for so many looks at it.
void set_latency(int looks);

}  // namespace pipeloom::fake_nccl
