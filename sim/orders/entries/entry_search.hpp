#pragma once

// Orders with pairs and copies, found by changing orders entry by entry: from orders that policies made, and from published ones.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/orders/order.hpp"

namespace pipeloom::orders {

/// An order, and how many entries ahead of its use a reload is issued.
struct EntryStart {
  Order order;
  std::int32_t prefetch = 2;

  friend bool operator==(const EntryStart&, const EntryStart&) = default;
};

struct EntrySearchOptions {
  /// Ops to be timed by one of four chains of the search, as SearchOptions::work.
  std::int64_t work = 10'000'000;
  std::uint64_t seed = 1;
  int threads = 1;
  std::size_t runners_up = 0;  ///< as SearchOptions::runners_up
  /// Asked now and then with the best value so far; false ends the search with what it has. May be empty.
  std::function<bool(Ticks)> progress = {};
};

struct FoundEntries {
  EntryStart best;
  Ticks value = kMaxTicks;  ///< of the best, with its pairs and copies
  std::vector<EntryStart> runners_up =
      {};  ///< best first, all different, all of them fit, within 2 % of the value
};

/// The best order found from any of these; nothing where none fits, or all hang. With copies every rank keeps its limit at every time. Equal inputs
/// give equal orders on any number of threads. REQUIRES: a problem whose backwards are cut; starts that have every letter of it m times.
[[nodiscard]] std::optional<FoundEntries> search_entries(const Problem& problem,
                                                         const std::vector<EntryStart>& starts,
                                                         const EntrySearchOptions& options);

}  // namespace pipeloom::orders
