#include <algorithm>
#include <array>

#include "sim/estimate/estimate.hpp"
#include "sim/estimate/replicas.hpp"
#include "sim/model/strides.hpp"

namespace pipeloom::estimate {
namespace {

constexpr double kWeightBytes = 2;

/// Trained parameters that a rank holds, and the time of its last backward of everything.
struct Held {
  double dense = 0;
  double experts = 0;
  double backward = 0;  ///< seconds
  int layers = 0;
};
Held held_in(std::span<const Stage* const> stages) {
  Held out;
  for (const Stage* stage : stages) {
    out.dense += static_cast<double>(stage->trained_dense);
    out.experts += static_cast<double>(stage->trained_experts);
    out.backward += stage->pass[1].seconds() + stage->pass[2].seconds();
    out.layers += stage->layers + stage->mtp;
  }
  return out;
}

/// Parameters that some ranks hold alike, and who these ranks are.
struct Group {
  double parameters = 0;
  int ranks = 1;
  std::int64_t nearer = 1;  ///< ranks of another group between two of this one
};
/// Ranks that share out dense parameters and experts.
std::array<Group, 2> groups_of(const Setting& setting, double dense, double experts) {
  const Replicas shards = shards_of(setting);
  const model::Strides strides = model::strides_of(setting.split);
  return {{{dense, shards.dense, strides.dense}, {experts, shards.experts, strides.replicas}}};
}
/// Ranks of hybrid sharding that hold the same shard, and its parameters.
std::array<Group, 2> replicas_of_shards(const Setting& setting, double dense, double experts) {
  const Replicas all = replicas_of(setting);
  auto out = groups_of(setting, dense, experts);
  for (Group& group : out) {
    const int ranks = &group == out.data() ? all.dense : all.experts;
    group = {group.parameters / group.ranks, ranks / group.ranks, group.nearer * group.ranks};
  }
  return out;
}

bool is_shared(const Group& group) {
  return group.ranks > 1 && group.parameters > 0;
}

int ranks_per_node(const Setting& setting, const Group& group) {
  return static_cast<int>(
      std::clamp<std::int64_t>(setting.hardware->devices_per_node / group.nearer, 1, group.ranks));
}

double reduction_of(const Setting& setting, const Group& group) {
  if (!is_shared(group)) return 0;
  return hardware::reduction(*setting.hardware, setting.gradient_bytes * group.parameters,
                             kWeightBytes * group.parameters, group.ranks, ranks_per_node(setting, group),
                             setting.split.zero >= 1)
      .seconds;
}

double collective_of(const Setting& setting, const Group& group, model::CollectiveKind kind, double bytes) {
  if (!is_shared(group)) return 0;
  return hardware::time_of(*setting.hardware, kind, bytes * group.parameters, group.ranks,
                           ranks_per_node(setting, group))
      .seconds;
}

/// The gradients' shards over the groups of hybrid sharding.
double sum_over_groups(const Setting& setting, double dense, double experts) {
  double out = 0;
  for (const Group& group : replicas_of_shards(setting, dense, experts))
    out += collective_of(setting, group, model::CollectiveKind::AllReduce, setting.gradient_bytes);
  return out;
}

}  // namespace

StepEnd step_end(const Setting& setting, std::span<const Stage* const> stages) {
  const Held held = held_in(stages);
  const Replicas shards = shards_of(setting);
  StepEnd out;
  for (const Group& group : groups_of(setting, held.dense, held.experts))
    out.reduction += reduces_each(setting)
                         ? collective_of(setting, group, model::CollectiveKind::AllGather, kWeightBytes)
                         : reduction_of(setting, group);
  if (!reduces_each(setting)) out.reduction += sum_over_groups(setting, held.dense, held.experts);
  if (setting.overlaps_reduction)
    out.reduction = std::max(out.reduction - held.backward, out.reduction / std::max(1, held.layers));
  if (shards_layers(setting)) out.reduction = 0;  // weights are gathered by layers too
  out.reduction *= 1 - setting.hidden[static_cast<std::size_t>(model::Group::Data)];
  const bool shared_out = setting.split.zero >= 1;
  const double updated =
      shared_out ? held.dense / shards.dense + held.experts / shards.experts : held.dense + held.experts;
  const double update = 2.0 * setting.optimizer_bytes + 2.0 * setting.gradient_bytes + kWeightBytes;
  const double cleanup = 2.0 * setting.gradient_bytes;
  const double cleaned = shards_layers(setting) ? updated : held.dense + held.experts;
  out.optimizer = hardware::optimizer(*setting.hardware, update * updated + cleanup * cleaned).seconds;
  return out;
}

ShardTimes shard_times(const Setting& setting, const Stage& stage, int pieces) {
  ShardTimes out;
  if (setting.split.zero < 2) return out;
  const auto dense = static_cast<double>(stage.trained_dense);
  const auto experts = static_cast<double>(stage.trained_experts);
  for (const Group& group : groups_of(setting, dense, experts))
    out.reduction += pieces * collective_of(setting, group, model::CollectiveKind::ReduceScatter,
                                            1.0 * setting.gradient_bytes / pieces);
  out.reduction += pieces * sum_over_groups(setting, dense / pieces, experts / pieces);
  if (setting.split.zero < 3) return out;
  for (const Group& group :
       groups_of(setting, static_cast<double>(stage.dense), static_cast<double>(stage.experts)))
    out.gather +=
        pieces * collective_of(setting, group, model::CollectiveKind::AllGather, kWeightBytes / pieces);
  return out;
}

}  // namespace pipeloom::estimate
