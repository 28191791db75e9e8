#include "study/explain/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::study::explain {

Worlds::Worlds(const Wiring& wiring, const Times& predicted, const Residuals& base, const Order& order,
               const Findings& findings, Ticks rank_time, const MeasuredStep& measured, int step)
    : wiring_(wiring),
      base_(base),
      predicted_order_(order),
      findings_(findings),
      predicted_rank_time_(rank_time),
      measured_(measured),
      step_(step),
      longer_(wiring.entries(), 0),
      causes_of_part_(wiring.parts.size(), 0),
      hiccup_of_(wiring.entries(), 0),
      left_(base) {
  const std::vector<OpCause>& causes = findings.ops.causes;
  for (const OpCause& cause : causes) factor_.push_back(std::exp(cause.log_factor));
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    predicted_.push_back(predicted.end[e] - predicted.start[e]);
    for (std::uint32_t i = wiring.part_begin[e]; i < wiring.part_begin[e + 1]; ++i)
      for (std::size_t c = 0; c < causes.size(); ++c)
        if (causes[c].ops.has(wiring.rank[e], wiring.parts[i].op))
          causes_of_part_[i] |= std::uint64_t{1} << c;
  }
  for (std::size_t h = 0; h < findings.hiccups.size(); ++h)
    for (const Hiccup::Place& place : findings.hiccups[h].places) {
      if (place.step != step) continue;
      hiccup_of_[place.entry] = static_cast<std::uint8_t>(h + 1);
      longer_[place.entry] = place.longer;
    }
  added_ = added_of(wiring, findings.waits.links, ~std::uint64_t{0});
  duration_.resize(wiring.entries());
  for (std::size_t e = 0; e < wiring.entries(); ++e)
    duration_[e] = measured.times.end[e] - measured.times.start[e];
  const World everything{&measured.order, duration_, added_, findings.waits.rank_time, nullptr};
  all_ = residuals_of(wiring, everything, measured.times);
}

double Worlds::time_under(std::size_t e, std::uint64_t on) const {
  double sum = 0;
  double added = 0;
  for (std::uint32_t i = wiring_.part_begin[e]; i < wiring_.part_begin[e + 1]; ++i) {
    double part = wiring_.parts[i].share;
    for (std::uint64_t bits = causes_of_part_[i] & on; bits != 0; bits &= bits - 1) {
      const auto cause = static_cast<std::size_t>(std::countr_zero(bits));
      part *= factor_[cause];
      added += findings_.ops.causes[cause].added;
    }
    sum += part;
  }
  // What makes ops faster leaves some of them.
  const auto whole = static_cast<double>(predicted_[e]) * sum;
  return std::max(whole + added, 0.01 * whole);
}

void Worlds::set_durations(const Mask& mask) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  for (std::size_t e = 0; e < wiring_.entries(); ++e) {
    const bool hiccup = hiccup_of_[e] != 0;
    const bool stays = hiccup && (mask.hiccups >> (hiccup_of_[e] - 1U) & 1U) != 0;
    std::uint64_t meets = 0;
    for (std::uint32_t i = wiring_.part_begin[e]; i < wiring_.part_begin[e + 1]; ++i)
      meets |= causes_of_part_[i];
    const double shift = mask.costs && findings_.ops.cost_sigma > 0
                             ? std::exp(findings_.ops.shift[findings_.ops.cell[e]])
                             : 1.0;
    if (mask.noise) {
      // The measured time, divided by what is off.
      const Ticks base = measured_.times.end[e] - measured_.times.start[e] - longer_[e];
      double undone = 1;
      if ((meets & ~mask.ops) != 0 && predicted_[e] > 0)
        undone = time_under(e, mask.ops) / time_under(e, kAll);
      if (!mask.costs && findings_.ops.cost_sigma > 0)
        undone /= std::exp(findings_.ops.shift[findings_.ops.cell[e]]);
      duration_[e] = undone == 1 ? base : std::llround(static_cast<double>(base) * undone);
      if (stays) duration_[e] += longer_[e];
      continue;
    }
    const bool plain = (meets & mask.ops) == 0 && shift == 1.0;
    duration_[e] = plain ? predicted_[e] : std::llround(time_under(e, mask.ops) * shift);
    if (stays) duration_[e] += longer_[e];
  }
}

void Worlds::set_residuals(const Mask& mask) {
  left_ = mask.unexplained ? all_ : base_;
  for (std::size_t p = 0; p < findings_.pauses.size(); ++p) {
    const bool on = (mask.pauses >> p & 1U) != 0;
    if (on == mask.unexplained) continue;
    const std::vector<Ticks>& later = findings_.pauses[p].later[static_cast<std::size_t>(step_)];
    for (std::size_t e = 0; e < later.size(); ++e) left_.late[e] += on ? later[e] : -later[e];
  }
  for (std::size_t h = 0; h < findings_.hiccups.size(); ++h) {
    const bool on = (mask.hiccups >> h & 1U) != 0;
    if (on == mask.unexplained) continue;
    for (const Hiccup::Place& place : findings_.hiccups[h].places)
      if (place.step == step_ && place.later != 0) left_.late[place.entry] += on ? place.later : -place.later;
  }
}

World Worlds::prepare(const Mask& mask) {
  set_durations(mask);
  set_residuals(mask);
  added_ = added_of(wiring_, findings_.waits.links, mask.links);
  return {mask.order ? &measured_.order : &predicted_order_, duration_, added_,
          mask.message_time ? findings_.waits.rank_time : predicted_rank_time_, &left_};
}

Ticks Worlds::length(const Mask& mask) {
  return step_time(wiring_, prepare(mask), ends_, lanes_);
}

Times Worlds::times(const Mask& mask) {
  return run(wiring_, prepare(mask));
}

Ticks Worlds::scaled_length(const Mask& mask, const std::vector<double>& scale) {
  const World world = prepare(mask);
  for (std::size_t e = 0; e < duration_.size(); ++e)
    duration_[e] = std::llround(static_cast<double>(duration_[e]) * scale[e]);
  return step_time(wiring_, world, ends_, lanes_);
}

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
