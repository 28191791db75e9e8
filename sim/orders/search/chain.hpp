#pragma once

// One chain of a search: its share of the work, its random numbers, and when it may stop.

#include <atomic>
#include <cstdint>
#include <utility>

#include "sim/orders/order.hpp"
#include "sim/orders/search/chains.hpp"
#include "sim/orders/search/random.hpp"

namespace pipeloom::orders {

/// State that all chains of a search share. A chain that reaches the bound says after how much work; the others go on until they have done as
/// much, so that which of them wins does not depend on how fast each ran.
struct Shared {
  Ticks bound = 0;
  std::atomic<std::int64_t> enough;  ///< work after which a chain may stop
  std::atomic<bool> stop = false;    ///< the caller wants no more
};

/// The best that a chain has seen.
struct Best {
  Order order;
  Ticks value = kMaxTicks;
  double mean = 0;        ///< mean lateness, for orders of one value
  std::int64_t work = 0;  ///< of its chain when it was found

  [[nodiscard]] bool improves(Ticks other, double other_mean) const {
    return other < value || (other == value && other_mean < mean);
  }
};

class Chain {
 public:
  Chain(Shared& shared, std::uint64_t seed, std::int64_t work, AskNow ask_now = {})
      : random(seed), shared_(&shared), allowed_(work), ask_now_(std::move(ask_now)) {}

  Random random;

  /// True if the chain may go on. Call it after each step with the ops that it timed.
  [[nodiscard]] bool spend(std::int64_t ops) {
    done_ += ops;
    if (ask_now_ && done_ >= next_ask_) {
      next_ask_ = done_ + kBetweenAsks;
      ask_now_();
    }
    return done_ < allowed_ && done_ < shared_->enough.load(std::memory_order_relaxed) && !is_stopped();
  }
  /// True if the caller wants no more.
  [[nodiscard]] bool is_stopped() const { return shared_->stop.load(std::memory_order_relaxed); }
  /// An order of this value was found.
  void reached(Ticks value) {
    if (value > shared_->bound) return;
    std::int64_t before = shared_->enough.load();
    while (done_ < before && !shared_->enough.compare_exchange_weak(before, done_)) {
    }
  }
  [[nodiscard]] std::int64_t done() const { return done_; }
  [[nodiscard]] std::int64_t allowed() const { return allowed_; }
  [[nodiscard]] double share() const { return static_cast<double>(done_) / static_cast<double>(allowed_); }

 private:
  /// Ops: a few milliseconds.
  static constexpr std::int64_t kBetweenAsks = std::int64_t{1} << 18;

  Shared* shared_;
  std::int64_t allowed_;
  AskNow ask_now_;
  std::int64_t done_ = 0;
  std::int64_t next_ask_ = kBetweenAsks;
};

}  // namespace pipeloom::orders
