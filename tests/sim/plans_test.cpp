// Message plans on schedules small enough to write the program next to them, and programs that are wrong in one way.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/messages/message_plans.hpp"
#include "support/catch.hpp"
#include "support/scenes.hpp"

namespace pipeloom::plans_test {
namespace {

using Catch::Matchers::Message;
using test::one_f_one_b;
using test::scene;
using Codes = std::vector<std::string>;
using Rule = ReceivePlacement::Rule;

std::string text_of(const Program& program, int rank) {
  return program_text(program, Rank(rank));
}

Codes codes_of(const Program& program) {
  Codes codes;
  for (const Diagnostic& found : check_program(program)) codes.push_back(found.code);
  return codes;
}

/// "0F0 0B0 | 1F0 1B0" with message 0, the output of 0F0, and message 1, the gradient from 1B0; rank 1 does everything right.
Codes codes_if_rank_0(const std::function<void(ProgramBuilder&)>& rank_0) {
  ProgramBuilder out(scene("0F0 0B0 | 1F0 1B0"));
  out.begin_rank(Rank(0));
  rank_0(out);
  out.begin_rank(Rank(1));
  out.exchange(std::vector<Endpoint>{{0, false}});
  out.run(2);
  out.run(3);
  (void)out.post(std::vector<Endpoint>{{1, true}});
  return codes_of(std::move(out).build());
}

const std::vector<Endpoint> kSend = {{0, true}};
const std::vector<Endpoint> kReceive = {{1, false}};

}  // namespace

TEST_CASE("programs that are wrong in one way are found by its code") {
  CHECK(codes_if_rank_0([](ProgramBuilder& out) {
          out.run(0);
          out.exchange(kSend);
          out.exchange(kReceive);
          out.run(1);
        }) == Codes{});
  CHECK(codes_if_rank_0([](ProgramBuilder& out) {  // the backward is forgotten
          out.run(0);
          out.exchange(kSend);
          out.exchange(kReceive);
        }) == Codes{"not-run"});
  CHECK(codes_if_rank_0([](ProgramBuilder& out) {  // the forward runs twice
          out.run(0);
          out.run(0);
          out.exchange(kSend);
          out.exchange(kReceive);
          out.run(1);
        }) == Codes{"not-run"});
  CHECK(codes_if_rank_0([](ProgramBuilder& out) {  // nothing is sent
          out.run(0);
          out.exchange(kReceive);
          out.run(1);
        }) == Codes{"unsent"});
  CHECK(codes_if_rank_0(
            [](ProgramBuilder& out) {  // the gradient is not received, so nobody can have waited for it
              out.run(0);
              out.exchange(kSend);
              out.run(1);
            }) == Codes{"unwaited", "unreceived"});
  CHECK(codes_if_rank_0([](ProgramBuilder& out) {  // the output is sent before it is there
          out.exchange(kSend);
          out.run(0);
          out.exchange(kReceive);
          out.run(1);
        }) == Codes{"sent-early"});
  CHECK(codes_if_rank_0([](ProgramBuilder& out) {  // the receive is posted, and waited for too late
          out.run(0);
          out.exchange(kSend);
          const auto receive = out.post(kReceive);
          out.run(1);
          out.wait(receive);
        }) == Codes{"unwaited"});
}

TEST_CASE("entry by entry: one group between two entries") {
  const Program program = entry_blocking(scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1"));
  CHECK(text_of(program, 0) == "0F0 [s0F0>1] 0F1 [s0F1>1,r1B0<1] 0B0 [r1B1<1] 0B1");
  CHECK(text_of(program, 1) == "[r0F0<0] 1F0 1B0 [s1B0>0,r0F1<0] 1F1 1B1 [s1B1>0]");
}

TEST_CASE("plans of our own receive what was sent before, so that messages pair") {
  // Rank 0 needs the gradient of microbatch 1 first; rank 1 makes that of 0 first.
  const auto schedule = scene("0F0 0F1 0B1 0B0 | 1F0 1B0 1F1 1B1");
  CHECK(text_of(entry_blocking(schedule), 0) == "0F0 [s0F0>1] 0F1 [s0F1>1,r1B0<1,r1B1<1] 0B1 0B0");
  CHECK(text_of(async_plan(schedule, {Rule::Ahead, 0}), 0) ==
        "0F0 <s0F0>1#0 0F1 <s0F1>1#1 <r1B0<1#2 [r1B1<1] 0B1 >#2 0B0");
  CHECK(codes_of(async_plan(schedule, {Rule::Ahead, 0})).empty());
  CHECK(codes_of(async_plan(schedule, {Rule::BeforeUse})) == Codes{"mispaired"});
}

TEST_CASE("Megatron's 1F1B: waits in turn, then pairs of messages") {
  const Program program = megatron_1f1b_blocking(one_f_one_b(3, 3));
  CHECK(text_of(program, 0) == "0F0 [s0F0>1] 0F1 [s0F1>1] 0F2 [s0F2>1,r1B0<1] 0B0 [r1B1<1] 0B1 [r1B2<1] 0B2");
  CHECK(text_of(program, 1) ==
        "[r0F0<0] 1F0 [s1F0>2] [r0F1<0] 1F1 [s1F1>2,r2B0<2] 1B0 [s1B0>0,r0F2<0] "
        "1F2 [s1F2>2,r2B1<2] 1B1 [s1B1>0] [r2B2<2] 1B2 [s1B2>0]");
  CHECK(text_of(program, 2) == "[r1F0<1] 2F0 2B0 [s2B0>1,r1F1<1] 2F1 2B1 [s2B1>1,r1F2<1] 2F2 2B2 [s2B2>1]");
}

TEST_CASE("Megatron's 1F1B with few microbatches is warm-up and cool-down") {
  // p = 3: rank 0 would warm up with 2 forwards, so one microbatch is all warm-up there and on rank 1, where w = m = 1 too.
  const Program program = megatron_1f1b_blocking(one_f_one_b(3, 1));
  CHECK(text_of(program, 0) == "0F0 [s0F0>1] [r1B0<1] 0B0");
  CHECK(text_of(program, 1) == "[r0F0<0] 1F0 [s1F0>2] [r2B0<2] 1B0 [s1B0>0]");
  CHECK(text_of(program, 2) == "[r1F0<1] 2F0 2B0 [s2B0>1]");
}

TEST_CASE("copies stand behind the entry before them, recomputation in front of its backward") {
  const auto schedule = scene("0F0 0O0 0F1 0L0 0B0 0R1 0B1 | 1F0 1B0 1F1 1B1");
  CHECK(text_of(megatron_1f1b_blocking(schedule), 0) ==
        "0F0 0O0 [s0F0>1] 0F1 0L0 [s0F1>1,r1B0<1] 0B0 [r1B1<1] 0R1 0B1");
  CHECK(text_of(entry_blocking(schedule), 0) ==
        "0F0 0O0 [s0F0>1] 0F1 0L0 [s0F1>1,r1B0<1] 0B0 0R1 [r1B1<1] 0B1");
  CHECK(text_of(async_plan(schedule, {Rule::Ahead, 1}), 0) ==
        "0F0 <s0F0>1#0 0O0 <r1B0<1#1 0F1 <s0F1>1#2 0L0 >#1 0B0 <r1B1<1#3 0R1 >#3 0B1");
}

TEST_CASE("a receive stands where its sender ran, or as many entries ahead as asked") {
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  // PyTorch's rounds: parameters of 0 and 1 are gathered, 0F0 and 1F0, 0F1 and 1B0: so the receive of 0F1 comes before 1B0.
  CHECK(text_of(async_plan(schedule, {Rule::AtSender}), 1) ==
        "[r0F0<0] 1F0 <r0F1<0#0 1B0 <s1B0>0#1 >#0 1F1 1B1 <s1B1>0#2");
  CHECK(text_of(async_plan(schedule, {Rule::Ahead, 2}), 1) ==
        "<r0F0<0#0 <r0F1<0#1 >#0 1F0 1B0 <s1B0>0#2 >#1 1F1 1B1 <s1B1>0#3");
  CHECK(text_of(async_plan(schedule, {Rule::Ahead, 0}), 1) ==
        "[r0F0<0] 1F0 1B0 <s1B0>0#0 [r0F1<0] 1F1 1B1 <s1B1>0#1");
  // Rank 0 is the lower one: it posts what it will receive from rank 1 before it sends to it.
  CHECK(text_of(async_plan(schedule, {Rule::BeforeUse}), 0) ==
        "0F0 <s0F0>1#0 0F1 <s0F1>1#1 [r1B0<1] 0B0 [r1B1<1] 0B1");
}

TEST_CASE("a framework's plan refuses another framework's order") {
  CHECK_THROWS_MATCHES(
      megatron_1f1b_blocking(scene("0F0 1F0 0B0 1B0 | 2F0 3F0 3B0 2B0")), ScheduleError,
      Message("the schedule is not in the order of Megatron-LM's 1F1B: every rank holds one stage there"));
  CHECK_THROWS_AS(megatron_1f1b_blocking(scene("0F0 0I0 0W0 | 1F0 1I0 1W0")), ScheduleError);
  CHECK_THROWS_AS(dualpipe_blocking(one_f_one_b(2, 4)), ScheduleError);
  // The second chunk of microbatch 0 comes before microbatch 1: a group of one.
  const auto wide = scene("0F0 2F0 0F1 2F1 2B0 0B0 2B1 0B1 | 1F0 3F0 3B0 1F1 3F1 1B0 3B1 1B1");
  CHECK_THROWS_AS(megatron_interleaved_blocking(wide), ScheduleError);
  CHECK_THROWS_MATCHES(
      megatron_1f1b_blocking(scene("0F0 0F1 0F2 0B0 0B1 0F3 0B2 0B3 | 1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3")),
      ScheduleError,
      Message("the queue of rank 0 is not in the order of Megatron-LM's 1F1B: 0F3 is due, but 0B1 is next"));
}

}  // namespace pipeloom::plans_test
