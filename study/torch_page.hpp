#pragma once

// What PyTorch would make of its own schedule files, as text: said next to our verdict.

#include <optional>
#include <string>
#include <vector>

#include "sim/actions.hpp"
#include "sim/torch/verdict.hpp"
#include "study/finding.hpp"

namespace pipeloom::study {

/// One file of PyTorch's, as PyTorch would load and run it.
struct TorchFindings {
  std::string name;
  ActionLists lists;
  torch::LoadingRun run;
  torch::Verdict verdict;
  /// Of the lowered form only.
  std::vector<torch::Lint> lints;
  std::optional<torch::DryRun> dry_run;

  /// The messages of a lowered file never meet.
  [[nodiscard]] bool hangs() const { return dry_run && dry_run->stuck; }
  /// What is wrong with the actions that are no computations: our verdict, since PyTorch does not look.
  [[nodiscard]] std::size_t problems() const { return lints.size() + (hangs() ? 1 : 0); }
  [[nodiscard]] bool ok() const { return verdict.ok() && problems() == 0; }
};

/// The form that a format of PyTorch's holds; no value for other formats.
[[nodiscard]] std::optional<torch::Form> torch_form_of(const std::string& format);

/// Nothing unless the format is one of PyTorch's. `load` is the run that loads the file; as the file shows if it is left out. Throws
/// InputError for a text that cannot be read.
[[nodiscard]] std::optional<TorchFindings> examine_torch(const std::string& text, const std::string& name,
                                                         const std::string& format,
                                                         const std::optional<torch::LoadingRun>& load = {});

/// PyTorch's verdict on a text that our readers refuse, as torch_page() gives it; "" if it cannot be read at all.
[[nodiscard]] std::string torch_page_of_unreadable(const std::string& text, const std::string& name,
                                                   torch::Form form);

/// What is wrong with messages and parameters.
[[nodiscard]] std::vector<Finding> torch_lint(const TorchFindings& findings, const std::string& text);
/// The same, one line each with its place.
[[nodiscard]] std::string torch_problems(const TorchFindings& findings, const std::string& text);
/// A line that begins with "PyTorch: " and, where it refuses a cell, its step grid around that cell; all steps if `everything`.
[[nodiscard]] std::string torch_page(const TorchFindings& findings, bool everything);
/// The same as a JSON member: `,\n  "torch": {...}`.
[[nodiscard]] std::string torch_json(const TorchFindings& findings);

/// Activation slots of each rank by PyTorch's rule, apart and merged per microbatch: two lines.
[[nodiscard]] std::string slots_page(const Schedule& schedule);

}  // namespace pipeloom::study
