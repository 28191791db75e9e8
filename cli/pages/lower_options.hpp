#pragma once

// Options of formats that are lowered: for which PyTorch release, and how.

#include <optional>
#include <string>

#include "cli/option_list.hpp"
#include "sim/torch/lowering.hpp"

namespace pipeloom::cli {

struct LowerChoices {
  std::optional<std::string> target;
  std::optional<std::string> max_active_stages;
  std::optional<std::string> unshard_lookahead;
  std::optional<std::string> max_outstanding_sends;
  bool defer_reduce_grad_wait = false;
  bool defer_receives = false;
  bool allow_swaps = false;
  bool merge = false;

  [[nodiscard]] bool given() const {
    return target || max_active_stages || unshard_lookahead || max_outstanding_sends ||
           defer_reduce_grad_wait || defer_receives || allow_swaps || merge;
  }
  /// Without --target the newest release. Throws InputError at the option that is wrong.
  [[nodiscard]] torch::LowerOptions read() const;
};

/// --target, --max-active-stages, --unshard-lookahead, --max-outstanding-sends, --defer-reduce-grad-wait, --defer-receives,
/// --allow-swaps, --merge.
void add_lower_options(OptionList& list, LowerChoices& choices);
/// How help spells the values of --target.
inline constexpr const char* kTargetType = "legacy|2.10|2.13|2.14|2.15";

}  // namespace pipeloom::cli
