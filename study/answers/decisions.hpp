#pragma once

// Separates a grid's keys that its reader decides (schedule, shape, options, split of the layers, message plan) from those that are given
// (costs, links, hardware, limits): a point with lower latency is no answer to "which schedule". The table of keys says for each which it is.
// Decisions are ranked over all environments, which are the combinations of the given axes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/sweep/result/table.hpp"

namespace pipeloom::sweep {

/// The value of a decision: the mean of a metric over environments, or the worst of them, each metric by its own direction.
enum class Over : std::uint8_t { Mean, Worst };
/// "mean", "worst".
[[nodiscard]] std::string_view name_of(Over over);

struct Decisions {
  /// A row per decision, in the order of their first points, whose numbers these rows have: keys without those of environments, metrics over all
  /// environments. A metric that is missing in one is missing.
  ResultTable table;
  /// Rows of `table` that have an answer in as many environments as any.
  std::vector<Row> rows;
  std::vector<std::string> keys;  ///< that environments differ in
  std::size_t environments = 0;   ///< of the rows asked about
  std::size_t answered = 0;       ///< environments in which each of `rows` has an answer
};

/// Nullopt if `rows` differ in no axis that is given. `decided`: keys that are decisions whatever the table of keys says. An axis that moves
/// a decision along is one. O(n log n).
[[nodiscard]] std::optional<Decisions> decisions_of(const ResultTable& table, const std::vector<Row>& rows,
                                                    Over over, const std::vector<std::string>& decided);

}  // namespace pipeloom::sweep
