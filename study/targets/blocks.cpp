#include "study/targets/blocks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/io/json/json_text.hpp"
#include "study/targets/refusals.hpp"

namespace pipeloom::study {

std::string Taken::csv() const {
  return deployment.order_file.ends_with(".csv") ? deployment.order_file : "order.csv";
}

std::string compile_need(const Taken& taken) {
  const std::string need =
      "torch.compile is off: I and W are apart, and W needs the graph that a compiled backward frees";
  return need +
         (taken.deployment.estimated
              ? "; what that costs is not known: the estimate is of kernels, compiled or not"
              : "; the input's times hold if they were measured without it, what it costs is not known else");
}

std::string file_need(const Taken& taken) {
  if (taken.own != nullptr || taken.deployment.order_file.ends_with(".csv")) return "";
  return fmt::format("the order is read from {}: write it with --schedule-out {}", taken.csv(), taken.csv());
}

std::string sharding_need(const Taken& taken) {
  const model::Split& split = taken.deployment.split;
  const bool replicas = taken.target.block == Block::Torchtitan && split.zero == 0;  // it is told replicas
  if (!has_replicas(split) || split.zero == 3 || replicas) return "";
  return fmt::format(
      "{} shares out weights, gradients and optimizer states over the data ranks (FSDP); the numbers "
      "are of ZeRO {}",
      taken.target.title, split.zero);
}

std::string tied_need(const Taken& taken) {
  const auto& model = taken.deployment.model;
  if (taken.target.ties_weights || model == nullptr || !model->tied || taken.ranks() == 1) return "";
  return fmt::format(
      "{} refuses a pipeline where embedding and head share weights: configure them apart, which is "
      "another model than was estimated by one embedding",
      taken.target.title);
}

std::string family_need(const Taken& taken) {
  const Target& target = taken.target;
  if (target.families.empty() || taken.deployment.model == nullptr) return "";
  if (!taken.deployment.model->type.empty()) return "";  // it is one of them
  return fmt::format("{} {} has models of Hugging Face's types {} alone; which type this is is not known",
                     target.title, target.release, fmt::join(target.families, ", "));
}

std::string json_lists(const std::vector<std::vector<int>>& lists) {
  std::string out;
  for (const std::vector<int>& list : lists)
    out += fmt::format("{}[{}]", out.empty() ? "" : ", ", fmt::join(list, ", "));
  return '[' + out + ']';
}

std::string json_lists(const std::vector<std::vector<std::string>>& lists) {
  std::string out;
  for (const std::vector<std::string>& list : lists) {
    std::string inner;
    for (const std::string& text : list) inner += (inner.empty() ? "" : ", ") + io::json_string(text);
    out += fmt::format("{}[{}]", out.empty() ? "" : ", ", inner);
  }
  return '[' + out + ']';
}

}  // namespace pipeloom::study
