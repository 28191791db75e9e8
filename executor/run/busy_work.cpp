#include "executor/run/busy_work.hpp"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <pipeloom/schedule.hpp>
#include "executor/run/clock.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor {
namespace {

class BusyRank : public RankWork {
 public:
  BusyRank(const Costs& costs, const BusyOptions& options, const Schedule& schedule, Rank rank)
      : options_(options), stages_(schedule.stages()), duration_(busy_times(costs, schedule, rank)) {}

  Payload run(Op op, int step, Payload input) override {
    const auto end = RunClock::Source::now() + std::chrono::nanoseconds(duration_.at(op.key()) / 1000);
    check(op, step, input);
    Payload output;
    if (gives_tensor(op, stages_)) output.values.assign(options_.message_elements, busy_mark(op, step));
    wait_until(end, options_.spin);
    return output;
  }
  void end_step(int /*step*/) override {}
  [[nodiscard]] std::size_t peak_bytes() const override { return 0; }

 private:
  void check(Op op, int step, const Payload& input) const {
    if (input.values.empty() != !(takes_tensor(op, stages_) && options_.message_elements > 0))
      throw std::runtime_error(
          fmt::format("{} has {}", to_text(op), takes_tensor(op, stages_) ? "no input" : "an input"));
    if (input.values.empty()) return;
    const float expected = busy_mark_of_input(op, step);
    for (const float value : input.values)
      if (value != expected)
        throw std::runtime_error(fmt::format("the input of {} is not the output of stage {}", to_text(op),
                                             op.stage().value() + step_to_producer(op.kind())));
  }

  BusyOptions options_;
  int stages_;
  std::unordered_map<std::uint64_t, Ticks> duration_;
};

}  // namespace

std::unordered_map<std::uint64_t, Ticks> busy_times(const Costs& costs, const Schedule& schedule, Rank rank) {
  std::unordered_map<std::uint64_t, Ticks> times;
  const bool in_turn = costs.overlap.rule == OverlapRule::Sequential;
  for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                 [&](std::size_t first, std::size_t last) {
                   for (std::size_t i = first; i < last; ++i) {
                     const Op op = schedule.ops()[i];
                     times[op.key()] = in_turn ? costs.op_duration(schedule, i)
                                               : costs.entry_duration(schedule, first, last);
                   }
                 });
  return times;
}

float busy_mark(Op op, int step) {
  const int way = op.slice() * 2 + (op.kind() == OpKind::Forward ? 0 : 1);
  const std::int64_t number =
      ((std::int64_t{step} * 61 + op.microbatch().value()) * 67 + op.stage().value()) * 17 + way;
  return static_cast<float>(number % (1 << 24));
}

float busy_mark_of_input(Op op, int step) {
  const Op producer(op.kind(), op.stage() + step_to_producer(op.kind()), op.microbatch());
  return busy_mark(op.is_sliced() ? producer.with_slice(op.slice()) : producer, step);
}

BusyWork::BusyWork(Costs costs, BusyOptions options) : costs_(std::move(costs)), options_(options) {}

std::size_t BusyWork::message_elements(const Schedule& /*schedule*/, Op /*producer*/) const {
  return options_.message_elements;
}

std::unique_ptr<RankWork> BusyWork::rank_work(const Schedule& schedule, Rank rank) {
  return std::make_unique<BusyRank>(costs_, options_, schedule, rank);
}

}  // namespace pipeloom::executor
