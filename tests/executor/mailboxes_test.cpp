// Mailboxes between threads: who is paired with whom, and who waits.

#include "executor/run/mailboxes.hpp"

#include <thread>

#include "executor/two_messages.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::mailboxes_test {
TEST_CASE("messages arrive in the order of the receives, however late these come") {
  const Program program = two_messages({0, 1});
  const auto queue = GENERATE(QueueDiscipline::PerPair, QueueDiscipline::PerRank,
                              QueueDiscipline::PerDirection, QueueDiscipline::None);
  RunOptions options;
  options.queue = queue;
  Mailboxes exchange(plan_of(program, options));
  exchange.post(Rank(0), 0, 0, {holding(10)});
  exchange.post(Rank(0), 1, 0, {holding(11)});
  exchange.post(Rank(1), 2, 0, {});
  exchange.post(Rank(1), 3, 0, {});
  REQUIRE(exchange.wait(Rank(1), 3, 0));
  REQUIRE(exchange.wait(Rank(1), 2, 0));
  CHECK(exchange.take(1, 0, 1).values.front() == 11);
  CHECK(exchange.take(0, 0, 1).values.front() == 10);
}

TEST_CASE("a receiver waits for its sender") {
  const Program program = two_messages({0, 1});
  Mailboxes exchange(plan_of(program, {}));
  exchange.post(Rank(1), 2, 0, {});
  std::thread sender([&] { exchange.post(Rank(0), 0, 0, {holding(10)}); });
  CHECK(exchange.wait(Rank(1), 2, 0));
  sender.join();
  const MeasuredMessage message = exchange.measured().front();
  CHECK(message.received <= message.sent);
  CHECK(message.sent <= message.done);
}

TEST_CASE("receives in another order than sends pair with the wrong message, unless there are tags") {
  const Program program = two_messages({1, 0});
  RunOptions options;
  SECTION("no tags") {
    options.queue =
        GENERATE(QueueDiscipline::PerPair, QueueDiscipline::PerRank, QueueDiscipline::PerDirection);
    Mailboxes exchange(plan_of(program, options));
    exchange.post(Rank(0), 0, 0, {holding(10)});
    exchange.post(Rank(0), 1, 0, {holding(11)});
    exchange.post(Rank(1), 2, 0, {});
    CHECK_THROWS_WITH(exchange.wait(Rank(1), 2, 0),
                      "rank 1 waits for the output of 0F1 from rank 0 in step 0 and gets the output of 0F0 "
                      "from rank 0 in step 0: sends and receives are in different orders");
  }
  SECTION("tags") {
    options.queue = QueueDiscipline::None;
    Mailboxes exchange(plan_of(program, options));
    exchange.post(Rank(0), 0, 0, {holding(10)});
    exchange.post(Rank(0), 1, 0, {holding(11)});
    exchange.post(Rank(1), 2, 0, {});
    REQUIRE(exchange.wait(Rank(1), 2, 0));
    CHECK(exchange.take(1, 0, 1).values.front() == 11);
  }
}

TEST_CASE("a damaged tensor is seen by its checksum, a short one without") {
  const Program program = two_messages({0, 1});
  RunOptions options;
  options.in_transit = [](MessageId, int, Payload& payload) { payload.values[0] += 1; };
  options.checksums = GENERATE(true, false);
  Mailboxes exchange(plan_of(program, options));
  exchange.post(Rank(0), 0, 0, {holding(10)});
  exchange.post(Rank(1), 2, 0, {});
  REQUIRE(exchange.wait(Rank(1), 2, 0));
  if (options.checksums)
    CHECK_THROWS_AS(exchange.take(0, 0, 1), WrongMessage);
  else
    CHECK_THROWS_WITH(exchange.take(0, 0, 2),
                      "the output of 0F0 from rank 0 in step 0 has 1 elements instead of 2");
}

TEST_CASE("stop ends all waits") {
  const Program program = two_messages({0, 1});
  Mailboxes exchange(plan_of(program, {}));
  exchange.post(Rank(1), 2, 0, {});
  std::thread stopper([&] { exchange.stop(); });
  CHECK_FALSE(exchange.wait(Rank(1), 2, 0));
  stopper.join();
  CHECK_FALSE(exchange.wait(Rank(1), 2, 0));
}

}  // namespace pipeloom::executor::mailboxes_test
