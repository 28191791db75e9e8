// Tensors between ranks that share nothing but sockets: who is paired with whom, who waits, and what no rank may send.

#include "executor/process/socket_exchange.hpp"

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "executor/net/wire.hpp"
#include "executor/socket_mesh.hpp"
#include "executor/two_messages.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::socket_exchange_test {
namespace {

constexpr std::size_t kEnough = std::size_t{1} << 20;
constexpr std::uint8_t kReady = 1;
constexpr std::uint8_t kTensor = 2;

/// All ranks of a plan.
class Ranks {
 public:
  explicit Ranks(const std::shared_ptr<const RunPlan>& plan, std::size_t unread_bytes = kEnough)
      : loops_(static_cast<std::size_t>(plan->schedule().ranks())) {
    auto mesh = socket_mesh(plan->schedule().ranks());
    for (std::size_t r = 0; r < loops_.size(); ++r)
      exchanges_.emplace_back(
          plan, Rank(static_cast<int>(r)), loops_[r], std::move(mesh[r]), [](Rank, const std::string&) {},
          unread_bytes);
    for (net::Loop& loop : loops_) loop.start();
  }
  ~Ranks() {
    for (SocketExchange& exchange : exchanges_) exchange.finish();
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] SocketExchange& operator[](std::size_t rank) { return exchanges_[rank]; }
  [[nodiscard]] net::Loop& loop(std::size_t rank) { return loops_[rank]; }

 private:
  std::deque<net::Loop> loops_;
  std::deque<SocketExchange> exchanges_;
};

/// Rank 1 of two_messages(), and the other end of its connection, where no rank is.
class Besieged {
 public:
  explicit Besieged(const RunOptions& options) {
    auto mesh = socket_mesh(2);
    stranger_ = std::move(mesh[0][1]);
    exchange_.emplace(plan_of(two_messages({0, 1}), options), Rank(1), loop_, std::move(mesh[1]),
                      [this](Rank peer, const std::string& reason) {
                        told_ = true;
                        lost_.set_value(std::to_string(peer.value()) + ": " + reason);
                      });
    loop_.start();
  }
  void send(const net::Frame& frame) { net::send_frame(stranger_, frame, deadline()); }
  void hang_up() { stranger_ = net::Socket(); }
  /// What `lost` was told.
  [[nodiscard]] std::string lost() {
    auto told = lost_.get_future();
    if (told.wait_until(deadline()) != std::future_status::ready) return "nothing";
    return told.get();
  }
  [[nodiscard]] bool was_told() const { return told_; }
  [[nodiscard]] SocketExchange& exchange() { return *exchange_; }

 private:
  [[nodiscard]] static net::Deadline deadline() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(20);
  }
  std::promise<std::string> lost_;
  std::atomic<bool> told_ = false;
  net::Socket stranger_;
  net::Loop loop_;
  std::optional<SocketExchange> exchange_;
};

net::Frame tensor(MessageInstance message, const std::vector<float>& values) {
  net::Writer out;
  out.u32(message).u64(0).floats(values);
  return {kTensor, std::move(out).take()};
}

net::Frame ready(MessageInstance message) {
  net::Writer out;
  out.u32(message);
  return {kReady, std::move(out).take()};
}

RunOptions any_options() {
  RunOptions options;
  options.queue = GENERATE(QueueDiscipline::PerPair, QueueDiscipline::PerRank, QueueDiscipline::PerDirection,
                           QueueDiscipline::None);
  options.handshake = GENERATE(true, false);
  return options;
}

/// `count` forwards from rank 0 to rank 1, each in a batch of its own; receives are the batches behind the sends.
Program many_messages(unsigned count) {
  std::string first;
  std::string second;
  for (const char* kind : {"F", "B"})
    for (unsigned k = 0; k < count; ++k) {
      first += "0" + (kind + std::to_string(k)) + " ";
      second += "1" + (kind + std::to_string(k)) + " ";
    }
  ProgramBuilder out(std::make_shared<const Schedule>(parse_schedule(first + "| " + second)));
  for (const bool is_send : {true, false}) {
    out.begin_rank(Rank(is_send ? 0 : 1));
    for (MessageId id = 0; id < count; ++id) {
      const Endpoint end{id, is_send};
      out.post({&end, 1});
    }
  }
  return std::move(out).build();
}

}  // namespace

TEST_CASE("sockets: messages arrive in the order of the receives, however late these come") {
  const RunOptions options = any_options();
  Ranks ranks(plan_of(two_messages({0, 1}), options));
  ranks[0].post(Rank(0), 0, 0, {holding(10)});
  ranks[0].post(Rank(0), 1, 0, {holding(11)});
  ranks[1].post(Rank(1), 2, 0, {});
  ranks[1].post(Rank(1), 3, 0, {});
  REQUIRE(ranks[1].wait(Rank(1), 3, 0));
  REQUIRE(ranks[1].wait(Rank(1), 2, 0));
  CHECK(ranks[1].take(1, 0, 1).values.front() == 11);
  CHECK(ranks[1].take(0, 0, 1).values.front() == 10);
  CHECK(ranks[0].wait(Rank(0), 1, 0));
}

TEST_CASE("sockets: a receiver waits for its sender, and both write down their times") {
  RunOptions options;
  options.handshake = GENERATE(true, false);
  Ranks ranks(plan_of(two_messages({0, 1}), options));
  ranks[1].post(Rank(1), 2, 0, {});
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ranks[0].post(Rank(0), 0, 0, {holding(10)});
  });
  CHECK(ranks[1].wait(Rank(1), 2, 0));
  sender.join();
  const MeasuredMessage sent = ranks[0].measured().front();
  const MeasuredMessage got = ranks[1].measured().front();
  CHECK(got.waited);
  CHECK(got.received >= 0);
  CHECK(got.received <= sent.sent);
  CHECK(sent.sent <= sent.started);
  CHECK(sent.started <= got.done);
  CHECK(sent.received == MeasuredMessage::kNever);
  CHECK(sent.done == MeasuredMessage::kNever);
  CHECK(got.sent == MeasuredMessage::kNever);
  CHECK(got.started == MeasuredMessage::kNever);
}

TEST_CASE(
    "sockets: with a handshake a tensor leaves when its receive is posted, without when it is posted "
    "itself") {
  RunOptions options;
  options.handshake = GENERATE(true, false);
  Ranks ranks(plan_of(two_messages({0, 1}), options));
  ranks[0].post(Rank(0), 0, 0, {holding(10)});
  if (options.handshake) {
    ranks[1].post(Rank(1), 2, 0, {});
    REQUIRE(ranks[0].wait(Rank(0), 0, 0));
    CHECK(ranks[0].measured().front().started >= ranks[1].measured().front().received);
  } else {
    REQUIRE(ranks[0].wait(Rank(0), 0, 0));
    while (ranks[1].measured().front().done == MeasuredMessage::kNever) std::this_thread::yield();
    ranks[1].post(Rank(1), 2, 0, {});
    CHECK(ranks[0].measured().front().started <= ranks[1].measured().front().done);
    CHECK(ranks[1].measured().front().done <= ranks[1].measured().front().received);
  }
  REQUIRE(ranks[1].wait(Rank(1), 2, 0));
  CHECK(ranks[1].take(0, 0, 1).values.front() == 10);
}

TEST_CASE(
    "sockets: receives in another order than sends pair with the wrong message, unless there are tags") {
  const RunOptions options = any_options();
  Ranks ranks(plan_of(two_messages({1, 0}), options));
  ranks[0].post(Rank(0), 0, 0, {holding(10)});
  ranks[0].post(Rank(0), 1, 0, {holding(11)});
  ranks[1].post(Rank(1), 2, 0, {});
  if (options.queue == QueueDiscipline::None) {
    REQUIRE(ranks[1].wait(Rank(1), 2, 0));
    CHECK(ranks[1].take(1, 0, 1).values.front() == 11);
  } else {
    CHECK_THROWS_WITH(ranks[1].wait(Rank(1), 2, 0),
                      "rank 1 waits for the output of 0F1 from rank 0 in step 0 and gets the output of 0F0 "
                      "from rank 0 in step 0: sends and receives are in different orders");
  }
}

TEST_CASE("sockets: a damaged tensor is seen by its checksum, a short one without") {
  RunOptions options;
  options.in_transit = [](MessageId, int, Payload& payload) { payload.values[0] += 1; };
  options.checksums = GENERATE(true, false);
  Ranks ranks(plan_of(two_messages({0, 1}), options));
  ranks[0].post(Rank(0), 0, 0, {holding(10)});
  ranks[1].post(Rank(1), 2, 0, {});
  REQUIRE(ranks[1].wait(Rank(1), 2, 0));
  if (options.checksums)
    CHECK_THROWS_AS(ranks[1].take(0, 0, 1), WrongMessage);
  else
    CHECK_THROWS_WITH(ranks[1].take(0, 0, 2),
                      "the output of 0F0 from rank 0 in step 0 has 1 elements instead of 2");
}

TEST_CASE("sockets: stop ends all waits") {
  Ranks ranks(plan_of(two_messages({0, 1}), {}));
  ranks[1].post(Rank(1), 2, 0, {});
  std::thread stopper([&] { ranks[1].stop(); });
  CHECK_FALSE(ranks[1].wait(Rank(1), 2, 0));
  stopper.join();
  CHECK_FALSE(ranks[1].wait(Rank(1), 2, 0));
}

TEST_CASE("sockets: without a handshake unread bytes are bounded, and nothing is lost or changes places") {
  // 32 tensors of 256 KiB: 8 MiB, more than a socket holds.
  constexpr unsigned kCount = 32;
  constexpr std::size_t kElements = std::size_t{1} << 16;
  RunOptions options;
  options.handshake = false;
  options.queue = GENERATE(QueueDiscipline::PerPair, QueueDiscipline::None);
  Ranks ranks(plan_of(many_messages(kCount), options), 1000);
  for (unsigned i = 0; i < kCount; ++i)
    ranks[0].post(Rank(0), i, 0, {{.values = std::vector<float>(kElements, static_cast<float>(i))}});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // Two may be there, one is in the system's hands; the rest cannot leave.
  CHECK_FALSE(ranks[0].measured()[0].started == MeasuredMessage::kNever);
  if (options.queue == QueueDiscipline::PerPair)
    CHECK(ranks[0].measured()[kCount - 1].started == MeasuredMessage::kNever);
  else
    CHECK(ranks.loop(0).queued() > kElements);
  for (unsigned i = 0; i < kCount; ++i) ranks[1].post(Rank(1), kCount + i, 0, {});
  for (unsigned i = 0; i < kCount; ++i) {
    REQUIRE(ranks[1].wait(Rank(1), kCount + i, 0));
    CHECK(ranks[1].take(i, 0, kElements).values.back() == static_cast<float>(i));
  }
}

TEST_CASE("sockets: without tags a receive gets its tensor past any number of unread ones") {
  constexpr unsigned kCount = 16;
  constexpr std::size_t kElements = std::size_t{1} << 16;
  RunOptions options;
  options.handshake = false;
  options.queue = QueueDiscipline::None;
  Ranks ranks(plan_of(many_messages(kCount), options), 1);
  for (unsigned i = 0; i < kCount; ++i)
    ranks[0].post(Rank(0), i, 0, {{.values = std::vector<float>(kElements, static_cast<float>(i))}});
  for (unsigned i = kCount; i-- > 0;) {
    ranks[1].post(Rank(1), kCount + i, 0, {});
    REQUIRE(ranks[1].wait(Rank(1), kCount + i, 0));
    CHECK(ranks[1].take(i, 0, kElements).values.front() == static_cast<float>(i));
  }
}

TEST_CASE("sockets: what no rank of the run would send ends the connection, and is named") {
  RunOptions options;
  options.queue = QueueDiscipline::None;
  Besieged rank(options);
  SECTION("a message that there is not") {
    rank.send(tensor(4711, {1}));
    CHECK(rank.lost() == "0: rank 0 sent the tensor of message 4711, but this run has only 4");
  }
  SECTION("a message of another rank") {
    rank.send(tensor(2, {1}));
    CHECK(rank.lost() ==
          "0: rank 0 sent rank 1 the tensor for the output of 1B0 from rank 1 in step 0 to rank 0");
  }
  SECTION("a tensor that was not asked for") {
    rank.send(tensor(0, {1}));
    CHECK(rank.lost() ==
          "0: rank 0 sent the tensor for the output of 0F0 from rank 0 in step 0 before it was asked for");
  }
  SECTION("twice") {
    rank.exchange().post(Rank(1), 2, 0, {});
    rank.send(tensor(0, {1}));
    REQUIRE(rank.exchange().wait(Rank(1), 2, 0));
    rank.send(tensor(0, {1}));
    CHECK(rank.lost() == "0: rank 0 sent the tensor for the output of 0F0 from rank 0 in step 0 twice");
  }
  SECTION("a word for a message that comes from elsewhere") {
    rank.send(ready(1));
    CHECK(rank.lost() ==
          "0: rank 0 sent rank 1 the word that it is ready for the output of 0F1 from rank 0 in step 0 to "
          "rank 1");
  }
  SECTION("another kind of frame") {
    rank.send({7, {}});
    CHECK(rank.lost() == "0: rank 0 sent a frame of kind 7, which no rank of a run sends");
  }
  SECTION("a frame that ends too early, or too late") {
    net::Frame frame = tensor(0, {1});
    if (GENERATE(true, false))
      frame.body.pop_back();
    else
      frame.body.push_back(std::byte{0});
    rank.send(frame);
    const std::string reason = rank.lost();
    INFO(reason);
    CHECK(reason.substr(0, 3) == "0: ");
    CHECK(reason != "0: the connection was closed");
  }
}

TEST_CASE("sockets: a connection that ends is told, unless the run has ended") {
  SECTION("in the run") {
    Besieged rank({});
    rank.hang_up();
    CHECK(rank.lost() == "0: the connection was closed");
  }
  SECTION("behind it") {
    Besieged rank({});
    if (GENERATE(true, false))
      rank.exchange().finish();
    else
      rank.exchange().stop();
    rank.hang_up();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(rank.was_told());
  }
}

}  // namespace pipeloom::executor::socket_exchange_test
