#include "sim/hardware/layer_time.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/model/strides.hpp"

namespace pipeloom::hardware {
namespace {

using model::Pass;

constexpr std::array<Pass, model::kPasses> kAllPasses = {Pass::Forward, Pass::BackwardInput,
                                                         Pass::BackwardWeight};

void add(WorkTime& out, Pass pass, Term term, const Timed& timed, int times = 1) {
  if (timed.seconds == 0 || times == 0) return;
  out[pass][term] += times * timed.seconds;
  out.counts[static_cast<std::size_t>(term)][static_cast<std::size_t>(timed.basis)] += 1;
}

/// Frozen weights have no gradient, and what is in front of all that is trained has none of its input.
bool runs(const model::Gemm& gemm, Pass pass) {
  if (pass == Pass::Forward) return true;
  return pass == Pass::BackwardInput ? gemm.input_gradient : gemm.weight_gradient;
}

}  // namespace

std::string_view name_of(Term term) {
  static constexpr std::array<std::string_view, kTerms> kNames = {"gemm", "attention", "elementwise",
                                                                  "collectives", "launch"};
  return kNames[static_cast<std::size_t>(term)];
}

double Terms::total() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

Terms& Terms::operator+=(const Terms& other) {
  for (std::size_t term = 0; term < kTerms; ++term) seconds[term] += other.seconds[term];
  return *this;
}

double WorkTime::total() const {
  double sum = 0;
  for (const Terms& terms : passes) sum += terms.total();
  return sum;
}

WorkTime& WorkTime::operator+=(const WorkTime& other) {
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    passes[pass] += other.passes[pass];
    for (std::size_t group = 0; group < model::kGroups; ++group)
      exchanged[pass][group] += other.exchanged[pass][group];
  }
  for (std::size_t term = 0; term < kTerms; ++term)
    for (std::size_t basis = 0; basis < counts[term].size(); ++basis)
      counts[term][basis] += other.counts[term][basis];
  return *this;
}

GroupSize group_of(const Hardware& hardware, const model::Split& split, model::Group group) {
  const auto neighbours = [&](int ranks, std::int64_t stride) {
    return GroupSize{
        ranks, static_cast<int>(std::clamp<std::int64_t>(hardware.devices_per_node / stride, 1, ranks))};
  };
  const model::Strides strides = model::strides_of(split);
  switch (group) {
    case model::Group::Tensor:
      return neighbours(split.tensor, strides.tensor);
    case model::Group::Context:
      return neighbours(split.context, strides.context);
    case model::Group::Expert:
      return neighbours(split.expert, strides.expert);
    case model::Group::Data:
      break;
  }
  return neighbours(split.data * split.context, strides.dense);
}

WorkTime work_time(const Hardware& hardware, const model::Work& work, const model::Split& split,
                   model::NormKind list) {
  WorkTime out;
  for (const Pass pass : kAllPasses) {
    for (const model::Gemm& gemm : work.gemms)
      if (runs(gemm, pass)) add(out, pass, Term::Gemm, time_of(hardware, gemm, pass));
    for (const model::CoreAttention& attention : work.attention)
      if (attention.backward || pass == Pass::Forward)
        add(out, pass, Term::Attention, time_of(hardware, attention, pass));
    for (const model::Traffic& traffic : work.traffic)
      add(out, pass, Term::Elementwise, time_of(hardware, traffic, pass, list));
  }
  for (const model::Collective& collective : work.collectives) {
    const GroupSize group = group_of(hardware, split, collective.group);
    const Timed once = time_of(hardware, collective.kind, collective.bytes, group.ranks, group.per_node);
    for (const Pass pass : kAllPasses) {
      const auto at = static_cast<std::size_t>(pass);
      add(out, pass, Term::Collectives, once, collective.times[at]);
      out.exchanged[at][static_cast<std::size_t>(collective.group)] += once.seconds * collective.times[at];
    }
  }
  return out;
}

WorkTime layer_time(const Hardware& hardware, const model::Work& work, const model::Split& split,
                    model::NormKind list) {
  WorkTime out = work_time(hardware, work, split, list);
  const Launch& launch = hardware.launch;
  const double floor = launch.layer_floor * (1 + launch.floor_growth * std::log2(split.tensor)) / 3;
  if (floor <= 0) return out;
  for (const Pass pass : kAllPasses) {
    const double busy = out[pass].total();
    if (busy == 0) continue;
    const double together =
        std::pow(std::pow(busy, launch.sharpness) + std::pow(floor, launch.sharpness), 1 / launch.sharpness);
    add(out, pass, Term::Launch, {together - busy, Basis::Default});
  }
  return out;
}

}  // namespace pipeloom::hardware
