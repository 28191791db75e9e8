#pragma once

// The page of a sweep: the answer, not the rows. What is best and what it costs, who wins where, what matters, what has no answer.
// Its size has a bound whatever the number of points.

#include <cstddef>
#include <string>
#include <vector>

#include "study/answers/answers.hpp"
#include "study/document/document.hpp"

namespace pipeloom::study::page {

/// What is asked of a sweep. Everything may be empty.
struct SweepQuestion {
  /// Conditions that all must hold (study/text/expression.hpp) over keys, metrics, 'status' and 'point'.
  std::vector<std::string> where;
  /// The first ranks the points, the second is what it is weighed against; further ones join the Pareto front.
  std::vector<std::string> metrics;
  /// Sides of the winner map, and the key whose values compete in it.
  std::string x;
  std::string y;
  std::string winner;
  /// Best points of each value of this key.
  std::string group_by;
  /// How many of the best points, in all or of each group; 0 is kTop in all and 1 of each group.
  std::size_t top = 0;
  static constexpr std::size_t kTop = 10;
};

/// Sections of a page, for one result. Ids begin with `id`, and pictures' ids too: pages may hold several results.
struct SweepFindings {
  std::string title;
  std::string subtitle;
  std::vector<Block> lead;
  std::vector<Section> sections;
};
/// Throws InputError at --where, --metric, --x, --y, --winner or --group-by for what the result does not have or cannot compute.
[[nodiscard]] SweepFindings sweep_findings(const sweep::ResultTable& table, const std::string& name,
                                           const SweepQuestion& question, const std::string& id = "sweep");

/// The page of one result, or of several, one below the other. `footer` as in Page. REQUIRES: at least one.
[[nodiscard]] Page sweep_page(const std::vector<std::string>& files, const SweepQuestion& question,
                              std::string footer);

}  // namespace pipeloom::study::page
