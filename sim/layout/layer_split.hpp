#pragma once

// How many decoder layers each stage gets: the rules of torchtitan and AReaL, AReaL's min-max split, and Megatron-LM's
// even and uneven splits.
//
//   const int stages = stage_count({.schedule = "Interleaved1F1B"}, {.layers = 32}, 4, {});   // 8
//   const auto layers = weighted_split({.layers = 32}, stages);                               // 4 5 4 4 4 4 4 3
//
// Every function throws InputError that names the cause and, where there is one, a value that would do.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/op.hpp>

namespace pipeloom::layout {

/// Limits of a schedule on the number of stages per rank, v.
struct StageRules {
  std::string schedule;  ///< its name, for messages
  int min_chunks =
      2;  ///< 1F1B and its like: exactly 1; the V schedules: exactly 2; other interleaved ones: 2 or more
  int max_chunks = kMaxIndex;
  int default_chunks = 2;
};

/// The model for the weighted split: embedding and head count as `first_less` and `last_less` decoder layers.
struct WeightedModel {
  int layers = 0;      ///< L >= 0
  int first_less = 1;  ///< a >= 0
  int last_less = 1;   ///< b >= 0
};

/// S, the number of stages of `ranks` ranks: default_chunks per rank, or ceil((L + a + b) / layers_per_stage), which must
/// be a multiple of the ranks and meet the rules. Source: torchtitan and AReaL, pipeline_parallel (AReaL 4aef98d).
[[nodiscard]] int stage_count(const StageRules& rules, const WeightedModel& model, int ranks,
                              std::optional<int> layers_per_stage);

/// Decoder layers of each stage: with q = (L + a + b) div S and x = (L + a + b) mod S, stage i has the budget q + (i < x);
/// the first stage gets a layers less and the last one b less. One stage holds everything. A first or last stage may end
/// with no layer. Refuses S > L + a + b, a > q and b > q.
[[nodiscard]] std::vector<int> weighted_split(const WeightedModel& model, int stages);

/// Parameter counts for the min-max split. Their sum must stay below 2^62.
struct LayerWeights {
  std::vector<std::int64_t> layers;  ///< >= 0 each
  std::int64_t embedding = 0;        ///< counted on the first stage
  std::int64_t output = 0;           ///< counted on the last stage
};

/// The cut whose largest stage sum is smallest. Only the first and the last stage may have no layer, so S - 2 <= L. Of
/// equal cuts the one is taken whose last stage begins earliest; the stages before it are cut by the same rule for themselves,
/// which may leave them better than the largest sum asks for.
/// Source: AReaL's MegatronEngine. O(S L log L); S (L + 1) is limited to 2^24.
[[nodiscard]] std::vector<int> min_max_split(const LayerWeights& weights, int stages);
/// The sum of each stage, embedding and output included. REQUIRES: as many layers as weights. Throws InputError as above for
/// weights that are negative or too large.
[[nodiscard]] std::vector<std::int64_t> stage_weights(const LayerWeights& weights,
                                                      const std::vector<int>& layers_per_stage);

/// Megatron-LM's split without a layout string.
struct EvenSplit {
  int layers = 0;
  int ranks = 1;
  int chunks = 1;
  std::optional<int> first_layers =
      {};  ///< decoder_first_pipeline_num_layers: of rank 0, all its chunks together
  std::optional<int> last_layers = {};  ///< decoder_last_pipeline_num_layers: of rank p - 1
  bool embedding_is_layer = false;      ///< account_for_embedding_in_pipeline_split
  bool loss_is_layer = false;           ///< account_for_loss_in_pipeline_split
};

/// Decoder layers of each of the p v stages: the same number on every rank and chunk. With first_layers or last_layers the
/// other ranks share the rest; with embedding_is_layer or loss_is_layer the embedding (the loss) takes the place of one
/// layer. Each rank's layers must be a multiple of v. Source: Megatron-LM, get_num_layers_to_build.
[[nodiscard]] std::vector<int> even_split(const EvenSplit& split);

}  // namespace pipeloom::layout
