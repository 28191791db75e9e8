// Chains of a search: on one thread they run on the caller's, which may stop them all the same.

#include "sim/orders/search/chains.hpp"

#include <cstddef>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sim/orders/search/chain.hpp"
#include "support/catch.hpp"

namespace pipeloom::orders::chains_test {

TEST_CASE("on one thread chains run one after another on the calling one, which is told after each",
          "[chains]") {
  std::vector<std::size_t> done;
  std::vector<std::size_t> told;
  const auto caller = std::this_thread::get_id();
  run_chains(
      3, 1,
      [&](std::size_t i, const AskNow& ask_now) {
        CHECK(std::this_thread::get_id() == caller);
        REQUIRE(ask_now);
        done.push_back(i);
      },
      [&](std::size_t ended) { told.push_back(ended); });
  CHECK(done == std::vector<std::size_t>{0, 1, 2});
  CHECK(told == std::vector<std::size_t>{1, 2, 3});
}

TEST_CASE("on several threads none of the chains runs on the calling one, and each runs once", "[chains]") {
  const auto caller = std::this_thread::get_id();
  std::mutex mutex;
  std::multiset<std::size_t> done;
  bool here = false;
  run_chains(
      5, 2,
      [&](std::size_t i, const AskNow& ask_now) {
        const std::lock_guard lock(mutex);
        here = here || std::this_thread::get_id() == caller || ask_now;
        done.insert(i);
      },
      [](std::size_t) {});
  CHECK(done == std::multiset<std::size_t>{0, 1, 2, 3, 4});
  CHECK_FALSE(here);
}

TEST_CASE("a chain on the calling thread ends where its caller says so in the middle of it", "[chains]") {
  Shared shared{.bound = 0, .enough = std::numeric_limits<std::int64_t>::max()};
  constexpr std::int64_t kAllowed = std::int64_t{1} << 40;
  std::int64_t done = 0;
  run_chains(
      1, 1,
      [&](std::size_t, const AskNow& ask_now) {
        Chain chain(shared, 1, kAllowed, ask_now);
        while (chain.spend(1000)) {
        }
        done = chain.done();
      },
      [&](std::size_t) { shared.stop = true; });
  // It asks after 2^18 ops: the first multiple of 1000 from there on.
  CHECK(done == 263'000);
}

TEST_CASE("an error of a chain reaches the caller on one thread and on two", "[chains]") {
  for (const int threads : {1, 2})
    CHECK_THROWS_AS(run_chains(
                        2, threads, [](std::size_t, const AskNow&) { throw std::runtime_error("no"); },
                        [](std::size_t) {}),
                    std::runtime_error);
}

}  // namespace pipeloom::orders::chains_test
