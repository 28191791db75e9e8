#include "sim/analysis/hang.hpp"

#include <string>

#include <pipeloom/schedule.hpp>
#include "sim/analysis/validate.hpp"
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::hang_test {
namespace {

/// Rank 1 wants 0F2 before it gives back the gradient of microbatch 0, which rank 0 wants before it runs F2.
constexpr const char* kCrossed = "0F0 0F1 0B0 0F2 0B1 0B2 | 1F0 1F1 1B1 1F2 1B0 1B2";

std::size_t length_of(const Move& move) {
  return move.from > move.to ? move.from - move.to : move.to - move.from;
}

/// The shortest single move after which the schedule runs, by trying all.
std::optional<std::size_t> shortest_by_trial(const Schedule& schedule) {
  std::optional<std::size_t> best;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    std::size_t entries = 0;
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t, std::size_t) { ++entries; });
    for (std::size_t from = 0; from < entries; ++from)
      for (std::size_t to = 0; to < entries; ++to) {
        const Move move{rank, from, to};
        if (from == to || (best && length_of(move) >= *best)) continue;
        if (validate(with_move(schedule, move)).empty()) best = length_of(move);
      }
  }
  return best;
}

/// A legal random order with entries moved at random: it hangs, now and then for several reasons.
Schedule random_hang(test::Random& random, std::uint64_t seed) {
  for (;; ++seed) {
    Schedule schedule =
        *test::random_problem(seed, {.most_ranks = 3, .most_chunks = 2, .most_microbatches = 3}).schedule;
    for (int tries = 0; tries < 40; ++tries) {
      const Rank rank(random.below(schedule.ranks()));
      int entries = 0;
      for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                     [&](std::size_t, std::size_t) { ++entries; });
      if (entries == 0) continue;
      Schedule moved = with_move(schedule, {rank, static_cast<std::size_t>(random.below(entries)),
                                            static_cast<std::size_t>(random.below(entries))});
      if (!validate_structure(moved).empty()) continue;
      schedule = std::move(moved);
    }
    if (find_hang(schedule)) return schedule;
  }
}

}  // namespace

TEST_CASE("the grid ends with the step in which nothing can start") {
  const Schedule schedule = parse_schedule(kCrossed);
  const HangGrid grid = hang_grid(schedule, *find_hang(schedule), 3);
  CHECK(grid.ranks == std::vector<Rank>{Rank(0), Rank(1)});
  // 0F0, 0F1 with 1F0, then 1F1, then 1B1: step 4 fails, and three steps stand before it.
  CHECK(grid.first_step == 1);
  CHECK(grid.cells ==
        std::vector<std::vector<std::string>>{{"0F1", "1F0"}, {"", "1F1"}, {"", "1B1"}, {"0B0", "1F2"}});
}

TEST_CASE("a wide grid keeps the ranks of the cycle") {
  std::string text = kCrossed;
  const Schedule schedule = parse_schedule(text);
  const HangGrid grid = hang_grid(schedule, *find_hang(schedule), 3, 1);
  CHECK(grid.ranks == std::vector<Rank>{Rank(0)});
}

TEST_CASE("who waits for whom is said once per rank, and the cycle closes") {
  const Schedule schedule = parse_schedule(kCrossed);
  CHECK(wait_lines(*find_hang(schedule), schedule) ==
        std::vector<std::string>{"rank 0 stands at 0B0 and waits for 1B0 of rank 1, which",
                                 "rank 1 stands at 1F2 and waits for 0F2 of rank 0: the cycle closes"});
}

TEST_CASE("the shortest move that lets it run is found and said") {
  const Schedule schedule = parse_schedule(kCrossed);
  const auto moves = find_unblocking_moves(schedule);
  REQUIRE(moves);
  REQUIRE(moves->size() == 1);
  CHECK(length_of(moves->front()) == 1);
  CHECK(validate(with_move(schedule, moves->front())).empty());
  CHECK(describe({Rank(1), 4, 3}, schedule) == "on rank 1, move 1B0 from position 4 to 3, in front of 1F2");
  CHECK(describe({Rank(0), 2, 3}, schedule) == "on rank 0, move 0B0 from position 2 to 3, behind 0F2");
}

TEST_CASE("every single move that lets it run is another schedule, the shortest first") {
  const Schedule schedule = parse_schedule(kCrossed);
  const auto moves = find_single_moves(schedule, 8);
  REQUIRE(moves.size() > 1);
  CHECK(moves.front() == find_unblocking_moves(schedule)->front());
  for (std::size_t i = 0; i < moves.size(); ++i) {
    CHECK(validate(with_move(schedule, moves[i])).empty());
    for (std::size_t j = 0; j < i; ++j) {
      CHECK(length_of(moves[j]) <= length_of(moves[i]));
      CHECK_FALSE(with_move(schedule, moves[i]) == with_move(schedule, moves[j]));
    }
  }
  CHECK(find_single_moves(schedule, 1).size() == 1);
  CHECK(find_single_moves(schedule, 8, 3).empty());
  CHECK(find_single_moves(parse_schedule("0F0 0B0 | 1F0 1B0"), 8).empty());
}

TEST_CASE("a schedule that runs needs no move") {
  const auto moves = find_unblocking_moves(parse_schedule("0F0 0B0 | 1F0 1B0"));
  REQUIRE(moves);
  CHECK(moves->empty());
}

TEST_CASE("too small a budget gives no answer rather than a wrong one") {
  CHECK_FALSE(find_unblocking_moves(parse_schedule(kCrossed), 3));
}

TEST_CASE("moves let random hanging schedules run, and a single one is the shortest there is") {
  int singles = 0;
  int found = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    test::Random random(seed);
    Schedule schedule = random_hang(random, 3'000'000 + 1000 * seed);
    const auto shortest = shortest_by_trial(schedule);
    const auto moves = find_unblocking_moves(schedule);
    REQUIRE((moves || !shortest));
    if (!moves) continue;
    ++found;
    if (shortest) {
      ++singles;
      REQUIRE(moves->size() == 1);
      REQUIRE(length_of(moves->front()) == *shortest);
    }
    for (const Move& move : *moves) schedule = with_move(schedule, move);
    REQUIRE(validate(schedule).empty());
  }
  CHECK(singles > 50);
  CHECK(found > singles);
}

}  // namespace pipeloom::hang_test
