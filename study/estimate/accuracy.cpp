#include "study/estimate/accuracy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace pipeloom::study {
namespace {

/// Published runs, and by how much the steps estimated for them were off in the mean.
struct Band {
  std::string_view runs;
  int percent;
  std::array<std::string_view, 3> hardware;  ///< names in configs/hardware
};
constexpr std::array<Band, 4> kBands = {{
    {"B200, one node", 2, {"b200"}},
    {"H100, B200 and GB200, dense models in 8 bits", 4, {"h100", "b200", "gb200"}},
    {"A100, zero-bubble runs", 5, {"a100"}},
    {"A100, many nodes", 9, {"a100"}},
}};
constexpr int kWorst = 42;  ///< percent, of all rows of dense models
/// Where experts' tokens are kept: twice as fast as measured.
constexpr std::string_view kExpertsOn = "h100";

bool is_on(const Band& band, std::string_view hardware) {
  return std::ranges::find(band.hardware, hardware) != band.hardware.end();
}

std::vector<std::string> texts_of(std::span<const Band> bands, std::string_view hardware) {
  std::vector<std::string> out;
  for (const Band& band : bands)
    if (hardware.empty() || is_on(band, hardware))
      out.push_back(fmt::format("{} % ({})", band.percent, band.runs));
  return out;
}

}  // namespace

std::string accuracy_text() {
  const std::vector<std::string> bands = texts_of(kBands, "");
  return fmt::format(
      "estimate, not measured: such numbers came within {} and {} of measured steps in the mean, {} % at "
      "worst, but were half of them for experts on H100; one measured step and `pipeloom calibrate` bring "
      "this to 1 or 2 %",
      fmt::join(bands.begin(), bands.end() - 1, ", "), bands.back(), kWorst);
}

std::string accuracy_on(std::string_view hardware, bool experts) {
  const std::vector<std::string> bands = texts_of(kBands, hardware);
  std::string out = bands.empty()
                        ? fmt::format("within {} to {} % on other devices, none was held against a run on {}",
                                      kBands.front().percent, kBands.back().percent, hardware)
                        : fmt::format("within {} of measured steps in the mean", fmt::join(bands, " and "));
  out += fmt::format(", {} % at worst", kWorst);
  if (experts && hardware == kExpertsOn) out += ", and to half of them for experts";
  return out;
}

}  // namespace pipeloom::study
