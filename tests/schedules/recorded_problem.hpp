#pragma once

// Recorded cases of golden/zerobubble, and of the whole grid that they are from, as problems of orders.

#include <optional>
#include <string>
#include <vector>

#include "sim/orders/order.hpp"

namespace pipeloom::recorded {

struct OrderCase {
  std::string id;
  std::string schedule;       ///< "ILP" for cases that name none
  bool linear = false;        ///< one stage a rank, under a limit that counts bytes
  bool fused = false;         ///< its backwards are whole
  bool limited = false;       ///< a limit was stated; else the problem's is what the recorded order held
  bool proven = false;        ///< an integer program's solver said that its cost is the least
  orders::Problem problem;    ///< under the window objective
  std::optional<Ticks> cost;  ///< the longest window of the recorded order
  std::optional<Ticks> makespan;
  std::optional<Ticks> least;       ///< of all recorded costs, of whatever made them
  std::vector<std::string> packed;  ///< orders by rank; empty where none is recorded

  /// The limit in activations of a stage, per rank: 1 is a rank's share of room for as many as there are ranks.
  [[nodiscard]] double share() const;
  /// Its recorded order; nothing where it has none, or where its backwards are whole.
  [[nodiscard]] std::optional<orders::Order> order() const;
};

/// The cases with a cost of a JSON text: a list, or an object whose `cases` is one.
std::vector<OrderCase> order_cases(const std::string& json_text);
/// Those of golden/zerobubble/<file>.json.
std::vector<OrderCase> golden_order_cases(const std::string& file);
/// Those of all JSON files of a folder that have `cases`.
std::vector<OrderCase> order_cases_in(const std::string& folder);

}  // namespace pipeloom::recorded
