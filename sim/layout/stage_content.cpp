#include "sim/layout/stage_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include <pipeloom/error.hpp>

namespace pipeloom::layout {
namespace {

constexpr std::array<std::string_view, 3> kFrameworks = {"torchtitan", "areal", "megatron"};

void add_layers(std::vector<std::string>& out, const std::string& prefix, int first, int count, bool ranges) {
  if (ranges && count > 1) {
    out.push_back(fmt::format("{}{}-{}", prefix, first, first + count - 1));
    return;
  }
  for (int layer = first; layer < first + count; ++layer) out.push_back(fmt::format("{}{}", prefix, layer));
}

/// Decoder layers, by the model's own names if it has them.
void add_decoder_layers(std::vector<std::string>& out, const ModuleNames& names, int first, int count,
                        bool ranges) {
  if (names.layers.empty() || count == 0) return add_layers(out, names.layer, first, count, ranges);
  const auto begin = names.layers.begin() + first;
  if (ranges && count > 1)
    out.push_back(fmt::format("{} .. {}", *begin, *(begin + count - 1)));
  else
    out.insert(out.end(), begin, begin + count);
}

/// The stage whose end has the norm: the head's, or the one with the last decoder layer.
std::size_t norm_stage(const std::vector<StageContent>& contents, const ModuleNames& names) {
  const auto mtp = std::accumulate(contents.begin(), contents.end(), 0,
                                   [](int sum, const StageContent& stage) { return sum + stage.mtp; });
  for (std::size_t k = contents.size(); k-- > 0;)
    if (names.norm_with_decoder && mtp > 0 ? contents[k].layers > 0 : contents[k].head) return k;
  return contents.size();
}

}  // namespace

std::vector<StageContent> contents_of(const std::vector<int>& layers_per_stage, int mtp, int encoder) {
  std::vector<StageContent> contents(layers_per_stage.size());
  for (std::size_t k = 0; k < contents.size(); ++k) {
    contents[k].encoder = std::min(encoder, layers_per_stage[k]);
    contents[k].layers = layers_per_stage[k] - contents[k].encoder;
    encoder -= contents[k].encoder;
  }
  contents.front().embedding = true;
  contents.back().mtp = mtp;
  contents.back().head = true;
  return contents;
}

std::vector<int> first_layers(const std::vector<StageContent>& contents) {
  std::vector<int> first;
  first.reserve(contents.size());
  int next = 0;
  for (const StageContent& stage : contents) {
    first.push_back(next);
    next += stage.layers;
  }
  return first;
}

std::string_view name_of(Framework framework) {
  return kFrameworks[static_cast<std::size_t>(framework)];
}

std::optional<Framework> framework_named(std::string_view name) {
  for (std::size_t i = 0; i < kFrameworks.size(); ++i)
    if (kFrameworks[i] == name) return static_cast<Framework>(i);
  return std::nullopt;
}

ModuleNames module_names(Framework framework, bool critic) {
  if (critic && framework != Framework::Areal)
    throw InputError(fmt::format(
        "a critic is given, but {} has no critic head; only areal has one, named score", name_of(framework)));
  if (framework == Framework::Megatron)
    return {"embedding",
            "decoder.layers.",
            "mtp.layers.",
            "vision_model.decoder.layers.",
            "decoder.final_layernorm",
            "output_layer",
            true};
  std::string head = framework == Framework::Torchtitan ? "lm_head" : critic ? "score" : "output";
  return {"tok_embeddings", "layers.",       "mtp.layers.", "vision_encoder.layers.",
          "norm",           std::move(head), false};
}

std::vector<std::vector<std::string>> modules_of(const std::vector<StageContent>& contents,
                                                 const ModuleNames& names, bool ranges) {
  std::vector<std::vector<std::string>> modules(contents.size());
  const std::size_t with_norm = norm_stage(contents, names);
  int layer = 0;
  int mtp = 0;
  int encoder = 0;
  for (std::size_t k = 0; k < contents.size(); ++k) {
    const StageContent& stage = contents[k];
    auto& out = modules[k];
    add_layers(out, names.encoder, encoder, stage.encoder, ranges);
    encoder += stage.encoder;
    if (stage.embedding) out.push_back(names.embedding);
    add_decoder_layers(out, names, layer, stage.layers, ranges);
    layer += stage.layers;
    if (k == with_norm) out.push_back(names.norm);
    add_layers(out, names.mtp, mtp, stage.mtp, ranges);
    mtp += stage.mtp;
    if (stage.head) out.push_back(names.head);
  }
  return modules;
}

}  // namespace pipeloom::layout
