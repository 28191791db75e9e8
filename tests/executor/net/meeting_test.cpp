// Ranks that find each other, whoever else is there.

#include "executor/net/meeting.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/net/meeting_letters.hpp"
#include "executor/net/meeting_scene.hpp"
#include "executor/net/pairs.hpp"
#include "executor/net/world.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net::meeting_test {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::Contains;

using AreConnected = std::function<bool(std::size_t, std::size_t)>;

bool all_pairs(std::size_t own, std::size_t other) {
  return own != other;
}

/// Peers and no others are connected, and every open connection leads to the rank that it should.
void check_connections(const std::vector<Outcome>& outcomes, const AreConnected& are_peers = all_pairs) {
  const std::size_t size = outcomes.size();
  for (std::size_t own = 0; own < size; ++own) {
    INFO(outcomes[own].reason);
    REQUIRE(outcomes[own].meeting);
    const Meeting& meeting = *outcomes[own].meeting;
    REQUIRE(meeting.control.size() == size);
    REQUIRE(meeting.data.size() == size);
    for (std::size_t other = 0; other < size; ++other) {
      CHECK(meeting.data[other].is_open() == are_peers(own, other));
      CHECK(meeting.control[other].is_open() == (other != own && (own == 0 || other == 0)));
    }
  }
  const auto tell = [&](const Socket& to, std::size_t own) {
    if (to.is_open()) send_frame(to, {static_cast<std::uint8_t>(own), {}}, soon());
  };
  const auto hear = [&](const Socket& from, std::size_t other) {
    if (from.is_open()) CHECK(receive_frame(from, soon(), 100).kind == other);
  };
  for (std::size_t own = 0; own < size; ++own)
    for (std::size_t other = 0; other < size; ++other) {
      tell(outcomes[own].meeting->data[other], own);
      tell(outcomes[own].meeting->control[other], own);
    }
  for (std::size_t own = 0; own < size; ++own)
    for (std::size_t other = 0; other < size; ++other) {
      hear(outcomes[own].meeting->data[other], other);
      hear(outcomes[own].meeting->control[other], other);
    }
}

}  // namespace

TEST_CASE("one rank meets nobody and needs no port") {
  const Socket taken = listen_on(0);
  const std::vector<Outcome> outcomes = outcomes_of({guest(0, 1, port_of(taken))});
  check_connections(outcomes);
}

TEST_CASE("ranks meet, and every pair has its connection") {
  const int size = GENERATE(2, 5);
  check_connections(outcomes_of(all_ranks(size, free_port())));
}

TEST_CASE("only ranks that exchange data are connected") {
  // A ring of 6: ranks 1, 2, .. 5 would have 5 connections each, and have 2.
  std::vector<Guest> guests = all_ranks(6, free_port());
  const auto are_neighbours = [](std::size_t a, std::size_t b) {
    return (a + 1) % 6 == b || (b + 1) % 6 == a;
  };
  for (std::size_t own = 0; own < 6; ++own)
    std::erase_if(guests[own].peers,
                  [&](int other) { return !are_neighbours(own, static_cast<std::size_t>(other)); });
  check_connections(outcomes_of(guests), are_neighbours);
}

TEST_CASE("who waits for the meeting hears of it, once, and only where there was one") {
  const std::uint16_t port = free_port();
  std::vector<Guest> guests = all_ranks(3, port);
  std::atomic<int> met = 0;
  for (Guest& guest : guests) guest.world.met = [&] { ++met; };
  const bool all_come = GENERATE(true, false);
  if (!all_come) guests.pop_back();
  const std::vector<Outcome> outcomes = outcomes_of(guests, all_come ? 20s : 1s);
  CHECK(met == (all_come ? 3 : 0));
}

TEST_CASE("ranks meet by a name") {
  check_connections(outcomes_of(all_ranks(3, free_port(), "localhost")));
}

TEST_CASE("ranks meet in any order, some late, and find the port again") {
  const std::uint16_t port = free_port();
  for (int round = 0; round < 3; ++round) {
    std::vector<Guest> guests = all_ranks(4, port);
    std::vector<Outcome> outcomes(4);
    std::vector<std::thread> threads;
    for (const int rank : {3, 1, 0, 2}) {
      threads.emplace_back([&, at = static_cast<std::size_t>(rank)] {
        outcomes[at].reason = reason_of([&] {
          outcomes[at].meeting = meet(guests[at].world, kSame, guests[at].peers, soon());
          return 0;
        });
      });
      std::this_thread::sleep_for(10ms);
    }
    for (std::thread& thread : threads) thread.join();
    check_connections(outcomes);
  }
}

TEST_CASE("two runs at once do not mix") {
  std::vector<Guest> guests = all_ranks(3, free_port());
  for (const Guest& other : all_ranks(3, free_port())) guests.push_back(other);
  std::vector<Outcome> outcomes = outcomes_of(guests);
  std::vector<Outcome> second;
  for (std::size_t i = 3; i < 6; ++i) second.push_back(std::move(outcomes[i]));
  outcomes.resize(3);
  check_connections(outcomes);
  check_connections(second);
}

TEST_CASE("rank 0 gives up before the others, callers before those whom they call") {
  const Deadline now = Deadline::clock::now();
  const MeetingTimes times = times_until(now + 30s);
  CHECK(times.all == "30 s");
  CHECK(times.come == times.deadline - 1s);
  CHECK(times.call == times.deadline - 750ms);
  CHECK(times.connect == times.deadline - 500ms);
  CHECK(times.decide == times.deadline - 250ms);
  CHECK(times.deadline == now + 30s);
  const MeetingTimes past = times_until(now - 1s);
  CHECK(past.all == "0 s");
  CHECK(past.come == past.deadline);
}

TEST_CASE("ranks by name") {
  CHECK(names_of({2}) == "rank 2");
  CHECK(names_of({2, 5}) == "ranks 2 and 5");
  CHECK(names_of({1, 2, 3, 5}) == "ranks 1, 2, 3 and 5");
}

TEST_CASE("what two ranks can differ in") {
  const Hello host{kProtocolVersion, 0, 4, 29500, kSame};
  Hello other{kProtocolVersion, 2, 4, 1234, kSame};
  CHECK(difference(host, other).empty());
  other.version = 7;
  CHECK(difference(host, other) ==
        "rank 2 speaks version 7 of the protocol, rank 0 version 2; start the same program on all ranks");
  other.version = kProtocolVersion;
  other.rank = 4;
  CHECK(difference(host, other) == "a process that calls rank 0 says that it is rank 4; allowed are 1 to 3");
  other.rank = 0;
  CHECK_FALSE(difference(host, other).empty());
}

TEST_CASE("letters that are cut anywhere are malformed") {
  const Frame hello = letter(Hello{kProtocolVersion, 2, 4, 1234, kSame});
  const Frame table = letter(Table{1, {{"10.0.0.7", 1}, {"", 2}}});
  const Frame call = letter(Call{1, 2});
  const Frame text = letter(LetterKind::Reject, "because");
  CHECK(hello_in(hello).agreements == kSame);
  CHECK(table_in(table).addresses == std::vector<Address>{{"10.0.0.7", 1}, {"", 2}});
  CHECK(call_in(call).rank == 2);
  CHECK(text_in(text) == "because");
  const auto cut = [](Frame frame, std::size_t size) {
    frame.body.resize(size);
    return frame;
  };
  for (std::size_t size = 0; size < hello.body.size(); ++size)
    CHECK_THROWS_AS(hello_in(cut(hello, size)), MalformedBytes);
  for (std::size_t size = 0; size < table.body.size(); ++size)
    CHECK_THROWS_AS(table_in(cut(table, size)), MalformedBytes);
  for (std::size_t size = 0; size < call.body.size(); ++size)
    CHECK_THROWS_AS(call_in(cut(call, size)), MalformedBytes);
  for (std::size_t size = 0; size < text.body.size(); ++size)
    CHECK_THROWS_AS(text_in(cut(text, size)), MalformedBytes);
  CHECK_THROWS_AS(hello_in(table), MalformedBytes);
  // Of another version nothing but version and rank has to be right.
  Writer newer;
  newer.u64(0x4d4f4f4c45504950).u32(9).u32(3).text("something new");
  const Hello read = hello_in({static_cast<std::uint8_t>(LetterKind::Hello), std::move(newer).take()});
  CHECK(read.version == 9);
  CHECK(read.rank == 3);
}

TEST_CASE("strangers who call rank 0 keep nobody from meeting") {
  const std::uint16_t port = free_port();
  const Address address{"127.0.0.1", port};
  std::vector<Outcome> outcomes;
  std::thread others([&] { outcomes = outcomes_of({guest(0, 3, port), guest(1, 3, port)}); });
  std::vector<Socket> strangers;
  for (int i = 0; i < 10; ++i) {
    strangers.push_back(connect_to(address, soon()));  // says nothing
    strangers.push_back(connect_to(address, soon()));
    send_all(strangers.back(), bytes_of("GET / HTTP/1.1\r\nHost: node0\r\n\r\n"), soon());
    strangers.push_back(connect_to(address, soon()));
    send_frame(strangers.back(), letter(Call{1, 1}), soon());
    strangers.push_back(connect_to(address, soon()));
    send_all(strangers.back(), bytes_of(std::string("\x09\0\0", 3)), soon());
    strangers.push_back(connect_to(address, soon()));
    strangers.back() = Socket();
  }
  std::vector<Outcome> last = outcomes_of({guest(2, 3, port)});
  others.join();
  outcomes.push_back(std::move(last.front()));
  check_connections(outcomes);
}

TEST_CASE("a stranger who says nothing is sent away") {
  const std::uint16_t port = free_port();
  std::vector<Outcome> outcomes;
  std::thread host([&] { outcomes = outcomes_of({guest(0, 2, port)}, 600ms); });
  const Socket stranger = connect_to({"127.0.0.1", port}, soon());
  send_all(stranger, bytes_of("\x07"), soon());
  std::byte answer{};
  CHECK(reason_of([&] { receive_all(stranger, {&answer, 1}, soon()); }) == "the connection was closed");
  host.join();
  CHECK_THAT(outcomes[0].reason, Contains("rank 1 did not come to "));
}

TEST_CASE("a caller with another run's number, or of a rank that is there, gets no data connection") {
  const std::uint16_t port = free_port();
  std::vector<Outcome> outcomes;
  std::thread host([&] { outcomes = outcomes_of({guest(0, 2, port)}); });
  const Socket control = connect_to({"127.0.0.1", port}, soon());
  send_frame(control, letter(Hello{kProtocolVersion, 1, 2, 1, kSame}), soon());
  CHECK(is(receive_frame(control, soon(), kMostLetterBytes), LetterKind::Welcome));
  const Table table = table_in(receive_frame(control, soon(), kMostLetterBytes));
  const auto calling = [&](const Call& call) {
    Socket socket = connect_to({"127.0.0.1", port}, soon());
    send_frame(socket, letter(call), soon());
    return socket;
  };
  for (const Call& wrong : {Call{table.run + 1, 1}, Call{table.run, 0}, Call{table.run, 2}, Call{0, 1}}) {
    const Socket stranger = calling(wrong);
    CHECK(reason_of([&] { return receive_frame(stranger, soon(), kMostLetterBytes); }) ==
          "the connection was closed");
  }
  const Socket data = calling({table.run, 1});
  CHECK(call_in(receive_frame(data, soon(), kMostLetterBytes)).rank == 0);
  send_frame(control, letter(LetterKind::Ready), soon());
  CHECK(is(receive_frame(control, soon(), kMostLetterBytes), LetterKind::Go));
  host.join();
  REQUIRE(outcomes[0].meeting);
  send_frame(data, {42, {}}, soon());
  CHECK(receive_frame(outcomes[0].meeting->data[1], soon(), 100).kind == 42);
}

}  // namespace pipeloom::executor::net::meeting_test
