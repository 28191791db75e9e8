// Ranks that find each other, and those that do not.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/net/meeting_letters.hpp"
#include "executor/net/pairs.hpp"
#include "executor/net/world.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::Contains;

const std::vector<Agreement> kSame = {{"schedule", "zb-h1, p=4, m=8"}, {"work", "busy"}};

/// What one process of a meeting says of itself.
struct Guest {
  World world;
  std::vector<Agreement> agreements = kSame;
};

struct Outcome {
  std::optional<Meeting> meeting;
  std::string reason;
};

/// All at once, each in a thread of its own; [guest].
std::vector<Outcome> outcomes_of(const std::vector<Guest>& guests, std::chrono::milliseconds time = 20s) {
  std::vector<Outcome> outcomes(guests.size());
  std::vector<std::thread> threads;
  const Deadline deadline = in(time);
  for (std::size_t i = 0; i < guests.size(); ++i)
    threads.emplace_back([&, i] {
      outcomes[i].reason = reason_of([&] {
        outcomes[i].meeting = meet(guests[i].world, guests[i].agreements, deadline);
        return 0;
      });
    });
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

Guest guest(int rank, int size, std::uint16_t port, const std::string& host = "127.0.0.1") {
  return {{rank, size, 0, {host, port}}};
}

std::vector<Guest> all_ranks(int size, std::uint16_t port, const std::string& host = "127.0.0.1") {
  std::vector<Guest> guests;
  for (int rank = 0; rank < size; ++rank) guests.push_back(guest(rank, size, port, host));
  return guests;
}

/// Every open connection leads to the rank that it should.
void check_connections(const std::vector<Outcome>& outcomes) {
  const std::size_t size = outcomes.size();
  for (std::size_t own = 0; own < size; ++own) {
    INFO(outcomes[own].reason);
    REQUIRE(outcomes[own].meeting);
    const Meeting& meeting = *outcomes[own].meeting;
    REQUIRE(meeting.control.size() == size);
    REQUIRE(meeting.data.size() == size);
    for (std::size_t other = 0; other < size; ++other) {
      CHECK(meeting.data[other].is_open() == (other != own));
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

void check_all_say(const std::vector<Outcome>& outcomes, const std::string& reason) {
  for (const Outcome& outcome : outcomes) {
    CHECK(outcome.reason == reason);
    CHECK_FALSE(outcome.meeting);
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
          outcomes[at].meeting = meet(guests[at].world, kSame, soon());
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

TEST_CASE("a taken port ends rank 0 at once, and the others in time") {
  const Socket taken = listen_on(0);  // takes calls, and never says anything
  const std::uint16_t port = port_of(taken);
  const std::string name = "127.0.0.1:" + std::to_string(port);
  const std::vector<Outcome> outcomes = outcomes_of(all_ranks(2, port), 300ms);
  CHECK(outcomes[0].reason ==
        "port " + std::to_string(port) + " is taken: Address already in use; set MASTER_PORT to a free one");
  CHECK(outcomes[1].reason == "rank 1: whoever listens at " + name +
                                  " is no rank 0 that waits for it (nothing came before the deadline); "
                                  "set MASTER_PORT to a free port");
}

TEST_CASE("all ranks that do not come are named to all that do") {
  const std::uint16_t port = free_port();
  const std::string name = "127.0.0.1:" + std::to_string(port);
  const std::string question = "; were they started, with the same MASTER_ADDR and MASTER_PORT?";
  check_all_say(outcomes_of({guest(0, 3, port), guest(1, 3, port)}, 1000ms),
                "rank 2 did not come to " + name + " within 1 s" + question);
  check_all_say(outcomes_of({guest(0, 6, port), guest(2, 6, port), guest(4, 6, port)}, 600ms),
                "ranks 1, 3 and 5 did not come to " + name + " within 0.6 s" + question);
}

TEST_CASE("without rank 0 the others say where they looked") {
  const std::uint16_t port = free_port();
  const std::string name = "127.0.0.1:" + std::to_string(port);
  const std::vector<Outcome> outcomes = outcomes_of({guest(1, 3, port), guest(2, 3, port)}, 200ms);
  for (const int rank : {1, 2})
    CHECK(
        outcomes.at(static_cast<std::size_t>(rank) - 1).reason ==
        "rank " + std::to_string(rank) + ": cannot connect to " + name +
            ": Connection refused; rank 0 has to listen there within 0.2 s, are MASTER_ADDR and MASTER_PORT "
            "right?");
}

TEST_CASE("two processes of the same rank: all hear of it, also who comes a little later") {
  const std::uint16_t port = free_port();
  const std::string reason =
      "two processes say that they are rank 1, at 127.0.0.1 and 127.0.0.1; give each its own RANK";
  std::vector<Outcome> host;
  std::thread other([&] { host = outcomes_of({guest(0, 3, port)}); });
  check_all_say(outcomes_of({guest(1, 3, port), guest(1, 3, port)}), reason);
  check_all_say(outcomes_of({guest(2, 3, port)}), reason);
  other.join();
  check_all_say(host, reason);
}

TEST_CASE("another size, another agreement, other agreements") {
  const std::uint16_t port = free_port();
  std::vector<Guest> guests = all_ranks(3, port);
  std::string reason;
  SECTION("size") {
    guests[2].world.size = 4;
    reason = "rank 2 counts 4 ranks, rank 0 counts 3; start all with the same WORLD_SIZE";
  }
  SECTION("agreement") {
    guests[2].agreements[0].value = "1f1b, p=4, m=8";
    guests[2].agreements[1].value = "layers";
    reason = "rank 2 has another schedule: 1f1b, p=4, m=8; rank 0 has zb-h1, p=4, m=8";
  }
  SECTION("agreements") {
    guests[2].agreements.pop_back();
    reason = "rank 2 compares other things than rank 0; start the same program on all ranks";
  }
  check_all_say(outcomes_of(guests), reason);
}

TEST_CASE("what two ranks can differ in") {
  const Hello host{kProtocolVersion, 0, 4, 29500, kSame};
  Hello other{kProtocolVersion, 2, 4, 1234, kSame};
  CHECK(difference(host, other).empty());
  other.version = 7;
  CHECK(difference(host, other) ==
        "rank 2 speaks version 7 of the protocol, rank 0 version 1; start the same program on all ranks");
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

TEST_CASE("another server at the master's address is recognised") {
  const Socket listener = listen_on(0);
  const std::uint16_t port = port_of(listener);
  std::string answer;
  std::string reason;
  SECTION("one that answers text") {
    answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
    // "HTTP" as a length: 0x50545448.
    reason = "a frame of 1347703880 bytes; allowed are 1 to 1048576: the other end speaks another protocol";
  }
  SECTION("one that answers frames") {
    answer = text_of(encode({2, bytes_of("welcome to something else")}));
    reason = "an unexpected message, of kind 2";
  }
  SECTION("one that hangs up") {
    reason = "the connection was closed";
  }
  std::vector<Outcome> outcomes;
  std::thread rank([&] { outcomes = outcomes_of({guest(1, 2, port)}); });
  {
    const Socket called = accept_from(listener, soon());
    send_all(called, bytes_of(answer), soon());
    if (answer.empty()) CHECK(receive_frame(called, soon(), kMostLetterBytes).kind == 1);
    if (!answer.empty()) {
      // Stays until the rank has made up its mind.
      std::byte more{};
      (void)reason_of([&] {
        while (true) receive_all(called, {&more, 1}, soon());
      });
    }
  }
  rank.join();
  CHECK(outcomes[0].reason == "rank 1: whoever listens at 127.0.0.1:" + std::to_string(port) +
                                  " is no rank 0 that waits for it (" + reason +
                                  "); set MASTER_PORT to a free port");
}

TEST_CASE("a rank that comes and goes again, or stands still, ends the meeting for all") {
  const std::uint16_t port = free_port();
  const bool goes = GENERATE(true, false);
  std::vector<Outcome> outcomes;
  std::thread others([&] { outcomes = outcomes_of({guest(0, 3, port), guest(1, 3, port)}, 1000ms); });
  const Socket listener = listen_on(0);
  Socket odd = connect_to({"127.0.0.1", port}, soon());
  send_frame(odd, letter(Hello{kProtocolVersion, 2, 3, port_of(listener), kSame}), soon());
  CHECK(is(receive_frame(odd, soon(), kMostLetterBytes), LetterKind::Welcome));
  if (goes) odd = Socket();
  others.join();
  for (const Outcome& outcome : outcomes) CHECK_THAT(outcome.reason, Contains("rank 2 "));
  CHECK(outcomes[0].reason == outcomes[1].reason);
}

TEST_CASE("ranks that cannot reach each other say which") {
  const std::uint16_t port = free_port();
  const std::uint16_t nobody = free_port();
  std::vector<Outcome> outcomes;
  std::thread others([&] { outcomes = outcomes_of({guest(0, 3, port), guest(2, 3, port)}, 1000ms); });
  // Rank 1 gives a port that it does not listen at.
  const Socket odd = connect_to({"127.0.0.1", port}, soon());
  send_frame(odd, letter(Hello{kProtocolVersion, 1, 3, nobody, kSame}), soon());
  CHECK(is(receive_frame(odd, soon(), kMostLetterBytes), LetterKind::Welcome));
  const Table table = table_in(receive_frame(odd, soon(), kMostLetterBytes));
  const Socket to_host = connect_to({"127.0.0.1", port}, soon());
  send_frame(to_host, letter(Call{table.run, 1}), soon());
  CHECK(call_in(receive_frame(to_host, soon(), kMostLetterBytes)).rank == 0);
  send_frame(odd, letter(LetterKind::Ready), soon());
  const std::string want = "rank 2 cannot reach rank 1 at 127.0.0.1:" + std::to_string(nobody) +
                           ": cannot connect to 127.0.0.1:" + std::to_string(nobody) + ": Connection refused";
  const Frame verdict = receive_frame(odd, soon(), kMostLetterBytes);
  CHECK(is(verdict, LetterKind::Reject));
  CHECK(text_in(verdict) == want);
  others.join();
  check_all_say(outcomes, want);
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

}  // namespace pipeloom::executor::net
