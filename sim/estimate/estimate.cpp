#include "sim/estimate/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/estimate/bytes.hpp"
#include "sim/estimate/passes.hpp"
#include "sim/layout/layer_split.hpp"
#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/strides.hpp"
#include "sim/model/trainable.hpp"

namespace pipeloom::estimate {
namespace {

using model::kPasses;
using model::Pass;

/// docs/model.md, 1: no time reaches 2^62 ticks.
constexpr double kMostTicks = 4.6e18;

/// A nanosecond is far below what any estimate is worth, and keeps the last digits of floating point out of timelines.
Ticks rounded(double seconds) {
  if (!(seconds * 1e12 < kMostTicks))
    throw InputError(
        {},
        fmt::format("a pass or a message takes about {:.3g} s; times below {:.3g} s are simulated; look for "
                    "a rate or an efficiency that is far too small, or a model far too large",
                    seconds, kMostTicks / 1e12));
  return static_cast<Ticks>(std::llround(seconds * 1e9)) * 1000;
}

/// Everything that layers of one letter add to their stage.
struct LayerShare {
  LayerTime time;
  LayerBytes bytes;
  model::Parameters parameters;
  model::Parameters trained;
};

/// A layer's letter, and how far the backward goes into it.
using Key = std::pair<char, model::Reach>;
using Shares = std::map<Key, LayerShare>;

Setting without_recomputation(Setting setting) {
  setting.recomputation = model::Recomputation::None;
  setting.modules.clear();
  return setting;
}

/// A layer that does not run again, on a stage whose other layers do: what it keeps is kept from the forward on.
LayerShare kept_whole(LayerShare share) {
  share.time.recomputed = {};
  share.bytes.stash = share.bytes.until_input + share.bytes.until_weight;
  return share;
}

/// Number of layers of each kind.
std::map<Key, int> counts_of(std::span<const Key> layers) {
  std::map<Key, int> out;
  for (const Key& key : layers) ++out[key];
  return out;
}

/// Every layer of the model, in order.
std::vector<Key> keys_of(const Setting& setting) {
  std::vector<Key> out;
  const std::vector<model::Reach> reaches = model::reaches_of(*setting.model, setting.split.trainable);
  for (std::size_t i = 0; i < reaches.size(); ++i) out.emplace_back(setting.model->layers[i], reaches[i]);
  return out;
}

/// Layers for multi-token prediction.
Key mtp_key(const Setting& setting) {
  const bool reached = setting.split.trainable.head_backward;
  return {setting.model->mtp_letter, reached ? model::Reach::Whole : model::Reach::None};
}

LayerShare share_of(const Setting& setting, const model::Layer& layer) {
  LayerShare out;
  out.time = layer_time(setting, layer);
  if (!model::has_sizes(*setting.model)) return out;
  out.bytes = layer_bytes(setting, layer);
  out.parameters = model::local_parameters(*setting.model, layer, setting.split);
  out.trained = model::local_trained(*setting.model, layer, setting.split);
  const model::Parameters adapters = model::local_adapters(*setting.model, layer, setting.split);
  out.parameters += adapters;
  out.trained += adapters;
  return out;
}

Shares shares_of(const Setting& setting, const std::vector<Key>& layers) {
  std::set<Key> keys(layers.begin(), layers.end());
  if (setting.model->mtp > 0) keys.insert(mtp_key(setting));
  Shares out;
  for (const Key& key : keys) {
    Setting of = setting;
    of.split.trainable.reach = key.second;
    out.emplace(key, share_of(of, *setting.model->find(key.first)));
  }
  return out;
}

}  // namespace

struct LayerParts {
  explicit LayerParts(const Setting& setting)
      : layers(keys_of(setting)),
        shares(shares_of(setting, layers)),
        embedding(embedding_time(setting)),
        last_stage(last_stage_time(setting)) {
    if (!setting.recomputing.empty() || setting.layers_again)
      plain_shares = shares_of(without_recomputation(setting), layers);
    if (setting.model->mtp > 0) mtp = mtp_time(setting);
    if (shares_head(setting)) shared_head = shared_head_time(setting);
  }

  std::vector<Key> layers;  // of the model, in order
  Shares shares;
  Shares plain_shares;  // of stages and layers that recompute nothing, where others do
  LayerTime embedding;
  LayerTime last_stage;
  LayerTime mtp;
  LayerTime shared_head;
};

namespace {

class Estimator {
 public:
  Estimator(const Setting& setting, const LayerParts& parts)
      : setting_(setting),
        model_(*setting.model),
        parts_(parts),
        layers_(parts.layers),
        shares_(parts.shares),
        plain_shares_(parts.plain_shares) {}

  Stage stage(int index, int first, int layers, int stages) const {
    const bool is_first = index == 0;
    const bool is_last = index + 1 == stages;
    Stage out{.first_layer = first,
              .layers = layers,
              .mtp = is_last ? model_.mtp : 0,
              .embedding = is_first,
              .head = is_last && !shares_head(setting_)};
    StageSum sum;
    add_layers(is_recomputing(setting_, index), out, sum);
    if (is_first) add_end(parts_.embedding, out);
    if (is_last) add_end(parts_.last_stage, out);
    for (int i = 0; i < out.mtp; ++i) add_end(parts_.mtp, out);
    if (shares_head(setting_)) add_share(parts_.shared_head, out);
    if (!model_.profile) add_framework(out);
    if (model::has_sizes(model_)) finish_bytes(setting_, sum, is_last, out);
    if (reduces_each(setting_) && setting_.hardware) add_sharding(out);
    round(out);
    return out;
  }

 private:
  void add_layers(bool recomputes, Stage& out, StageSum& sum) const {
    const auto decoder = std::span(layers_).subspan(static_cast<std::size_t>(out.first_layer),
                                                    static_cast<std::size_t>(out.layers));
    const std::vector<Key> mtp(static_cast<std::size_t>(out.mtp), mtp_key(setting_));
    if (!recomputes || !setting_.layers_again) {
      const Shares& shares = recomputes || plain_shares_.empty() ? shares_ : plain_shares_;
      std::map<Key, int> counts = counts_of(decoder);
      if (out.mtp > 0) counts[mtp_key(setting_)] += out.mtp;
      for (const auto& [key, count] : counts) add(shares.at(key), key.first, count, out, sum);
    } else if (setting_.method == RecomputeMethod::Uniform) {
      add_groups(decoder, out, sum);
      for (const Key& key : mtp) add(shares_.at(key), key.first, 1, out, sum);
    } else {
      const auto again = static_cast<std::size_t>(layers_again(setting_, out.layers));
      for (const auto& [key, count] : counts_of(decoder.first(again)))
        add(shares_.at(key), key.first, count, out, sum);
      for (const std::span<const Key> kept : {decoder.subspan(again), std::span<const Key>(mtp)})
        for (const auto& [key, count] : counts_of(kept))
          add(kept_whole(plain_shares_.at(key)), key.first, count, out, sum);
    }
  }

  /// Groups of layers that run again together: the first one's input is kept, and the activations of all come back at once.
  void add_groups(std::span<const Key> layers, Stage& out, StageSum& sum) const {
    const auto size = static_cast<std::size_t>(*setting_.layers_again);
    for (std::size_t first = 0; first < layers.size(); first += size) {
      double back = 0;
      for (std::size_t i = first; i < std::min(first + size, layers.size()); ++i) {
        LayerShare share = shares_.at(layers[i]);
        back += share.bytes.recomputed;
        if (i > first && !setting_.keeps_some) {
          back += share.bytes.stash;
          share.bytes.until_input = share.bytes.until_weight = 0;
        }
        if (i > first) share.bytes.stash = 0;
        add(share, layers[i].first, 1, out, sum);
      }
      sum.bytes.recomputed = std::max(sum.bytes.recomputed, back);
    }
  }

  static void add(const LayerShare& share, char letter, int count, Stage& out, StageSum& sum) {
    for (std::size_t pass = 0; pass < kPasses; ++pass) out.pass[pass] += share.time.pass[pass] * count;
    out.recomputed += share.time.recomputed * count;
    for (std::size_t group = 0; group < model::kGroups; ++group)
      out.exchanged[group] += share.time.exchanged[group] * count;
    out.dense += share.parameters.dense * count;
    out.experts += share.parameters.experts * count;
    out.trained_dense += share.trained.dense * count;
    out.trained_experts += share.trained.experts * count;
    add_found(share.time.found, out);
    sum.add(letter, share.bytes, count);
    sum.widest = std::max(sum.widest, share.parameters.dense + share.parameters.experts);
  }

  static void add_found(const Found& found, Stage& out) {
    for (std::size_t term = 0; term < kTerms; ++term)
      for (std::size_t basis = 0; basis < found[term].size(); ++basis)
        out.found[term][basis] += found[term][basis];
  }

  static void add_end(const LayerTime& time, Stage& out) {
    add_found(time.found, out);
    for (std::size_t pass = 0; pass < kPasses; ++pass) out.pass[pass] += time.pass[pass];
  }

  /// S makes the first one or two of the three products, each with the traffic and the collectives of its pass; T makes the others.
  void add_share(const LayerTime& time, Stage& out) const {
    add_found(time.found, out);
    const auto& [logits, input, weight] = time.pass;
    out.output = logits;
    (setting_.head == Head::SharedToGradient ? out.output : out.output_weight) += input;
    out.output_weight += weight;
  }

  /// Adds the framework's time of a forward, of a backward and of each pass of a shared head, however many layers they have.
  void add_framework(Stage& out) const {
    const double seconds = setting_.hardware->launch.pass_seconds * setting_.compute;
    const bool has_backward = out.pass[1].seconds() + out.pass[2].seconds() > 0;
    out.pass[0].of(Term::Launch) += seconds;
    if (has_backward) out.pass[1].of(Term::Launch) += seconds;
    if (!shares_head(setting_)) return;
    for (PassTime* pass : {&out.output, &out.output_weight}) pass->of(Term::Launch) += seconds;
  }

  /// Adds the part of gathers and reductions that the passes do not hide: the first layer's gather, the last one's reduction, and what takes longer than the
  /// passes beside it.
  void add_sharding(Stage& out) const {
    const int pieces = std::max(1, out.layers + out.mtp);
    const ShardTimes times = shard_times(setting_, out, pieces);
    const double backward = out.pass[1].seconds() + out.pass[2].seconds() +
                            (recomputes_all(setting_) ? out.recomputed.seconds() : 0);
    const double ahead = std::max(0.0, times.gather - out.pass[0].seconds()) + times.gather / pieces;
    const double back = std::max(0.0, times.gather + times.reduction - backward) + times.reduction / pieces;
    constexpr auto kData = static_cast<std::size_t>(model::Group::Data);
    const double exposed = 1 - setting_.hidden[kData];
    out.pass[0].of(Term::Collectives) += exposed * ahead;
    if (backward > 0) out.pass[1].of(Term::Collectives) += exposed * back;
    out.exchanged[kData] += exposed * (ahead + (backward > 0 ? back : 0));
  }

  static void round(Stage& out) {
    for (std::size_t pass = 0; pass < kPasses; ++pass) out.ticks[pass] = rounded(out.pass[pass].seconds());
    out.recomputed_ticks = rounded(out.recomputed.seconds());
    out.output_ticks = rounded(out.output.seconds());
    out.output_weight_ticks = rounded(out.output_weight.seconds());
  }

  const Setting& setting_;
  const model::Model& model_;
  const LayerParts& parts_;
  const std::vector<Key>& layers_;
  const Shares& shares_;
  const Shares& plain_shares_;
};

/// Ranks of a pipeline that are in one node.
int pipeline_ranks_per_node(const Setting& setting) {
  const std::int64_t stride = model::strides_of(setting.split).pipeline;
  return static_cast<int>(std::max<std::int64_t>(1, setting.hardware->devices_per_node / stride));
}

Hop hop_over(const hardware::Link& link) {
  return {.latency = rounded(link.latency),
          .bits_per_second = std::llround(8 * link.bytes_per_second * link.efficiency)};
}

void add_messages(const Setting& setting, Estimate& out) {
  if (setting.hardware == nullptr || !model::has_sizes(*setting.model)) return;
  out.message = message_bytes(setting);
  out.within = hop_over(hardware::message_link(*setting.hardware, false));
  out.between = hop_over(hardware::message_link(*setting.hardware, true));
  out.host = hop_over(setting.hardware->pcie);
  out.ranks_per_node = pipeline_ranks_per_node(setting);
}

}  // namespace

Ticks time_of(const Hop& hop, Bytes bytes) {
  return hop.latency + rounded(8 * static_cast<double>(bytes) / static_cast<double>(hop.bits_per_second));
}

double PassTime::seconds() const {
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

PassTime& PassTime::operator+=(const PassTime& other) {
  for (std::size_t i = 0; i < kTerms; ++i) terms[i] += other.terms[i];
  return *this;
}

PassTime PassTime::operator*(double factor) const {
  PassTime out = *this;
  for (double& term : out.terms) term *= factor;
  return out;
}

std::string_view name_of(Term term) {
  constexpr std::array<std::string_view, kTerms> kNames = {
      "gemm", "attention", "elementwise", "collectives", "launch", "head", "measured"};
  return kNames[static_cast<std::size_t>(term)];
}

std::string_view name_of(Category category) {
  constexpr std::array<std::string_view, kCategories> kNames = {"weights",
                                                                "gradients",
                                                                "optimizer",
                                                                "activations_until_input",
                                                                "activations_until_weight",
                                                                "logits",
                                                                "buffers",
                                                                "gathered",
                                                                "temporaries",
                                                                "reserve"};
  return kNames[static_cast<std::size_t>(category)];
}

Bytes CategoryBytes::fixed() const {
  Bytes sum = 0;
  for (std::size_t i = 0; i < kCategories; ++i)
    if (!is_per_microbatch(static_cast<Category>(i))) sum += bytes[i];
  return sum;
}

bool is_per_microbatch(Category category) {
  return category == Category::UntilInput || category == Category::UntilWeight ||
         category == Category::Logits;
}

LayerCosts::LayerCosts(const Setting& setting) : parts_(std::make_shared<const LayerParts>(setting)) {}

Estimate estimate(const Setting& setting, std::span<const int> layers) {
  return LayerCosts(setting).estimate(setting, layers);
}

Estimate LayerCosts::estimate(const Setting& setting, std::span<const int> layers) const {
  const Estimator estimator(setting, *parts_);
  Estimate out;
  out.has_bytes = model::has_sizes(*setting.model);
  int first = 0;
  for (std::size_t s = 0; s < layers.size(); ++s) {
    out.stages.push_back(
        estimator.stage(static_cast<int>(s), first, layers[s], static_cast<int>(layers.size())));
    first += layers[s];
  }
  add_messages(setting, out);
  return out;
}

std::vector<int> default_layers(const model::Model& model, int stages) {
  const auto layers = static_cast<int>(model.layers.size());
  const bool divides = layers % stages == 0;
  const int less = !divides && stages > 1 && (layers + 2) % stages == 0 ? 1 : 0;
  return layout::weighted_split({.layers = layers, .first_less = less, .last_less = less}, stages);
}

}  // namespace pipeloom::estimate
