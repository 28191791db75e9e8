#include "sim/layout/layer_split.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <pipeloom/error.hpp>
#include <pipeloom/op.hpp>
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::layout::layer_split_test {
namespace {

using Catch::Matchers::Contains;
using Layers = std::vector<int>;

struct Cut {
  std::int64_t maximum = 0;
  Layers layers;
};

/// The rule in words: try every begin of the last stage, first things first, with the best cut of what is before it.
Cut best_by_trial(const LayerWeights& weights, int stages, int count, bool with_output) {
  const auto sum = [&](int begin, int end) {
    return std::accumulate(weights.layers.begin() + begin, weights.layers.begin() + end, std::int64_t{0});
  };
  const std::int64_t output = with_output ? weights.output : 0;
  if (stages == 1) return {weights.embedding + sum(0, count) + output, {count}};
  Cut best{.maximum = std::numeric_limits<std::int64_t>::max(), .layers = {}};
  // Every stage but the first and the one with the output has a layer.
  for (int begin = stages - 2; begin <= (with_output ? count : count - 1); ++begin) {
    Cut cut = best_by_trial(weights, stages - 1, begin, false);
    cut.maximum = std::max(cut.maximum, sum(begin, count) + output);
    cut.layers.push_back(count - begin);
    if (cut.maximum < best.maximum) best = cut;
  }
  return best;
}

}  // namespace

TEST_CASE("weighted split: the cases of torchtitan's tests") {
  CHECK(weighted_split({4, 1, 1}, 2) == Layers{2, 2});
  CHECK(weighted_split({8, 1, 1}, 4) == Layers{2, 3, 2, 1});
  CHECK(weighted_split({8, 1, 1}, 2) == Layers{4, 4});
  CHECK(weighted_split({6, 1, 1}, 3) == Layers{2, 3, 1});
  CHECK(weighted_split({4, 2, 2}, 2) == Layers{2, 2});
  CHECK(weighted_split({4, 0, 1}, 2) == Layers{3, 1});
  CHECK(weighted_split({6, 1, 1}, 4) == Layers{1, 2, 2, 1});
  CHECK(weighted_split({32, 1, 1}, 8) == Layers{4, 5, 4, 4, 4, 4, 4, 3});
  CHECK(weighted_split({28, 1, 1}, 8) == Layers{3, 4, 4, 4, 4, 4, 3, 2});
  CHECK(weighted_split({4, 1, 1}, 4) == Layers{1, 2, 1, 0});
  CHECK(weighted_split({5, 9, 9}, 1) == Layers{5});
}

TEST_CASE("weighted split: refusals name the cause") {
  CHECK_THROWS_WITH(weighted_split({4, 1, 1}, 0), Contains("must be 1 or more"));
  CHECK_THROWS_WITH(weighted_split({4, 1, 1}, -1), Contains("is -1"));
  CHECK_THROWS_WITH(weighted_split({4, 1, 1}, 10), Contains("10 stages are more than 4 layers + 1"));
  CHECK_THROWS_WITH(weighted_split({4, 5, 1}, 4), Contains("the first stage gets 5 layers less"));
  CHECK_THROWS_WITH(weighted_split({4, 1, 5}, 4), Contains("the last stage gets 5 layers less"));
}

TEST_CASE("weighted split: no layer is lost, no stage goes below zero") {
  for (int stages = 2; stages < 20; ++stages)
    for (int layers = 0; layers < 60; ++layers)
      for (int first = 0; first < 4; ++first)
        for (int last = 0; last < 4; ++last) {
          const int budget = (layers + first + last) / stages;
          if (budget == 0 || first > budget || last > budget) {
            CHECK_THROWS_AS(weighted_split({layers, first, last}, stages), InputError);
            continue;
          }
          const Layers split = weighted_split({layers, first, last}, stages);
          CHECK(std::accumulate(split.begin(), split.end(), 0) == layers);
          CHECK(*std::min_element(split.begin(), split.end()) >= 0);
        }
}

TEST_CASE("stage count: every layers_per_stage that a refusal suggests is accepted") {
  const StageRules rules = {.schedule = "Interleaved1F1B"};
  const StageRules one_stage = {.schedule = "1F1B", .min_chunks = 1, .max_chunks = 1, .default_chunks = 1};
  const WeightedModel model = {.layers = 30};
  // 32 layers with the ends counted, 4 ranks: 32 / 7 rounded up is 5, 32 / 4 is 8.
  CHECK_THROWS_WITH(
      stage_count(rules, model, 4, 7),
      "30 layers + 1 for the embedding + 1 for the head at 7 per stage make 5 stages: not a multiple "
      "of 4 ranks; try layers_per_stage = 4, or leave it out");
  CHECK(stage_count(rules, model, 4, 4) == 8);
  CHECK(stage_count(rules, model, 4, {}) == 8);
  CHECK_THROWS_WITH(stage_count(rules, model, 4, 8), Contains("takes two stages per rank or more, not 1"));
  CHECK_THROWS_WITH(stage_count(one_stage, model, 4, 4), Contains("1F1B takes one stage per rank, not 2"));
  CHECK(stage_count(one_stage, model, 4, {}) == 4);
  const StageRules v_rules = {.schedule = "ZBVZeroBubble", .max_chunks = 2};
  CHECK_THROWS_WITH(stage_count(v_rules, model, 4, 2),
                    Contains("exactly two stages per rank, not 4; try layers_per_stage = 4"));
  CHECK_THROWS_WITH(stage_count(rules, {1 << 20, 1, 1}, 4, 1), Contains("more than 1048576"));
  CHECK_THROWS_WITH(stage_count(rules, model, 1 << 20, {}), Contains("more than 1048576 stages"));
}

TEST_CASE("min-max split: as trying every cut") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    test::Random random(seed);
    const int stages = 1 + random.below(5);
    LayerWeights weights;
    const int layers = std::max(stages - 2, 0) + random.below(7);
    // Few different weights, zero among them, so that many cuts tie.
    for (int i = 0; i < layers; ++i) weights.layers.push_back(random.below(4));
    weights.embedding = random.below(6);
    weights.output = random.below(6);
    INFO("seed " << seed);
    CHECK(min_max_split(weights, stages) == best_by_trial(weights, stages, layers, true).layers);
  }
}

TEST_CASE("min-max split: one stage, no layer, too many of either") {
  CHECK(min_max_split({.layers = {1, 2, 3}}, 1) == Layers{3});
  CHECK(min_max_split({.layers = {}, .embedding = 1, .output = 1}, 2) == Layers{0, 0});
  CHECK_THROWS_WITH(min_max_split({.layers = {1, 1}}, 5), Contains("5 stages need 3 layers or more"));
  CHECK_THROWS_WITH(min_max_split({.layers = {1, 1}}, 0), Contains("must be 1 or more"));
  CHECK_THROWS_WITH(min_max_split({.layers = {1, -1}}, 2), Contains("-1 is negative"));
  CHECK_THROWS_WITH(min_max_split({.layers = {1}, .embedding = std::int64_t{1} << 62}, 2), Contains("2^62"));
  const LayerWeights many = {.layers = std::vector<std::int64_t>(1 << 20, 1)};
  CHECK_THROWS_WITH(min_max_split(many, 17), Contains("at most 16777216"));
  CHECK(min_max_split(many, 2) == Layers{1 << 19, 1 << 19});
}

TEST_CASE("stage weights: the ends are counted, sums beyond 2^62 are refused") {
  const LayerWeights weights = {.layers = {1, 2, 4}, .embedding = 8, .output = 16};
  CHECK(stage_weights(weights, {2, 0, 1}) == std::vector<std::int64_t>{11, 0, 20});
  CHECK(stage_weights(weights, {3}) == std::vector<std::int64_t>{31});
  const std::int64_t large = std::int64_t{1} << 61;
  CHECK_THROWS_WITH(stage_weights({.layers = {large, large, large}}, {3}), Contains("2^62"));
}

TEST_CASE("even split: Megatron-LM's rules") {
  CHECK(even_split({.layers = 16, .ranks = 4, .chunks = 2}) == Layers(8, 2));
  // Rank 0 has 4 layers and rank 3 has 2, ranks 1 and 2 share the other 12; half of each in either chunk.
  CHECK(even_split({.layers = 18, .ranks = 4, .chunks = 2, .first_layers = 4, .last_layers = 2}) ==
        Layers{2, 3, 3, 1, 2, 3, 3, 1});
  CHECK(even_split({.layers = 7, .ranks = 2, .first_layers = 3}) == Layers{3, 4});
  CHECK(even_split({.layers = 7, .ranks = 2, .first_layers = 3, .last_layers = 4}) == Layers{3, 4});
  // 30 layers, embedding and loss are 32: 4 for each of 8 stages.
  CHECK(even_split(
            {.layers = 30, .ranks = 4, .chunks = 2, .embedding_is_layer = true, .loss_is_layer = true}) ==
        Layers{3, 4, 4, 4, 4, 4, 4, 3});
  CHECK(even_split({.layers = 3, .ranks = 1, .chunks = 3}) == Layers{1, 1, 1});
  CHECK(even_split({.layers = 2, .ranks = 1, .chunks = 1, .first_layers = 2}) == Layers{2});
}

TEST_CASE("even split: refusals") {
  CHECK_THROWS_WITH(even_split({.layers = 15, .ranks = 4}), Contains("15 layers are no multiple of 4 ranks"));
  CHECK_THROWS_WITH(even_split({.layers = 12, .ranks = 4, .chunks = 2}), Contains("no multiple of 2 chunks"));
  CHECK_THROWS_WITH(even_split({.layers = 15, .ranks = 4, .first_layers = 4}),
                    Contains("11 layers are left for 3 other ranks"));
  CHECK_THROWS_WITH(even_split({.layers = 15, .ranks = 2, .first_layers = 4, .last_layers = 4}),
                    Contains("8 layers are given to all ranks, but the model has 15"));
  CHECK_THROWS_WITH(even_split({.layers = 3, .ranks = 4, .first_layers = 4}), Contains("the model has 3"));
  CHECK_THROWS_WITH(even_split({.layers = 7, .ranks = 3, .first_layers = 1, .last_layers = 6}),
                    Contains("0 layers are left for 1 other rank, and Megatron-LM wants some"));
  CHECK_THROWS_WITH(even_split({.layers = 6, .ranks = 3, .first_layers = 0}), Contains("is given 0 layers"));
  CHECK_THROWS_WITH(even_split({.layers = 3, .ranks = 1, .first_layers = 1, .last_layers = 2}),
                    Contains("one rank is both"));
  CHECK_THROWS_WITH(even_split({.layers = 14, .ranks = 4, .first_layers = 2, .loss_is_layer = true}),
                    Contains("leave one out"));
  // Both ends take a layer's place, but there is only one stage of two places to take them from.
  CHECK(even_split({.layers = 0, .ranks = 1, .embedding_is_layer = true, .loss_is_layer = true}) ==
        Layers{0});
  CHECK_THROWS_WITH(even_split({.layers = kMaxIndex, .ranks = kMaxIndex, .chunks = 2}),
                    Contains("more than"));
}

}  // namespace pipeloom::layout::layer_split_test
