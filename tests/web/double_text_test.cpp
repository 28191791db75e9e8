// Texts of doubles where the library lacks them, against the library that has them.

#include "web/compat/double_text.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "support/catch.hpp"

namespace pipeloom::double_text_test {
namespace {

using Limits = std::numeric_limits<double>;

std::string library_text(double value, std::chars_format format) {
  std::array<char, 512> text{};
  const auto done = format == std::chars_format{}
                        ? std::to_chars(text.data(), text.data() + text.size(), value)
                        : std::to_chars(text.data(), text.data() + text.size(), value, format);
  REQUIRE(done.ec == std::errc());
  return {text.data(), done.ptr};
}

/// Whole numbers, halves, powers of ten and two with their neighbours, the ends of the range, and doubles of any bits.
std::vector<double> sample() {
  std::vector<double> out = {
      0.0, 1.0, 123456.0, 1234567.0, Limits::min(), Limits::max(), Limits::denorm_min()};
  for (int power = -308; power <= 308; ++power) {
    const double ten = std::pow(10.0, power);
    out.insert(out.end(), {ten, std::nextafter(ten, 0.0), std::nextafter(ten, Limits::infinity()), 1.5 * ten,
                           123.0 * ten});
  }
  for (int power = 40; power < 70; ++power) out.push_back(std::ldexp(1.0, power) + 3);
  std::mt19937_64 random(7);
  std::erase_if(out, [](double value) { return !std::isfinite(value); });
  while (out.size() < 200'000) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) out.push_back(value);
    out.push_back(static_cast<double>(static_cast<std::int64_t>(random() >> 20)) / 1000.0);
  }
  return out;
}

}  // namespace

TEST_CASE("doubles are written as GNU's library writes them", "[double_text]") {
  for (const std::chars_format format :
       {std::chars_format{}, std::chars_format::scientific, std::chars_format::fixed}) {
    std::size_t different = 0;
    for (const double value : sample())
      for (const double number : {value, -value})
        if (compat::double_text(number, format) != library_text(number, format)) {
          ++different;
          CAPTURE(number);
          CHECK(compat::double_text(number, format) == library_text(number, format));
          REQUIRE(different < 5);
        }
    CHECK(different == 0);
  }
}

TEST_CASE("doubles are read as GNU's library reads them", "[double_text]") {
  std::vector<std::string> texts = {"",   "-",      ".",     "-.5",   "5.",  "1e",     "1e+",   "1e5x",
                                    "+1", " 1",     "1e400", "0e999", "-0",  "1e-400", "00012", "1.5.5",
                                    "e5", "1e0005", "0x10",  "1E-3",  "-1e", "1e-5-"};
  for (const double value : sample()) texts.push_back(library_text(value, {}) + "x");
  for (const std::string& text : texts) {
    double expected = -7;
    const auto known = std::from_chars(text.data(), text.data() + text.size(), expected);
    const compat::ReadDouble read = compat::read_double(text);
    if (read.length == static_cast<std::size_t>(known.ptr - text.data()) && read.error == known.ec &&
        (known.ec != std::errc() ||
         std::bit_cast<std::uint64_t>(read.value) == std::bit_cast<std::uint64_t>(expected)))
      continue;
    CAPTURE(text, read.length, read.value, expected);
    CHECK(read.error == known.ec);
    CHECK(read.length == static_cast<std::size_t>(known.ptr - text.data()));
    CHECK(read.value == expected);
  }
  CHECK(compat::read_double("inf").length == 0);
}

}  // namespace pipeloom::double_text_test
