#include "gui/model/answer/steady.hpp"

#include <algorithm>
#include <span>

namespace pipeloom::gui {
namespace {

/// Cycles with more ops on a rank are not looked for.
constexpr std::size_t kMostCycleOps = 4096;

class Cycles {
 public:
  explicit Cycles(const RunModel& run)
      : schedule_(*run.schedule), timeline_(run.timeline), ops_(schedule_.ops()) {}

  /// Cycles of `count` ops around the middle of a rank's queue, if all ranks go along.
  [[nodiscard]] std::optional<Steady> of_length(Rank rank, std::size_t count) const {
    const std::size_t begin = schedule_.queue_begin(rank);
    const std::size_t middle = begin + (schedule_.queue_end(rank) - begin) / 2;
    Steady found;
    found.start = timeline_.start_of(middle);
    found.period = timeline_.start_of(middle + count) - found.start;
    found.microbatches = later_by(middle, middle + count);
    if (found.period <= 0 || found.microbatches <= 0) return std::nullopt;
    // All ops from one period before the middle to one after it have equal successors.
    for (std::size_t op = middle - count; op < middle + count; ++op)
      if (!repeats(op, op + count, found)) return std::nullopt;
    for (Rank other{0}; other < Rank(schedule_.ranks()); ++other)
      if (other != rank && !goes_along(other, found)) return std::nullopt;
    return found;
  }

 private:
  [[nodiscard]] int later_by(std::size_t op, std::size_t next) const {
    return ops_[next].microbatch().value() - ops_[op].microbatch().value();
  }
  [[nodiscard]] Ticks length(std::size_t op) const { return timeline_.end_of(op) - timeline_.start_of(op); }

  [[nodiscard]] bool repeats(std::size_t op, std::size_t next, const Steady& as) const {
    return ops_[op].kind() == ops_[next].kind() && ops_[op].stage() == ops_[next].stage() &&
           ops_[op].slice() == ops_[next].slice() && later_by(op, next) == as.microbatches &&
           timeline_.start_of(next) - timeline_.start_of(op) == as.period && length(op) == length(next);
  }

  /// Two periods of another rank, from the same time on.
  [[nodiscard]] bool goes_along(Rank rank, const Steady& as) const {
    const std::size_t end = schedule_.queue_end(rank);
    const auto from = [&](Ticks time) {
      std::size_t low = schedule_.queue_begin(rank);
      std::size_t high = end;
      while (low < high) {
        const std::size_t half = low + (high - low) / 2;
        if (timeline_.start_of(half) < time)
          low = half + 1;
        else
          high = half;
      }
      return low;
    };
    const std::size_t first = from(as.start);
    const std::size_t count = from(as.start + as.period) - first;
    if (count == 0 || first + 2 * count > end) return false;
    for (std::size_t op = first; op < first + count; ++op)
      if (!repeats(op, op + count, as)) return false;
    return true;
  }

  const Schedule& schedule_;
  const Timeline& timeline_;
  std::span<const Op> ops_;
};

}  // namespace

std::optional<Steady> find_steady(const RunModel& run) {
  if (run.hang || run.schedule->num_ops() == 0) return std::nullopt;
  const Rank rank(0);
  const std::size_t ops = run.schedule->queue_end(rank) - run.schedule->queue_begin(rank);
  const Cycles cycles(run);
  // Two periods fit on either side of the middle.
  for (std::size_t count = 1; count <= std::min(ops / 4, kMostCycleOps); ++count)
    if (const auto found = cycles.of_length(rank, count)) return found;
  return std::nullopt;
}

}  // namespace pipeloom::gui
