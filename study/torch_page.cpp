#include "study/torch_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"
#include "sim/io/json_text.hpp"
#include "sim/io/schedule_places.hpp"
#include "sim/io/torch_csv.hpp"
#include "sim/torch/grid.hpp"
#include "sim/torch/liveness.hpp"
#include "sim/torch/lowering.hpp"

namespace pipeloom::study {
namespace {

/// Steps of the grid that are shown on either side of the one that is wrong.
constexpr std::size_t kStepsAround = 3;

std::string_view name_of(torch::Form form) {
  return form == torch::Form::ComputeOnly ? "compute_only" : "compute_comms";
}

/// "12,345 steps".
std::string steps_text(std::size_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits + (count == 1 ? " step" : " steps");
}

std::string shape_of(const torch::LoadingRun& run) {
  return fmt::format("{}, p={}, m={}, stages={}", name_of(run.form), run.ranks, run.microbatches, run.stages);
}

std::string_view doing(std::string_view phase) {
  return phase == "parse" ? "parsing" : phase == "validate" ? "validating" : "lowering";
}

/// Without the blanks that pad a line to its columns.
std::string without_padding(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::size_t last = text.find_last_not_of(' ', end - 1);
    if (last != std::string::npos && last >= begin) out += text.substr(begin, last + 1 - begin);
    out += '\n';
    begin = end + 1;
  }
  return out;
}

std::string refused_text(const TorchFindings& findings, bool everything) {
  const torch::Verdict& verdict = findings.verdict;
  std::string out = fmt::format("PyTorch: refuses it ({}), {} while {}: {}\n", shape_of(findings.run),
                                verdict.exception, doing(verdict.phase), verdict.message);
  if (!verdict.place) return out;
  torch::GridOptions grid;
  grid.error_step = verdict.place->step;
  if (!everything) {
    grid.first = verdict.place->step - std::min(verdict.place->step, kStepsAround);
    grid.last = verdict.place->step + kStepsAround + 1;
  }
  return out + '\n' + without_padding(torch::grid_text(findings.lists, grid)) + '\n';
}

std::string loaded_text(const TorchFindings& findings) {
  std::string out = fmt::format("PyTorch: loads it ({})", shape_of(findings.run));
  if (!findings.lints.empty()) return out + " and fails while it runs\n";
  if (findings.hangs()) return out + ", checks no message of such a file, and hangs\n";
  if (findings.dry_run)
    out += fmt::format("; its messages meet after {} of a dry run", steps_text(findings.dry_run->steps));
  return out + '\n';
}

/// The place of the first rank's action that waits for ever.
Where first_blocked(const TorchFindings& findings, const io::SchedulePlaces& places) {
  const auto& heads = findings.dry_run->stuck->heads;
  for (std::size_t r = 0; r < heads.size(); ++r) {
    const Rank rank(static_cast<std::int32_t>(r));
    const auto row = findings.lists.row(rank).first(heads[r]);
    if (heads[r] < findings.lists.row(rank).size())
      return places.of_cell(rank, static_cast<std::size_t>(std::count_if(
                                      row.begin(), row.end(), [](Action a) { return !a.joined(); })));
  }
  return Where{findings.name};
}

std::string slots_line(std::string_view what, const torch::Liveness& live) {
  std::string line(what);
  for (const torch::RankLiveness& rank : live.ranks) line += fmt::format(" {}", rank.slots);
  return line + '\n';
}

}  // namespace

std::optional<torch::Form> torch_form_of(const std::string& format) {
  if (format == "torch-compute") return torch::Form::ComputeOnly;
  if (format == "torch-comms") return torch::Form::ComputeComms;
  return std::nullopt;
}

std::optional<TorchFindings> examine_torch(const std::string& text, const std::string& name,
                                           const std::string& format,
                                           const std::optional<torch::LoadingRun>& load) {
  const auto form = torch_form_of(format);
  if (!form) return std::nullopt;
  TorchFindings out;
  out.name = name;
  out.lists = io::read_torch_actions(text, name).lists;
  out.run = load ? *load : torch::loading_run(out.lists, *form);
  out.verdict = torch::verdict_of(out.lists, out.run);
  if (*form == torch::Form::ComputeOnly || !out.verdict.ok()) return out;
  out.lints = torch::runtime_lints(out.lists, out.verdict.rank_of_stage);
  out.dry_run = torch::dry_run_of(out.lists, out.verdict);
  return out;
}

std::string torch_page_of_unreadable(const std::string& text, const std::string& name, torch::Form form) {
  try {
    TorchFindings findings;
    findings.name = name;
    findings.verdict = io::torch_verdict(text, findings.name, form);
    findings.run.form = form;
    if (findings.verdict.phase == "parse")
      return fmt::format("PyTorch: refuses it, {} while parsing\n", findings.verdict.exception);
    findings.lists = io::read_torch_actions(text, findings.name).lists;
    findings.run = torch::loading_run(findings.lists, form);
    return torch_page(findings, false);
  } catch (const Error&) {
    return {};
  }
}

std::vector<Finding> torch_lint(const TorchFindings& findings, const std::string& text) {
  if (findings.problems() == 0) return {};
  const io::SchedulePlaces places(text, findings.name);
  std::vector<Finding> out;
  for (const torch::Lint& lint : findings.lints)
    out.push_back({lint.code, lint.message, places.of_cell(lint.rank, lint.step)});
  if (findings.hangs())
    out.push_back({"message-hang",
                   "the messages never meet: " + torch::describe(*findings.dry_run->stuck, findings.lists),
                   first_blocked(findings, places)});
  return out;
}

std::string torch_problems(const TorchFindings& findings, const std::string& text) {
  std::string out;
  for (const Finding& found : torch_lint(findings, text))
    out += fmt::format("{}: error: {} [{}]\n", found.where.text(), found.message, found.rule);
  return out;
}

std::string torch_page(const TorchFindings& findings, bool everything) {
  return findings.verdict.ok() ? loaded_text(findings) : refused_text(findings, everything);
}

std::string torch_json(const TorchFindings& findings) {
  const torch::Verdict& verdict = findings.verdict;
  std::string out = fmt::format(",\n  \"torch\": {{\n    \"form\": \"{}\", \"loads\": {}",
                                name_of(findings.run.form), verdict.ok());
  if (!verdict.ok()) {
    out += fmt::format(", \"phase\": \"{}\", \"exception\": \"{}\", \"message\": ", verdict.phase,
                       verdict.exception);
    io::append_json_string(out, verdict.message);
  }
  if (findings.dry_run) out += fmt::format(", \"hangs\": {}", findings.hangs());
  out += ",\n    \"assertions\": [";
  for (const torch::Lint& lint : findings.lints) {
    out += fmt::format("{}\n      {{\"code\": \"{}\", \"rank\": {}, \"step\": {}, \"message\": ",
                       &lint == findings.lints.data() ? "" : ",", lint.code, lint.rank.value(), lint.step);
    io::append_json_string(out, lint.message);
    out += '}';
  }
  return out + (findings.lints.empty() ? "]\n  }" : "\n    ]\n  }");
}

std::string slots_page(const Schedule& schedule) {
  const ActionLists lists = to_actions(schedule);
  const auto apart = torch::live_activations(lists);
  const auto merged = torch::live_activations(lists, torch::LivenessUnit::Microbatch);
  return slots_line("activation slots by rank, one per stage and microbatch:", apart) +
         slots_line("activation slots by rank, one per microbatch:", merged);
}

}  // namespace pipeloom::study
