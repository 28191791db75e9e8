// A crew without a run: clocks compared by round trips, bytes gathered and handed out, barriers, ends.

#include "executor/process/crew.hpp"

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace pipeloom::executor::crew_test {
namespace {

using std::chrono::milliseconds;

/// One process: its connections, clock and crew.
struct Member {
  Member(Rank rank, int size, std::vector<net::Socket> control)
      : crew(*loop, {.rank = rank.value(), .size = size, .local_rank = 0, .master = {}}, std::move(control),
             clock, milliseconds(10'000)) {
    loop->start();
  }
  /// First the thread that uses the rest.
  ~Member() { loop.reset(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  RunClock clock;
  std::unique_ptr<net::Loop> loop = std::make_unique<net::Loop>();
  Crew crew;
};

/// Runs `task` as each of `size` processes, whose clocks start some milliseconds apart. How often what it expected was not so: the
/// assertions of the test are for one thread.
int as_crew(int size, const std::function<void(Member&, const std::function<void(bool)>&)>& task,
            std::vector<RunClock>* clocks = nullptr) {
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<std::vector<net::Socket>> control(ranks);
  control[0].resize(ranks);
  for (std::size_t r = 1; r < ranks; ++r) {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    control[0][r] = net::Socket(ends[0]);
    control[r].emplace_back(ends[1]);
  }
  std::vector<std::unique_ptr<Member>> members;
  for (Rank rank{0}; rank < Rank(size); ++rank) {
    members.push_back(std::make_unique<Member>(rank, size, std::move(control[rank.at()])));
    if (clocks != nullptr) clocks->push_back(members.back()->clock);
    std::this_thread::sleep_for(milliseconds(3));
  }
  std::atomic<int> wrong = 0;
  const auto expect = [&](bool holds) { wrong += holds ? 0 : 1; };
  std::vector<std::thread> threads;
  for (const auto& member : members) threads.emplace_back([&] { task(*member, expect); });
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

net::Bytes bytes(std::size_t count, int value) {
  return {count, static_cast<std::byte>(value)};
}

}  // namespace

TEST_CASE("round trips find a clock's offset to within half of the shortest") {
  std::vector<RunClock> clocks;
  std::vector<ClockOffset> found(3);
  const auto align = [&](Member& member, const auto& expect) {
    found[member.crew.rank().at()] = member.crew.align(20).value();
    expect(member.crew.part());
  };
  REQUIRE(as_crew(3, align, &clocks) == 0);
  CHECK(found[0].offset == 0);
  CHECK(found[0].error == 0);
  for (std::size_t r = 1; r < 3; ++r) {
    // Both read this machine's steady clock, so what is estimated is also known.
    const Ticks truth =
        Ticks{1000} * std::chrono::nanoseconds(clocks[r].origin() - clocks[0].origin()).count();
    CHECK(found[r].error > 0);
    CHECK(found[r].offset - found[r].error <= truth);
    CHECK(truth <= found[r].offset + found[r].error);
    const auto exact = same_machine_offset(clocks[r], identity_of(clocks[0]));
    if (exact) CHECK(exact->offset == truth);
  }
}

TEST_CASE("who needs no round trips compares clocks with those who do") {
  std::vector<ClockOffset> found(3);
  CHECK(as_crew(3, [&](Member& member, const auto& expect) {
          const std::size_t rank = member.crew.rank().at();
          found[rank] = member.crew.align(rank == 1 ? 0 : 20).value();
          expect(member.crew.part());
        }) == 0);
  CHECK(found[1].error == 0);
  CHECK(found[2].error > 0);
}

TEST_CASE("what each rank gives arrives whole, what the coordinator gives at everybody") {
  // More than one piece, exactly one, and nothing.
  const std::vector<std::size_t> sizes = {5, (std::size_t{1} << 20) * 2 + 17, std::size_t{1} << 20, 0};
  CHECK(as_crew(4, [&](Member& member, const auto& expect) {
          Crew& crew = member.crew;
          const auto shares = crew.gather(bytes(sizes[crew.rank().at()], crew.rank().value() + 1));
          expect(shares.has_value() && shares->size() == (crew.is_coordinator() ? 4U : 0U));
          for (std::size_t r = 0; r < shares->size(); ++r)
            expect((*shares)[r] == bytes(sizes[r], static_cast<int>(r) + 1));
          expect(crew.broadcast(bytes(9, crew.is_coordinator() ? 42 : 0)) == bytes(9, 42));
          expect(crew.part());
        }) == 0);
}

TEST_CASE("nobody leaves a barrier before all have come to it") {
  std::atomic<int> come = 0;
  CHECK(as_crew(4, [&](Member& member, const auto& expect) {
          for (int round = 1; round <= 50; ++round) {
            ++come;
            expect(member.crew.barrier());
            expect(come >= 4 * round);
          }
          expect(member.crew.part());
        }) == 0);
}

TEST_CASE("stop ends every wait of a crew, now and later") {
  CHECK(as_crew(2, [&](Member& member, const auto& expect) {
          if (member.crew.is_coordinator()) return;
          std::thread stopper([&] { member.crew.stop(); });
          expect(!member.crew.broadcast({}).has_value());
          stopper.join();
          expect(!member.crew.barrier());
          expect(!member.crew.align(3).has_value());
        }) == 0);
}

}  // namespace pipeloom::executor::crew_test
