#include "sim/model/trainable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/model/patterns.hpp"
#include "sim/options.hpp"

namespace pipeloom::model {
namespace {

struct Word {
  std::string_view word;
  bool Trainable::*member;
};
constexpr Word kWords[] = {{"embedding", &Trainable::embedding},
                           {"encoder", &Trainable::encoder},
                           {"projector", &Trainable::projector},
                           {"attention", &Trainable::attention},
                           {"mlp", &Trainable::mlp},
                           {"experts", &Trainable::experts},
                           {"head", &Trainable::head}};

bool has_layer_with(const Model& model, bool (*test)(const Layer&)) {
  return std::ranges::any_of(model.layers, [&](char letter) { return test(*model.find(letter)); });
}

/// True if the model has weights of this name.
bool has_part(const Model& model, std::string_view word) {
  if (word == "encoder") return has_layer_with(model, is_encoder);
  if (word == "projector") return has_layer_with(model, has_projector);
  if (word == "attention")
    return has_layer_with(model,
                          [](const Layer& layer) { return !is_encoder(layer) && mixers_of(layer) > 0; });
  if (word == "mlp")
    return has_layer_with(model,
                          [](const Layer& layer) { return !is_encoder(layer) && layer.mlp.has_value(); });
  if (word == "experts")
    return has_layer_with(model, [](const Layer& layer) { return layer.experts.has_value(); });
  return true;
}

/// A layer's first part and its last one.
std::pair<LayerPart, LayerPart> ends_of(const Layer& layer) {
  if (is_encoder(layer))
    return {LayerPart::Encoder, has_projector(layer) ? LayerPart::Projector : LayerPart::Encoder};
  const LayerPart feed = layer.mlp ? LayerPart::Mlp : LayerPart::Experts;
  const LayerPart first = mixers_of(layer) > 0 ? LayerPart::Mixer : feed;
  return {first, feed_forwards_of(layer) > 0 ? feed : first};
}

LayerPart part_of_collective(const Collective& collective, const Layer& layer) {
  if (is_encoder(layer)) return LayerPart::Encoder;
  if (collective.what == "mlp") return LayerPart::Mlp;
  const bool experts =
      collective.what == "dispatch" || collective.what == "combine" || collective.what == "shared experts";
  return experts ? LayerPart::Experts : LayerPart::Mixer;
}

/// Beside a product of k inputs and n outputs: k to r, and r to n.
void add_adapters(std::vector<Gemm>& gemms, const Split& split) {
  const std::size_t count = gemms.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Gemm& beside = gemms[i];
    if (!split.trainable.adapts(beside.part) || split.trainable.rank == 0) continue;
    Gemm down = beside;
    down.what = "adapter";
    down.n = split.trainable.rank;
    down.weight_gradient = true;
    Gemm up = down;
    up.k = split.trainable.rank;
    up.n = beside.n;
    gemms.push_back(down);
    gemms.push_back(up);
  }
}

}  // namespace

bool trains_all(const Trainable& trainable) {
  return std::ranges::all_of(kWords, [&](const Word& one) { return trainable.*one.member; });
}

Trainable trainable_of(const Model& model, const std::string& words, int rank) {
  Trainable out;
  if (words.empty() || words == "all") return out;
  const std::vector<std::string> named = split(words, ',');
  for (const Word& one : kWords) out.*one.member = std::ranges::find(named, one.word) != named.end();
  if (model.tied) out.embedding = out.head = out.embedding || out.head;
  out.adapters = rank > 0 || words == "none";
  out.rank = rank;
  const std::vector<Reach> reaches = reaches_of(model, out);
  out.head_backward =
      out.embedding || std::ranges::any_of(reaches, [](Reach one) { return one != Reach::None; });
  return out;
}

std::string trainable_refusal(const Model& model, const std::string& words, int rank) {
  if (words.empty() || words == "all")
    return rank == 0 ? ""
                     : "adapters are for what is frozen, and all is trained; say which parts are, "
                       "or none";
  if (std::ranges::any_of(model.kinds, [](const Layer& layer) { return layer.counted.has_value(); }))
    return fmt::format("layers of {} were counted, not described, and are trained whole; leave it out",
                       model.name);
  if (words == "none") return "";
  for (const std::string& word : split(words, ','))
    if (!has_part(model, word)) return fmt::format("{} has no {}; leave it out", model.name, word);
  return "";
}

std::vector<Reach> reaches_of(const Model& model, const Trainable& trainable) {
  std::vector<Reach> out;
  bool before = false;
  for (const char letter : model.layers) {
    const Layer& layer = *model.find(letter);
    before = before || (!is_encoder(layer) && trainable.embedding);
    const auto [first, last] = ends_of(layer);
    const bool early = trainable.trains(first) || trainable.adapts(first);
    const bool late = trainable.trains(last) || trainable.adapts(last);
    out.push_back(before || early ? Reach::Whole : late ? Reach::Late : Reach::None);
    before = before || early || late;
  }
  return out;
}

void freeze(Work& work, const Layer& layer, const Split& split) {
  const Trainable& trainable = split.trainable;
  if (trains_all(trainable)) return;
  for (Gemm& gemm : work.gemms) {
    gemm.input_gradient = trainable.reaches(gemm.part);
    gemm.weight_gradient = trainable.trains(gemm.part);
  }
  add_adapters(work.gemms, split);
  const LayerPart mixer = is_encoder(layer) ? LayerPart::Encoder : LayerPart::Mixer;
  for (CoreAttention& attention : work.attention) attention.backward = trainable.reaches(mixer);
  // A list of traffic does not say which part each of it is of: of the one layer where the backward ends half way, half of it.
  const double share = trainable.reach == Reach::Whole ? 1 : trainable.reach == Reach::Late ? 0.5 : 0;
  for (Traffic& traffic : work.traffic) traffic.backward *= share;
  for (Collective& collective : work.collectives) {
    const LayerPart part = part_of_collective(collective, layer);
    if (!trainable.reaches(part)) collective.times[static_cast<std::size_t>(Pass::BackwardInput)] = 0;
    if (!trainable.trains(part) && !(trainable.adapts(part) && trainable.rank > 0))
      collective.times[static_cast<std::size_t>(Pass::BackwardWeight)] = 0;
  }
}

}  // namespace pipeloom::model
