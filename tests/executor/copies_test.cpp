// Offload and reload: copies run beside the ops of their rank, as on a stream of their own.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <pipeloom/schedule.hpp>
#include "executor/run/busy_work.hpp"
#include "executor/run/run.hpp"
#include "executor/runs.hpp"
#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/messages/message_plans.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::copies_test {
namespace {

constexpr Ticks kMs = 1'000'000'000;

Program program_of(Schedule schedule) {
  return async_plan(std::make_shared<const Schedule>(std::move(schedule)), {});
}

Costs costs_in_ms(const Program& program, Ticks forward, Ticks copy) {
  return uniform_costs(program.schedule().placement(), {.forward = forward * kMs,
                                                        .backward = 2 * forward * kMs,
                                                        .backward_input = forward * kMs,
                                                        .backward_weight = forward * kMs,
                                                        .copy = copy * kMs,
                                                        .unit = TimeUnit::Millisecond});
}

std::size_t index_of_op(const Schedule& schedule, Op op) {
  std::size_t i = 0;
  while (schedule.ops()[i] != op) ++i;
  return i;
}

/// Busy work that does something else in place of one op.
class Replaced : public Work {
 public:
  Replaced(Costs costs, Op op, std::function<void()> instead)
      : busy_(std::move(costs)), op_(op), instead_(std::move(instead)) {}
  [[nodiscard]] std::size_t message_elements(const Schedule& schedule, Op producer) const override {
    return busy_.message_elements(schedule, producer);
  }
  [[nodiscard]] std::unique_ptr<RankWork> rank_work(const Schedule& schedule, Rank rank) override {
    return std::make_unique<OfRank>(*this, busy_.rank_work(schedule, rank));
  }

 private:
  class OfRank : public RankWork {
   public:
    OfRank(const Replaced& all, std::unique_ptr<RankWork> busy) : all_(all), busy_(std::move(busy)) {}
    Payload run(Op op, int step, Payload input) override {
      if (op != all_.op_) return busy_->run(op, step, std::move(input));
      all_.instead_();
      return {};
    }
    void end_step(int step) override { busy_->end_step(step); }
    [[nodiscard]] std::size_t peak_bytes() const override { return 0; }

   private:
    const Replaced& all_;
    std::unique_ptr<RankWork> busy_;
  };

  BusyWork busy_;
  Op op_;
  std::function<void()> instead_;
};

std::string failure_of(const Program& program, Work& work, double timeout) {
  try {
    static_cast<void>(run_on_cpu(program, work, {.warmup_steps = 0, .steps = 1, .timeout_seconds = timeout}));
  } catch (const RunFailed& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("what stands behind a copy does not wait for it, but the backward waits for its reload") {
  const Program program = program_of(parse_schedule("0F0 0O0 0F1 0B1 0L0 0B0"));
  const Schedule& schedule = program.schedule();
  BusyWork work(costs_in_ms(program, 1, 80));
  const Timeline timeline = run_on_cpu(program, work, {.warmup_steps = 0, .steps = 2}).timeline;
  CHECK(disorder(timeline) == "");
  for (int step = 0; step < 2; ++step) {
    const auto at = [&](Op op) { return index_of_op(schedule, op); };
    const Microbatch zero(0);
    const Microbatch one(1);
    const std::size_t offload = at(Op(OpKind::Offload, Stage(0), zero));
    const std::size_t reload = at(Op(OpKind::Reload, Stage(0), zero));
    // 1 to 3 ms of work inside 80 ms of copying.
    CHECK(timeline.start_of(at(forward(Stage(0), one)), step) < timeline.end_of(offload, step));
    CHECK(timeline.start_of(at(backward(Stage(0), one)), step) < timeline.end_of(offload, step));
    CHECK(timeline.start_of(reload, step) >= timeline.end_of(offload, step));
    CHECK(timeline.start_of(at(backward(Stage(0), zero)), step) >= timeline.end_of(reload, step));
  }
}

TEST_CASE("every schedule with offload runs in its order, whatever is late") {
  for (const schedules::Generator& generator : schedules::runnable()) {
    Params params{.chunks = generator.requirements.default_chunks};
    params.options.slices = equal_slices(generator.requirements.default_slices);
    params.options.updates = generator.requirements.default_updates;
    for (const int prefetch : {0, 2}) {
      INFO(generator.name << " " << prefetch);
      const Program program = program_of(schedules::with_offload(
          schedules::make(generator, params), {.chunks = {}, .prefetch = prefetch, .min_gap = 0}));
      REQUIRE(program.schedule().has_copies());
      BusyWork work(costs_in_ms(program, 0, 0));
      RunOptions options{.warmup_steps = 0, .steps = 2};
      options.before_instruction = random_delays(5, 40);
      CHECK(disorder(run_on_cpu(program, work, options).timeline) == "");
    }
  }
}

TEST_CASE("an offloading schedule takes as long as the simulator says, its copies beside its ops") {
  const auto& generator = *schedules::find("1f1b").generator;
  const Program program =
      program_of(schedules::with_offload(schedules::make(generator, {.ranks = 4, .microbatches = 8}), {}));
  // Copies as long as half a forward: in turn they would add 2 ms to nearly every pass.
  Costs costs = costs_in_ms(program, 4, 2);
  const Timeline predicted = simulate(program.shared_schedule(), costs);
  BusyWork work(costs);
  const Timeline measured = run_on_cpu(program, work, {.warmup_steps = 0, .steps = 2}).timeline;
  CHECK(disorder(measured) == "");
  // No op is shorter than it should be, and none starts before it may: none ends before its prediction.
  for (int step = 0; step < 2; ++step)
    for (std::size_t i = 0; i < program.schedule().num_ops(); ++i)
      CHECK(measured.end_of(i, step) - span_of(measured, step).start >= predicted.end_of(i));
  // Somewhere an op runs while its rank copies.
  std::size_t beside = 0;
  for (std::size_t i = 0; i + 1 < program.schedule().num_ops(); ++i)
    if (program.schedule().ops()[i].kind() == OpKind::Offload &&
        program.schedule().ops()[i + 1].kind() == OpKind::Forward &&
        measured.start_of(i + 1) < measured.end_of(i))
      ++beside;
  CHECK(beside > 0);
}

TEST_CASE("a copy that throws ends the run, and is named, wherever its rank has got to") {
  // Rank 0 has gone on, and waits for rank 1.
  const Program program = program_of(parse_schedule("0F0 0O0 0L0 0B0 | 1F0 1B0"));
  Costs costs = costs_in_ms(program, 1, 1);
  costs.duration[index_of(OpKind::Forward)][1] = 40 * kMs;
  Replaced work(costs, Op(OpKind::Offload, Stage(0), Microbatch(0)), [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    throw std::runtime_error("the host is full");
  });
  CHECK(failure_of(program, work, 20) == "rank 0 failed in step 0 at 0O0: the host is full");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a busy machine may have left rank 1 behind
}

TEST_CASE("a copy that hangs ends the run within the timeout") {
  const Program program = program_of(parse_schedule("0F0 0O0 0F1 0B1 0L0 0B0"));
  std::atomic<bool> release = false;
  std::atomic<bool> released = false;
  Replaced work(costs_in_ms(program, 1, 1), Op(OpKind::Reload, Stage(0), Microbatch(0)), [&] {
    while (!release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    released = true;
  });
  CHECK(failure_of(program, work, 0.5) == "rank 0 failed in step 0 at 0L0: no end after 0.5 s, the timeout");
  release = true;
  // The rank was left behind and still uses `work`.
  while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace pipeloom::executor::copies_test
