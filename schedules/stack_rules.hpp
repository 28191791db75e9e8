#pragma once

// The sizes that other stacks take of a schedule, and the options that make their order of it: what their names bring as Alias::defaults.
//
// Source: tests/golden/stacks, whose README says how each stack was run.

#include <functional>
#include <string>
#include <string_view>

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

/// Sizes p, m and v that a stack's users may write; its own schedules take more.
struct StackRule {
  std::string_view stack;  ///< "ColossalAI", as texts name it
  int least_per_rank = 0;  ///< m >= least_per_rank p + least_more
  int least_more = 1;
  int below_per_rank = 0;     ///< m < below_per_rank p; 0: no such rule
  bool whole_rounds = false;  ///< p divides m
  bool one_round = false;     ///< m = p
  int min_ranks = 1;
  int min_chunks = 1;
  std::string_view variant = {};  ///< that is the stack's order, where the user names none
  /// Further options of the stack's order, where the user gave none; may be null. REQUIRES: the rule holds.
  void (*options)(Params&) = nullptr;
};

/// The defaults of the alias: throws ScheduleError with sizes to try where the rule does not hold, then sets the options.
[[nodiscard]] std::function<void(Params&)> as_in_stack(std::string alias, const StackRule& rule);

/// The alias of this name, in the dialect of the rule's stack.
[[nodiscard]] inline Alias alias(const std::string& name, const StackRule& rule) {
  return {.name = name, .dialect = std::string(rule.stack), .defaults = as_in_stack(name, rule)};
}

/// Of PipelineParallelWithInterleave in Paddle's dynamic graph: groups of p, and the rest of m in the first one.
[[nodiscard]] StackRule paddle_dynamic_groups();

/// The same with PyTorch's rounds of max(1, m div p), which other stacks have too (pytorch_rounds).
[[nodiscard]] Alias alias_with_rounds(std::string name, const StackRule& rule);

}  // namespace pipeloom::schedules
