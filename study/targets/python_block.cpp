// Lines of Python that build each rank's stages and its schedule.

#include <fmt/format.h>

#include "sim/io/json/json_text.hpp"
#include "sim/options.hpp"
#include "study/targets/blocks.hpp"

namespace pipeloom::study {
namespace {

std::vector<std::vector<int>> stages_of_ranks(const Placement& placement) {
  std::vector<std::vector<int>> out(static_cast<std::size_t>(placement.ranks()));
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank)
    for (const Stage stage : placement.stages_of(rank)) out[rank.at()].push_back(stage.value());
  return out;
}

/// [stage]: the numbers of its layers, from the first to one past the last.
std::vector<std::vector<int>> layer_ranges(const std::vector<int>& layers) {
  std::vector<std::vector<int>> out;
  int next = 0;
  for (const int count : layers) {
    out.push_back({next, next + count});
    next += count;
  }
  return out;
}

std::string class_name(const Taken& taken) {
  return taken.own == nullptr ? "_PipelineScheduleRuntime" : fmt::format("Schedule{}", taken.own->word);
}

std::string schedule_line(const Taken& taken) {
  const bool single = taken.own != nullptr && taken.own->max_chunks == 1;
  return fmt::format("schedule = {}({}, n_microbatches={}, loss_fn=loss_fn)\n", class_name(taken),
                     single ? "stages[0]" : "stages", taken.microbatches());
}

/// Adds the requirements on the stages' code that the numbers rely on.
void add_stage_needs(const Taken& taken, std::vector<std::string>& needs) {
  const Deployment& deployment = taken.deployment;
  if (const int encoder = deployment.encoder_layers(); encoder > 0)
    needs.push_back(fmt::format("layers 0 to {} are the encoder's", encoder - 1));
  if (deployment.model != nullptr && deployment.model->mtp > 0)
    needs.push_back(fmt::format("the last stage has {} for multi-token prediction too",
                                deployment.model->mtp == 1 ? "the layer" : "the layers"));
  const model::Split& split = deployment.split;
  if (split.tensor * split.context * split.expert * split.data > 1)
    needs.push_back(
        fmt::format("build_stage spreads a stage over tp {}, cp {}, ep {} and dp {} with ZeRO {}{}",
                    split.tensor, split.context, split.expert, split.data, split.zero,
                    is_hybrid(split) ? fmt::format(" over groups of {}", split.shards) : ""));
  const std::string counted = layers_again_text(deployment.recompute);
  const std::string again = !counted.empty()              ? counted
                            : deployment.recomputes_all() ? "every layer"
                                                          : deployment.recompute.modules;
  if (deployment.recomputes())
    needs.push_back(
        fmt::format("build_stage checkpoints {} of {}", again,
                    deployment.recompute.stages.empty()
                        ? std::string("all stages")
                        : fmt::format("stages {}", fmt::join(deployment.recompute.stages, ", "))));
  if (deployment.pairs_save)
    needs.emplace_back(
        "pairs overlap where register_custom_function(OVERLAP_F_B, ..) has a function that does so; "
        "else their ops run one after the other");
}

}  // namespace

ToRun python_block(const Taken& taken) {
  const Placement& placement = taken.deployment.order->placement();
  const auto stages = json_lists(stages_of_ranks(placement));
  ToRun out;
  out.text = fmt::format(
      "from torch.distributed import get_rank\n"
      "from torch.distributed.pipelining import PipelineStage\n"
      "from torch.distributed.pipelining.schedules import {}\n"
      "stages_of_rank = {}\n",
      class_name(taken), stages);
  out.settings = {{"class", io::json_string(class_name(taken))}, {"stages_of_rank", stages}};
  std::string arguments = "s";
  if (!taken.deployment.layers.empty()) {
    const auto layers = json_lists(layer_ranges(taken.deployment.layers));
    out.text += fmt::format("layers_of_stage = {}  # first, and one past the last\n", layers);
    out.settings.push_back({"layers_of_stage", layers});
    arguments = "s, range(*layers_of_stage[s])";
  }
  out.text += fmt::format(
      "stages = [PipelineStage(build_stage({}), s, {}, device, group=pp_group)\n"
      "          for s in stages_of_rank[get_rank(pp_group)]]\n",
      arguments, placement.stages());
  out.text += schedule_line(taken);
  out.settings.push_back({"n_microbatches", fmt::format("{}", taken.microbatches())});
  if (taken.own == nullptr) {
    out.text +=
        fmt::format("schedule._load_csv({}, format=\"compute_only\")\n", io::json_string(taken.csv()));
    out.settings.push_back({"csv", io::json_string(taken.csv())});
    out.files.push_back(taken.csv());
  }
  out.text.pop_back();
  out.needs.emplace_back("build_stage (the module of a stage), device, pp_group and loss_fn are yours");
  if (const std::string need = file_need(taken); !need.empty()) out.needs.push_back(need);
  if (taken.splits_backward()) out.needs.push_back(compile_need(taken));
  add_stage_needs(taken, out.needs);
  return out;
}

}  // namespace pipeloom::study
