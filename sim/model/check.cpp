#include "sim/model/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include <pipeloom/op.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/model/weights.hpp"

namespace pipeloom::model {
namespace {

constexpr std::int64_t kMostWidth = std::int64_t{1} << 24;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 32;
constexpr std::int64_t kMostBatch = std::int64_t{1} << 36;  ///< tokens of a microbatch
constexpr std::int64_t kMostExperts = std::int64_t{1} << 16;
constexpr std::int64_t kMostDegree = std::int64_t{1} << 20;
constexpr double kMostParameters = 4.6e18;
constexpr std::int64_t kMostStreams = 64;
constexpr std::int64_t kMostTables = std::int64_t{1} << 48;
constexpr std::size_t kMostBefore = 4;  ///< products in front of an encoder
constexpr std::size_t kMostBehind = 8;
constexpr std::size_t kMostBeside = 8;

struct Size {
  std::string_view name;
  std::int64_t value = 0;
  std::int64_t least = 1;
  std::int64_t most = kMostWidth;
};

std::string letter_of(char letter) {
  return shortened(std::string_view(&letter, 1), 8);
}

class ModelCheck {
 public:
  explicit ModelCheck(const Model& model) : model_(model) {}

  void run() {
    letters();
    sizes("the model",
          {Size{"positions", model_.positions, 0, kMostTokens},
           Size{"sequence", model_.sequence, 0, kMostTokens}, Size{"mtp", model_.mtp, 0, 4096},
           Size{"tables", model_.tables, 0, kMostTables}, Size{"streams", model_.streams, 1, kMostStreams}});
    if (model_.profile) times();
    if (!has_sizes(model_)) return profile_alone();
    sizes("the model", {Size{"hidden", model_.hidden}, Size{"vocabulary", model_.vocabulary}});
    for (const Layer& layer : model_.kinds) kind(layer);
    parameters();
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const { throw InputError(model_.where, message); }

  template <std::size_t N>
  void sizes(const std::string& what, const std::array<Size, N>& list) const {
    for (const Size& size : list)
      if (size.value < size.least || size.value > size.most)
        refuse(fmt::format("{} of {} is {}; it must be a whole number from {} to {}", size.name, what,
                           size.value, size.least, size.most));
  }
  template <std::size_t N>
  void sizes(const std::string& what, const Size (&list)[N]) const {
    sizes(what, std::to_array(list));
  }

  void letters() const {
    if (model_.layers.empty()) refuse("the model has no layers; name at least one");
    if (model_.layers.size() > static_cast<std::size_t>(kMaxIndex))
      refuse(fmt::format("the model has {} layers; at most {} are allowed", model_.layers.size(), kMaxIndex));
    std::array<int, 256> known = {};
    for (const Layer& layer : model_.kinds)
      if (++known.at(static_cast<unsigned char>(layer.letter)) > 1)
        refuse(fmt::format("two kinds of layers have the letter '{}'; give each its own",
                           letter_of(layer.letter)));
    for (const char letter : model_.layers)
      if (known.at(static_cast<unsigned char>(letter)) == 0)
        refuse(
            fmt::format("layer letter '{}' has no kind; known are: {}", letter_of(letter), known_letters()));
    if (model_.mtp > 0 && known.at(static_cast<unsigned char>(model_.mtp_letter)) == 0)
      refuse(fmt::format("the MTP layers' letter '{}' has no kind; known are: {}",
                         letter_of(model_.mtp_letter), known_letters()));
  }

  [[nodiscard]] std::string known_letters() const {
    std::vector<std::string> letters;
    for (const Layer& layer : model_.kinds) letters.push_back(letter_of(layer.letter));
    return join(letters, " ");
  }

  void profile_alone() const {
    if (!model_.profile)
      refuse(
          "the hidden size is missing or 0, and the model has no profile of times; a model has one of them");
  }

  /// A layer without times would take none.
  void times() const {
    for (const char letter : model_.layers)
      if (model_.profile->ticks.count(letter) == 0)
        refuse(fmt::format("layer letter '{}' has no times; give them in \"ticks\"", letter_of(letter)));
  }

  void kind(const Layer& layer) const {
    const std::string what = fmt::format("layer '{}'", letter_of(layer.letter));
    if (layer.counted) return counted(what, layer);
    if (mixers_of(layer) + feed_forwards_of(layer) == 0)
      refuse(what + " has neither a mixer nor a feed-forward part; give it one");
    const int attentions =
        (layer.attention ? 1 : 0) + (layer.latent_attention ? 1 : 0) + (layer.compressed_attention ? 1 : 0);
    if (attentions > 1 || (layer.mamba && layer.linear))
      refuse(what +
             " has two mixers of a kind; a layer has one of attention, latent_attention and "
             "compressed_attention, and one of mamba and linear");
    if (layer.mlp && layer.experts) refuse(what + " has an mlp and experts; a layer has one of them");
    sizes(what, {Size{"hidden", layer.hidden, 0}, Size{"tokens", layer.tokens, 0, kMostTokens},
                 Size{"tables", layer.tables, 0, kMostTables}, Size{"side", layer.side, 0}});
    products("before " + what, layer.before, model_.hidden_of(layer), kMostBefore);
    products("behind " + what, layer.behind, 0, kMostBehind);
    products("beside " + what, layer.beside, 0, kMostBeside);
    if (layer.attention) attention(what, *layer.attention);
    if (layer.latent_attention) latent(what, *layer.latent_attention);
    if (layer.compressed_attention) compressed(what, *layer.compressed_attention);
    if (layer.mamba) mamba(what, *layer.mamba);
    if (layer.linear) linear(what, *layer.linear);
    if (layer.mlp) sizes(what, {Size{"ffn", layer.mlp->ffn}});
    if (layer.experts) experts(what, *layer.experts);
    for (const Layer& part : layer.then) kind(part);
  }

  void counted(const std::string& what, const Layer& layer) const {
    if (mixers_of(layer) + feed_forwards_of(layer) + norms_of(layer) != 0 || !layer.before.empty() ||
        !layer.behind.empty() || !layer.beside.empty() || layer.hidden != 0 || layer.tokens != 0)
      refuse(what + " was counted and has parts besides; leave them out");
    const Counted& counted = *layer.counted;
    sizes(what, {Size{"tables", layer.tables, 0, kMostTables},
                 Size{"parameters", counted.parameters, 0, kMostTables},
                 Size{"active", counted.active, 0, counted.parameters},
                 Size{"kept_for_weights", counted.kept_for_weights, 0, counted.kept},
                 Size{"sequence", counted.sequence, 1, kMostTokens},
                 Size{"micro_batch", counted.micro_batch, 1, kMostDegree}});
    for (const auto* list : {&counted.products, &counted.inner})
      for (const CountedProduct& product : *list)
        sizes("a product of " + what,
              {Size{"rows", product.rows, 1, kMostTokens}, Size{"inputs", product.inputs, 1, kMostTokens},
               Size{"outputs", product.outputs, 1, kMostTokens},
               Size{"groups", product.groups, 1, kMostTokens}, Size{"times", product.times, 1, kMostWidth}});
    for (const CountedAttention& seen : counted.attention)
      sizes("an attention of " + what,
            {Size{"batch", seen.batch}, Size{"queries", seen.queries}, Size{"keys", seen.keys},
             Size{"heads", seen.heads}, Size{"kv_heads", seen.kv_heads}, Size{"qk_dim", seen.qk_dim},
             Size{"v_dim", seen.v_dim}, Size{"pairs", seen.pairs, 1, seen.queries * seen.keys},
             Size{"times", seen.times}});
  }

  /// `width` is what the last of them makes; 0: any.
  void products(const std::string& what, const std::vector<Product>& list, std::int64_t width,
                std::size_t most) const {
    if (list.size() > most)
      refuse(fmt::format("there are {} products {}; at most {} are allowed", list.size(), what, most));
    for (const Product& product : list)
      sizes("a product " + what, {Size{"inputs", product.inputs}, Size{"outputs", product.outputs},
                                  Size{"tokens", product.tokens, 0, kMostTokens}});
    if (width != 0 && !list.empty() && list.back().outputs != width)
      refuse(fmt::format("outputs of the last product {} is {}; it must be {}, the width that follows it",
                         what, list.back().outputs, width));
  }

  void attention(const std::string& what, const Attention& attention) const {
    sizes(what, {Size{"heads", attention.heads}, Size{"kv_heads", attention.kv_heads},
                 Size{"head_dim", attention.head_dim}, Size{"v_dim", attention.v_dim, 0},
                 Size{"window", attention.window, 0, kMostTokens}});
    if (attention.heads % attention.kv_heads != 0)
      refuse(fmt::format("heads of {} is {}, no multiple of its {} key/value heads", what, attention.heads,
                         attention.kv_heads));
    if (attention.indexer) indexer(what, *attention.indexer);
  }

  void latent(const std::string& what, const LatentAttention& latent) const {
    sizes(what,
          {Size{"heads", latent.heads}, Size{"q_rank", latent.q_rank, 0}, Size{"kv_rank", latent.kv_rank},
           Size{"nope_dim", latent.nope_dim}, Size{"rope_dim", latent.rope_dim, 0},
           Size{"v_dim", latent.v_dim}, Size{"window", latent.window, 0, kMostTokens}});
    if (latent.indexer) indexer(what, *latent.indexer);
  }

  void indexer(const std::string& what, const Indexer& indexer) const {
    sizes(what + "'s indexer", {Size{"heads", indexer.heads}, Size{"head_dim", indexer.head_dim},
                                Size{"top_k", indexer.top_k}, Size{"pool", indexer.pool}});
  }

  void compressed(const std::string& what, const CompressedAttention& attention) const {
    sizes(what, {Size{"heads", attention.heads}, Size{"head_dim", attention.head_dim},
                 Size{"q_rank", attention.q_rank}, Size{"output_groups", attention.output_groups},
                 Size{"output_rank", attention.output_rank}, Size{"window", attention.window, 1, kMostTokens},
                 Size{"rate", attention.rate, 0}, Size{"series", attention.series}});
    if (attention.heads % attention.output_groups != 0)
      refuse(fmt::format("heads of {} is {}, no multiple of its {} output groups", what, attention.heads,
                         attention.output_groups));
    if (attention.indexer && attention.rate == 0)
      refuse(what + " has an indexer of compressed entries and none of these; give it a rate");
    if (attention.indexer) indexer(what, *attention.indexer);
  }

  void linear(const std::string& what, const Linear& linear) const {
    sizes(what, {Size{"heads", linear.heads}, Size{"head_dim", linear.head_dim},
                 Size{"key_heads", linear.key_heads, 0}, Size{"key_dim", linear.key_dim, 0},
                 Size{"conv", linear.conv, 0}, Size{"rank", linear.rank, 0}});
  }

  void mamba(const std::string& what, const Mamba& mamba) const {
    sizes(what, {Size{"heads", mamba.heads}, Size{"head_dim", mamba.head_dim}, Size{"groups", mamba.groups},
                 Size{"state", mamba.state}, Size{"conv", mamba.conv}});
  }

  void experts(const std::string& what, const Experts& experts) const {
    sizes(what, {Size{"experts", experts.experts, 1, kMostExperts}, Size{"top_k", experts.top_k},
                 Size{"ffn", experts.ffn}, Size{"shared_ffn", experts.shared_ffn, 0},
                 Size{"zero", experts.zero, 0, kMostExperts}});
    if (experts.top_k > experts.experts)
      refuse(
          fmt::format("top_k of {} is {}, more than its {} experts", what, experts.top_k, experts.experts));
  }

  /// In doubles, so that nothing overflows before it is refused.
  void parameters() const {
    double sum =
        static_cast<double>(model_.vocabulary + model_.positions) * 2 * static_cast<double>(model_.hidden);
    const auto h = static_cast<double>(model_.hidden);
    sum += (2 * static_cast<double>(model_.mtp) + (model_.head_product ? 1 : 0)) * h * (h + 3) +
           static_cast<double>(model_.tables);
    const auto layers = static_cast<double>(model_.layers.size()) + static_cast<double>(model_.mtp);
    for (const Layer& layer : model_.kinds) sum += layers * of_kind(layer);
    if (sum > kMostParameters)
      refuse(fmt::format("the model has about {:.2g} parameters; at most {:.2g} are allowed", sum,
                         kMostParameters));
  }

  /// An upper bound; products of two widths of 2^24 times 3 would still fit, heads times their width need not.
  [[nodiscard]] double of_kind(const Layer& layer) const {
    if (layer.counted) return static_cast<double>(layer.counted->parameters + layer.tables);
    const auto h = static_cast<double>(model_.hidden_of(layer));
    double inner = 0;
    if (layer.attention)
      inner += 6.0 * static_cast<double>(layer.attention->heads) *
               static_cast<double>(layer.attention->head_dim + layer.attention->v_dim);
    if (const auto& mla = layer.latent_attention)
      inner += static_cast<double>(mla->q_rank + mla->kv_rank + mla->heads) * 2 *
               static_cast<double>(mla->nope_dim + mla->rope_dim + mla->v_dim + 1) *
               (1 + static_cast<double>(mla->heads) / h);
    if (layer.compressed_attention) inner += of_compressed(*layer.compressed_attention, h);
    if (layer.mamba)
      inner += 3.0 * static_cast<double>(layer.mamba->heads) *
                   static_cast<double>(layer.mamba->head_dim + 1) *
                   (1 + static_cast<double>(layer.mamba->conv) / h) +
               4.0 * static_cast<double>(layer.mamba->groups) * static_cast<double>(layer.mamba->state) *
                   (1 + static_cast<double>(layer.mamba->conv) / h);
    if (const auto& linear = layer.linear) inner += of_linear(*linear, h);
    if (layer.mlp) inner += 4.0 * static_cast<double>(layer.mlp->ffn);
    if (layer.experts)
      inner += 4.0 * (static_cast<double>(layer.experts->experts + layer.experts->zero) *
                          static_cast<double>(layer.experts->ffn + 1) +
                      static_cast<double>(layer.experts->shared_ffn));
    double ends = static_cast<double>(layer.tables);
    for (const auto* list : {&layer.before, &layer.behind, &layer.beside})
      for (const Product& product : *list)
        ends += static_cast<double>(product.outputs) * static_cast<double>(product.inputs + 1);
    for (const Layer& part : layer.then) ends += of_kind(part);
    return h * (inner + 8 + 2 * static_cast<double>(layer.side)) + ends;
  }

  /// Per channel of the layer, as `inner` of of_kind().
  static double of_linear(const Linear& linear, double h) {
    const double width = static_cast<double>(linear.heads) * static_cast<double>(linear.head_dim);
    const double keys = static_cast<double>(linear.key_heads + 1) * static_cast<double>(linear.key_dim + 1);
    const double taps = 3 + static_cast<double>(linear.conv + linear.rank + linear.key_dim);
    return (6 * width + 3 * keys) * (1 + taps / h) + 2.0 * static_cast<double>(linear.rank);
  }

  static double of_compressed(const CompressedAttention& attention, double h) {
    const double q = static_cast<double>(attention.heads) * static_cast<double>(attention.head_dim);
    const double narrow = static_cast<double>(attention.output_groups * attention.output_rank);
    const double indexed = attention.indexer ? static_cast<double>(attention.indexer->heads + 4) *
                                                   static_cast<double>(attention.indexer->head_dim)
                                             : 0;
    const double entries = 4 * static_cast<double>(attention.series) *
                           static_cast<double>(attention.head_dim) *
                           (1 + static_cast<double>(attention.rate) / h);
    const auto rank = static_cast<double>(attention.q_rank);
    return rank + 2 * static_cast<double>(attention.head_dim) + narrow + 2 * entries +
           static_cast<double>(attention.series) * indexed + (q * (rank + narrow + 1) + rank * indexed) / h;
  }

  const Model& model_;
};

/// Of a layer's sample, and of what its products see.
std::int64_t most_tokens(const Layer& layer) {
  std::int64_t most = layer.tokens;
  for (const auto* list : {&layer.before, &layer.behind, &layer.beside})
    for (const Product& product : *list) most = std::max(most, product.tokens);
  return most;
}

class SplitCheck {
 public:
  SplitCheck(const Model& model, const Split& split, const Where& where)
      : model_(model), split_(split), where_(where) {}

  void run() const {
    degrees();
    tokens();
    for (const Layer& layer : model_.kinds) {
      if (layer.attention) heads(layer, layer.attention->heads, layer.attention->kv_heads);
      if (layer.latent_attention) heads(layer, layer.latent_attention->heads, layer.latent_attention->heads);
      if (layer.compressed_attention)
        cut(layer, "number of output groups", layer.compressed_attention->output_groups);
      if (layer.mamba) cut(layer, "number of heads", layer.mamba->heads);
      if (layer.mamba) cut(layer, "number of groups", layer.mamba->groups);
      if (layer.linear) cut(layer, "number of heads", layer.linear->heads);
      if (layer.linear && layer.linear->key_heads > 0)
        cut(layer, "number of key heads", layer.linear->key_heads);
      if (layer.mlp) cut(layer, "feed-forward width", layer.mlp->ffn);
      if (layer.experts) experts(layer, *layer.experts);
      if (layer.counted) counted(layer, *layer.counted);
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const { throw InputError(where_, message); }

  void degrees() const {
    const Size list[] = {Size{"pipeline parallelism (ranks)", split_.pipeline, 1, kMostDegree},
                         Size{"tensor parallelism (tp)", split_.tensor, 1, kMostDegree},
                         Size{"data parallelism (dp)", split_.data, 1, kMostDegree},
                         Size{"context parallelism (cp)", split_.context, 1, kMostDegree},
                         Size{"expert parallelism (ep)", split_.expert, 1, kMostDegree},
                         Size{"zero", split_.zero, 0, 3},
                         Size{"the sequence (seq)", split_.sequence, 1, kMostTokens},
                         Size{"the microbatch (micro_batch)", split_.micro_batch, 1, kMostDegree}};
    for (const Size& size : list)
      if (size.value < size.least || size.value > size.most)
        refuse(fmt::format("{} is {}; it must be a whole number from {} to {}", size.name, size.value,
                           size.least, size.most));
    for (const Layer& layer : model_.kinds)
      if (const std::int64_t sample = std::max(most_tokens(layer), split_.sequence);
          sample > kMostBatch / split_.micro_batch)
        refuse(fmt::format("a microbatch has {} samples of {} tokens; at most {} tokens are allowed",
                           split_.micro_batch, sample, kMostBatch));
    const bool routed = std::any_of(model_.kinds.begin(), model_.kinds.end(),
                                    [](const Layer& layer) { return layer.experts.has_value(); });
    if (split_.expert > 1 && !routed)
      refuse(fmt::format("expert parallelism (ep) is {}, but {} has no experts to share; leave ep out",
                         split_.expert, shortened(model_.name, 80)));
    const std::int64_t group = std::int64_t{split_.data} * split_.context * split_.tensor;
    if (group % split_.expert != 0)
      refuse(fmt::format("expert parallelism (ep) is {}, but tp x cp x dp is {}; ep must divide it",
                         split_.expert, group));
    shards();
    // All tokens of a group on one of its ranks are e times the mean.
    const int nearest = split_.tensor * split_.context;
    if (split_.order == DeviceOrder::DataLast && nearest % split_.expert != 0)
      refuse(fmt::format(
          "expert parallelism (ep) is {}; with costs.order tp-cp-ep-pp-dp it must divide tp x cp, {}, as the "
          "ranks of a pipeline are next to these",
          split_.expert, nearest));
    if (split_.expert_load < 1 || split_.expert_load > split_.expert)
      refuse(
          fmt::format("expert_load is {}; the fullest of the ranks that share experts (ep = {}) has {} times "
                      "the mean",
                      split_.expert_load, split_.expert,
                      split_.expert == 1 ? "1" : fmt::format("from 1 to {}", split_.expert)));
  }

  /// Hybrid sharding: groups of data ranks that share out, and are replicas of each other.
  void shards() const {
    if (split_.shards == 0) return;
    if (split_.shards < 0 || split_.shards > split_.data || split_.data % split_.shards != 0)
      refuse(fmt::format("shards is {}; it must divide the data ranks (dp), {}", split_.shards, split_.data));
    if (split_.zero == 0 && split_.shards > 1)
      refuse(
          fmt::format("shards is {}, and ZeRO 0 shares nothing out; leave one of them out", split_.shards));
    const std::int64_t inside = std::int64_t{split_.shards} * split_.context * split_.tensor;
    if (inside % split_.expert != 0)
      refuse(fmt::format("expert parallelism (ep) is {}, but tp x cp x shards is {}; ep must divide it",
                         split_.expert, inside));
  }

  void tokens() const {
    const std::int64_t ranks = std::int64_t{split_.context} * (split_.sequence_parallel ? split_.tensor : 1);
    if (split_.sequence % ranks != 0)
      refuse(
          fmt::format("the sequence has {} tokens, which {} ranks of tensor and context parallelism "
                      "cannot share evenly; take a multiple of {}",
                      split_.sequence, ranks, ranks));
    if (model_.positions != 0 && split_.sequence > model_.positions)
      refuse(fmt::format("the sequence has {} tokens, but the model has {} positions; take at most so many",
                         split_.sequence, model_.positions));
    std::int64_t sum = 0;
    for (const std::int64_t document : split_.documents) {
      if (document < 1 || document > split_.sequence)
        refuse(fmt::format("a document has {} tokens; it must have from 1 to {}", document, split_.sequence));
      sum += document;
    }
    if (!split_.documents.empty() && sum != split_.sequence)
      refuse(fmt::format("the documents have {} tokens together, but the sequence has {}; they must be equal",
                         sum, split_.sequence));
  }

  void counted(const Layer& layer, const Counted& counted) const {
    if (split_.tensor != 1 || split_.context != 1)
      refuse(fmt::format("layer '{}' was counted on one rank, so nobody knows its share; set tp and cp to 1",
                         letter_of(layer.letter)));
    if (split_.sequence != counted.sequence || !split_.documents.empty())
      refuse(fmt::format(
          "layer '{}' was counted with samples of {} tokens in one piece; set seq to that, or count it again",
          letter_of(layer.letter), counted.sequence));
  }

  void cut(const Layer& layer, std::string_view what, std::int64_t size) const {
    if (size % split_.tensor != 0)
      refuse(fmt::format("tensor parallelism (tp) is {}, but the {} of layer '{}' is {}; tp must divide it",
                         split_.tensor, what, letter_of(layer.letter), size));
  }

  void heads(const Layer& layer, std::int64_t heads, std::int64_t groups) const {
    cut(layer, "number of heads", heads);
    if (groups % split_.tensor != 0 && split_.tensor % groups != 0)
      refuse(fmt::format(
          "tensor parallelism (tp) is {}, but the number of key/value heads of layer '{}' is {}; tp "
          "must divide it, or be a multiple of it",
          split_.tensor, letter_of(layer.letter), groups));
  }

  void experts(const Layer& layer, const Experts& experts) const {
    if (experts.shared_ffn > 0) cut(layer, "shared experts' width", experts.shared_ffn);
    if (experts.experts % split_.expert != 0)
      refuse(fmt::format("expert parallelism (ep) is {}, but layer '{}' has {} experts; ep must divide it",
                         split_.expert, letter_of(layer.letter), experts.experts));
    if (split_.tensor > 1 && !split_.sequence_parallel)
      refuse(
          fmt::format("layer '{}' has experts, which take each token once: tensor parallelism needs "
                      "sequence parallelism here; switch it on or set tp to 1",
                      letter_of(layer.letter)));
  }

  const Model& model_;
  const Split& split_;
  const Where& where_;
};

}  // namespace

bool has_sizes(const Model& model) {
  return model.hidden != 0;
}

void check(const Model& model) {
  ModelCheck(model).run();
}

void check(const Model& model, const Split& split, const Where& where) {
  SplitCheck(model, split, where).run();
}

}  // namespace pipeloom::model
