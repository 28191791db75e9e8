#pragma once

// PyTorch's verdict on its own schedule files (study/report/torch_page.hpp), asked for by options.

#include <optional>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/options.hpp"
#include "study/report/torch_page.hpp"

namespace pipeloom::cli {

/// The run that loads a file, by the options.
struct LoadChoices {
  std::optional<std::string> load_as;
  std::optional<std::string> target;
};
/// --load-as, --target.
void add_load_options(OptionList& list, LoadChoices& choices);

/// study::examine_torch() for these options. Throws InputError if one is given for another format or does not read.
[[nodiscard]] std::optional<study::TorchFindings> examine_torch(const std::string& text,
                                                                const std::string& name,
                                                                const std::string& format,
                                                                const LoadChoices& load);

/// PyTorch's verdict on a file that our readers refuse, as study::torch_page() gives it; "" if the file is none of PyTorch's, or cannot be
/// read at all.
[[nodiscard]] std::string torch_page_of_unreadable(const InputOptions& input);
/// Errors in the cells of a file of PyTorch's, at most a thousand; none if the file is none of PyTorch's.
[[nodiscard]] std::vector<InputError> torch_cell_errors(const InputOptions& input);

/// Warnings about a file in this format that was written for the lists: PyTorch refuses it, or its class of this name refuses the run, or
/// it holds more than the step that was asked for. `lists` are those of a lowered file for `target`; those of the schedule if it
/// is null. `microbatches` are those of a step; 0 if no configuration says.
[[nodiscard]] std::vector<std::string> torch_warnings(const std::string& format, const std::string& name,
                                                      int microbatches, const Schedule& schedule,
                                                      const ActionLists* lists, torch::Target target);

}  // namespace pipeloom::cli
