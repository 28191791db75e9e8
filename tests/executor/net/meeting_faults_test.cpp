// Ranks that do not find each other, and what each is told.

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "executor/net/meeting_letters.hpp"
#include "executor/net/meeting_scene.hpp"
#include "executor/net/pairs.hpp"
#include "executor/net/world.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net::meeting_faults_test {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::Contains;

}  // namespace

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
  check_all_say(outcomes_of({guest(0, 6, port), guest(2, 6, port), guest(4, 6, port)}, 2000ms),
                "ranks 1, 3 and 5 did not come to " + name + " within T" + question);
}

TEST_CASE("without rank 0 the others say where they looked") {
  const std::uint16_t port = free_port();
  const std::string name = "127.0.0.1:" + std::to_string(port);
  const std::vector<Outcome> outcomes = outcomes_of({guest(1, 3, port), guest(2, 3, port)}, 200ms);
  for (const int rank : {1, 2})
    CHECK(outcomes.at(static_cast<std::size_t>(rank) - 1).reason ==
          "rank " + std::to_string(rank) + ": cannot connect to " + name +
              ": Connection refused; rank 0 has to listen there within T, are MASTER_ADDR and MASTER_PORT "
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

TEST_CASE("a rank that stands still ends the meeting for all in time") {
  const std::uint16_t port = free_port();
  std::vector<Outcome> outcomes;
  std::thread others([&] { outcomes = outcomes_of({guest(0, 3, port), guest(1, 3, port)}, 2000ms); });
  const Socket odd = connect_to({"127.0.0.1", port}, soon());
  send_frame(odd, letter(Hello{kProtocolVersion, 2, 3, 1, kSame}), soon());
  others.join();
  check_all_say(outcomes, "rank 2 did not connect to rank 0");
}

TEST_CASE("a rank that goes ends the meeting for all at once, whatever they wait for") {
  const std::uint16_t port = free_port();
  std::vector<Outcome> outcomes;
  const bool all_come = GENERATE(true, false);
  std::vector<Guest> guests = {guest(0, 4, port), guest(1, 4, port), guest(3, 4, port)};
  if (!all_come) guests.pop_back();
  std::thread others([&] { outcomes = outcomes_of(guests, 1h); });
  Socket odd = connect_to({"127.0.0.1", port}, soon());
  const Socket listener = listen_on(0);
  send_frame(odd, letter(Hello{kProtocolVersion, 2, 4, port_of(listener), kSame}), soon());
  CHECK(is(receive_frame(odd, soon(), kMostLetterBytes), LetterKind::Welcome));
  // Rank 3 has called it and waits for its answer, or has not come.
  if (all_come) CHECK(accept_from(listener, soon()).is_open());
  odd = Socket();
  others.join();
  for (const Outcome& outcome : outcomes) {
    CHECK_THAT(outcome.reason, Contains("rank 2"));
    CHECK(outcome.reason == outcomes[0].reason);
  }
}

TEST_CASE("when rank 0 goes, the others say so at once") {
  const std::uint16_t port = free_port();
  Socket listener = listen_on(port);
  std::vector<Outcome> outcomes;
  std::thread others([&] { outcomes = outcomes_of({guest(1, 3, port)}, 1h); });
  Socket control = accept_from(listener, soon());
  const Hello hello = hello_in(receive_frame(control, soon(), kMostLetterBytes));
  CHECK(hello.rank == 1);
  CHECK(hello.agreements == kSame);
  send_frame(control, letter(LetterKind::Welcome), soon());
  std::string reason = "the connection was closed";
  SECTION("while it waits for the others") {}
  SECTION("while they connect") {
    send_frame(control, letter(Table{7, {{"", port}, {"", hello.port}, {"", port}}}), soon());
    const Socket data = accept_from(listener, soon());
    CHECK(call_in(receive_frame(data, soon(), kMostLetterBytes)).run == 7);
    reason += " (rank 2 did not connect to rank 1)";
  }
  control = Socket();
  others.join();
  CHECK(outcomes[0].reason == "rank 1: rank 0 at 127.0.0.1:" + std::to_string(port) +
                                  " did not bring all ranks together within T: " + reason);
}

TEST_CASE("ranks that cannot reach each other say which") {
  const std::uint16_t port = free_port();
  const std::uint16_t nobody = free_port();
  std::vector<Outcome> outcomes;
  std::thread others([&] { outcomes = outcomes_of({guest(0, 3, port), guest(2, 3, port)}, 2000ms); });
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

}  // namespace pipeloom::executor::net::meeting_faults_test
