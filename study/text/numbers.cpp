#include "study/text/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"

namespace pipeloom::study {

namespace {

constexpr int kDecimals = 4;

/// Ticks of the decimal place `decimals` after the point.
Ticks decimal_place(TimeUnit unit, int decimals) {
  Ticks place = ticks_per(unit);
  for (int i = 0; i < decimals; ++i) place /= 10;
  return place;
}

}  // namespace

std::string time_with_unit(TickSum time, TimeUnit unit) {
  return time_text(time, unit) + (unit == TimeUnit::Unit ? " units" : "");
}

std::string time_text(TickSum time, TimeUnit unit) {
  const TickSum size = time < 0 ? -time : time;
  if (unit == TimeUnit::Unit) {
    TimeFormat format(unit);
    format.include(size);
    return (time < 0 ? "-" : "") + format.text(size);
  }
  TimeUnit shown = time == 0 ? unit : TimeUnit::Nanosecond;
  // A time that rounds up to 1 of the next unit is shown in that unit.
  for (const TimeUnit larger : {TimeUnit::Microsecond, TimeUnit::Millisecond, TimeUnit::Second})
    if (static_cast<double>(size) >= 0.99995 * static_cast<double>(ticks_per(larger))) shown = larger;
  const double value = to_double(time, shown);
  const int before = std::abs(value) < 10 ? 1 : std::abs(value) < 100 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, 4 - before);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return fmt::format("{} {}", text, name_of(shown));
}

std::string count_text(std::size_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string count_text(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

std::string rate_text(double number) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}};
  for (const auto& [unit, name] : kUnits)
    if (number >= unit) return fmt::format("{:.4g}{}", number / unit, name);
  return number >= 1000 ? count_text(static_cast<std::size_t>(number)) : fmt::format("{:.4g}", number);
}

void TimeFormat::include(TickSum value) {
  largest_ = std::max(largest_, value);
  // The last step is one tick, which divides everything.
  while (value.value() % decimal_place(unit_, exact_decimals_) != 0) ++exact_decimals_;
}

int TimeFormat::decimals() const {
  int allowed = kDecimals;
  for (Ticks one = ticks_per(unit_); largest_ > 0 && largest_ < one; one /= 10) ++allowed;
  return std::min(exact_decimals_, allowed);
}

std::string TimeFormat::text(TickSum value) const {
  // Whole numbers of the last place, rounded half up: a double would lose digits of long runs.
  using Wide = TickSum::Wide;
  const Ticks place = decimal_place(unit_, decimals());
  const Wide rounded = value.value() / place + (value.value() % place * 2 >= place ? 1 : 0);
  const Wide places = ticks_per(unit_) / place;
  return fmt::format("{}.{:0{}}", Wide{rounded / places}, Wide{rounded % places}, decimals());
}

std::optional<Bytes> headroom_of(const MemoryModel& model, const Metrics& metrics) {
  std::optional<Bytes> least;
  for (std::size_t r = 0; r < std::min(model.limit.size(), metrics.ranks.size()); ++r) {
    const Bytes left = model.limit[r] - metrics.ranks[r].memory.peak_bytes;
    if (!least || left < *least) least = left;
  }
  return least;
}

std::string limits_text(const MemoryModel& model) {
  const auto [least, most] = std::minmax_element(model.limit.begin(), model.limit.end());
  const std::string text = memory_text(model, *most);
  return *least == *most ? text : fmt::format("{} to {}", memory_text(model, *least), text);
}

std::string headroom_text(const MemoryModel& model, const Metrics& metrics) {
  const Bytes left = headroom_of(model, metrics).value_or(0);
  return fmt::format("limit {}, {} {}", limits_text(model), left < 0 ? "over by" : "headroom",
                     memory_text(model, std::abs(left)));
}

int parse_count(std::string_view option, const std::string& text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most)
    throw InputError(
        Where{std::string(option)},
        fmt::format("found '{}'; allowed is a whole number from {} to {}", shortened(text, 64), least, most));
  return number;
}

}  // namespace pipeloom::study
