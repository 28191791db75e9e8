#include "sim/analysis/validate.hpp"

#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "support/catch.hpp"

namespace pipeloom::validate_test {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using Codes = std::vector<std::string>;

Codes codes_of(const std::vector<Diagnostic>& found) {
  Codes codes;
  for (const auto& diagnostic : found) codes.push_back(diagnostic.code);
  return codes;
}

Codes codes_of(const std::string& text) {
  return codes_of(validate(parse_schedule(text)));
}

/// The only diagnostic of a schedule that has one.
Diagnostic only(const std::string& text) {
  const auto found = validate(parse_schedule(text));
  REQUIRE(found.size() == 1);
  return found.front();
}

/// Queues as given on a linear placement of as many stages, whatever the words suggest.
Schedule on_linear(int microbatches, const std::vector<std::vector<Op>>& queues) {
  ScheduleBuilder out(Placement::linear(static_cast<int>(queues.size())), microbatches);
  for (std::size_t r = 0; r < queues.size(); ++r) {
    out.begin_rank(Rank(static_cast<std::int32_t>(r)));
    for (const Op op : queues[r]) out.add(op);
  }
  return std::move(out).build();
}

Op op(const char* text) {
  return parse_op(text).value();
}

}  // namespace

TEST_CASE("legal schedules have no diagnostics") {
  for (const char* text : {
           "0F0 0B0", "0F0 0I0 0W0", "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1",
           "0F0 0F1 0I0 0W0 0I1 0W1 | 1F0 1I0 1F1 1I1 1W0 1W1",
           "0F0 0F1 0B0 0I1 0W1 | 1F0 1I0 1W0 1F1 1B1",  // both kinds of backward, also within one microbatch
           "0F0 0F1 0B0 0B1 | 1F0 (1F1;1B0)OVERLAP_F_B 1B1",
           "0F0 1F1 0B0 1B1 | 0F1 1F0 1B0 0B1",  // two replicas
           "0F0 0F1 | 1F0 1F1",                  // forward only
       }) {
    INFO(text);
    CHECK(codes_of(text).empty());
    CHECK_NOTHROW(require_valid(parse_schedule(text)));
  }
}

TEST_CASE("an op on another rank than its stage is misplaced") {
  const auto found = validate(on_linear(1, {{op("0F0"), op("1B0")}, {op("1F0"), op("0B0")}}));
  REQUIRE(codes_of(found) == Codes{"misplaced", "misplaced"});
  CHECK(found[0].rank == Rank(0));
  CHECK(found[0].slot == 1);
  CHECK(found[0].op == op("1B0"));
  CHECK_THAT(found[0].message, StartsWith("rank 0, position 1: 1B0") && Contains("belongs on rank 1"));
  CHECK(found[1].rank == Rank(1));
}

TEST_CASE("an op that is there twice is a duplicate, at its second place") {
  const auto found = only("0F0 0B0 0F0");
  CHECK(found.code == "duplicate");
  CHECK(found.slot == 2);
  CHECK(found.op == op("0F0"));
  CHECK(codes_of("0F0 0B0 0B0") == Codes{"duplicate"});
  CHECK(codes_of("0F0 0I0 0W0 0W0") == Codes{"duplicate"});
}

TEST_CASE("missing ops are reported where they should be") {
  // Stage 1 lacks all of microbatch 1.
  const auto found = validate(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0"));
  REQUIRE(codes_of(found) == Codes{"missing-forward", "missing-backward"});
  CHECK(found[0].rank == Rank(1));
  CHECK(found[0].op == op("1F1"));
  CHECK_THAT(found[0].message, Contains("rank 1: stage 1, microbatch 1") && Contains("add 1F1"));
  CHECK(only("0F0 0F1 0B0").code == "missing-backward");
  CHECK(only("0F0 0I0").code == "missing-weight");
  CHECK(only("0F0 0I0").op == op("0W0"));
}

TEST_CASE("a backward needs a forward") {
  CHECK(codes_of("0F0 0B0 0B1") == Codes{"backward-before-forward", "missing-forward"});
}

TEST_CASE("on one rank a backward that stands before its forward is named, not reported as a hang") {
  // What some generators emit for a pipeline of one rank.
  const auto found = only("0F0 0B1 0F1 0B0");
  CHECK(found.code == "backward-before-forward");
  CHECK(found.slot == 1);
  CHECK_THAT(found.message, Contains("0B1") && Contains("before its forward 0F1"));
  CHECK(only("0I0 0F0 0W0").code == "backward-before-forward");
}

TEST_CASE("a weight gradient comes after its input gradient") {
  const auto found = only("0F0 0W0 0I0");
  CHECK(found.code == "weight-before-input");
  CHECK_THAT(found.message, Contains("0W0") && Contains("0I0"));
  CHECK(codes_of("0F0 0W0") == Codes{"weight-before-input", "missing-backward"});
}

TEST_CASE("a microbatch goes backward on a stage either in one op or in two") {
  CHECK(codes_of("0F0 0B0 0W0") == Codes{"mixed-backward"});
  CHECK(codes_of("0F0 0I0 0W0 0B0") == Codes{"mixed-backward"});
  CHECK(codes_of("0F0 0I0 0B0 0W0") == Codes{"mixed-backward", "mixed-backward"});
}

TEST_CASE("ops that need each other cannot overlap") {
  const auto found = only("(0F0;0B0)OVERLAP_F_B | 1F0 1B0");
  CHECK(found.code == "dependent-group");
  CHECK_THAT(found.message, Contains("0F0 and 0B0 cannot overlap"));
  // Neighbouring stages on one rank, the same microbatch: 1F0 waits for 0F0.
  CHECK(codes_of("(0F0;1F0)OVERLAP 1B0 0B0") == Codes{"dependent-group"});
  CHECK(codes_of("0F0 1F0 (1I0;0I0)OVERLAP 0W0 1W0") == Codes{"dependent-group"});
  // A forward and its backward of the last stage run in turn; of any other order or kind they do not.
  CHECK(codes_of("0F0 0B0 | (1F0;1B0)OVERLAP_F_B").empty());
  CHECK(codes_of("0F0 0B0 | (1B0;1F0)OVERLAP").front() == "dependent-group");
  CHECK(codes_of("0F0 0B0 | (1F0;1I0)OVERLAP 1W0") == Codes{"dependent-group"});
  // A weight gradient and the next stage's input gradient do not need each other.
  CHECK(codes_of("0F0 1F0 1I0 (0I0;1W0)OVERLAP 0W0").empty());
}

TEST_CASE("several things are reported at once, in rank and queue order") {
  const auto found = validate(parse_schedule("0F0 0B1 0F1 0F1 0B0 | 1F0 1B0 1F1 1I1"));
  CHECK(codes_of(found) == Codes{"backward-before-forward", "duplicate", "missing-weight"});
  CHECK_THROWS_WITH(require_valid(parse_schedule("0F0 0B1 0F1 0F1 0B0 0B0 | 1F0 1B0 1F1 1I1")),
                    StartsWith("illegal schedule: rank 0, position 1: 0B1") && Contains("; and 1 more"));
}

TEST_CASE("a hang is named with its cycle") {
  // Rank 0 wants the gradient of 1 before it sends 1 its forward; rank 1 runs them the other way round.
  const auto found = only("0F0 0B0 0F1 0B1 | 1F0 1F1 1B0 1B1");
  CHECK(found.code == "hang");
  CHECK(found.rank == Rank(0));
  CHECK(found.slot == 1);
  CHECK(found.op == op("0B0"));
  // 0F0 and 1F0 have run: 2 of 8.
  CHECK(found.message ==
        "the schedule hangs after 2 of 8 entries: rank 0 waits at 0B0 for 1B0 of rank 1, rank 1 waits at 1F1 "
        "for 0F1 "
        "of rank 0: a cycle");
  CHECK_THROWS_AS(require_valid(parse_schedule("0F0 0B0 0F1 0B1 | 1F0 1F1 1B0 1B1")), ScheduleError);
}

TEST_CASE("a hang counts groups as one entry") {
  const auto found = only("0F0 (0F2;0F3)OVERLAP 0B0 0F1 0B1 0B2 0B3 | 1F0 1F1 1B0 1F2 1B1 1B2 1F3 1B3");
  // 0F0, the group, 1F0: 3 of 15 entries.
  CHECK_THAT(found.message, Contains("hangs after 3 of 15 entries"));
  CHECK(found.slot == 2);
}

TEST_CASE("a hostile file gets a bounded number of diagnostics") {
  ScheduleBuilder out(Placement::linear(1), 1);
  out.begin_rank(Rank(0));
  for (int i = 0; i < 5000; ++i) out.add(forward(Stage(0), Microbatch(0)));
  // 4,999 duplicates; no backward is missed, since nothing but forwards is there.
  const auto found = validate(std::move(out).build());
  REQUIRE(found.size() == 1001);
  CHECK(found.back().code == "more");
  CHECK(found.back().message == "3999 more problems; these come first");
}

TEST_CASE("a forward says where its stage is, a backward elsewhere is misplaced") {
  const auto found = validate(parse_schedule("0F0 1B0 | 1F0 0B0"));
  REQUIRE(found.size() == 2);
  CHECK(found[0].message ==
        "rank 0, position 1: 1B0 belongs on rank 1, which holds stage 1 for this microbatch");
  CHECK(found[1].message ==
        "rank 1, position 1: 0B0 belongs on rank 0, which holds stage 0 for this microbatch");
}

TEST_CASE("a rank without a stage is idle for good") {
  CHECK(only("0F0 0B0 | ").message == "rank 1 holds no stage; every rank needs at least one");
  CHECK(codes_of("0F0 0B0 | 0F0 0B0") ==
        Codes{"idle-rank", "misplaced", "duplicate", "misplaced", "duplicate"});
}

TEST_CASE("a schedule without ops lacks everything") {
  ScheduleBuilder out(Placement::linear(1), 1);
  out.begin_rank(Rank(0));
  CHECK(codes_of(validate(std::move(out).build())) == Codes{"missing-forward", "missing-backward"});
}

}  // namespace pipeloom::validate_test
