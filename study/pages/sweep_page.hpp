#pragma once

// The page of a sweep: the answer, not the rows. The best points and their costs, the winners of cells, the keys that matter, points without answer.
// Its size has a bound whatever the number of points.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "study/answers/answers.hpp"
#include "study/answers/decisions.hpp"
#include "study/document/document.hpp"

namespace pipeloom::study::page {

/// Question about a sweep. Everything may be empty.
struct SweepQuestion {
  /// Conditions that all must hold (study/text/expression.hpp) over keys, metrics, 'status' and 'point'.
  std::vector<std::string> where;
  /// The first ranks the points, the second is weighed against it; further ones join the Pareto front.
  std::vector<std::string> metrics;
  /// Sides of the winner map, and the key whose values compete in it.
  std::string x;
  std::string y;
  std::string winner;
  /// The value of a decision whose points differ in costs, links or hardware, and the keys of those that are decisions all the same.
  sweep::Over over = sweep::Over::Mean;
  std::vector<std::string> decided;
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
/// Throws InputError at --where, --metric, --x, --y, --winner, --decide or --group-by for a name or condition that the result
/// does not have or cannot compute.
[[nodiscard]] SweepFindings sweep_findings(const sweep::ResultTable& table, const std::string& name,
                                           const SweepQuestion& question, const std::string& id = "sweep");

/// The page of one result, or of several, one below the other. `footer` as in Page. REQUIRES: at least one.
[[nodiscard]] Page sweep_page(const std::vector<std::string>& files, const SweepQuestion& question,
                              std::string footer);

// Tables of a sweep's page. All have a bounded number of rows and short cells.

inline constexpr std::size_t kMaxTableRows = 1000;

/// Points, counted from 1, in this order: the first few keys that vary, `metrics`, the other keys and metrics, derived keys that vary, the
/// point's number.
[[nodiscard]] PageTable points_table(const sweep::ResultTable& table, const std::vector<sweep::Row>& rows,
                                     const std::vector<std::string>& metrics);
/// The same without numbers, and with the group's value first.
[[nodiscard]] PageTable grouped_table(const sweep::ResultTable& table, const std::vector<sweep::Row>& rows,
                                      std::string_view group_by, const std::vector<std::string>& metrics);
/// points_table() with a caption, and how many further points are equal in `metrics`.
[[nodiscard]] PageTable front_table(const sweep::ResultTable& table,
                                    const std::vector<sweep::FrontPoint>& front,
                                    const std::vector<std::string>& metrics, std::string caption);

[[nodiscard]] PageTable sensitivity_table(const std::vector<sweep::Sensitivity>& found,
                                          std::string_view metric, const sweep::ValueUnits& units);
/// Points of each status.
[[nodiscard]] PageTable status_table(const sweep::ResultTable& table);
/// The most frequent messages, each with its first point.
[[nodiscard]] PageTable error_table(const sweep::ResultTable& table);
/// Keys of the axes and their values.
[[nodiscard]] PageTable axes_table(const sweep::ResultTable& table);
/// "ranks and microbatches change together.", for each zip.
[[nodiscard]] std::vector<std::string> zip_notes(const sweep::ResultTable& table);
/// "Derived: costs.forward, 1, 2.", for each derived key with its values.
[[nodiscard]] std::vector<std::string> derived_notes(const sweep::ResultTable& table);

/// JSON on several lines, cut where it is long.
[[nodiscard]] std::string base_text(const std::string& json);

}  // namespace pipeloom::study::page
