#include "cli/torch_verdict.hpp"

#include <fmt/format.h>

#include "sim/io/file.hpp"
#include "sim/io/formats.hpp"

namespace pipeloom::cli {
namespace {

/// "P,V,M".
torch::LoadingRun parse_run(const std::string& text, torch::Form form) {
  const auto first = text.find(',');
  const auto second = first == std::string::npos ? first : text.find(',', first + 1);
  if (second == std::string::npos)
    throw InputError(Where{"--load-as"},
                     fmt::format("'{}' is not P,V,M: ranks, stages per rank and microbatches, such as 4,2,8",
                                 shortened(text, 60)));
  torch::LoadingRun run;
  run.form = form;
  run.ranks = parse_count("--load-as", text.substr(0, first), 1, kMaxIndex);
  const int chunks = parse_count("--load-as", text.substr(first + 1, second - first - 1), 1, kMaxIndex);
  run.microbatches = parse_count("--load-as", text.substr(second + 1), 1, kMaxIndex);
  if (static_cast<std::int64_t>(run.ranks) * chunks > kMaxIndex)
    throw InputError(Where{"--load-as"}, fmt::format("more than {} stages; take smaller numbers", kMaxIndex));
  run.stages = run.ranks * chunks;
  return run;
}

}  // namespace

std::optional<study::TorchFindings> examine_torch(const std::string& text, const std::string& name,
                                                  const std::string& format,
                                                  const std::optional<std::string>& load) {
  const auto form = study::torch_form_of(format);
  if (!form && load)
    throw InputError(Where{"--load-as"}, "only PyTorch's schedule files are loaded; leave the option out");
  if (!form) return std::nullopt;
  return study::examine_torch(text, name, format,
                              load ? std::optional(parse_run(*load, *form)) : std::nullopt);
}

std::string torch_page_of_unreadable(const InputOptions& input) {
  if (!input.file || *input.file == "-") return {};
  try {
    const std::string text = io::read_file(*input.file);
    const io::Format* format = input.from ? &io::find_format(*input.from) : io::format_by_content(text);
    const auto form = format != nullptr ? study::torch_form_of(format->name) : std::nullopt;
    return form ? study::torch_page_of_unreadable(text, *input.file, *form) : std::string();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace pipeloom::cli
