#include <algorithm>

#include "sim/estimate/estimate.hpp"
#include "sim/estimate/replicas.hpp"

namespace pipeloom::estimate {
namespace {

constexpr double kGradientBytes = 4;
constexpr double kWeightBytes = 2;
constexpr double kUpdateBytes = 34;
constexpr double kCleanupBytes = 8;

/// What a rank holds, and how long its last backward of everything takes.
struct Held {
  double dense = 0;
  double experts = 0;
  double backward = 0;  ///< seconds
  int layers = 0;
};
Held held_in(std::span<const Stage* const> stages) {
  Held out;
  for (const Stage* stage : stages) {
    out.dense += static_cast<double>(stage->dense);
    out.experts += static_cast<double>(stage->experts);
    out.backward += stage->pass[1].seconds() + stage->pass[2].seconds();
    out.layers += stage->layers + stage->mtp;
  }
  return out;
}

/// `nearer`: ranks of another group that stand between two of this one.
double reduction_of(const Setting& setting, double parameters, int ranks, int nearer) {
  if (ranks <= 1 || parameters == 0) return 0;
  const int per_node = std::clamp(setting.hardware->devices_per_node / nearer, 1, ranks);
  return hardware::reduction(*setting.hardware, kGradientBytes * parameters, kWeightBytes * parameters, ranks,
                             per_node, setting.split.zero >= 1)
      .seconds;
}

}  // namespace

StepEnd step_end(const Setting& setting, std::span<const Stage* const> stages) {
  const Held held = held_in(stages);
  const Replicas replicas = replicas_of(setting);
  StepEnd out;
  out.reduction = reduction_of(setting, held.dense, replicas.dense, setting.split.tensor) +
                  reduction_of(setting, held.experts, replicas.experts, setting.split.expert);
  if (setting.overlaps_reduction)
    out.reduction = std::max(out.reduction - held.backward, out.reduction / std::max(1, held.layers));
  const bool shared_out = setting.split.zero >= 1;
  const double updated =
      shared_out ? held.dense / replicas.dense + held.experts / replicas.experts : held.dense + held.experts;
  out.optimizer = hardware::optimizer(*setting.hardware,
                                      kUpdateBytes * updated + kCleanupBytes * (held.dense + held.experts))
                      .seconds;
  return out;
}

}  // namespace pipeloom::estimate
