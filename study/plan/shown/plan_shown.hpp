#pragma once

// A plan as JSON and as a page: what `pipeloom plan` prints.

#include <functional>
#include <span>
#include <string>

#include "sim/io/json/json_writer.hpp"
#include "study/document/document.hpp"
#include "study/plan/plan.hpp"
#include "study/targets/verdict.hpp"

namespace pipeloom::study {

struct PlanStyle {
  std::size_t top = 10;     ///< candidates that are shown
  bool everything = false;  ///< every rejected schedule, not only those over the limit
};

/// Members that a plan's JSON has in addition; either may be empty.
struct PlanMembers {
  std::function<void(io::JsonWriter& out, std::size_t candidate)> of_candidate = {};
  std::function<void(io::JsonWriter& out)> of_plan = {};
};

/// Ends in a newline; keys as the schema `plan` says. `orders`: the queues of the candidates too.
[[nodiscard]] std::string plan_json(const Plan& plan, std::size_t top, bool orders,
                                    const PlanMembers& more = {});

/// The table of candidates, those that lost and why, what would help.
[[nodiscard]] page::Page plan_page(const Plan& plan, const PlanStyle& style);

/// Section of lines to copy for the winner, of at most `width` columns where they can be broken: what each target is told, or why it does not
/// run it; then its layers and which stages recompute or offload, where these are chosen or given.
[[nodiscard]] page::Section paste_section(const PlanCandidate& winner,
                                          std::span<const TargetVerdict> verdicts, int width);

}  // namespace pipeloom::study
