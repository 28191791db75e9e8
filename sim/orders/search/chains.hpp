#pragma once

// Chains of a search on threads.

#include <cstddef>
#include <functional>

namespace pipeloom::orders {

/// Asks whether to go on, where a chain runs on the thread of its caller; empty on a thread of its own, whose caller asks meanwhile.
using AskNow = std::function<void()>;

/// Runs work(0) to work(count - 1), each once, on that number of threads, and calls ask(ended) from the calling thread now and then, with how many
/// have ended. One thread is the calling one: the chains run one after another, no thread is made, and `work` calls its AskNow now and then. Returns
/// when all have ended; throws what one of them threw.
void run_chains(std::size_t count, int threads, const std::function<void(std::size_t, const AskNow&)>& work,
                const std::function<void(std::size_t)>& ask);

}  // namespace pipeloom::orders
