// The format megatron-layout: the placement of a schedule as Megatron-LM's layout string.

#include "sim/io/formats/layout_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include <pipeloom/error.hpp>
#include <pipeloom/units.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/layout/megatron_layout.hpp"

namespace pipeloom::io {

namespace {

const std::vector<std::string> kModelKeys = {"layers", "layer_weights", "embedding_weight", "output_weight",
                                             "mtp"};

std::int64_t whole_number(const Value& value, const std::string& key, std::int64_t least, std::int64_t most) {
  const auto number = value.is(ValueKind::Number) ? parse_fixed(value.text(), 1) : std::nullopt;
  if (!number || number->rounded || number->value < least || number->value > most)
    throw InputError(value.where(), fmt::format("{} is {}; it must be a whole number from {} to {}", key,
                                                value.described(), least, most));
  return number->value;
}

int count(const Value& root, const std::string& key, int least, int fallback) {
  const Value* value = root.find(key);
  return value == nullptr ? fallback : static_cast<int>(whole_number(*value, key, least, kMaxIndex));
}

std::int64_t weight(const Value& value, const std::string& key) {
  return whole_number(value, key, 0, kMaxTicks - 1);
}

/// The weights of an array, or one number as often as there are layers.
std::vector<std::int64_t> layer_weights(const Value* value, int layers) {
  if (value == nullptr || !value->is(ValueKind::Array))
    return std::vector<std::int64_t>(static_cast<std::size_t>(layers),
                                     value == nullptr ? 1 : weight(*value, "layer_weights"));
  std::vector<std::int64_t> weights;
  for (const Value& item : value->items()) weights.push_back(weight(item, "an entry of layer_weights"));
  if (weights.size() != static_cast<std::size_t>(layers))
    throw InputError(value->where(),
                     fmt::format("layer_weights has {} numbers, but layers is {}; give one number per layer",
                                 weights.size(), layers));
  return weights;
}

}  // namespace

LayoutModel read_layout_model(const Value& root) {
  if (!root.is(ValueKind::Object))
    throw InputError(root.where(), fmt::format("a model is an object such as {{\"layers\": 32}}, not {}",
                                               root.described()));
  for (std::size_t i = 0; i < root.keys().size(); ++i)
    if (std::find(kModelKeys.begin(), kModelKeys.end(), root.keys()[i].name) == kModelKeys.end())
      throw InputError::unknown_name(root.where_key(i), "key of a model", shortened(root.keys()[i].name, 64),
                                     kModelKeys);
  const Value* weights = root.find("layer_weights");
  const bool counted = weights != nullptr && weights->is(ValueKind::Array) && !weights->items().empty();
  LayoutModel model;
  model.layers = count(root, "layers", 1, counted ? static_cast<int>(weights->items().size()) : 0);
  if (model.layers == 0)
    throw InputError(root.where(),
                     "the number of layers is missing; give \"layers\" in the model, or --layers N");
  model.mtp = count(root, "mtp", 0, 0);
  const Value* embedding = root.find("embedding_weight");
  const Value* output = root.find("output_weight");
  if (weights == nullptr && embedding == nullptr && output == nullptr) return model;
  model.weights = layout::LayerWeights{layer_weights(weights, model.layers),
                                       embedding == nullptr ? 0 : weight(*embedding, "embedding_weight"),
                                       output == nullptr ? 0 : weight(*output, "output_weight")};
  return model;
}

namespace {

/// One decoder layer per stage: a schedule knows no layers.
void write_megatron_layout(std::ostream& out, const Placement& placement) {
  const std::string refusal = layout::layout_refusal(placement);
  if (!refusal.empty())
    throw InputError(
        Where{"megatron-layout"},
        fmt::format("there is no layout string for this placement: {}; write another format", refusal));
  const std::vector<int> layers(static_cast<std::size_t>(placement.stages()), 1);
  out << layout::to_text(layout::layout_of(layout::contents_of(layers))) << '\n';
}

}  // namespace

Format megatron_layout_format() {
  Format format;
  format.name = "megatron-layout";
  format.summary = "Megatron-LM's layout string for the placement, one layer per stage";
  format.read_instead = "a layout string has no order of ops; see `pipeloom layout --megatron-layout STRING`";
  format.write = [](std::ostream& out, const Exported& exported) {
    write_megatron_layout(out, exported.schedule->placement());
  };
  return format;
}

}  // namespace pipeloom::io
