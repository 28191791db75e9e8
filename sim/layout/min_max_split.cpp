#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>
#include "sim/layout/layer_split.hpp"

namespace pipeloom::layout {
namespace {

constexpr std::int64_t kMostCells = std::int64_t{1} << 24;
constexpr std::int64_t kMostWeight = std::int64_t{1} << 62;

/// sums[j]: weight of the layers before j.
std::vector<std::int64_t> prefix_sums(const LayerWeights& weights) {
  std::vector<std::int64_t> sums = {0};
  sums.reserve(weights.layers.size() + 1);
  const auto require_small = [](std::int64_t weight, std::int64_t before) {
    if (weight < 0 || weight > kMostWeight - before)
      throw InputError(
          fmt::format("a weight of {} is negative, or the sum of the weights reaches 2^62", weight));
  };
  require_small(weights.embedding, 0);
  require_small(weights.output, weights.embedding);
  for (const std::int64_t weight : weights.layers) {
    require_small(weight, weights.embedding + weights.output + sums.back());
    sums.push_back(sums.back() + weight);
  }
  return sums;
}

/// Cuts layers into stages from left to right: after k stages, best_[j] is the smallest largest sum of the first j layers
/// in k stages, and begins_[k][j] the earliest begin of the last of them that reaches it.
class Cutter {
 public:
  Cutter(const LayerWeights& weights, int stages)
      : sums_(prefix_sums(weights)), weights_(weights), stages_(stages) {
    for (const std::int64_t sum : sums_) best_.push_back(weights.embedding + sum);
  }

  std::vector<int> cut() {
    for (int k = 2; k <= stages_; ++k) add_stage(k);
    std::vector<int> layers(static_cast<std::size_t>(stages_));
    std::size_t end = sums_.size() - 1;
    for (std::size_t k = layers.size(); k-- > 1;) {
      const std::size_t begin = begins_[k - 1][end];
      layers[k] = static_cast<int>(end - begin);
      end = begin;
    }
    layers.front() = static_cast<int>(end);
    return layers;
  }

 private:
  /// Stage k ends at layer j. As its begin i moves right, what is before it grows and what is in it shrinks: the smallest
  /// maximum is where they cross.
  void add_stage(int k) {
    const bool is_last = k == stages_;
    // The stages between the first and this one have a layer each.
    const auto least = static_cast<std::size_t>(k - 2);
    std::vector<std::int64_t> best(sums_.size(), kMostWeight);
    std::vector<std::uint32_t>& begins = begins_.emplace_back(sums_.size(), 0);
    for (std::size_t j = is_last ? sums_.size() - 1 : least + 1; j < sums_.size(); ++j) {
      const std::int64_t extra = is_last ? weights_.output : 0;
      const auto in_it = [&](std::size_t i) { return sums_[j] - sums_[i] + extra; };
      const std::size_t last_begin = is_last ? j : j - 1;
      const std::size_t crossing =
          first_true(least, last_begin, [&](std::size_t i) { return best_[i] >= in_it(i); });
      std::int64_t value = std::max(best_[crossing], in_it(crossing));
      if (crossing > least) value = std::min(value, std::max(best_[crossing - 1], in_it(crossing - 1)));
      best[j] = value;
      // Before the crossing the maximum only falls, so the first begin that has the value is the earliest.
      begins[j] = static_cast<std::uint32_t>(
          first_true(least, crossing, [&](std::size_t i) { return std::max(best_[i], in_it(i)) <= value; }));
    }
    best_ = std::move(best);
  }

  /// The first i in [low, high] for which `holds`, high if there is none. REQUIRES: once true, true from there on.
  template <class Holds>
  static std::size_t first_true(std::size_t low, std::size_t high, const Holds& holds) {
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (holds(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  std::vector<std::int64_t> sums_;
  const LayerWeights& weights_;
  int stages_;
  std::vector<std::int64_t> best_;
  std::vector<std::vector<std::uint32_t>> begins_;
};

}  // namespace

std::vector<int> min_max_split(const LayerWeights& weights, int stages) {
  const auto layers = static_cast<std::int64_t>(weights.layers.size());
  if (stages < 1) throw InputError(fmt::format("the number of stages is {}; it must be 1 or more", stages));
  if (stages - 2 > layers)
    throw InputError(fmt::format(
        "{} stages need {} layers or more, as only the first and the last may have none; the model has "
        "{}: take fewer stages",
        stages, stages - 2, layers));
  if (stages * (layers + 1) > kMostCells)
    throw InputError(
        fmt::format("{} stages of {} layers are too many for the min-max split, which takes at most "
                    "{} stages times layers",
                    stages, layers, kMostCells));
  return Cutter(weights, stages).cut();
}

std::vector<std::int64_t> stage_weights(const LayerWeights& weights,
                                        const std::vector<int>& layers_per_stage) {
  const std::vector<std::int64_t> before = prefix_sums(weights);
  std::vector<std::int64_t> sums;
  std::size_t layer = 0;
  for (const int count : layers_per_stage) {
    const std::size_t end = layer + static_cast<std::size_t>(count);
    sums.push_back(before[end] - before[layer]);
    layer = end;
  }
  sums.front() += weights.embedding;
  sums.back() += weights.output;
  return sums;
}

}  // namespace pipeloom::layout
