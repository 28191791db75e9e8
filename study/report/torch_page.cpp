// examine_torch(): one file and every release that may load it.

#include "study/report/torch_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include <pipeloom/error.hpp>
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/formats/torch_csv.hpp"
#include "sim/torch/homes.hpp"
#include "sim/torch/liveness.hpp"
#include "sim/torch/lowering.hpp"
#include "sim/torch/pairing.hpp"

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

std::string refusal_line(const TorchFindings& findings, const ReleaseVerdict& release) {
  const torch::Verdict& verdict = release.verdict;
  return fmt::format("refuses it ({}), {} while {}: {}", shape_of(findings.run), verdict.exception,
                     doing(verdict.phase), verdict.message);
}

std::string error_grid(const TorchFindings& findings, bool everything) {
  const torch::Verdict& verdict = findings.verdict;
  if (!verdict.place) return {};
  torch::GridOptions grid;
  grid.error_step = verdict.place->step;
  if (!everything) {
    grid.first = verdict.place->step - std::min(verdict.place->step, kStepsAround);
    grid.last = verdict.place->step + kStepsAround + 1;
  }
  return '\n' + without_padding(torch::grid_text(findings.lists, grid)) + '\n';
}

/// For lints that a release does not assert on: the result is wrong.
bool trains_wrong(const torch::Lint& lint) {
  return (lint.code.starts_with("reduce-") && !lint.only_sharded()) || lint.code == "mispaired" ||
         lint.code == "forward-order";
}

std::string loaded_line(const TorchFindings& findings, const ReleaseVerdict& release) {
  std::string out = fmt::format("loads it ({})", shape_of(findings.run));
  const auto wrong = std::find_if(release.lints.begin(), release.lints.end(), trains_wrong);
  if (wrong != release.lints.end() && !findings.hangs())
    return fmt::format("{} and trains wrong: {}", out, wrong->message);
  const auto& lints = findings.lints;
  if (std::any_of(lints.begin(), lints.end(), trains_wrong)) return out + " and trains wrong";
  if (std::all_of(lints.begin(), lints.end(), [](const auto& lint) { return lint.only_sharded(); }) &&
      !lints.empty() && !findings.hangs())
    return out + " and fails with FSDP";
  if (!lints.empty()) return out + " and fails while it runs";
  if (findings.posted_runs)
    return out +
           ", checks no message of such a file, and hangs where messages keep their order (NCCL); gloo runs "
           "it";
  if (findings.hangs()) return out + ", checks no message of such a file, and hangs";
  if (!findings.dry_run) return out;
  return out + fmt::format("; its messages meet after {} of a dry run", steps_text(findings.dry_run->steps));
}

/// The answers of the releases, each with the names of the releases that give it.
std::string answers(const TorchFindings& findings, bool loading) {
  std::vector<std::pair<std::string, std::string>> found;  // answer, names
  for (const ReleaseVerdict& release : findings.releases) {
    if (release.verdict.ok() != loading) continue;
    const std::string answer = loading ? loaded_line(findings, release) : refusal_line(findings, release);
    const auto same =
        std::find_if(found.begin(), found.end(), [&](const auto& one) { return one.first == answer; });
    const std::string name(torch::name_of(release.target));
    if (same == found.end())
      found.emplace_back(answer, name);
    else
      same->second += ", " + name;
  }
  std::string out;
  for (const auto& [answer, names] : found) out += fmt::format("PyTorch {}: {}\n", names, answer);
  return out;
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

std::string_view hang_code(const TorchFindings& findings) {
  return findings.posted_runs ? "message-order" : "message-hang";
}

std::string hang_text(const TorchFindings& findings) {
  return findings.posted_runs ? "ranks wait for each other where messages keep their order: "
                              : "the messages never meet: ";
}

std::optional<torch::Form> torch_form_of(const std::string& format) {
  if (format == "torch-compute") return torch::Form::ComputeOnly;
  if (format == "torch-comms") return torch::Form::ComputeComms;
  return std::nullopt;
}

std::string torch_page_of_unreadable(const std::string& text, const std::string& name, torch::Form form) {
  try {
    const torch::Verdict verdict = io::torch_verdict(text, name, form);
    if (verdict.phase == "parse")
      return fmt::format("PyTorch: refuses it, {} while parsing\n", verdict.exception);
    const std::string format = form == torch::Form::ComputeOnly ? "torch-compute" : "torch-comms";
    return torch_page(*examine_torch(text, name, format), false);
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
    out.push_back({std::string(hang_code(findings)),
                   hang_text(findings) + torch::describe(*findings.dry_run->stuck, findings.lists),
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
  const std::string grid = findings.verdict.ok() ? "" : error_grid(findings, everything);
  return answers(findings, true) + answers(findings, false) + grid;
}

void write_torch(io::JsonWriter& out, const TorchFindings& findings) {
  const torch::Verdict& verdict = findings.verdict;
  out.line(2).key("torch").object().line(4).member("form", name_of(findings.run.form));
  out.member("loads", verdict.ok());
  if (!verdict.ok())
    out.member("phase", verdict.phase)
        .member("exception", verdict.exception)
        .member("message", verdict.message);
  out.line(4).key("releases").object();
  for (const ReleaseVerdict& release : findings.releases)
    out.member(torch::name_of(release.target), !release.verdict.ok() ? "refuses"
                                               : release.ok()        ? "loads"
                                                                     : "trains wrong");
  out.close();
  if (findings.dry_run)
    out.member("hangs", findings.hangs()).member("runs_posted", findings.posted_runs || !findings.hangs());
  out.line(4).key("assertions").array();
  for (const torch::Lint& lint : findings.lints)
    out.line(6)
        .object()
        .member("code", lint.code)
        .member("rank", lint.rank.value())
        .member("step", lint.step)
        .member("message", lint.message)
        .close();
  out.close(4).close(2);
}

std::string slots_page(const Schedule& schedule) {
  const ActionLists lists = to_actions(schedule);
  const auto apart = torch::live_activations(lists);
  const auto merged = torch::live_activations(lists, torch::LivenessUnit::Microbatch);
  return slots_line("activation slots by rank, one per stage and microbatch:", apart) +
         slots_line("activation slots by rank, one per microbatch:", merged);
}

namespace {

using torch::Target;

/// True if the two load and run every file alike.
bool same_rules(Target a, Target b) {
  const auto between = [](Target target) { return target >= Target::V210 && target <= Target::V214; };
  return between(a) && between(b);
}

std::vector<ReleaseVerdict> verdicts(const ActionLists& lists, torch::LoadingRun run,
                                     std::optional<Target> only) {
  std::vector<ReleaseVerdict> out;
  for (const Target target : torch::kAllTargets) {
    if (only && target != *only) continue;
    if (!out.empty() && same_rules(out.back().target, target)) {
      out.push_back(out.back());
      out.back().target = target;
      continue;
    }
    run.target = target;
    ReleaseVerdict release{target, torch::verdict_of(lists, run), {}};
    if (release.verdict.ok() && run.form == torch::Form::ComputeComms && target >= Target::V210)
      release.lints = torch::reduction_lints(lists, release.verdict.rank_of_stage);
    out.push_back(std::move(release));
  }
  return out;
}

/// The one that the file seems to be for.
const ReleaseVerdict& best_of(const std::vector<ReleaseVerdict>& releases) {
  const auto newest = [&](const auto& fits) {
    const auto found = std::find_if(releases.rbegin(), releases.rend(), fits);
    return found == releases.rend() ? nullptr : &*found;
  };
  if (const auto* best = newest([](const ReleaseVerdict& one) { return one.ok(); })) return *best;
  if (const auto* best = newest([](const ReleaseVerdict& one) { return one.verdict.ok(); })) return *best;
  return releases.back();
}

void add(std::vector<torch::Lint>& to, std::vector<torch::Lint> lints) {
  std::move(lints.begin(), lints.end(), std::back_inserter(to));
}

void examine_messages(TorchFindings& out) {
  const auto& ranks = out.verdict.rank_of_stage;
  add(out.lints, torch::runtime_lints(out.lists, ranks));
  const auto swaps = torch::swap_lints(out.lists, out.verdict);
  add(out.lints, swaps);
  out.dry_run = torch::dry_run_of(out.lists, out.verdict);
  if (!out.hangs() || !swaps.empty()) return;
  const auto posted = torch::dry_run_of(out.lists, out.verdict, torch::Receives::Posted);
  out.posted_runs = posted && !posted->stuck;
}

}  // namespace

std::string_view TorchFindings::where_wrong() const {
  const bool sharded =
      std::all_of(lints.begin(), lints.end(), [](const torch::Lint& lint) { return lint.only_sharded(); });
  if (hangs())
    return posted_runs && lints.empty() ? " on a communicator that keeps order (NCCL); gloo runs it" : "";
  return sharded && !lints.empty() ? " with FSDP" : "";
}

bool TorchFindings::is_harmless(const Diagnostic& diagnostic) const {
  return run.form == torch::Form::ComputeComms && verdict.ok() && diagnostic.code == "duplicate" &&
         diagnostic.op.kind() == OpKind::Forward && diagnostic.op.stage() == Stage(0) && run.stages > 1;
}

std::optional<TorchFindings> examine_torch(const std::string& text, const std::string& name,
                                           const std::string& format,
                                           const std::optional<torch::LoadingRun>& load,
                                           std::optional<Target> target) {
  const auto form = torch_form_of(format);
  if (!form) return std::nullopt;
  TorchFindings out;
  out.name = name;
  out.lists = io::read_torch_actions(text, name).lists;
  out.run = load ? *load : torch::loading_run(out.lists, *form);
  out.releases = verdicts(out.lists, out.run, target);
  const ReleaseVerdict& best = best_of(out.releases);
  out.run.target = best.target;
  out.verdict = best.verdict;
  if (!out.verdict.ok()) return out;
  out.lints = best.lints;
  if (const auto lint = torch::forward_order_lint(out.lists, out.verdict.rank_of_stage))
    add(out.lints, {*lint});
  if (*form == torch::Form::ComputeComms) examine_messages(out);
  std::stable_sort(out.lints.begin(), out.lints.end(), [](const torch::Lint& a, const torch::Lint& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.step < b.step;
  });
  return out;
}

}  // namespace pipeloom::study
