#pragma once

// Layouts as JSON and as a page: what `pipeloom plan --gpus` prints.

#include <string>

#include "study/document/document.hpp"
#include "study/layouts/layouts.hpp"

namespace pipeloom::study {

/// Shares of a step that are not work of layers.
struct Exposed {
  double tensor = 0;  ///< exchanges that nothing hides, the mean of the ranks
  double context = 0;
  double expert = 0;
  double pipeline = 0;  ///< idle time
  double data = 0;      ///< reduction of gradients
  double optimizer = 0;
};
/// REQUIRES: the candidate's run has a model.
[[nodiscard]] Exposed exposed_of(const PlanCandidate& candidate);

/// Ends in a newline; keys as the schema `plan` says. `orders`: the queues of the candidates too. `seconds`: that the search took.
[[nodiscard]] std::string layouts_json(const LayoutPlan& plan, bool orders, double seconds);

/// The table of layouts, how sure it is, and what others would give.
[[nodiscard]] page::Page layouts_page(const LayoutPlan& plan, double seconds);

}  // namespace pipeloom::study
