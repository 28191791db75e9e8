#include "study/targets/layers_told.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <pipeloom/error.hpp>
#include "sim/layout/layer_split.hpp"
#include "sim/layout/megatron_layout.hpp"
#include "sim/model/patterns.hpp"
#include "sim/model/weights.hpp"

namespace pipeloom::study {
namespace {

int sum_of(const std::vector<int>& layers) {
  return std::accumulate(layers.begin(), layers.end(), 0);
}

/// Stages per rank of a class that is told no number: one, or two if it has several.
int default_chunks(int chunks) {
  return chunks == 1 ? 1 : 2;
}

/// The split with these words, or nothing where the rule refuses them.
std::optional<std::vector<int>> weighted(int layers, int stages, const WeightedWords& words) {
  try {
    return layout::weighted_split({layers, words.first_less, words.last_less}, stages);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Layers per stage with which the rule makes `stages` stages of `work`; nullopt if no number does.
std::optional<int> per_stage(int work, int stages) {
  const int least = (work + stages - 1) / stages;
  return (work + least - 1) / least == stages ? std::optional(least) : std::nullopt;
}

/// The words nearest to the defaults for which `takes` holds of the split that they make.
template <class Takes>
std::optional<WeightedWords> nearest_words(int layers, int stages, int chunks, Takes takes) {
  const int most = layers / stages + 2;
  std::optional<WeightedWords> best;
  const auto distance = [](const WeightedWords& words) {
    return std::abs(words.first_less - 1) + std::abs(words.last_less - 1);
  };
  for (int first = 0; first <= most; ++first)
    for (int last = 0; last <= most; ++last) {
      WeightedWords words{std::nullopt, first, last};
      if (best && distance(*best) <= distance(words)) continue;
      if (chunks != default_chunks(chunks)) {
        words.layers_per_stage = per_stage(layers + first + last, stages);
        if (!words.layers_per_stage) continue;
      }
      const auto split = weighted(layers, stages, words);
      if (split && takes(*split)) best = words;
    }
  return best;
}

LayersTold told_by_weights(const Target& target, const Deployment& deployment) {
  const int chunks = deployment.order->placement().chunks();
  const int stages = deployment.order->stages();
  LayersTold out;
  if (deployment.layers.empty()) {
    if (chunks != default_chunks(chunks))
      out.refusal = fmt::format(
          "{} is told layers per stage, not stages per rank: {} of them need the number of "
          "layers; name a model",
          target.title, chunks);
    return out;
  }
  const int layers = sum_of(deployment.layers);
  auto words = nearest_words(layers, stages, chunks,
                             [&](const std::vector<int>& split) { return split == deployment.layers; });
  if (!words) {
    words = nearest_words(layers, stages, chunks, [](const std::vector<int>&) { return true; });
    if (!words) {
      out.refusal = fmt::format("no number of layers per stage makes {} stages of {} layers for {}", stages,
                                layers, target.title);
      return out;
    }
    out.own = *weighted(layers, stages, *words);
    out.why_own = fmt::format(
        "{} is told a number of layers per stage, and how many less the first and the last "
        "have; no such numbers make this split",
        target.title);
  }
  out.weighted = *words;
  out.said = words->layers_per_stage || words->first_less != 1 || words->last_less != 1;
  return out;
}

/// All encoder layers on the first stage, where a framework keeps them as one module, and `decoder` after them.
std::vector<int> with_tower(std::vector<int> decoder, int encoder) {
  decoder.front() += encoder;
  return decoder;
}

LayersTold told_by_modules(const Target& target, const Deployment& deployment) {
  LayersTold out;
  if (deployment.layers.empty()) return out;
  const int encoder = deployment.encoder_layers();
  const int chunks = deployment.order->placement().chunks();
  const int decoder = sum_of(deployment.layers) - encoder;
  const auto own = weighted(decoder, deployment.order->stages(), {});
  const bool own_stages = chunks == default_chunks(chunks);
  if (own && own_stages && with_tower(*own, encoder) == deployment.layers) return out;
  if (encoder > deployment.layers.front()) {
    out.why_own = fmt::format("{} keeps an encoder whole, on the first stage", target.title);
    if (own)
      out.own = with_tower(*own, encoder);
    else
      out.refusal = out.why_own + fmt::format("; {} decoder layers are too few for {} stages", decoder,
                                              deployment.order->stages());
    return out;
  }
  out.modules = torchtitan_modules(deployment.contents());
  out.said = true;
  return out;
}

/// Megatron-LM's letter for a layer of a hybrid model; nothing where it has none.
std::optional<char> pattern_letter(const model::Layer& layer) {
  const bool attention = model::has_attention(layer);
  const int parts =
      (attention ? 1 : 0) + (layer.mamba ? 1 : 0) + (layer.mlp ? 1 : 0) + (layer.experts ? 1 : 0);
  if (parts != 1 || layer.linear || layer.compressed_attention) return std::nullopt;
  if (layer.mamba) return 'M';
  if (attention) return layer.latent_attention ? '+' : '*';
  return layer.mlp ? '-' : 'E';
}

/// "M-M*|-M-*": a letter per layer, | between stages. "" where a layer has no letter.
std::string pattern_of(const model::Model& model, const std::vector<int>& layers) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    if (stage > 0) out += '|';
    for (int i = 0; i < layers[stage]; ++i) {
      const auto letter = pattern_letter(*model.find(model.layers[next++]));
      if (!letter) return "";
      out += *letter;
    }
  }
  return out;
}

/// Megatron-LM's default split of that number of layers; nullopt if it refuses.
std::optional<std::vector<int>> even(int layers, const Placement& placement) {
  try {
    return layout::even_split({.layers = layers, .ranks = placement.ranks(), .chunks = placement.chunks()});
  } catch (const InputError&) {
    return std::nullopt;
  }
}

LayersTold told_by_pattern(const Deployment& deployment) {
  LayersTold out;
  if (deployment.model->mtp == 0) out.pattern = pattern_of(*deployment.model, deployment.layers);
  out.said = !out.pattern.empty();
  if (!out.said)
    out.refusal = "Megatron-LM's pattern of a hybrid model has no letters for all of these layers";
  return out;
}

LayersTold told_by_layout(const Target& target, const Deployment& deployment) {
  const Placement& placement = deployment.order->placement();
  LayersTold out;
  if (deployment.layers.empty() || placement.ranks() == 1) return out;
  const int encoder = deployment.encoder_layers();
  if (encoder == 0 && deployment.model != nullptr && model::is_hybrid(*deployment.model))
    return told_by_pattern(deployment);
  const std::string why = layout_string_refusal(deployment);
  if (why.empty()) {
    out.layout = layout::to_text(layout::layout_of(deployment.contents()));
    out.said = true;
    return out;
  }
  const int decoder = sum_of(deployment.layers) - encoder;
  const auto own = even(decoder, placement);
  if (!own) {
    out.refusal =
        fmt::format("{}, and {} gives {} decoder layers to {} stages only where they are a multiple", why,
                    target.title, decoder, placement.stages());
    return out;
  }
  if (with_tower(*own, encoder) != deployment.layers) {
    out.own = with_tower(*own, encoder);
    out.why_own = why;
  }
  return out;
}

}  // namespace

std::vector<std::vector<std::string>> torchtitan_modules(std::vector<layout::StageContent> contents) {
  const bool encodes = contents.front().encoder > 0;
  contents.front().encoder = 0;
  auto out = layout::modules_of(contents, layout::module_names(layout::Framework::Torchtitan, false));
  if (encodes) out.front().insert(out.front().begin(), "vision_encoder");
  return out;
}

std::string layout_string_refusal(int encoder_layers, bool hybrid, const Placement& placement) {
  if (encoder_layers > 0)
    return "a layout string has no letters for an encoder, which is whole on the first stage";
  if (hybrid)
    return "Megatron-LM refuses a layout string beside a hybrid model's pattern, which says the stages "
           "itself";
  return layout::layout_refusal(placement);
}

std::string layout_string_refusal(const Deployment& deployment) {
  return layout_string_refusal(deployment.encoder_layers(),
                               deployment.model != nullptr && model::is_hybrid(*deployment.model),
                               deployment.order->placement());
}

LayersTold layers_told(const Target& target, const Deployment& deployment) {
  switch (target.layers) {
    case LayerWords::Code:
      break;
    case LayerWords::Modules:
      return told_by_modules(target, deployment);
    case LayerWords::Weighted:
      return told_by_weights(target, deployment);
    case LayerWords::Layout:
      return told_by_layout(target, deployment);
  }
  LayersTold out;
  out.said = !deployment.layers.empty();
  return out;
}

}  // namespace pipeloom::study
