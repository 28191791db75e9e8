#include "sim/engine/noise_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <pipeloom/error.hpp>

namespace pipeloom {
namespace {

constexpr double kMaxPauses = 1e10;
constexpr std::size_t kFactors = std::size_t{1} << kFactorBits;

/// The value that a standard normal variable is below in a share `p` of draws. Acklam's rational approximation, relative error 1.2e-9.
double normal_quantile(double p) {
  constexpr std::array<double, 6> a = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                       1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array<double, 5> b = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                                       6.680131188771972e+01, -1.328068155288572e+01};
  constexpr std::array<double, 6> c = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                       -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array<double, 4> d = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                       3.754408661907416e+00};
  constexpr double kTail = 0.02425;
  const auto tail = [&](double q) {
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  };
  if (p < kTail) return tail(std::sqrt(-2 * std::log(p)));
  if (p > 1 - kTail) return -tail(std::sqrt(-2 * std::log(1 - p)));
  const double q = p - 0.5;
  const double r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

/// splitmix64: seeds of scenarios that have nothing in common.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

}  // namespace

std::vector<double> noise_factors(const Noise& noise) {
  std::vector<double> out(kFactors, 1.0);
  const double sigma = static_cast<double>(noise.sigma) / static_cast<double>(kUnitScale);
  for (std::size_t i = 0; i < kFactors; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(kFactors);
    switch (noise.model) {
      case NoiseModel::Constant:
      case NoiseModel::Hiccup:
        break;
      case NoiseModel::Normal:
        out[i] = std::max(0.0, 1 + sigma * normal_quantile(share));
        break;
      case NoiseModel::Lognormal:
        out[i] = std::exp(sigma * normal_quantile(share));
        break;
      case NoiseModel::Empirical:
        out[i] =
            static_cast<double>(
                noise.factors[static_cast<std::size_t>(share * static_cast<double>(noise.factors.size()))]) /
            static_cast<double>(kUnitScale);
        break;
    }
  }
  // Rounded, so that the last digit of a mathematics library does not show.
  for (double& factor : out) factor = std::ldexp(std::nearbyint(std::ldexp(factor, 30)), -30);
  return out;
}

std::uint64_t scenario_stream(std::uint64_t seed, int index) {
  return mixed(mixed(seed) + static_cast<std::uint64_t>(index));
}

void refuse_noise() {
  throw InputError(
      "with costs.noise a step may take more than 2^62 ticks; use less noise or a larger time unit");
}

void require_few_pauses(const Noise& noise, double busy, int count) {
  const double pauses = busy / static_cast<double>(noise.period) * count;
  if (pauses > kMaxPauses)
    throw InputError(
        fmt::format("costs.noise means {:.1e} pauses in all scenarios; at most {:.0e} are simulated: use a "
                    "longer period or fewer scenarios",
                    pauses, kMaxPauses));
}

Ticks first_pause(const Noise& noise, Rank rank, std::uint64_t& stream) {
  const auto phase = static_cast<Ticks>((next_draw(stream) >> 1) % static_cast<std::uint64_t>(noise.period));
  const bool has_them =
      noise.ranks.empty() || std::find(noise.ranks.begin(), noise.ranks.end(), rank) != noise.ranks.end();
  return has_them ? phase : kMaxTicks;
}

}  // namespace pipeloom
