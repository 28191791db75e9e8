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
  if (left < 0 || (others == 0 && left != 0))
    throw InputError(fmt::format("{} layers are given to {}, but the model has {}; correct one of them",
                                 given, others == 0 ? "all ranks" : "the first and last rank", split.layers));
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

}  // namespace pipeloom::layout
