#include "study/explain/match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::study::explain {
namespace {

/// Where the measured schedule has each op.
class MeasuredOps {
 public:
  explicit MeasuredOps(const Schedule& schedule) : schedule_(schedule) {
    for (std::size_t i = 0; i < schedule.num_ops(); ++i) found_.push_back({schedule.ops()[i].key(), i});
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.key < b.key; });
  }

  /// Op index. Throws InputError if there is none on this rank.
  [[nodiscard]] std::size_t place_of(Rank rank, Op op) const {
    const auto at = std::lower_bound(found_.begin(), found_.end(), op.key(),
                                     [](const Found& a, std::uint64_t key) { return a.key < key; });
    if (at == found_.end() || at->key != op.key())
      throw InputError(
          fmt::format("{} of rank {} is predicted and was not measured; every op must be in both",
                      to_text(op), rank.value()));
    const Rank on = schedule_.rank_of_op(at->op);
    if (on != rank)
      throw InputError(fmt::format("{} is predicted on rank {} and was measured on rank {}", to_text(op),
                                   rank.value(), on.value()));
    return at->op;
  }

 private:
  struct Found {
    std::uint64_t key = 0;
    std::size_t op = 0;
  };
  const Schedule& schedule_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<Times> measured_times(const Wiring& wiring, const Timeline& measured) {
  const Schedule& schedule = *measured.schedule;
  if (schedule.num_ops() != wiring.parts.size())
    throw InputError(fmt::format("{} ops were measured and {} are predicted; every op must be in both, once",
                                 schedule.num_ops(), wiring.parts.size()));
  const MeasuredOps ops(schedule);
  std::vector<Times> steps(static_cast<std::size_t>(measured.steps));
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    for (std::size_t s = 0; s < steps.size(); ++s) {
      Ticks start = kMaxTicks;
      Ticks end = -kMaxTicks;
      for (const Part& part : wiring.parts_of(e)) {
        const std::size_t op = ops.place_of(wiring.rank[e], part.op);
        start = std::min(start, measured.start_of(op, static_cast<int>(s)));
        end = std::max(end, measured.end_of(op, static_cast<int>(s)));
      }
      steps[s].start.push_back(start);
      steps[s].end.push_back(end);
    }
  }
  return steps;
}

MeasuredStep in_order(const Wiring& wiring, const Order& predicted, Times times) {
  MeasuredStep step{.times = std::move(times), .order = {}};
  step.order = order_by(wiring, step.times.start);
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    if (step.order.previous[e] == predicted.previous[e]) continue;
    step.reordered = true;
    if (step.ranks.empty() || step.ranks.back() != wiring.rank[e]) step.ranks.push_back(wiring.rank[e]);
  }
  return step;
}

bool is_as_predicted(const Times& predicted, const Times& measured) {
  const Ticks later = measured.start[0] - predicted.start[0];
  const auto same = [later](Ticks a, Ticks b) { return b - a == later; };
  return std::equal(predicted.start.begin(), predicted.start.end(), measured.start.begin(), same) &&
         std::equal(predicted.end.begin(), predicted.end.end(), measured.end.begin(), same);
}

}  // namespace pipeloom::study::explain
