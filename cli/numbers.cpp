#include "cli/numbers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"

namespace pipeloom::cli {
namespace {

/// Factor of a size's suffix, 0 if there is no such suffix.
double suffix_factor(std::string_view suffix) {
  if (suffix.empty() || suffix == "b") return 1;
  constexpr std::string_view kLetters = "kmgtp";
  const auto power = kLetters.find(suffix.front());
  if (power == std::string_view::npos) return 0;
  const std::string_view rest = suffix.substr(1);
  if (rest == "b") return std::pow(1000.0, static_cast<double>(power + 1));
  return rest.empty() || rest == "ib" ? std::pow(1024.0, static_cast<double>(power + 1)) : 0;
}

std::string lower_without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ') out.push_back(lower(c));
  return out;
}

}  // namespace

double parse_size(std::string_view text, std::string_view option) {
  const std::string folded = lower_without_blanks(text);
  double number = 0;
  const auto [end, error] = std::from_chars(folded.data(), folded.data() + folded.size(), number);
  const auto used = static_cast<std::size_t>(end - folded.data());
  const double factor = suffix_factor(std::string_view(folded).substr(used));
  if (error != std::errc{} || !std::isfinite(number) || number * factor < 1)
    throw InputError(Where{std::string(option)},
                     fmt::format("found '{}'; allowed is a size above zero such as 800MB, 8G or 8GiB",
                                 shortened(text, 64)));
  return number * factor;
}

std::string ms(Ticks time) {
  return format_ticks(time, TimeUnit::Millisecond);
}

}  // namespace pipeloom::cli
