#include "study/explain/worlds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

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

}  // namespace pipeloom::study::explain
