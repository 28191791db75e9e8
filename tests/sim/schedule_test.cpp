#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "support/catch.hpp"

namespace pipeloom::schedule_test {
namespace {

/// The words of a schedule, rank by rank.
std::vector<std::string> rows_of(const Schedule& schedule) {
  std::vector<std::string> rows;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) rows.push_back(queue_text(schedule, rank));
  return rows;
}

}  // namespace

TEST_CASE("a builder writes the queues one after another") {
  ScheduleBuilder out(Placement::linear(2), 1);
  out.begin_rank(Rank(0)).add(forward(Stage(0), Microbatch(0)));
  out.add(backward(Stage(0), Microbatch(0)));
  out.begin_rank(Rank(1)).add(forward(Stage(1), Microbatch(0)));
  out.add(backward(Stage(1), Microbatch(0)));
  CHECK(out.size() == 4);
  const Schedule schedule = std::move(out).build();
  CHECK(rows_of(schedule) == std::vector<std::string>{"0F0 0B0", "1F0 1B0"});
  CHECK(schedule.ranks() == 2);
  CHECK(schedule.stages() == 2);
  CHECK(schedule.microbatches() == 1);
  CHECK(schedule.num_ops() == 4);
  CHECK(schedule.num_entries() == 4);
  CHECK_FALSE(schedule.has_groups());
  CHECK(schedule.queue_begin(Rank(1)) == 2);
  CHECK(schedule.queue_end(Rank(1)) == 4);
}

TEST_CASE("a group is one entry of several ops") {
  ScheduleBuilder out(Placement::linear(1), 2);
  out.begin_rank(Rank(0)).add(forward(Stage(0), Microbatch(0)));
  out.add_pair(forward(Stage(0), Microbatch(1)), backward(Stage(0), Microbatch(0)));
  out.add_group({});  // nothing
  out.add(backward(Stage(0), Microbatch(1)));
  const Schedule schedule = std::move(out).build();
  CHECK(schedule.num_ops() == 4);
  CHECK(schedule.num_entries() == 3);
  CHECK(schedule.has_groups());
  std::vector<std::size_t> sizes;
  for_each_entry(schedule, 0, 4, [&](std::size_t first, std::size_t last) { sizes.push_back(last - first); });
  CHECK(sizes == std::vector<std::size_t>{1, 2, 1});
}

TEST_CASE("an added op never joins what follows it") {
  ScheduleBuilder out(Placement::linear(1), 1);
  out.begin_rank(Rank(0)).add(forward(Stage(0), Microbatch(0)).with_joined(true));
  out.add(backward(Stage(0), Microbatch(0)));
  CHECK(std::move(out).build().num_entries() == 2);
}

TEST_CASE("a builder wants every rank, in order") {
  ScheduleBuilder skips(Placement::linear(2), 1);
  CHECK_THROWS_AS(skips.begin_rank(Rank(1)), InternalError);
  ScheduleBuilder stops(Placement::linear(2), 1);
  stops.begin_rank(Rank(0));
  CHECK_THROWS_AS(std::move(stops).build(), InternalError);
}

TEST_CASE("the rank of an op index is found across empty queues") {
  ScheduleBuilder out(Placement::linear(3), 1);
  out.begin_rank(Rank(0)).add(forward(Stage(0), Microbatch(0)));
  out.begin_rank(Rank(1));
  out.begin_rank(Rank(2)).add(forward(Stage(2), Microbatch(0)));
  const Schedule schedule = std::move(out).build();
  CHECK(schedule.rank_of_op(0) == Rank(0));
  CHECK(schedule.rank_of_op(1) == Rank(2));
  CHECK(schedule.queue(Rank(1)).empty());
}

TEST_CASE("the microbatch's replica picks the rank of an op") {
  // Microbatch 0 runs down (stage 0 on rank 0), microbatch 1 up (stage 0 on rank 1).
  ScheduleBuilder out(Placement::bidirectional(2), 2, {0, 1});
  out.begin_rank(Rank(0));
  out.begin_rank(Rank(1));
  const Schedule schedule = std::move(out).build();
  CHECK(schedule.home_of(forward(Stage(0), Microbatch(0))) == Rank(0));
  CHECK(schedule.home_of(forward(Stage(0), Microbatch(1))) == Rank(1));
  CHECK(schedule.slot_of(forward(Stage(0), Microbatch(1))) == Slot(2));
  CHECK(schedule.replica_of(Microbatch(1)) == Replica(1));
}

TEST_CASE("a schedule knows which kinds of ops it holds") {
  const Schedule split = parse_schedule("0F0 0I0 0W0");
  CHECK(split.contains(OpKind::Forward));
  CHECK(split.contains(OpKind::BackwardInput));
  CHECK_FALSE(split.contains(OpKind::Backward));
  CHECK_FALSE(split.is_forward_only());
  CHECK(parse_schedule("0F0 0F1").is_forward_only());
  CHECK(parse_schedule("0F0 (0F1;0B0)OVERLAP_F_B 0B1").contains(OpKind::Backward));
}

TEST_CASE("schedules are equal if ops, grouping and placement are") {
  const Schedule a = parse_schedule("0F0 (0F1;0B0)OVERLAP_F_B 0B1");
  CHECK(a == parse_schedule("0F0  (0F1;0B0)OVERLAP_F_B 0B1 "));
  CHECK_FALSE(a == parse_schedule("0F0 0F1 0B0 0B1"));
  CHECK_FALSE(parse_schedule("0F0 | 1F0") == parse_schedule("1F0 | 0F0"));
}

TEST_CASE("forward_only keeps forwards and what remains of groups") {
  const Schedule schedule = parse_schedule("0F0 0F1 0B0 0B1 | 1F0 (1F1;1B0)OVERLAP_F_B 1B1");
  CHECK(rows_of(forward_only(schedule)) == std::vector<std::string>{"0F0 0F1", "1F0 1F1"});
  CHECK(forward_only(schedule).is_forward_only());
  CHECK_FALSE(forward_only(schedule).has_groups());
  // Two overlapped forwards stay overlapped.
  CHECK(rows_of(forward_only(parse_schedule("(0F0;0F1)OVERLAP 0B0 0B1"))) ==
        std::vector<std::string>{"(0F0;0F1)OVERLAP"});
}

TEST_CASE("forward_only keeps the replicas") {
  const Schedule schedule = parse_schedule("0F0 1F1 0B0 1B1 | 0F1 1F0 1B0 0B1");
  const Schedule forwards = forward_only(schedule);
  CHECK(forwards.placement() == schedule.placement());
  CHECK(forwards.replica_of(Microbatch(1)) == Replica(1));
}

}  // namespace pipeloom::schedule_test
