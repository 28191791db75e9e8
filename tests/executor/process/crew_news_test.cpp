// What the ranks of a crew tell each other of where they are and of failures, read from the wire.

#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "executor/process/crew.hpp"
#include "executor/process/letters.hpp"
#include "executor/run/busy_work.hpp"
#include "executor/run/mailboxes.hpp"
#include "executor/runs.hpp"
#include "executor/two_messages.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::crew_news_test {
namespace {

using std::chrono::milliseconds;

/// Longer than any test.
constexpr milliseconds kForEver = std::chrono::hours(1);

/// One process of a crew with its run; what the others say and hear is the test's: others[r] is the other end of the connection to
/// rank r.
struct Member {
  Member(int rank, int size, milliseconds silence)
      : program(async_program("1f1b", size, size)),
        work(uniform_costs(program.schedule().placement(), {.forward = 1, .backward = 1}),
             {.message_elements = 1}),
        others(static_cast<std::size_t>(size)),
        crew(*loop, {.rank = rank, .size = size, .local_rank = 0, .master = {}}, connections(rank), clock,
             silence),
        plan(plan_of(program, {})),
        state(plan, work, {Rank(rank)}, std::make_unique<Mailboxes>(plan),
              std::make_unique<CrewBarrier>(crew)) {
    crew.attach(state);
    loop->start();
  }
  /// First the thread that uses the rest.
  ~Member() { loop.reset(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  [[nodiscard]] net::Frame heard_by(std::size_t rank) const {
    return net::receive_frame(others[rank], std::chrono::steady_clock::now() + milliseconds(20'000),
                              1U << 20);
  }

  RunClock clock;
  Program program;
  BusyWork work;
  std::vector<net::Socket> others;
  std::unique_ptr<net::Loop> loop = std::make_unique<net::Loop>();
  Crew crew;
  std::shared_ptr<const RunPlan> plan;
  RunState state;

 private:
  std::vector<net::Socket> connections(int rank) {
    std::vector<net::Socket> own(others.size());
    for (std::size_t other = 0; other < own.size(); ++other) {
      if (rank == 0 ? other == 0 : other != 0) continue;
      int ends[2] = {-1, -1};
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
      own[other] = net::Socket(ends[0]);
      others[other] = net::Socket(ends[1]);
    }
    return own;
  }
};

bool is(const net::Frame& frame, LetterKind kind) {
  return frame.kind == static_cast<std::uint8_t>(kind);
}

}  // namespace

TEST_CASE("what the coordinator says to one rank does not grow with the crew") {
  // 16 ranks are few; of more each hears where rank 0 is, and nothing of the others.
  const auto [size, told] = GENERATE(table<int, std::size_t>({{3, 3}, {16, 16}, {17, 1}, {64, 1}}));
  const Member coordinator(0, size, kForEver);
  for (std::size_t rank = 1; rank < static_cast<std::size_t>(size); ++rank) {
    const net::Frame beat = coordinator.heard_by(rank);
    REQUIRE(is(beat, LetterKind::Beat));
    const std::vector<Whereabouts> news = read_beat(beat.body, size);
    CHECK(news.size() == told);
    CHECK(news.front().rank == Rank(0));
  }
}

TEST_CASE("a failure is told to each of many without where all others are") {
  const auto [size, told] = GENERATE(table<int, std::size_t>({{3, 3}, {64, 0}}));
  Member coordinator(0, size, kForEver);
  coordinator.state.fail(Rank(2), "out of memory");
  CHECK(coordinator.state.failure()->last_actions.size() == static_cast<std::size_t>(size));
  net::Frame word = coordinator.heard_by(1);
  while (is(word, LetterKind::Beat)) word = coordinator.heard_by(1);
  REQUIRE(is(word, LetterKind::Stop));
  const Failure failure = read_failure(word.body, size);
  CHECK(failure.message == coordinator.state.failure()->message);
  CHECK(failure.last_actions.size() == told);
}

TEST_CASE("one of many tells of itself and rank 0 where rank 0 cannot") {
  const auto [size, told] = GENERATE(table<int, std::size_t>({{3, 3}, {64, 2}}));
  Member member(5 % size, size, kForEver);
  member.others[0] = net::Socket();
  while (!member.state.failure()) std::this_thread::sleep_for(milliseconds(1));
  const Failure failure = member.state.failure().value();
  CHECK(failure.rank == Rank(0));
  CHECK(failure.what == "its process ended: the connection was closed");
  CHECK(failure.last_actions.size() == told);
}

TEST_CASE("beats are ten a second of few ranks and a thousand of all, and eight in a silence that is death") {
  CHECK(time_between_beats(milliseconds(30'000), 4) == milliseconds(100));
  CHECK(time_between_beats(milliseconds(30'000), 96) == milliseconds(100));
  CHECK(time_between_beats(milliseconds(30'000), 256) == milliseconds(256));
  CHECK(time_between_beats(milliseconds(30'000), 1024) == milliseconds(1024));
  CHECK(time_between_beats(milliseconds(1'600), 1024) == milliseconds(200));
  CHECK(time_between_beats(milliseconds(1), 4) == milliseconds(10));
}

TEST_CASE("that another rank cannot be reached is the coordinator's to judge") {
  // Rank 2 may have ended because rank 0 did, or another rank: rank 1 alone cannot know.
  Member member(1, 3, kForEver);
  member.crew.complain(Rank(2), "its process ended");
  net::Frame word = member.heard_by(0);
  while (is(word, LetterKind::Beat)) word = member.heard_by(0);
  REQUIRE(is(word, LetterKind::Failed));
  CHECK(read_complaint(word.body, 3).rank == Rank(2));
  CHECK_FALSE(member.state.failure());
}

TEST_CASE("nobody waits for the last words of a rank that was silent") {
  Member coordinator(0, 2, milliseconds(50));
  const net::Bytes own{std::byte{7}};
  while (!coordinator.state.failure()) std::this_thread::sleep_for(milliseconds(1));
  CHECK(coordinator.state.failure()->rank == Rank(1));
  // Would wait for hours.
  CHECK(coordinator.crew.say_goodbye(own, kForEver) == std::vector<net::Bytes>{own, {}});
}

}  // namespace pipeloom::executor::crew_news_test
