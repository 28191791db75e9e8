#pragma once

// PyTorch's verdict on its own schedule files, as text: shown next to our verdict.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/actions.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/torch/lowering.hpp"
#include "sim/torch/verdict.hpp"
#include "study/text/finding.hpp"

namespace pipeloom::study {

/// Verdict of one release on a file.
struct ReleaseVerdict {
  torch::Target target = torch::Target::V215;
  torch::Verdict verdict;
  /// Errors in that release although it loads the file; only those that not every release has.
  std::vector<torch::Lint> lints;

  [[nodiscard]] bool ok() const { return verdict.ok() && lints.empty(); }
};

/// One file of PyTorch's, as PyTorch would load and run it.
struct TorchFindings {
  std::string name;
  ActionLists lists;
  torch::LoadingRun run;
  /// Verdicts of all releases, or of the one asked for, oldest first.
  std::vector<ReleaseVerdict> releases;
  /// Verdict of the release that the file seems to be for, run.target: the newest of those that load it without error, else of
  /// those that load it, else of all.
  torch::Verdict verdict;
  /// Lints of that release; none if it refuses the file.
  std::vector<torch::Lint> lints;
  /// Set for the lowered form only.
  std::optional<torch::DryRun> dry_run;
  /// It gets stuck only because receives keep their order: a run that posts them and goes on reaches its end, with every
  /// message where it belongs.
  bool posted_runs = false;

  /// The messages of a lowered file never meet.
  [[nodiscard]] bool hangs() const { return dry_run && dry_run->stuck; }
  /// Number of errors in the actions that are no computations: our verdict, since PyTorch does not check them.
  [[nodiscard]] std::size_t problems() const { return lints.size() + (hangs() ? 1 : 0); }
  [[nodiscard]] bool ok() const { return verdict.ok() && problems() == 0; }
  /// The conditions under which the problems arise: "" everywhere, " with FSDP", " on a communicator that keeps order (NCCL); gloo runs it".
  [[nodiscard]] std::string_view where_wrong() const;
  /// True if PyTorch runs the diagnostic's op a second time without harm: a forward of the first stage in a lowered file.
  [[nodiscard]] bool is_harmless(const Diagnostic& diagnostic) const;
};

/// The form that a format of PyTorch's holds; no value for other formats.
[[nodiscard]] std::optional<torch::Form> torch_form_of(const std::string& format);

/// Nullopt unless the format is one of PyTorch's. `load` is the run that loads the file, its target aside; as the file shows if it is
/// left out. `target` is the one release asked about; all if it is left out. Throws InputError for a text that cannot be read.
[[nodiscard]] std::optional<TorchFindings> examine_torch(const std::string& text, const std::string& name,
                                                         const std::string& format,
                                                         const std::optional<torch::LoadingRun>& load = {},
                                                         std::optional<torch::Target> target = {});

/// PyTorch's verdict on a text that our readers refuse, as torch_page() gives it; "" if it cannot be read at all.
[[nodiscard]] std::string torch_page_of_unreadable(const std::string& text, const std::string& name,
                                                   torch::Form form);

/// "message-order" if only the order of messages is the cause, else "message-hang"; and how its message begins. REQUIRES:
/// findings.hangs().
[[nodiscard]] std::string_view hang_code(const TorchFindings& findings);
[[nodiscard]] std::string hang_text(const TorchFindings& findings);

/// Errors in messages and parameters.
[[nodiscard]] std::vector<Finding> torch_lint(const TorchFindings& findings, const std::string& text);
/// The same, one line each with its place.
[[nodiscard]] std::string torch_problems(const TorchFindings& findings, const std::string& text);
/// A line that begins with "PyTorch 2.14, 2.15: " for each answer that releases give, those that load the file first, and, where none
/// loads it because of a cell, the step grid around that cell; all steps if `everything`.
[[nodiscard]] std::string torch_page(const TorchFindings& findings, bool everything);
/// The same as a member of a report: "torch": {...}.
void write_torch(io::JsonWriter& out, const TorchFindings& findings);

/// Activation slots of each rank by PyTorch's rule, apart and merged per microbatch: two lines.
[[nodiscard]] std::string slots_page(const Schedule& schedule);

}  // namespace pipeloom::study
