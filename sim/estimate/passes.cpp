#include "sim/estimate/passes.hpp"

#include <algorithm>
#include <cmath>

#include "sim/estimate/recomputed.hpp"

namespace pipeloom::estimate {
namespace {

using hardware::Timed;
using model::kPasses;
using model::Pass;

constexpr Pass kAllPasses[] = {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight};

void add(Timed timed, TermTime& term, int times = 1) {
  if (timed.seconds == 0) return;
  term.seconds += timed.seconds * times;
  term.found[static_cast<std::size_t>(timed.basis)] += times;
}

/// Ranks of a group, and how many of them share a node: tensor ranks are the nearest neighbours, then context's, then replicas'; experts' are spread
/// over all of these.
struct Members {
  int ranks = 1;
  int per_node = 1;
};
Members members_of(const Setting& setting, model::Group group) {
  const model::Split& split = setting.split;
  const int node = setting.hardware->devices_per_node;
  const auto spread = [node](int ranks, int nearer) {
    return Members{ranks, std::clamp(node / nearer, 1, ranks)};
  };
  switch (group) {
    case model::Group::Tensor:
      return spread(split.tensor, 1);
    case model::Group::Context:
      return spread(split.context, split.tensor);
    case model::Group::Expert:
      return spread(split.expert, 1);
    case model::Group::Data:
      break;
  }
  return spread(split.data * split.context, split.tensor);
}

/// What the work takes in a pass, launches apart.
PassTime time_of_work(const Setting& setting, const model::Work& work, Pass pass) {
  const hardware::Hardware& device = *setting.hardware;
  PassTime out;
  for (const model::Gemm& gemm : work.gemms) add(hardware::time_of(device, gemm, pass), out.of(Term::Gemm));
  for (const model::CoreAttention& attention : work.attention)
    add(hardware::time_of(device, attention, pass), out.of(Term::Attention));
  for (const model::Traffic& traffic : work.traffic)
    add(hardware::time_of(device, traffic, pass), out.of(Term::Elementwise));
  for (const model::Collective& collective : work.collectives) {
    const int times = collective.times[static_cast<std::size_t>(pass)];
    const Members members = members_of(setting, collective.group);
    if (times > 0 && members.ranks > 1)
      add(hardware::time_of(device, collective.kind, collective.bytes, members.ranks, members.per_node),
          out.of(Term::Collectives), times);
  }
  return out;
}

/// A layer's kernels cannot run faster than they are launched: a third of the floor in F, two thirds in I and W together.
void add_launches(const Setting& setting, LayerTime& time) {
  const hardware::Hardware& device = *setting.hardware;
  if (device.layer_floor == 0) return;
  const double floor = device.layer_floor * (1 + device.floor_growth * std::log2(setting.split.tensor));
  const auto wait = [](PassTime& pass, double least) {
    const double missing = std::max(0.0, least - pass.seconds());
    pass.of(Term::Launch).seconds += missing;
  };
  wait(time.pass[0], floor / 3);
  const double back = time.pass[1].seconds() + time.pass[2].seconds();
  const double missing = std::max(0.0, 2 * floor / 3 - back);
  const double share = back > 0 ? time.pass[1].seconds() / back : 0.5;
  time.pass[1].of(Term::Launch).seconds += missing * share;
  time.pass[2].of(Term::Launch).seconds += missing * (1 - share);
  if (time.recomputed.seconds() > 0 && setting.recomputation == model::Recomputation::Full)
    wait(time.recomputed, floor / 3);
}

LayerTime time_of_layer(const Setting& setting, const model::Layer& layer) {
  const model::Work work = model::work_of(*setting.model, layer, setting.split);
  LayerTime out;
  for (const Pass pass : kAllPasses)
    out.pass[static_cast<std::size_t>(pass)] = time_of_work(setting, work, pass);
  const model::Work again = recomputed_work(work, setting.recomputation, setting.modules);
  out.recomputed = time_of_work(setting, again, Pass::Forward);
  add_launches(setting, out);
  // Parts that run again do so within the backward; a whole forward is an op of its own.
  if (setting.recomputation == model::Recomputation::Selective) out.pass[1] += out.recomputed;
  return out;
}

/// Everything that an end of the model does counts as its term.
LayerTime end_time(const Setting& setting, const model::Work& work) {
  LayerTime out;
  for (const Pass pass : kAllPasses) {
    const PassTime whole = time_of_work(setting, work, pass);
    TermTime& head = out.pass[static_cast<std::size_t>(pass)].of(Term::Head);
    for (const TermTime& term : whole.terms) head += term;
  }
  return out;
}

/// Nothing for letters without a time.
LayerTime measured(const model::Profile& profile, char letter) {
  LayerTime out;
  const auto found = profile.ticks.find(letter);
  if (found == profile.ticks.end()) return out;
  for (std::size_t pass = 0; pass < kPasses; ++pass)
    add({static_cast<double>(found->second[pass]) / 1e12, hardware::Basis::Measured},
        out.pass[pass].of(Term::Measured));
  out.recomputed = out.pass[0];
  return out;
}

}  // namespace

LayerTime layer_time(const Setting& setting, const model::Layer& layer) {
  if (setting.model->profile) return measured(*setting.model->profile, layer.letter);
  return time_of_layer(setting, layer);
}

LayerTime embedding_time(const Setting& setting) {
  if (setting.model->profile) return measured(*setting.model->profile, 'E');
  return end_time(setting, model::embedding_work(*setting.model, setting.split));
}

LayerTime head_time(const Setting& setting) {
  if (setting.model->profile) return measured(*setting.model->profile, 'L');
  return end_time(setting, model::head_work(*setting.model, setting.split));
}

StepEnd step_end(const Setting& setting, std::int64_t dense, std::int64_t experts) {
  const hardware::Hardware& device = *setting.hardware;
  const model::Split& split = setting.split;
  const int replicas = split.data * split.context;
  const int expert_replicas = std::max(1, replicas * split.tensor / split.expert);
  const bool shared_out = split.zero >= 1;
  StepEnd out;
  const auto reduce = [&](std::int64_t parameters, int ranks, int nearer) {
    if (ranks <= 1 || parameters == 0) return;
    const auto number = static_cast<double>(parameters);
    const int per_node = std::clamp(device.devices_per_node / nearer, 1, ranks);
    out.reduction += hardware::reduction(device, 4 * number, 2 * number, ranks, per_node, shared_out).seconds;
  };
  reduce(dense, replicas, split.tensor);
  reduce(experts, expert_replicas, split.expert);
  // Adam reads and writes 34 bytes of each parameter that it updates; gradients are cleared and scaled where they lie.
  const double own =
      shared_out ? static_cast<double>(dense) / replicas + static_cast<double>(experts) / expert_replicas
                 : static_cast<double>(dense + experts);
  out.optimizer = hardware::optimizer(device, 34 * own + 8 * static_cast<double>(dense + experts)).seconds;
  return out;
}

}  // namespace pipeloom::estimate
