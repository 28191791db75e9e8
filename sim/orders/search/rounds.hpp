#pragma once

// Rounds of chains that tell their caller the least value so far.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim/orders/search/chain.hpp"

namespace pipeloom::orders {

class Rounds {
 public:
  using Body = std::function<void(std::size_t, Chain&)>;

  /// `progress`: asked now and then with the least value noted, kMaxTicks before there is one; false ends this round and leaves out all
  /// after it. May be empty. It must outlive the rounds.
  Rounds(std::uint64_t seed, int threads, const std::function<bool(Ticks)>& progress)
      : seed_(seed), threads_(threads), progress_(progress) {}

  /// Runs body(i, chain) for `count` chains on the threads, each of which may do its share of the work.
  void run(std::size_t chains, std::int64_t work, const Body& body);
  /// A value that an order has. Chains may say so at once.
  void note(Ticks value);

 private:
  std::uint64_t seed_;
  int threads_;
  const std::function<bool(Ticks)>& progress_;
  std::atomic<Ticks> least_ = kMaxTicks;
  std::uint64_t round_ = 0;
  bool stopped_ = false;
};

}  // namespace pipeloom::orders
