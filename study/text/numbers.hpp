#pragma once

// Numbers as people write and read them; sizes are in sim/base/number_text.hpp.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/units.hpp>
#include "sim/base/number_text.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/memory.hpp"

namespace pipeloom::study {

/// Text in JSON for a number that is not known.
inline constexpr std::string_view kNoValue = "null";

/// "4.734 s", "33.5 ms": four digits that count, in the largest unit that leaves at least one in front of the point; "33.0" for the abstract
/// unit. May be negative.
[[nodiscard]] std::string time_text(TickSum time, TimeUnit unit);
/// The same in a sentence, where no head says that a unit is abstract: "33.0 units", "33.5 ms".
[[nodiscard]] std::string time_with_unit(TickSum time, TimeUnit unit);

/// "65,536".
[[nodiscard]] std::string count_text(std::size_t count);
/// "1 rank", "4 ranks": the number with its noun, in the plural where that is right.
[[nodiscard]] std::string count_text(std::size_t count, std::string_view noun);

/// A whole number from `least` to `most`. Throws InputError at `option` for anything else.
[[nodiscard]] int parse_count(std::string_view option, const std::string& text, int least, int most);

/// "8.03 B", "12.5 M", "4,321": four digits that count, as people write parameters, tokens and rates of them.
[[nodiscard]] std::string rate_text(double number);

/// Times of one table with the same number of decimals, so that their points align.
///
///   TimeFormat format(TimeUnit::Millisecond);
///   format.include(a); format.include(b);     // all values first
///   format.text(a);                           // "33.500"
///
/// As many decimals as the values need, from one to four, and more only if all values are below one: the largest then
/// has four significant digits. The report has all digits.
class TimeFormat {
 public:
  explicit TimeFormat(TimeUnit unit) : unit_(unit) {}
  /// REQUIRES: value >= 0.
  void include(TickSum value);
  [[nodiscard]] std::string text(TickSum value) const;

 private:
  [[nodiscard]] int decimals() const;

  TimeUnit unit_;
  int exact_decimals_ = 1;
  TickSum largest_;
};

// The headroom of limits, as text for people (sim/memory.hpp).

/// Headroom of the rank that has least: its limit minus the bytes that it holds, which may be negative; nullopt without a limit.
[[nodiscard]] std::optional<Bytes> headroom_of(const MemoryModel& model, const Metrics& metrics);
/// "85.9 GB (80.0 GiB)", or the smallest and the largest where ranks differ. REQUIRES: a limit.
[[nodiscard]] std::string limits_text(const MemoryModel& model);
/// "limit 85.9 GB (80.0 GiB), headroom 4.8 GB (4.5 GiB)", or "over by" where a rank holds more. REQUIRES: a limit.
[[nodiscard]] std::string headroom_text(const MemoryModel& model, const Metrics& metrics);

}  // namespace pipeloom::study
