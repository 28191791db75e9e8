// Our own model files.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/models/fields.hpp"
#include "sim/io/models/model_readers.hpp"
#include "sim/io/models/part_keys.hpp"
#include "sim/model/check.hpp"

namespace pipeloom::io {
namespace {

using models::Fields;
using models::refuse;

constexpr char kEmbedding = 'E';
constexpr char kHead = 'L';
constexpr std::size_t kMostLayers = 1 << 20;

/// A name of a table, or what was there.
template <class Value, std::size_t N>
void read_name(Fields& fields, std::string_view key, const std::pair<std::string_view, Value> (&names)[N],
               Value& out) {
  std::string name;
  fields.read(key, name);
  if (name.empty()) return;
  const auto* const found =
      std::find_if(std::begin(names), std::end(names), [&](const auto& one) { return one.first == name; });
  if (found != std::end(names)) {
    out = found->second;
    return;
  }
  std::vector<std::string> known;
  for (const auto& one : names) known.emplace_back(one.first);
  refuse(*fields.object().find(key), fields.path_of(key), "one of " + join(known, ", "));
}

/// Whole numbers and switches of a part.
template <class Part>
void read_keys(Fields& fields, Part& out) {
  models::each_key(out, [&](std::string_view key, auto& member, models::Need need) {
    if constexpr (std::is_same_v<decltype(member), std::int64_t&>) {
      if (need == models::Need::Yes) return fields.need(key, member);
    }
    fields.read(key, member);
  });
}

template <class Part>
void read_part(Fields& fields, Part& out) {
  read_keys(fields, out);
}

template <class Part>
void read_part_of(Fields& layer, std::string_view key, std::optional<Part>& out);

void read_part(Fields& fields, model::Attention& out) {
  read_keys(fields, out);
  if (out.kv_heads == 0 && fields.find("kv_heads") == nullptr) out.kv_heads = out.heads;
  read_part_of(fields, "indexer", out.indexer);
}

void read_part(Fields& fields, model::LatentAttention& out) {
  read_keys(fields, out);
  read_part_of(fields, "indexer", out.indexer);
}

void read_part(Fields& fields, model::CompressedAttention& out) {
  read_keys(fields, out);
  read_part_of(fields, "indexer", out.indexer);
}

void read_part(Fields& fields, model::Linear& out) {
  read_name(fields, "rule", models::kLinearRules, out.rule);
  read_keys(fields, out);
}

/// Rows of `columns` whole numbers.
std::vector<std::vector<std::int64_t>> read_rows(Fields& fields, std::string_view key, std::size_t columns) {
  const Value* list = fields.find(key);
  std::vector<std::vector<std::int64_t>> rows;
  if (list == nullptr) return rows;
  const std::string path = fields.path_of(key);
  if (!list->is(ValueKind::Array)) refuse(*list, path, "an array of rows");
  for (const Value& row : list->items()) {
    if (!row.is(ValueKind::Array) || row.items().size() != columns)
      refuse(row, path, fmt::format("rows of {} whole numbers", columns));
    auto& out = rows.emplace_back();
    for (const Value& item : row.items()) out.push_back(models::whole_number(item, path));
  }
  return rows;
}

template <std::size_t N>
void read_numbers(Fields& fields, std::string_view key, std::array<std::int64_t, N>& out) {
  const Value* list = fields.find(key);
  const std::string path = fields.path_of(key);
  if (list == nullptr || !list->is(ValueKind::Array) || list->items().size() != N)
    refuse(list == nullptr ? fields.object() : *list, path, fmt::format("{} whole numbers", N));
  for (std::size_t i = 0; i < N; ++i) out.at(i) = models::whole_number(list->items()[i], path);
}

std::vector<model::CountedProduct> read_counted_products(Fields& fields, std::string_view key) {
  std::vector<model::CountedProduct> out;
  for (const auto& row : read_rows(fields, key, 5)) out.push_back({row[0], row[1], row[2], row[3], row[4]});
  return out;
}

void read_part(Fields& fields, model::Counted& out) {
  fields.need("parameters", out.parameters);
  out.active = out.parameters;
  fields.read("active", out.active);
  read_numbers(fields, "flops", out.flops);
  out.products = read_counted_products(fields, "products");
  out.inner = read_counted_products(fields, "inner");
  for (const auto& row : read_rows(fields, "attention", 9))
    out.attention.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8]});
  read_numbers(fields, "elementwise", out.elementwise);
  read_numbers(fields, "kernels", out.kernels);
  fields.need("kept", out.kept);
  fields.need("kept_for_weights", out.kept_for_weights);
  fields.need("input", out.input);
  fields.need("gradients", out.gradients);
  fields.need("sequence", out.sequence);
  fields.read("micro_batch", out.micro_batch);
}

void read_products(Fields& layer, std::string_view key, std::vector<model::Product>& out) {
  const Value* list = layer.find(key);
  if (list == nullptr) return;
  const std::string path = layer.path_of(key);
  if (!list->is(ValueKind::Array)) refuse(*list, path, "an array of products");
  for (const Value& item : list->items()) {
    Fields fields(item, path);
    model::Product& product = out.emplace_back();
    fields.need("inputs", product.inputs);
    fields.need("outputs", product.outputs);
    fields.read("tokens", product.tokens);
    fields.read("bias", product.bias);
    fields.read("activation", product.activation);
    fields.finish();
  }
}

/// What is not named stays as it is.
template <class Norm>
void read_norm(Fields& fields, Norm& out) {
  using enum model::NormKind;
  static constexpr std::pair<std::string_view, model::NormKind> kNames[] = {
      {"rms", Rms}, {"layer", Layer}, {"centered", Centered}, {"bare", Bare}};
  model::NormKind norm = Rms;
  if (fields.find("norm") == nullptr) return;
  read_name(fields, "norm", kNames, norm);
  out = norm;
}

template <class Part>
void read_part_of(Fields& layer, std::string_view key, std::optional<Part>& out) {
  const Value* value = layer.find(key);
  if (value == nullptr) return;
  Fields fields(*value, layer.path_of(key));
  read_part(fields, out.emplace());
  fields.finish();
}

/// A key of one character that is a layer's letter.
char letter_at(const Value& object, std::size_t i, std::string_view what) {
  const std::string& name = object.keys()[i].name;
  if (name.size() != 1 || name[0] <= ' ' || name[0] > '~')
    throw InputError(object.where_key(i),
                     fmt::format("'{}' is no letter of a layer; the keys of {} are single "
                                 "letters or signs, such as \"T\"",
                                 shortened(name, 40), what));
  return name[0];
}

model::Layer read_kind(const Value& value, char letter) {
  model::Layer layer;
  layer.letter = letter;
  Fields fields(value, std::string("kinds.") + letter);
  fields.read("name", layer.name);
  read_part_of(fields, "attention", layer.attention);
  read_part_of(fields, "latent_attention", layer.latent_attention);
  read_part_of(fields, "compressed_attention", layer.compressed_attention);
  read_part_of(fields, "mamba", layer.mamba);
  read_part_of(fields, "linear", layer.linear);
  read_part_of(fields, "mlp", layer.mlp);
  read_part_of(fields, "experts", layer.experts);
  read_part_of(fields, "counted", layer.counted);
  fields.read("hidden", layer.hidden);
  fields.read("tokens", layer.tokens);
  read_norm(fields, layer.norm);
  read_products(fields, "before", layer.before);
  read_products(fields, "behind", layer.behind);
  read_products(fields, "beside", layer.beside);
  fields.read("tables", layer.tables);
  fields.read("side", layer.side);
  using enum model::NormPlace;
  static constexpr std::pair<std::string_view, model::NormPlace> kPlaces[] = {
      {"before", Before}, {"after", After}, {"around", Around}, {"shared", Shared}};
  read_name(fields, "norms", kPlaces, layer.place);
  if (const Value* then = fields.find("then")) layer.then.push_back(read_kind(*then, letter));
  fields.finish();
  return layer;
}

void read_kinds(const Value& kinds, model::Model& out) {
  if (!kinds.is(ValueKind::Object)) refuse(kinds, "kinds", "an object from letters to layers");
  for (std::size_t i = 0; i < kinds.keys().size(); ++i) {
    const char letter = letter_at(kinds, i, "kinds");
    if (letter == kEmbedding || letter == kHead)
      throw InputError(kinds.where_key(i),
                       "the letters E and L are the embedding's and the head's; take another");
    out.kinds.push_back(read_kind(kinds.items()[i], letter));
  }
}

/// "EM-M*L", or {"D": 3, "T": 58}: runs in order. E in front and L behind may stand or not.
std::string read_layers(const Value& value) {
  std::string layers;
  if (value.is(ValueKind::String)) {
    layers = value.text();
  } else if (value.is(ValueKind::Object)) {
    for (std::size_t i = 0; i < value.keys().size(); ++i) {
      const std::int64_t count = models::whole_number(value.items()[i], "layers." + value.keys()[i].name);
      if (static_cast<std::uint64_t>(count) + layers.size() > kMostLayers)
        refuse(value.items()[i], "layers." + value.keys()[i].name, fmt::format("at most {}", kMostLayers));
      layers.append(static_cast<std::size_t>(count), letter_at(value, i, "layers"));
    }
  } else {
    refuse(value, "layers", "a string with a letter per layer, or an object such as {\"D\": 3, \"T\": 58}");
  }
  if (!layers.empty() && layers.front() == kEmbedding) layers.erase(0, 1);
  if (!layers.empty() && layers.back() == kHead) layers.pop_back();
  return layers;
}

Ticks read_time(const Value& value, const std::string& path, TimeUnit unit) {
  std::optional<FixedPoint> ticks;
  if (value.is(ValueKind::Number)) ticks = parse_ticks(value.text(), unit);
  if (value.is(ValueKind::String) && unit != TimeUnit::Unit) ticks = parse_time_literal(value.text());
  if (!ticks || ticks->value < 0)
    refuse(value, path,
           unit == TimeUnit::Unit
               ? "a number of 0 or more, for \"time_unit\" is \"unit\""
               : "a time of 0 or more, such as 2.68, or \"2.68ms\" with a unit (s, ms, us or ns)");
  return ticks->value;
}

model::Profile read_profile(const Value& table, TimeUnit unit) {
  if (!table.is(ValueKind::Object))
    refuse(table, "ticks", "an object from letters to times, such as {\"T\": [1, 1, 1]}");
  model::Profile out;
  out.unit = unit;
  for (std::size_t i = 0; i < table.keys().size(); ++i) {
    const char letter = letter_at(table, i, "ticks");
    const Value& times = table.items()[i];
    const std::string path = std::string("ticks.") + letter;
    if (!times.is(ValueKind::Array) || times.items().size() != 3)
      refuse(times, path, "three times: forward, gradient of the input, gradient of the weights");
    auto& row = out.ticks[letter];
    for (std::size_t pass = 0; pass < 3; ++pass) row.at(pass) = read_time(times.items()[pass], path, unit);
  }
  return out;
}

TimeUnit read_time_unit(Fields& fields) {
  const Value* value = fields.find("time_unit");
  if (value == nullptr) return TimeUnit::Millisecond;
  const auto unit = value->is(ValueKind::String) ? time_unit_named(value->text()) : std::nullopt;
  if (!unit) refuse(*value, "time_unit", R"("unit", "s", "ms", "us" or "ns")");
  return *unit;
}

model::Modules read_modules(const Value& value, std::size_t layers) {
  Fields fields(value, "modules");
  model::Modules out;
  fields.read("embedding", out.embedding);
  fields.read("norm", out.norm);
  fields.read("head", out.head);
  const Value* names = fields.find("layers");
  if (names == nullptr || !names->is(ValueKind::Array) || names->items().size() != layers)
    refuse(names == nullptr ? value : *names, "modules.layers", fmt::format("{} names, one a layer", layers));
  for (const Value& name : names->items()) {
    if (!name.is(ValueKind::String)) refuse(name, "modules.layers", "a name such as \"model.layers.0\"");
    out.layers.push_back(name.text());
  }
  fields.finish();
  return out;
}

void read_sizes(Fields& fields, model::Model& out) {
  fields.read("hidden", out.hidden);
  fields.read("vocabulary", out.vocabulary);
  fields.read("tied", out.tied);
  fields.read("head_bias", out.head_bias);
  fields.read("head_product", out.head_product);
  fields.read("head_product_bias", out.head_product_bias);
  read_norm(fields, out.norm);
  fields.read("final_norm", out.final_norm);
  fields.read("dropout", out.dropout);
  fields.read("positions", out.positions);
  fields.read("sequence", out.sequence);
  fields.read("tables", out.tables);
  fields.read("streams", out.streams);
  fields.read("mtp", out.mtp);
  std::string letter;
  fields.read("mtp_letter", letter);
  if (letter.size() > 1) refuse(*fields.object().find("mtp_letter"), "mtp_letter", "a single letter");
  if (!letter.empty())
    out.mtp_letter = letter[0];
  else if (!out.layers.empty())
    out.mtp_letter = out.layers.back();
}

/// Times of a letter that is no layer's would count for nothing.
void check_timed_letters(const Value& table, const model::Model& model) {
  for (std::size_t i = 0; i < table.keys().size(); ++i) {
    const char letter = letter_at(table, i, "ticks");
    if (letter != kEmbedding && letter != kHead && model.find(letter) == nullptr)
      throw InputError(
          table.where_key(i),
          fmt::format("'{}' has times but is no letter of kinds; name the kind or drop its times",
                      shortened(table.keys()[i].name, 8)));
  }
}

/// Kinds of a model that has times alone: a name of nothing for each letter.
void add_timed_kinds(model::Model& out) {
  for (const auto& [letter, times] : out.profile->ticks) {
    if (letter == kEmbedding || letter == kHead) continue;
    model::Layer layer;
    layer.letter = letter;
    out.kinds.push_back(layer);
  }
}

/// What is counted of an encoder is of a model that runs.
void check_projectors(const model::Model& out) {
  for (const model::Layer& layer : out.kinds)
    if (!layer.behind.empty() && layer.behind.back().outputs != out.hidden)
      throw InputError(
          out.where,
          fmt::format("outputs of the last product behind layer '{}' is {}; it must be {}, the width that "
                      "follows it",
                      shortened(std::string_view(&layer.letter, 1), 8), layer.behind.back().outputs,
                      out.hidden));
}

}  // namespace

model::Model read_model(const Value& root) {
  Fields fields(root, "");
  model::Model out;
  out.where = root.where();
  fields.read("name", out.name);
  fields.read("source", out.source);
  fields.read("type", out.type);
  const Value* layers = fields.find("layers");
  if (layers == nullptr) throw InputError(root.where(), "layers is missing; give a letter per layer");
  out.layers = read_layers(*layers);
  const TimeUnit unit = read_time_unit(fields);
  const Value* table = fields.find("ticks");
  if (table != nullptr) out.profile = read_profile(*table, unit);
  read_sizes(fields, out);
  if (const Value* kinds = fields.find("kinds"))
    read_kinds(*kinds, out);
  else if (out.profile)
    add_timed_kinds(out);
  if (table != nullptr) check_timed_letters(*table, out);
  if (const Value* modules = fields.find("modules")) out.modules = read_modules(*modules, out.layers.size());
  fields.finish();
  model::check(out);
  check_projectors(out);
  return out;
}

}  // namespace pipeloom::io
