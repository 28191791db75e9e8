#include "sim/estimate/passes.hpp"

#include <algorithm>

#include "sim/estimate/recomputed.hpp"
#include "sim/hardware/layer_time.hpp"

namespace pipeloom::estimate {
namespace {

using model::kPasses;

/// The device's terms are the first of ours.
PassTime pass_of(const hardware::Terms& terms) {
  PassTime out;
  std::copy(terms.seconds.begin(), terms.seconds.end(), out.terms.begin());
  return out;
}

LayerTime layer_of(const hardware::WorkTime& time) {
  LayerTime out;
  for (std::size_t pass = 0; pass < kPasses; ++pass) out.pass[pass] = pass_of(time.passes[pass]);
  std::copy(time.counts.begin(), time.counts.end(), out.found.begin());
  return out;
}

/// Takes out of each pass what products hide of its collectives.
void leave_exposed(const Setting& setting, const hardware::WorkTime& time, LayerTime& out) {
  const auto& [tensor, context, expert, data] = setting.hidden;
  const bool is_even = tensor == context && tensor == expert;
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    double& all = out.pass[pass].of(Term::Collectives);
    if (is_even) all *= 1 - tensor;
    for (std::size_t group = 0; group < model::kGroups; ++group) {
      const double seconds = time.exchanged[pass][group];
      if (!is_even) all -= setting.hidden[group] * seconds;
      out.exchanged[group] += (1 - setting.hidden[group]) * seconds;
    }
    all = std::max(all, 0.0);  // the last digits of floating point
  }
}

LayerTime time_of_layer(const Setting& setting, const model::Layer& layer) {
  const hardware::Hardware& device = *setting.hardware;
  const model::Work work = model::work_of(*setting.model, layer, setting.split);
  const hardware::WorkTime time = hardware::layer_time(device, work, setting.split, setting.model->norm);
  LayerTime out = layer_of(time);
  leave_exposed(setting, time, out);
  if (setting.split.trainable.reach == model::Reach::None)
    return out;  // nothing is kept, so nothing runs again
  if (recomputes_all(setting)) {
    out.recomputed = out.pass[0];
    return out;
  }
  // Parts that run again do so within the backward; a whole forward is an op of its own.
  const model::Work again = recomputed_work(layer, work, setting.recomputation, setting.modules);
  out.recomputed = pass_of(hardware::work_time(device, again, setting.split, setting.model->norm).passes[0]);
  out.pass[1] += out.recomputed;
  return out;
}

/// Everything that an end of the model does counts as one term, in the pass that it belongs to.
LayerTime end_time(const Setting& setting, const model::Work& work) {
  const hardware::WorkTime time =
      hardware::work_time(*setting.hardware, work, setting.split, setting.model->norm);
  LayerTime out;
  for (std::size_t pass = 0; pass < kPasses; ++pass)
    out.pass[pass].of(Term::Head) = time.passes[pass].total();
  auto& found = out.found[static_cast<std::size_t>(Term::Head)];
  for (const auto& counts : time.counts)
    for (std::size_t basis = 0; basis < counts.size(); ++basis) found[basis] += counts[basis];
  return out;
}

/// Everything but collectives takes the setting's factor.
LayerTime scaled(const Setting& setting, LayerTime time) {
  if (setting.compute == 1) return time;
  const auto scale = [&](PassTime& pass) {
    for (std::size_t term = 0; term < kTerms; ++term)
      if (static_cast<Term>(term) != Term::Collectives) pass.terms[term] *= setting.compute;
  };
  for (PassTime& pass : time.pass) scale(pass);
  scale(time.recomputed);
  return time;
}

/// Measured times of a letter's layer; all 0 for letters without a time.
LayerTime measured(const model::Profile& profile, char letter) {
  LayerTime out;
  const auto found = profile.ticks.find(letter);
  if (found == profile.ticks.end()) return out;
  for (std::size_t pass = 0; pass < kPasses; ++pass)
    out.pass[pass].of(Term::Measured) = static_cast<double>(found->second[pass]) / 1e12;
  out.found[static_cast<std::size_t>(Term::Measured)][static_cast<std::size_t>(hardware::Basis::Measured)] =
      kPasses;
  out.recomputed = out.pass[0];
  return out;
}

/// Final norm, head and loss.
LayerTime whole_head_time(const Setting& setting) {
  if (setting.model->profile) return measured(*setting.model->profile, 'L');
  return end_time(setting, model::head_work(*setting.model, setting.split));
}

}  // namespace

LayerTime layer_time(const Setting& setting, const model::Layer& layer) {
  return scaled(setting, setting.model->profile ? measured(*setting.model->profile, layer.letter)
                                                : time_of_layer(setting, layer));
}

LayerTime embedding_time(const Setting& setting) {
  return scaled(setting, setting.model->profile
                             ? measured(*setting.model->profile, 'E')
                             : end_time(setting, model::embedding_work(*setting.model, setting.split)));
}

LayerTime last_stage_time(const Setting& setting) {
  if (!shares_head(setting)) return scaled(setting, whole_head_time(setting));
  if (setting.model->profile) return {};  // the norm is part of the measured head
  return scaled(setting, end_time(setting, model::final_norm_work(*setting.model, setting.split)));
}

LayerTime shared_head_time(const Setting& setting) {
  const model::Model& model = *setting.model;
  LayerTime out =
      model.profile ? whole_head_time(setting) : end_time(setting, model::output_work(model, setting.split));
  const double heads = 1.0 + model.mtp;
  for (PassTime& pass : out.pass) pass = pass * (model.profile ? heads / setting.split.output : heads);
  return scaled(setting, out);
}

LayerTime mtp_time(const Setting& setting) {
  LayerTime out = shares_head(setting) ? LayerTime() : whole_head_time(setting);
  if (setting.model->profile) return scaled(setting, out);
  const LayerTime join = end_time(setting, model::mtp_work(*setting.model, setting.split));
  for (std::size_t pass = 0; pass < kPasses; ++pass) out.pass[pass] += join.pass[pass];
  return scaled(setting, out);
}

}  // namespace pipeloom::estimate
