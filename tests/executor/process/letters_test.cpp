// What processes write to each other, byte by byte, and how their clocks are compared.

#include "executor/process/letters.hpp"

#include <array>
#include <limits>

#include "executor/process/clock_offset.hpp"
#include "executor/run/run_outcome.hpp"
#include "executor/runs.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::letters_test {
namespace {

std::shared_ptr<const RunPlan> small_plan() {
  const Program program = async_program("1f1b", 2, 2);
  return std::make_shared<const RunPlan>(RunPlan{
      program, {.warmup_steps = 1, .steps = 2}, {}, std::vector<std::size_t>(program.messages().size(), 1)});
}

RankRecord sample_record(const RunPlan& plan, Rank rank) {
  const std::size_t all = plan.schedule().num_ops() * 3;
  RankRecord record{std::vector<Ticks>(all, -1), std::vector<Ticks>(all, -1), {}, 77, {}};
  const std::size_t op = plan.schedule().queue_begin(rank);
  record.start[op] = 10;
  record.end[op] = 20;
  record.messages.resize(plan.elements.size() * 3);
  record.messages[1] = {.sent = 5, .received = -1, .started = 6, .done = -1, .waited = true};
  record.gradients = {{{1.5F, -2.0F}, {}}, {0.25}};
  return record;
}

}  // namespace

TEST_CASE("a clock's offset is read from the shortest round trip, and is off by at most half of it") {
  // Asked at 100, answered by 160, the other clock said 1135: at the middle, 130, it was 1005 ahead, give or take 30.
  const std::array<RoundTrip, 3> trips = {{{0, 1200, 400}, {100, 1135, 160}, {200, 1400, 320}}};
  const ClockOffset clock = clock_offset(trips);
  CHECK(clock.offset == 1005);
  CHECK(clock.error == 30);
  CHECK(clock.at == 160);
}

TEST_CASE("between two measurements a clock's offset moves evenly") {
  const ClockOffset before{.offset = 1000, .error = 1, .at = 100};
  const ClockOffset after{.offset = 1040, .error = 1, .at = 300};
  CHECK(offset_at(before, after, 50) == 1000);
  CHECK(offset_at(before, after, 150) == 1010);  // a quarter of the way
  CHECK(offset_at(before, after, 300) == 1040);
  CHECK(offset_at(before, after, 900) == 1040);
  CHECK(offset_at(after, after, 300) == 1040);
}

TEST_CASE("a record survives its way, and a cut one is refused") {
  const auto plan = small_plan();
  const Rank rank(1);
  const RankRecord record = sample_record(*plan, rank);
  const net::Bytes bytes = to_bytes(record, *plan, rank);
  const RankRecord back = record_from(bytes, *plan, rank);
  CHECK(back.start == record.start);
  CHECK(back.end == record.end);
  CHECK(back.peak_bytes == 77);
  CHECK(back.gradients.slots == record.gradients.slots);
  CHECK(back.gradients.losses == record.gradients.losses);
  REQUIRE(back.messages.size() == record.messages.size());
  CHECK(back.messages[1].started == 6);
  CHECK(back.messages[1].waited);
  CHECK(back.messages[0].sent == MeasuredMessage::kNever);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(record_from(std::span(bytes).first(length), *plan, rank), net::MalformedBytes);
}

TEST_CASE("times of all ranks are kept once, and nothing of them is lost") {
  const auto plan = small_plan();
  RankRecord first = sample_record(*plan, Rank(0));
  RankRecord second = sample_record(*plan, Rank(1));
  // The other end of message 1, and a message that only the second one has seen.
  second.messages[1] = {.sent = -1, .received = 4, .started = -1, .done = 9, .waited = false};
  second.messages[2].sent = 7;
  move_times(second, first);
  CHECK(first.end[plan->schedule().queue_begin(Rank(0))] == 20);
  CHECK(first.start[plan->schedule().queue_begin(Rank(1))] == 10);
  CHECK(first.messages[1].sent == 5);
  CHECK(first.messages[1].received == 4);
  CHECK(first.messages[1].started == 6);
  CHECK(first.messages[1].done == 9);
  CHECK(first.messages[1].waited);
  CHECK(first.messages[2].sent == 7);
  CHECK(second.start.empty());
  CHECK(second.end.empty());
  CHECK(second.messages.empty());
  CHECK(second.peak_bytes == 77);
  CHECK(second.gradients.losses == std::vector<double>{0.25});
  RankRecord none;
  move_times(first, none);
  CHECK(none.messages[1].done == 9);
  CHECK(none.end[plan->schedule().queue_begin(Rank(1))] == 20);
}

TEST_CASE("letters say what was put into them, and refuse what no letter says") {
  Failure failure{
      .rank = Rank(1), .what = "why", .message = "rank 1 failed: why", .last_actions = {"a", "b"}};
  const Failure back = read_failure(stop_letter(failure).body, 2);
  CHECK(back.rank == Rank(1));
  CHECK(back.what == "why");
  CHECK(back.message == failure.message);
  CHECK(back.last_actions == failure.last_actions);
  CHECK_THROWS_AS(read_failure(stop_letter(failure).body, 1), net::MalformedBytes);  // there is no rank 1

  const Complaint complaint = read_complaint(failed_letter({Rank(0), "gone"}).body, 1);
  CHECK(complaint.rank == Rank(0));
  CHECK(complaint.what == "gone");

  Progress progress;
  progress.step = 3;
  progress.instruction = 12;
  progress.doing = Progress::Doing::Computing;
  progress.since = 900;
  const auto news = read_beat(beat_letter({whereabouts(progress, Rank(1), 1000)}).body, 2);
  REQUIRE(news.size() == 1);
  Progress copy;
  take(news.front(), copy, 5000);  // on another clock
  CHECK(copy.step == 3);
  CHECK(copy.instruction == 12);
  CHECK(copy.doing == Progress::Doing::Computing);
  CHECK(copy.since == 4900);
  CHECK(copy.heard == 5000);
  CHECK(copy.copy == Progress::kNoCopy);
  net::Bytes cut = beat_letter({whereabouts(progress, Rank(1), 1000)}).body;
  cut.pop_back();
  CHECK_THROWS_AS(read_beat(cut, 2), net::MalformedBytes);
  // An age below 0 is written by nobody; the least one would leave the clock's range.
  Whereabouts later = news.front();
  later.age = std::numeric_limits<Ticks>::min();
  CHECK_THROWS_AS(read_beat(beat_letter({later}).body, 2), net::MalformedBytes);
  later = news.front();
  later.copy_age = -1;
  CHECK_THROWS_AS(read_beat(beat_letter({later}).body, 2), net::MalformedBytes);
}

}  // namespace pipeloom::executor::letters_test
