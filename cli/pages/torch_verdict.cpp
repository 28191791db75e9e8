#include "cli/pages/torch_verdict.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/pages/lower_options.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/torch_csv.hpp"
#include "sim/io/json/file.hpp"
#include "study/targets/target.hpp"

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

/// The input's text and form, if it is a file of PyTorch's that can be read.
struct TorchText {
  std::string text;
  torch::Form form;
};
std::optional<TorchText> torch_text(const InputOptions& input) {
  if (!input.file) return std::nullopt;
  try {
    std::string text = input.text ? *input.text : io::read_file(*input.file);
    const io::Format* format = input.from ? &io::find_format(*input.from) : io::format_by_content(text);
    const auto form = format != nullptr ? study::torch_form_of(format->name) : std::nullopt;
    if (!form) return std::nullopt;
    return TorchText{std::move(text), *form};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The release of PyTorch that a target loads files with: other frameworks are built on the newest.
torch::Target torch_release(const study::Target& target) {
  return target.block == study::Block::Python ? torch::find_target(target.release) : torch::Target::V215;
}

std::string name_of(const InputOptions& input) {
  return *input.file == "-" ? "standard input" : *input.file;
}

}  // namespace

void add_load_options(OptionList& list, LoadChoices& choices) {
  list.option("--load-as", choices.load_as, "P,V,M",
              "PyTorch's files: the run that loads them, ranks, stages per rank and microbatches; as the "
              "file shows if left out");
  list.option("--target", choices.target, "NAME[-RELEASE]",
              "Whether this framework runs it, and what it has to be told: " + study::target_spellings() +
                  "; without a release the newest. PyTorch's files are loaded by that release of it, by all "
                  "if left out");
}

std::optional<study::TorchFindings> examine_torch(const std::string& text, const std::string& name,
                                                  const std::string& format, const LoadChoices& load) {
  const auto form = study::torch_form_of(format);
  if (!form && load.load_as)
    throw InputError(Where{"--load-as"}, "only PyTorch's schedule files are loaded; leave the option out");
  if (!form) return std::nullopt;
  std::optional<torch::LoadingRun> run;
  if (load.load_as) run = parse_run(*load.load_as, *form);
  std::optional<torch::Target> target;
  if (load.target) target = torch_release(study::target_named(*load.target));
  return study::examine_torch(text, name, format, run, target);
}

std::string torch_page_of_unreadable(const InputOptions& input) {
  const auto file = torch_text(input);
  return file ? study::torch_page_of_unreadable(file->text, name_of(input), file->form) : std::string();
}

std::vector<InputError> torch_cell_errors(const InputOptions& input) {
  const auto file = torch_text(input);
  return file ? io::torch_cell_errors(file->text, name_of(input), file->form) : std::vector<InputError>();
}

std::vector<std::string> torch_warnings(const std::string& format, const std::string& name, int microbatches,
                                        const Schedule& schedule, const ActionLists* lists,
                                        torch::Target target) {
  const auto form = study::torch_form_of(format);
  if (!form) return {};
  std::vector<std::string> out;
  const std::string refusal =
      torch::class_refusal(name, schedule.ranks(), schedule.placement().chunks(), schedule.microbatches());
  if (!refusal.empty()) out.push_back(refusal);
  if (microbatches > 0 && microbatches != schedule.microbatches())
    out.push_back(
        fmt::format("this file holds {} microbatches, the updates of a whole run, which PyTorch refuses in a "
                    "step of {}; in a "
                    "step of {} it makes one update of them",
                    schedule.microbatches(), microbatches, schedule.microbatches()));
  const ActionLists computations = lists == nullptr ? to_actions(schedule) : ActionLists();
  const ActionLists& written = lists == nullptr ? computations : *lists;
  torch::LoadingRun run = torch::loading_run(written, *form);
  run.target = target;
  const torch::Verdict verdict = torch::verdict_of(written, run);
  if (!verdict.ok())
    out.push_back(fmt::format("PyTorch {} refuses this file, {}: {}", torch::name_of(target),
                              verdict.exception, verdict.message));
  else if (const auto lint = torch::forward_order_lint(written, verdict.rank_of_stage))
    out.push_back("PyTorch loads this file and trains wrong: " + lint->message);
  return out;
}

}  // namespace pipeloom::cli
