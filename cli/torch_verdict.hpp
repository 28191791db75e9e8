#pragma once

// PyTorch's verdict on its own schedule files (study/torch_page.hpp), asked for by options.

#include <optional>
#include <string>

#include "cli/options.hpp"
#include "study/torch_page.hpp"

namespace pipeloom::cli {

/// study::examine_torch() for the run "P,V,M" of --load-as. Throws InputError if that is given for another format or does not read.
[[nodiscard]] std::optional<study::TorchFindings> examine_torch(const std::string& text,
                                                                const std::string& name,
                                                                const std::string& format,
                                                                const std::optional<std::string>& load);

/// PyTorch's verdict on a file that our readers refuse, as study::torch_page() gives it; "" if the file is none of PyTorch's, cannot be
/// read at all, or came from standard input.
[[nodiscard]] std::string torch_page_of_unreadable(const InputOptions& input);

}  // namespace pipeloom::cli
