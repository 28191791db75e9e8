#include "cli/lower_options.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/options.hpp"
#include "sim/error.hpp"
#include "sim/ids.hpp"

namespace pipeloom::cli {

torch::LowerOptions LowerChoices::read() const {
  torch::LowerOptions options;
  options.merge = merge;
  options.defer_receives = defer_receives;
  if (max_active_stages)
    options.max_active_stages = parse_count("--max-active-stages", *max_active_stages, 1, kMaxIndex);
  if (target) options.target = torch::find_target(*target, Where{"--target"});
  if (allow_swaps && !defer_receives)
    throw InputError(
        Where{"--allow-swaps"},
        "receives are not deferred, so none are swapped; give --defer-receives too, or leave it out");
  if (const std::string text = torch::refusal(options); !text.empty())
    throw InputError(Where{"--target"}, text);
  return options;
}

void add_lower_options(CLI::App& app, LowerChoices& choices) {
  app.add_option("--target", choices.target,
                 "torch-comms: PyTorch release to lower for; legacy is mid-2025, default 2.15")
      ->type_name(kTargetType);
  app.add_option("--max-active-stages", choices.max_active_stages,
                 "torch-comms: stages of a rank whose parameters are gathered at a time; 3 before 2.15")
      ->type_name("N");
  app.add_flag("--defer-receives", choices.defer_receives,
               "torch-comms: receives where they are needed, not where their sender ran; since 2.13");
  app.add_flag("--allow-swaps", choices.allow_swaps,
               "torch-comms: write deferred receives even where messages are received as others");
  app.add_flag("--merge", choices.merge, "torch-comms: I and W next to each other become B first");
}

}  // namespace pipeloom::cli
