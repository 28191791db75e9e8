#include "study/run/repeated/repeated_period.hpp"

#include <functional>
#include <variant>
#include <vector>

#include "sim/engine/simulator.hpp"
#include "sim/engine/time_limits.hpp"
#include "study/run/repeated/extended.hpp"

namespace pipeloom::study {
namespace {

/// One step of the longer run, by one of the shorter.
class RepeatedStep {
 public:
  RepeatedStep(const ShortRuns& runs, std::int64_t times)
      : runs_(runs),
        schedule_(*runs.shorter().schedule),
        times_(times),
        start_(schedule_.num_ops()),
        end_(schedule_.num_ops()) {}

  /// Steps are of no meaning from the first one that does not repeat.
  std::vector<Ticks> operator()(const std::vector<Ticks>& ready) {
    const Run& run = runs_.shorter();
    const auto outcome = simulator_.evaluate(schedule_, *run.costs, *run.memory, start_, end_, ready);
    const RepeatedCuts& cuts = runs_.cuts();
    const auto delay = cuts.queues.delay(cuts.last - cuts.repetition.blocks, cuts.last, schedule_, end_);
    repeats_ = repeats_ && delay.has_value();
    std::vector<Ticks> next = std::get<Totals>(outcome).last_end;
    for (Ticks& time : next)
      time = later(extended(time, later(time, delay.value_or(0)), times_), run.effective->step.optimizer);
    return next;
  }
  [[nodiscard]] bool repeats() const { return repeats_; }

 private:
  const ShortRuns& runs_;
  const Schedule& schedule_;
  std::int64_t times_;
  Simulator simulator_;
  std::vector<Ticks> start_;
  std::vector<Ticks> end_;
  bool repeats_ = true;
};

}  // namespace

std::optional<Ticks> repeated_period(const ShortRuns& runs, std::int64_t times) {
  RepeatedStep step(runs, times);
  const auto ranks = static_cast<std::size_t>(runs.shorter().schedule->ranks());
  const Ticks period = post_validation_period(ranks, std::ref(step));
  return step.repeats() ? std::optional(period) : std::nullopt;
}

}  // namespace pipeloom::study
