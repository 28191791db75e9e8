#include "sim/layout/layer_split.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>

namespace pipeloom::layout {

namespace {

std::int64_t with_ends(const WeightedModel& model) {
  return std::int64_t{model.layers} + model.first_less + model.last_less;
}

std::string sum_text(const WeightedModel& model) {
  return fmt::format("{} layers + {} for the embedding + {} for the head", model.layers, model.first_less,
                     model.last_less);
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

bool per_rank_fits(const StageRules& rules, std::int64_t per_rank) {
  return per_rank >= rules.min_chunks && per_rank <= rules.max_chunks;
}

/// "; try layers_per_stage = 4 or 5": the nearest values that give a number of stages which fits, below and above.
std::string try_layers_per_stage(const StageRules& rules, const WeightedModel& model, int ranks,
                                 int refused) {
  const auto fits = [&](std::int64_t per_stage) {
    const std::int64_t stages = divided_up(with_ends(model), per_stage);
    return stages % ranks == 0 && per_rank_fits(rules, stages / ranks);
  };
  std::vector<std::int64_t> found;
  for (std::int64_t below = std::min<std::int64_t>(refused, with_ends(model)); below-- > 1;)
    if (fits(below)) {
      found.push_back(below);
      break;
    }
  for (std::int64_t above = refused + 1; above <= with_ends(model); ++above)
    if (fits(above)) {
      found.push_back(above);
      break;
    }
  if (found.empty()) return fmt::format("; no layers_per_stage does with {} ranks, so leave it out", ranks);
  return fmt::format("; try layers_per_stage = {}, or leave it out", fmt::join(found, " or "));
}

std::string stages_text(int count) {
  if (count == 1) return "one stage";
  return count == 2 ? "two stages" : fmt::format("{} stages", count);
}

std::string rule_text(const StageRules& rules, std::int64_t per_rank) {
  const auto text = [&](const std::string& need) {
    return fmt::format("{} takes {}, not {}", rules.schedule, need, per_rank);
  };
  if (rules.max_chunks == 1) return text("one stage per rank") + " (Interleaved1F1B takes several)";
  if (rules.min_chunks == rules.max_chunks)
    return text(fmt::format("exactly {} per rank", stages_text(rules.min_chunks)));
  if (per_rank > rules.max_chunks)
    return text(fmt::format("at most {} per rank", stages_text(rules.max_chunks)));
  return text(stages_text(rules.min_chunks) + " per rank or more") +
         (per_rank == 1 ? " (1F1B takes one)" : "");
}

}  // namespace

int stage_count(const StageRules& rules, const WeightedModel& model, int ranks,
                std::optional<int> layers_per_stage) {
  const int by_default = rules.default_chunks;
  if (!layers_per_stage && std::int64_t{ranks} * by_default > kMaxIndex)
    throw InputError(fmt::format("{} ranks with {} stages each are more than {} stages; take fewer ranks",
                                 ranks, by_default, kMaxIndex));
  if (!layers_per_stage) return ranks * by_default;
  const std::int64_t stages = divided_up(with_ends(model), *layers_per_stage);
  const auto refuse = [&](const std::string& cause) {
    throw InputError(fmt::format("{} at {} per stage make {} stages: {}{}", sum_text(model),
                                 *layers_per_stage, stages, cause,
                                 try_layers_per_stage(rules, model, ranks, *layers_per_stage)));
  };
  if (stages > kMaxIndex) refuse(fmt::format("more than {}", kMaxIndex));
  if (stages % ranks != 0) refuse(fmt::format("not a multiple of {} ranks", ranks));
  if (!per_rank_fits(rules, stages / ranks)) refuse(rule_text(rules, stages / ranks));
  return static_cast<int>(stages);
}

std::vector<int> weighted_split(const WeightedModel& model, int stages) {
  if (stages < 1) throw InputError(fmt::format("the number of stages is {}; it must be 1 or more", stages));
  if (stages == 1) return {model.layers};
  const std::int64_t sum = with_ends(model);
  if (stages > sum)
    throw InputError(fmt::format("{} stages are more than {}; take fewer stages", stages, sum_text(model)));
  const auto budget = static_cast<int>(sum / stages);
  const auto require_below = [&](int less, const char* stage, const char* part) {
    if (less > budget)
      throw InputError(fmt::format(
          "the {} stage gets {} layers less for the {}, but {} stages have only {} each ({}); take "
          "{} or less, or fewer stages",
          stage, less, part, stages, budget, sum_text(model), budget));
  };
  require_below(model.first_less, "first", "embedding");
  require_below(model.last_less, "last", "head");
  std::vector<int> layers(static_cast<std::size_t>(stages), budget);
  const auto extra = static_cast<std::ptrdiff_t>(sum % stages);
  std::for_each(layers.begin(), layers.begin() + extra, [](int& count) { ++count; });
  layers.front() -= model.first_less;
  layers.back() -= model.last_less;
  return layers;
}

namespace {

/// Layers of the first rank, of each rank between, of the last rank.
struct RankLayers {
  int first = 0;
  int between = 0;
  int last = 0;
};

RankLayers uneven_ranks(const EvenSplit& split) {
  if (split.embedding_is_layer || split.loss_is_layer)
    throw InputError(
        "layers of the first or last rank are given, and embedding or loss count as a layer; Megatron-LM "
        "takes one "
        "or the other: leave one out");
  const int given = split.first_layers.value_or(0) + split.last_layers.value_or(0);
  const int others = split.ranks - (split.first_layers ? 1 : 0) - (split.last_layers ? 1 : 0);
  const int left = split.layers - given;
  if (others < 0)
    throw InputError("one rank is both the first and the last: give first_layers or last_layers, not both");
  if (split.first_layers.value_or(1) < 1 || split.last_layers.value_or(1) < 1)
    throw InputError(
        "the first or last rank is given 0 layers, and Megatron-LM wants 1 or more; write a layout");
  if (left < 0 || (others == 0 && left != 0))
    throw InputError(fmt::format("{} layers are given to {}, but the model has {}; correct one of them",
                                 given, others == 0 ? "all ranks" : "the first and last rank", split.layers));
  if (others > 0 && left == 0)
    throw InputError(
        fmt::format("0 layers are left for {} other rank{}, and Megatron-LM wants some; give the first or "
                    "last rank fewer",
                    others, others == 1 ? "" : "s"));
  if (others > 0 && left % others != 0)
    throw InputError(fmt::format(
        "{} layers are left for {} other ranks, which is no whole number each; they must be a multiple of {}",
        left, others, others));
  const int each = others > 0 ? left / others : 0;
  return {split.first_layers.value_or(each), each, split.last_layers.value_or(each)};
}

RankLayers even_ranks(const EvenSplit& split) {
  const int counted = split.layers + (split.embedding_is_layer ? 1 : 0) + (split.loss_is_layer ? 1 : 0);
  if (counted % split.ranks != 0)
    throw InputError(fmt::format(
        "{} layers{} are no multiple of {} ranks; give the first or last rank a number of its own, count "
        "embedding or loss as a layer, or write a layout",
        counted, counted > split.layers ? " with embedding or loss counted" : "", split.ranks));
  const int each = counted / split.ranks;
  return {each, each, each};
}

int per_chunk(int layers, const EvenSplit& split, const char* whose) {
  if (layers % split.chunks == 0) return layers / split.chunks;
  throw InputError(fmt::format("{} has {} layers, no multiple of {} chunks; take other chunks or layers",
                               whose, layers, split.chunks));
}

}  // namespace

std::vector<int> even_split(const EvenSplit& split) {
  if (std::int64_t{split.ranks} * split.chunks > kMaxIndex)
    throw InputError(
        fmt::format("{} ranks with {} chunks are more than {} stages", split.ranks, split.chunks, kMaxIndex));
  const RankLayers ranks = split.first_layers || split.last_layers ? uneven_ranks(split) : even_ranks(split);
  const auto p = static_cast<std::size_t>(split.ranks);
  std::vector<int> layers(p * static_cast<std::size_t>(split.chunks));
  const int first = per_chunk(ranks.first, split, "the first rank");
  const int between = p > 2 ? per_chunk(ranks.between, split, "a rank") : 0;
  const int last = per_chunk(ranks.last, split, "the last rank");
  for (std::size_t k = 0; k < layers.size(); ++k)
    layers[k] = k % p == 0 && (p > 1 || split.first_layers) ? first : k % p == p - 1 ? last : between;
  layers.front() -= split.embedding_is_layer ? 1 : 0;
  layers.back() -= split.loss_is_layer ? 1 : 0;
  if (layers.front() < 0 || layers.back() < 0)
    throw InputError("embedding or loss count as a layer of a stage that has none; take fewer chunks");
  return layers;
}

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
  /// Stage k ends at layer j. As its begin i moves right, the layers before it grow and those in it shrink: the smallest
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
