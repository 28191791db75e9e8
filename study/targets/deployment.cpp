#include "study/targets/deployment.hpp"

#include "schedules/generator.hpp"
#include "sim/model/patterns.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

bool saves(const Overlap& overlap) {
  return overlap.rule != OverlapRule::Sum && overlap.rule != OverlapRule::Sequential;
}

}  // namespace

int Deployment::encoder_layers() const {
  return model == nullptr ? 0 : model::encoder_layers(*model);
}

std::vector<layout::StageContent> Deployment::contents() const {
  return layout::contents_of(layers, model == nullptr ? 0 : model->mtp, encoder_layers());
}

std::string registry_name(const std::string& schedule) {
  return schedule == io::kCustomSchedule ? schedule : schedules::find(schedule).generator->name;
}

Deployment deployment_of(const Run& run, const io::Config& config, const std::string& schedule) {
  Deployment out{.schedule = schedule,
                 .order = run.schedule,
                 .recompute = config.options.recompute,
                 .offload = config.options.offload};
  out.pairs_save = run.costs != nullptr && run.schedule->has_groups() && saves(run.costs->overlap);
  if (run.model) {
    out.estimated = true;
    out.model = run.model->costs.setting.model;
    out.split = run.model->costs.setting.split;
    for (const estimate::Stage& stage : run.model->costs.estimate.stages) out.layers.push_back(stage.layers);
  } else if (config.costs.layers.counts.size() == static_cast<std::size_t>(run.schedule->stages())) {
    out.layers.assign(config.costs.layers.counts.begin(), config.costs.layers.counts.end());
  }
  return out;
}

}  // namespace pipeloom::study
