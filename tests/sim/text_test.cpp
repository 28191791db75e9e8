#include "sim/text.hpp"

#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/simulate.hpp>
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::text_test {
namespace {

using Catch::Matchers::Contains;

/// The whole schedule as parse_schedule reads it.
std::string text_of(const Schedule& schedule) {
  std::string text;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    text += (rank == Rank(0) ? "" : " | ") + queue_text(schedule, rank);
  return text;
}

/// Rank of every stage for the microbatch's replica.
std::vector<int> path_of(const Schedule& schedule, int microbatch) {
  std::vector<int> path;
  for (Stage s{0}; s < Stage(schedule.stages()); ++s)
    path.push_back(schedule.placement().rank_of(s, schedule.replica_of(Microbatch(microbatch))).value());
  return path;
}

}  // namespace

TEST_CASE("ops are written and read as stage, letter, microbatch") {
  CHECK(to_text(forward(Stage(0), Microbatch(0))) == "0F0");
  CHECK(to_text(backward_input(Stage(3), Microbatch(7))) == "3I7");
  CHECK(to_text(backward_weight(Stage(kMaxIndex - 1), Microbatch(kMaxIndex - 1))) == "1048575W1048575");
  for (const char* text : {"0F0", "12B345", "3I7", "9W10", "1048575F1048575"}) {
    INFO(text);
    const auto op = parse_op(text);
    REQUIRE(op);
    CHECK(to_text(*op) == text);
  }
}

TEST_CASE("the longest op fits kMaxOpText") {
  char buffer[kMaxOpText];
  const Op longest = backward(Stage(kMaxIndex - 1), Microbatch(kMaxIndex - 1));
  CHECK(write_op(buffer, longest) - buffer <= kMaxOpText);
}

TEST_CASE("hostile words are no ops") {
  for (const char* text : {"",
                           "F",
                           "0",
                           "0F",
                           "F0",
                           "0F0 ",
                           " 0F0",
                           "0f0",
                           "0X0",
                           "00F0",
                           "01F0",
                           "0F00",
                           "0F01",
                           "-1F0",
                           "0F-1",
                           "+1F0",
                           "0F0.",
                           "0F0.-1",
                           "0F0.01",
                           "0F0.1.2",
                           "0F0.65535",
                           "0F0F",
                           "0FF0",
                           "1e3F0",
                           "1048576F0",
                           "0F1048576",
                           "99999999999999999999F0",
                           "0F99999999999999999999",
                           "0\tF0",
                           "0F0\n",
                           "(0F0)",
                           "0B"}) {
    INFO("'" << text << "'");
    CHECK_FALSE(parse_op(text));
  }
  CHECK_FALSE(parse_op(std::string_view("0F0\0", 4)));
  CHECK_FALSE(parse_op(std::string(100'000, '1') + "F0"));
}

TEST_CASE("entries are single ops or groups with a suffix") {
  CHECK(parse_entry("0F0").size() == 1);
  CHECK(parse_entry("(0F1;1B0)OVERLAP_F_B").size() == 2);
  CHECK(parse_entry("(0F1;1I0;1W2)OVERLAP").size() == 3);
  for (const char* text : {"", "()OVERLAP", "(0F1;)OVERLAP", "(;0F1)OVERLAP", "(0F1;1B0)", "(0F1;1B0)overlap",
                           "(0F1;1B0)OVERLAP_F_B ", "(0F1;1B0OVERLAP", "((0F1;1B0))OVERLAP",
                           "(0F1,1B0)OVERLAP", "0F1;1B0", "(0F1; 1B0)OVERLAP"}) {
    INFO("'" << text << "'");
    CHECK(parse_entry(text).empty());
  }
}

TEST_CASE("a group's suffix tells a forward with a full backward from the rest") {
  CHECK(text_of(parse_schedule("0F0 (0F1;0B0)OVERLAP_F_B 0B1")) == "0F0 (0F1;0B0)OVERLAP_F_B 0B1");
  CHECK(text_of(parse_schedule("0F0 (0F1;0B0)OVERLAP 0B1")) == "0F0 (0F1;0B0)OVERLAP_F_B 0B1");
  CHECK(text_of(parse_schedule("0F0 (0F1;0I0)OVERLAP_F_B 0B1")) == "0F0 (0F1;0I0)OVERLAP 0B1");
}

TEST_CASE("a schedule's text reads back as the same schedule") {
  for (const char* text : {"0F0 0B0", "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1",
                           "0F0 3F0 3B0 0B0 | 1F0 2F0 2B0 1B0", "0F0 1F1 0B0 1B1 | 0F1 1F0 1B0 0B1"}) {
    const Schedule schedule = parse_schedule(text);
    CHECK(text_of(schedule) == text);
    CHECK(parse_schedule(text_of(schedule)) == schedule);
  }
}

TEST_CASE("random schedules survive the round trip") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Schedule schedule = *test::random_problem(500'000 + seed).schedule;
    INFO("seed " << seed);
    const std::string text = text_of(schedule);
    // Replicas are numbered as microbatches meet them and unused ones vanish, so a placement may come back renamed: compare
    // text, and where each op lives.
    if (schedule.placement().replicas() == 1) REQUIRE(parse_schedule(text) == schedule);
    const Schedule back = parse_schedule(text);
    REQUIRE(text_of(back) == text);
    REQUIRE(validate(back).empty());
    for (int k = 0; k < schedule.microbatches(); ++k) REQUIRE(path_of(back, k) == path_of(schedule, k));
  }
}

TEST_CASE("spaces do not matter") {
  CHECK(parse_schedule("  0F0   0B0|1F0 1B0  ") == parse_schedule("0F0 0B0 | 1F0 1B0"));
}

TEST_CASE("a word that is no op is named with its rank") {
  CHECK_THROWS_WITH(parse_schedule("0F0 | 1F0 1X0"), Contains("'1X0' on rank 1") && Contains("2F0"));
  CHECK_THROWS_AS(parse_schedule("0F0 nonsense"), InputError);
  // A hostile word is cut.
  try {
    (void)parse_schedule(std::string(100'000, 'x'));
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).size() < 250);
  }
}

TEST_CASE("stages without ops are named, and so is an empty schedule") {
  CHECK_THROWS_WITH(parse_schedule("0F0 | 2F0"), Contains("stage 1 appears on no rank, though stage 2 does"));
  CHECK_THROWS_WITH(parse_schedule(""), Contains("no ops"));
  CHECK_THROWS_WITH(parse_schedule(" | "), Contains("no ops"));
}

TEST_CASE("the placement is where the stages stand") {
  CHECK(parse_schedule("0F0 | 1F0 | 2F0").placement() == Placement::linear(3));
  CHECK(parse_schedule("0F0 2F0 | 1F0 3F0").placement() == Placement::loop(2, 2));
  CHECK(parse_schedule("0F0 3F0 | 1F0 2F0").placement() == Placement::wave(2, 2));
  CHECK(parse_schedule("1F0 | 0F0").placement().rank_of(Stage(0)) == Rank(1));
}

TEST_CASE("microbatches that run the other way make a second replica") {
  // DualPipe on two ranks, four microbatches: 0 and 1 enter at rank 0, 2 and 3 at rank 1.
  const Schedule schedule = parse_schedule(
      "0F0 1F2 0F1 1B2 (1F3;0B0)OVERLAP_F_B 1B3 0I1 0W1 | "
      "0F2 1F0 0F3 1B0 (1F1;0B2)OVERLAP_F_B 1B1 0I3 0W3");
  CHECK(schedule.placement() == Placement::bidirectional(2));
  CHECK(schedule.microbatches() == 4);
  CHECK(path_of(schedule, 0) == std::vector<int>{0, 1});
  CHECK(path_of(schedule, 1) == std::vector<int>{0, 1});
  CHECK(path_of(schedule, 2) == std::vector<int>{1, 0});
  CHECK(path_of(schedule, 3) == std::vector<int>{1, 0});
  CHECK(validate(schedule).empty());
}

TEST_CASE("a microbatch with few ops joins the replica of the first candidate ranks") {
  // Stage 1 of microbatch 1 is missing: where it would be is a guess, and validate() says what is missing.
  const Schedule schedule = parse_schedule("0F0 1F2 | 0F2 1F0 0F1");
  CHECK(schedule.placement().replicas() >= 2);
  CHECK_FALSE(validate(schedule).empty());
}

TEST_CASE("too many replicas are refused") {
  // Stage s of microbatch k on rank (bit s of k): 2^9 different paths over 9 stages.
  std::string rows[2];
  for (int k = 0; k < 512; ++k)
    for (int s = 0; s < 9; ++s) rows[k >> s & 1] += std::to_string(s) + "F" + std::to_string(k) + " ";
  CHECK_THROWS_WITH(parse_schedule(rows[0] + "|" + rows[1]), Contains("at most 255"));
}

}  // namespace pipeloom::text_test
