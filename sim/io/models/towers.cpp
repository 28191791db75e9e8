// Keys and their defaults are those of the transformers library's configuration classes, sizes those of its modules.

#include "sim/io/models/towers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/io/models/fields.hpp"

namespace pipeloom::io::models {
namespace {

using model::Product;

constexpr std::int64_t kMostWidth = std::int64_t{1} << 24;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 32;
constexpr std::int64_t kMostLayers = 4096;

/// An encoder, before its layers have letters.
struct Tower {
  model::Layer layer;
  std::int64_t layers = 0;
  std::vector<Product> before;
  std::vector<Product> behind;
  std::int64_t first_tables = 0;  ///< weights in front of the first layer that are no product's
  std::int64_t last_tables = 0;
  std::int64_t window = 0;  ///< patches that attention sees where a layer is not in `whole`
  std::vector<std::int64_t> whole;
  std::int64_t whole_tables = 0;     ///< weights of no product that only these have
  std::vector<std::int64_t> tapped;  ///< layers with a projector of their own, as that after the last
  std::int64_t tap_tables = 0;
  std::int64_t merging = -1;  ///< the layer after which tokens are merged; -1: none
  std::vector<Product> merger;
  std::int64_t merger_tables = 0;
  std::int64_t merged_tokens = 0;

  [[nodiscard]] bool has_window(std::int64_t i) const {
    return window != 0 && std::find(whole.begin(), whole.end(), i) == whole.end();
  }
  [[nodiscard]] bool has_tap(std::int64_t i) const {
    return std::find(tapped.begin(), tapped.end(), i) != tapped.end();
  }
};

/// Expressions of one object of a row, by name.
class Rules {
 public:
  Rules(Sizes& sizes, const TypeRow& type, std::string_view part) : sizes_(sizes), type_(type), part_(part) {}

  [[nodiscard]] bool has(std::string_view name) const { return rule(name) != nullptr; }
  [[nodiscard]] std::string_view word(std::string_view name) const {
    return has(name) ? std::string_view(rule(name)->text()) : std::string_view();
  }
  /// From 1 to `most`.
  [[nodiscard]] std::int64_t size(std::string_view name, std::int64_t most = kMostWidth) const {
    return sizes_.size(word(name), most);
  }
  [[nodiscard]] std::int64_t whole(std::string_view name) const {
    return has(name) ? sizes_.whole(word(name)).value_or(0) : 0;
  }
  /// The value that was read last.
  [[noreturn]] void refuse_last(const std::string& allowed) const { sizes_.refuse_last(allowed); }
  [[nodiscard]] bool truth(std::string_view name) const { return has(name) && sizes_.truth(word(name)); }

  [[nodiscard]] std::vector<Product> products(std::string_view name) const {
    std::vector<Product> out;
    if (!has(name)) return out;
    for (const Value& row : rule(name)->items()) {
      const auto number = [&](std::string_view key) {
        const Value* at = row.find(key);
        return at == nullptr ? 0 : sizes_.whole(at->text()).value_or(0);
      };
      out.push_back({number("inputs"), number("outputs"), number("tokens"), number("bias") != 0,
                     number("activation") != 0});
    }
    return out;
  }

  /// Layers that the list of a key names by their numbers, or as those of full attention.
  [[nodiscard]] std::vector<std::int64_t> layers(std::string_view name) const {
    std::vector<std::int64_t> out;
    const Value* list = has(name) ? sizes_.find(word(name)) : nullptr;
    if (list == nullptr) return out;
    const std::string path = sizes_.path_of(word(name));
    if (!list->is(ValueKind::Array)) refuse(*list, path, "an array of layers");
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const Value& item = list->items()[i];
      if (!item.is(ValueKind::String))
        out.push_back(whole_number(item, path));
      else if (item.text() == "full_attention")
        out.push_back(static_cast<std::int64_t>(i));
    }
    return out;
  }

 private:
  [[nodiscard]] const Value* rule(std::string_view name) const { return type_.find({part_, name}); }

  Sizes& sizes_;
  const TypeRow& type_;
  std::string_view part_;
};

/// Tokens become fewer after a layer inside.
void read_merger(Sizes& sizes, const Rules& rules, Tower& out) {
  const auto at = rules.has("merging") ? sizes.whole(rules.word("merging")) : std::nullopt;
  if (!at) return;
  if (*at + 1 >= out.layers) rules.refuse_last(fmt::format("less than {}, the last layer", out.layers - 1));
  out.merging = *at;
  out.merger = rules.products("merger");
  out.merger_tables = rules.whole("merger_tables");
  out.merged_tokens = rules.size("merged_tokens", kMostTokens);
}

/// Every head sees all.
model::Attention attention_of(const Rules& rules, std::int64_t hidden) {
  model::Attention out;
  out.heads = rules.size("heads");
  if (!rules.has("head_dim") && hidden % out.heads != 0)
    rules.refuse_last(fmt::format("a divisor of {}, the width", hidden));
  out.kv_heads = rules.has("kv_heads") ? rules.size("kv_heads") : out.heads;
  out.head_dim = rules.has("head_dim") ? rules.size("head_dim") : hidden / out.heads;
  out.qkv_bias = rules.truth("qkv_bias");
  out.key_bias = !rules.has("key_bias") || rules.truth("key_bias");
  out.output_bias = rules.truth("output_bias");
  out.head_norms = rules.truth("head_norms");
  out.wide_norms = rules.truth("wide_norms");
  out.causal = false;
  return out;
}

model::Layer layer_of(const Rules& rules, std::int64_t tokens) {
  model::Layer out;
  out.hidden = rules.size("hidden");
  out.norm = rules.word("norm") == "layer" ? model::NormKind::Layer : model::NormKind::Rms;
  if (rules.word("place") == "around") out.place = model::NormPlace::Around;
  out.attention = attention_of(rules, out.hidden);
  out.mlp = model::Mlp{rules.size("ffn"), rules.truth("gated"), rules.truth("bias")};
  out.tokens = tokens;
  out.tables = rules.whole("tables");
  return out;
}

Tower tower_of(Sizes& sizes, const TypeRow& type) {
  const Rules rules(sizes, type, "encoder");
  for (const char* side : {"height", "width", "rows", "columns"})
    if (rules.has(side)) sizes.bind(side, rules.size(side));
  Tower out;
  out.layers = rules.size("count", kMostLayers);
  const std::int64_t tokens =
      rules.has("tokens") ? rules.size("tokens", kMostTokens) : sizes.size("rows*columns", kMostTokens);
  out.layer = layer_of(rules, tokens);
  out.before = rules.products("before");
  out.behind = rules.products("after");
  out.first_tables = rules.whole("first_tables");
  out.last_tables = rules.whole("last_tables");
  out.tap_tables = rules.whole("tap_tables");
  out.window = rules.whole("window");
  out.whole = rules.layers("whole");
  out.whole_tables = rules.whole("whole_tables");
  if (const std::int64_t period = rules.whole("whole_period"); period > 0 && out.whole.empty()) {
    for (std::int64_t i = period - 1; i + 1 < out.layers; i += period) out.whole.push_back(i);
    out.whole.push_back(out.layers - 1);
  }
  out.tapped = rules.layers("tapped");
  read_merger(sizes, rules, out);
  return out;
}

struct Letter {
  char letter;
  const char* name;
};
// Of none of the decoders' kinds.
constexpr Letter kFirst = {'P', "encoder, first"};
constexpr Letter kMiddle = {'V', "encoder"};
constexpr Letter kWindowed = {'W', "encoder, windowed"};
constexpr Letter kTapped = {'X', "encoder, with a projector of its own"};
constexpr Letter kMerging = {'X', "encoder, with a merger of its own"};
constexpr Letter kMerged = {'v', "encoder, of merged tokens"};
constexpr Letter kLast = {'J', "encoder, with projector"};

Letter letter_of(const Tower& tower, std::int64_t i) {
  if (i == 0) return kFirst;
  if (i + 1 == tower.layers) return kLast;
  if (tower.has_tap(i)) return kTapped;
  if (i == tower.merging) return kMerging;
  if (tower.merging >= 0 && i > tower.merging) return kMerged;
  return tower.has_window(i) ? kWindowed : kMiddle;
}

/// The same of a second tower.
char second(char letter) {
  if (letter == kMiddle.letter) return 'u';
  return letter == kMerged.letter ? 'm' : static_cast<char>(letter - 'A' + 'a');
}

void add_layers(const Tower& tower, model::Model& out) {
  const bool is_second = out.find(kFirst.letter) != nullptr;
  std::string letters;
  std::vector<model::Layer> kinds;
  for (std::int64_t i = 0; i < tower.layers; ++i) {
    const Letter named = letter_of(tower, i);
    const char letter = is_second ? second(named.letter) : named.letter;
    const bool is_known = letters.find(letter) != std::string::npos;
    letters += letter;
    if (is_known) continue;
    model::Layer layer = tower.layer;
    layer.letter = letter;
    layer.name = is_second ? fmt::format("second {}", named.name) : named.name;
    if (tower.has_window(i))
      layer.attention->window = tower.window;
    else
      layer.tables += tower.whole_tables;
    if (i == 0) {
      layer.before = tower.before;
      layer.tables += tower.first_tables;
    }
    if (tower.has_tap(i)) {
      layer.behind = tower.behind;
      layer.tables += tower.tap_tables;
    }
    if (i == tower.merging) {
      layer.behind = tower.merger;
      layer.tables += tower.merger_tables;
    } else if (tower.merging >= 0 && i > tower.merging) {
      layer.tokens = tower.merged_tokens;
    }
    if (i + 1 == tower.layers) {
      layer.behind.insert(layer.behind.end(), tower.behind.begin(), tower.behind.end());
      layer.tables += tower.last_tables;
    }
    kinds.push_back(std::move(layer));
  }
  out.kinds.insert(out.kinds.begin(), kinds.begin(), kinds.end());
  out.layers.insert(0, letters);
}

/// The row of a tower's object, which must be of one of the types that the file's row names.
TypeRow encoder_row(const Value& object, const std::string& path, const TypeRow& type) {
  Fields fields(object, path);
  const Value& rows = *type.find({"encoders"});
  std::string name = rows.keys().front().name;
  fields.read("model_type", name);
  if (const Value* row = rows.find(name)) return TypeRow::encoder(row->text());
  std::vector<std::string> types;
  for (const auto& key : rows.keys()) types.push_back(key.name);
  throw InputError::unknown_name(fields.find("model_type")->where(), fmt::format("tower in {}", path), name,
                                 types);
}

void warn_of_image(const Sizes& sizes, const TypeRow& type, const Tower& tower, model::Model& out) {
  if (type.find({"encoder", "height"}) == nullptr) return;
  const bool may_say = type.find({"encoder", "height"})->text().find("image_size") != std::string::npos;
  if (may_say && sizes.is_stated("image_size") && type.find({"encoder", "warns"}) == nullptr) return;
  out.warnings.push_back(
      fmt::format("{}: one image of {} x {} pixels a sample is assumed, {} patches that become {} tokens{}",
                  sizes.object().where().text(), *sizes.bound("height"), *sizes.bound("width"),
                  tower.layer.tokens, tower.behind.empty() ? 0 : tower.behind.back().tokens,
                  may_say ? fmt::format("; {} says another size", sizes.path_of("image_size")) : ""));
}

/// What the file holds between the tower and its decoder.
void add_projector(Sizes& whole, const Sizes& encoder, const TypeRow& type, Tower& tower, model::Model& out) {
  if (const Value* says = type.find({"says"}))
    out.warnings.push_back(fmt::format("{}: {}", whole.object().where().text(), says->text()));
  whole.bind("encoder_width", tower.layer.hidden);
  whole.bind("encoder_tokens", tower.layer.tokens);
  for (const char* side : {"rows", "columns"})
    if (const auto patches = encoder.bound(side)) whole.bind(side, *patches);
  if (const Value* merge = type.find({"merge"})) whole.bind("merge", whole.size(merge->text(), kMostWidth));
  const Rules rules(whole, type, "projector");
  for (const Product& product : rules.products("after")) tower.behind.push_back(product);
  tower.last_tables += rules.whole("tables");
}

/// What the encoder makes and the decoder reads should be as wide. The library builds it anyway, and so defaults of some classes do not fit each other.
void warn_of_width(const Value& object, const TypeRow& type, const Tower& tower, model::Model& out) {
  if (type.find({"joined"}) != nullptr) return;
  const std::int64_t made = tower.behind.empty() ? tower.layer.hidden : tower.behind.back().outputs;
  if (made != out.hidden)
    out.warnings.push_back(
        fmt::format("{}: the tower makes {} numbers a token and the decoder reads {}: the library builds "
                    "this model, but runs it with text alone",
                    object.where().text(), made, out.hidden));
}

}  // namespace

void add_tower(Sizes& whole, const TypeRow& type, model::Model& out) {
  const std::string& key = type.find({"tower"})->text();
  const Value* object = whole.find(key);
  if (object == nullptr)
    throw InputError(whole.object().where(),
                     fmt::format("{} is missing; give the tower's sizes as an object", key));
  const TypeRow row = encoder_row(*object, whole.path_of(key), type);
  Sizes sizes(*object, whole.path_of(key), row);
  for (Sizes* each : {&whole, &sizes}) each->bind("decoder_width", out.hidden);
  if (const Value* told = type.find({"told"}))
    for (std::size_t i = 0; i < told->keys().size(); ++i)
      sizes.bind(told->keys()[i].name, whole.truth(told->items()[i].text()) ? 1 : 0);
  sizes.check_least();
  Tower tower = tower_of(sizes, row);
  add_projector(whole, sizes, type, tower, out);
  warn_of_image(sizes, row, tower, out);
  warn_of_width(*object, type, tower, out);
  sizes.finish(out.warnings);
  add_layers(tower, out);
}

}  // namespace pipeloom::io::models
