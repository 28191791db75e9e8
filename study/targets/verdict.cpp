#include "study/targets/verdict.hpp"

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "sim/base/text_tools.hpp"
#include "sim/model/trainable.hpp"
#include "study/targets/blocks.hpp"
#include "study/targets/own_order.hpp"
#include "study/targets/refusals.hpp"
#include "study/text/table.hpp"

namespace pipeloom::study {
namespace {

ToRun block_of(const Taken& taken) {
  switch (taken.target.block) {
    case Block::Python:
      break;
    case Block::Torchtitan:
      return torchtitan_block(taken);
    case Block::Areal:
      return areal_block(taken);
    case Block::Megatron:
      return megatron_block(taken);
  }
  return python_block(taken);
}

/// Why the target has no way to run the order; "" if it has: `runs` names its own, or a file.
std::string order_refusal(const Target& target, const Deployment& deployment,
                          const std::optional<RunsAs>& runs) {
  if (runs) return own_refusal(target, deployment, *runs);
  const bool pipelined = deployment.order->ranks() > 1 || target.pipelines_one_rank;
  if (target.files == FilePlacements::None || !pipelined) return own_order_refusal(target, deployment);
  return file_refusal(target, deployment);
}

std::string first_refusal(const Target& target, const Deployment& deployment,
                          const std::optional<RunsAs>& runs) {
  for (const std::string& refusal : {order_refusal(target, deployment, runs),
                                     model_refusal(target, deployment), options_refusal(target, deployment)})
    if (!refusal.empty()) return refusal;
  return "";
}

/// Lines that are comments in every target's language, so that all of a block may be copied.
std::string comment(const std::string& text, std::size_t width) {
  constexpr std::string_view kStart = "    # ";
  std::string lines = wrapped(text, width > 2 * kStart.size() ? width - kStart.size() : width);
  lines.pop_back();
  std::string out;
  for (const std::string& line : split(lines, '\n')) out += std::string(kStart) + line + '\n';
  return out;
}

TargetVerdict verdict_of(const Target& target, const Deployment& deployment, ComparedOrders& compared) {
  TargetVerdict out{.target = &target};
  const std::optional<RunsAs> runs = own_order_of(target, deployment, compared);
  out.reason = first_refusal(target, deployment, runs);
  if (!out.taken()) return out;
  const LayersTold layers = layers_told(target, deployment);
  out.reason = layers.refusal;
  if (!out.taken()) return out;
  out.from_file = !runs;
  if (runs) out.word = runs->order->word;
  out.layers_said = layers.said;
  out.own_layers = layers.own;
  out.why_own = layers.why_own;
  if (!out.own_layers.empty()) return out;
  out.to_run =
      block_of({target, deployment, layers, runs ? runs->order : nullptr, runs ? runs->group_size : 0});
  if (!model::trains_all(deployment.split.trainable))
    out.to_run.needs.emplace_back(
        "weights are frozen, and adapters added, by your own code: nothing here says so");
  return out;
}

}  // namespace

TargetVerdict verdict_of(const Target& target, const Deployment& deployment) {
  ComparedOrders compared(*deployment.order);
  return verdict_of(target, deployment, compared);
}

std::vector<TargetVerdict> verdicts_of(std::span<const Target> targets, const Deployment& deployment) {
  ComparedOrders compared(*deployment.order);
  std::vector<TargetVerdict> out;
  for (const Target& target : targets) out.push_back(verdict_of(target, deployment, compared));
  return out;
}

std::string to_run_page(std::span<const TargetVerdict> verdicts, int width) {
  std::string out;
  const auto columns = static_cast<std::size_t>(width);
  for (const TargetVerdict& verdict : verdicts) {
    const std::string name = verdict.target->spelling();
    if (!verdict.taken()) {
      out += wrapped(fmt::format("{}: not taken: {}", name, verdict.reason), columns, 2);
      continue;
    }
    out += fmt::format("  {}\n", name);
    if (!verdict.own_layers.empty())
      out += wrapped(
          fmt::format("takes other layers, {}: {}", fmt::join(verdict.own_layers, ", "), verdict.why_own),
          columns, 4);
    if (!verdict.to_run.text.empty())
      for (const std::string& line : split(verdict.to_run.text, '\n')) out += fmt::format("    {}\n", line);
    for (const std::string& need : verdict.to_run.needs) out += comment(need, columns);
  }
  return out;
}

void write_not_taken(io::JsonWriter& out, std::span<const NotTaken> not_taken) {
  out.line(2).key("not_taken").array();
  for (const NotTaken& one : not_taken)
    out.line(4)
        .object()
        .member("target", one.target->spelling())
        .member("name", one.name)
        .member("reason", one.reason)
        .close();
  out.close(2);
}

void write_to_run(io::JsonWriter& out, std::span<const TargetVerdict> verdicts) {
  out.line(2).key("to_run").array();
  for (const TargetVerdict& verdict : verdicts) {
    if (verdict.to_run.text.empty()) continue;
    const ToRun& run = verdict.to_run;
    out.line(4).object().member("target", verdict.target->spelling()).member("text", run.text);
    out.line(6).key("settings").object();
    for (const Setting& setting : run.settings) out.key(setting.key).raw(setting.value);
    out.close().line(6).key("files").array();
    for (const std::string& file : run.files) out.text(file);
    out.close().key("needs").array();
    for (const std::string& need : run.needs) out.text(need);
    out.close().member("layers", verdict.layers_said ? "said" : "its own").close(4);
  }
  out.close(2);
}

}  // namespace pipeloom::study
