// examine_torch(): one file and every release that may load it.

#include <algorithm>
#include <iterator>

#include "sim/io/formats/torch_csv.hpp"
#include "sim/torch/pairing.hpp"
#include "study/report/torch_page.hpp"

namespace pipeloom::study {
namespace {

using torch::Target;

/// Whether the two load and run every file alike.
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
