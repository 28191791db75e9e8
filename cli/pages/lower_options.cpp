#include "cli/pages/lower_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include <pipeloom/error.hpp>
#include <pipeloom/op.hpp>
#include "cli/options.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::cli {

namespace {

/// "full", "auto", or a number per rank: "1,2,3".
torch::Lookahead parse_lookahead(std::string_view text) {
  constexpr const char* kOption = "--unshard-lookahead";
  if (text == "full") return {};
  if (text == "auto") return {torch::Lookahead::Kind::Auto};
  torch::Lookahead out{torch::Lookahead::Kind::ByRank};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string number(text.substr(begin, end - begin));
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos)
      throw InputError(Where{kOption},
                       fmt::format("found '{}'; allowed are full, auto, and a whole number for each "
                                   "rank, such as 1,2,3,3",
                                   shortened(text, 60)));
    out.by_rank.push_back(parse_count(kOption, number, 1, kMaxIndex));
    begin = end + 1;
  }
  return out;
}

}  // namespace

torch::LowerOptions LowerChoices::read() const {
  torch::LowerOptions options;
  options.merge = merge;
  options.defer_receives = defer_receives;
  if (max_active_stages)
    options.max_active_stages = parse_count("--max-active-stages", *max_active_stages, 1, kMaxIndex);
  if (unshard_lookahead) options.lookahead = parse_lookahead(*unshard_lookahead);
  if (max_outstanding_sends)
    options.max_open_sends = parse_count("--max-outstanding-sends", *max_outstanding_sends, 1, kMaxIndex);
  options.defer_reduce_waits = defer_reduce_grad_wait;
  if (target) options.target = torch::find_target(*target, Where{"--target"});
  if (allow_swaps && !defer_receives)
    throw InputError(
        Where{"--allow-swaps"},
        "receives are not deferred, so none are swapped; give --defer-receives too, or leave it out");
  // A refusal begins with its subject, or with the release.
  if (const std::string text = torch::refusal(options); !text.empty())
    throw InputError(Where{text.starts_with("unshard_lookahead") ? "--unshard-lookahead" : "--target"}, text);
  return options;
}

void add_lower_options(OptionList& list, LowerChoices& choices) {
  list.option("--target", choices.target, kTargetType,
              "torch-comms: PyTorch release to lower for; legacy is mid-2025, default 2.15");
  list.option("--max-active-stages", choices.max_active_stages, "N",
              "torch-comms: stages of a rank whose parameters are gathered at a time; 3 before 2.15");
  list.option("--unshard-lookahead", choices.unshard_lookahead, "full|auto|N,N,..",
              "torch-comms: stages ahead that are gathered: full, auto, or a number per rank; since 2.15");
  list.option("--max-outstanding-sends", choices.max_outstanding_sends, "N",
              "torch-comms: sends of a rank that may be open at a time; since 2.15");
  list.flag("--defer-reduce-grad-wait", choices.defer_reduce_grad_wait,
            "torch-comms: wait for a reduction before the rank's next one; since 2.15");
  list.flag("--defer-receives", choices.defer_receives,
            "torch-comms: receives where they are needed, not where their sender ran; since 2.13");
  list.flag("--allow-swaps", choices.allow_swaps,
            "torch-comms: write deferred receives even where messages are received as others");
  list.flag("--merge", choices.merge, "torch-comms: I and W next to each other become B first");
}

}  // namespace pipeloom::cli
