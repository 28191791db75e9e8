// pipeloom estimate MODEL: step time, tokens per second and memory of a model on devices.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/pages/model_options.hpp"
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "study/estimate/estimate_shown.hpp"

namespace pipeloom::cli::commands {
namespace {

struct EstimateOptions {
  ModelOptions model;
  std::optional<std::string> tokens;
  PrintOptions print;
  OutputOptions output;
};

constexpr const char* kEstimateFooter =
    "\nTimes are estimates until they are calibrated; docs/accuracy.md says how near they came to measured "
    "steps. Exit\n"
    "codes: 0 fine, 1 over the memory of a device, 2 wrong input.\n\n"
    "Examples:\n"
    "  pipeloom estimate llama3-70b --hardware h100 --ranks 16 --tp 8 --dp 4 --seq 8192 --global-batch 1024 "
    "--schedule zbv\n"
    "  pipeloom estimate config.json --hardware b200 --ranks 4 --tp 2 --recompute selective --json\n"
    "  pipeloom estimate deepseek-v3 --hardware h800 --ranks 16 --ep 64 --dp 128 --schedule dualpipe "
    "--microbatches 120 \\\n"
    "      --layers 3,4,4,4,4,4,4,4,4,4,4,4,4,4,3,3 --precision fp8 --recompute "
    "layernorm,mla_up_proj,moe_act,shared_experts \\\n"
    "      --set costs.optimizer_bytes=8 --set costs.hidden_collectives=1 --tokens 14.8e12\n"
    "The last is DeepSeek-V3's training as its report describes it, every exchange of experts hidden: 2.66 "
    "million "
    "GPU\nhours were published.";

void add_options(OptionList& list, EstimateOptions& options) {
  list.set_footer(kEstimateFooter);
  add_model_options(list, options.model);
  list.option("--tokens", options.tokens, "N", "Tokens of the whole training: prints GPU hours");
  add_page_options(list, options.print, "What is printed: the tables in a page's format, or JSON");
  add_json_file_options(list, options.print);
  add_output_options(list, options.output);
}

/// "15e12": a number above 0.
std::optional<double> budget_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const double tokens = split_number(*text) ? std::strtod(text->c_str(), nullptr) : 0;
  if (!(tokens > 0) || !std::isfinite(tokens))
    throw InputError(Where{"--tokens"},
                     fmt::format("found '{}'; allowed is a number of tokens above 0, such as 15e12",
                                 shortened(*text, 64)));
  return tokens;
}

ExitCode run_estimate(const EstimateOptions& options) {
  options.print.require_free_file();
  const std::optional<double> budget = budget_of(options.tokens);
  const ModelRequest request = request_of(options.model);
  study::EstimatedRun run = study::estimate_run(request.config, InputOptions().limits(), budget);
  run.origins = request.origins;
  options.output.warn(run.run.warnings);
  print_answer(
      options.print, options.output, [&] { return study::estimate_json(run); },
      [&] { return study::estimate_page(run, options.output.verbose); });
  const std::string over = study::over_limit_text(run);
  if (over.empty()) return ExitCode::Ok;
  say("error: " + over + '\n');
  return ExitCode::AnswerIsNo;
}

}  // namespace

Run estimate(OptionList& list) {
  auto options = std::make_shared<EstimateOptions>();
  add_options(list, *options);
  return [options] { return run_estimate(*options); };
}

}  // namespace pipeloom::cli::commands
