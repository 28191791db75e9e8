#pragma once

// Chains of a search on threads.

#include <cstddef>
#include <functional>

namespace pipeloom::orders {

/// Runs work(0) to work(count - 1), each once, on that number of threads, and calls ask(ended) from the calling thread now and then, with how many
/// have ended. Returns when all have; throws what one of them threw.
void run_chains(std::size_t count, int threads, const std::function<void(std::size_t)>& work,
                const std::function<void(std::size_t)>& ask);

}  // namespace pipeloom::orders
