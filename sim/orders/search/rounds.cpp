#include "sim/orders/search/rounds.hpp"

#include <limits>

#include "sim/orders/search/chains.hpp"

namespace pipeloom::orders {

void Rounds::run(std::size_t chains, std::int64_t work, const Body& body) {
  ++round_;
  if (stopped_) return;
  Shared shared{.bound = 0, .enough = std::numeric_limits<std::int64_t>::max()};
  run_chains(
      chains, threads_,
      [&](std::size_t i, const AskNow& ask_now) {
        Chain chain(shared, seed_ * 1'000'003U + round_ * 101U + i, work, ask_now);
        body(i, chain);
      },
      [&](std::size_t) {
        if (!progress_ || progress_(least_.load())) return;
        stopped_ = true;
        shared.stop = true;
      });
}

void Rounds::note(Ticks value) {
  Ticks least = least_.load();
  while (value < least && !least_.compare_exchange_weak(least, value)) {
  }
}

}  // namespace pipeloom::orders
