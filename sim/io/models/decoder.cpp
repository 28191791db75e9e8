#include "sim/io/models/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/models/fields.hpp"
#include "sim/io/models/layer_order.hpp"
#include "sim/io/models/part_keys.hpp"

namespace pipeloom::io::models {
namespace {

/// Letters of kinds, in the order in which their mixers appear: with experts (or in models without any), and without beside them.
constexpr std::string_view kLetters = "TSUKNQRYZ";
constexpr std::string_view kDenseLetters = "DGHIOBFAC";

/// A part of a layer in its type's rules: expressions by name.
class Part {
 public:
  Part(Sizes& sizes, const TypeRow& type, std::string_view part, std::string_view member)
      : sizes_(sizes), type_(type), part_(part), member_(member) {}

  [[nodiscard]] bool exists() const { return rule("") != nullptr; }

  void read(std::string_view name, std::int64_t& out) const {
    if (const Value* at = rule(name)) out = sizes_.whole(at->text()).value_or(0);
  }
  void read(std::string_view name, bool& out) const {
    if (const Value* at = rule(name)) out = sizes_.truth(at->text());
  }
  [[nodiscard]] std::string word(std::string_view name) const {
    const Value* at = rule(name);
    return at == nullptr ? "" : at->text();
  }

 private:
  /// Of this part, or of the one that it is like.
  [[nodiscard]] const Value* rule(std::string_view name) const {
    const auto look = [&](std::string_view part) {
      return name.empty() ? type_.find({"parts", part, member_}) : type_.find({"parts", part, member_, name});
    };
    if (const Value* found = look(part_)) return found;
    const Value* like = type_.find({"parts", part_, "like"});
    return like == nullptr ? nullptr : look(like->text());
  }

  Sizes& sizes_;
  const TypeRow& type_;
  std::string_view part_;
  std::string_view member_;
};

/// Switches and sizes of a part: rules say the keys that they need.
template <class Struct>
void read_keys(const Part& part, Struct& out) {
  each_key(out, [&](std::string_view key, auto& member, Need) { part.read(key, member); });
}

template <class Struct>
void read_part(const Part& part, Struct& out) {
  read_keys(part, out);
}

void read_indexer(const Part& part, std::optional<model::Indexer>& out) {
  model::Indexer indexer;
  part.read("index_heads", indexer.heads);
  part.read("index_dim", indexer.head_dim);
  part.read("index_top_k", indexer.top_k);
  part.read("index_pool", indexer.pool);
  part.read("index_pool_gate", indexer.pool_gate);
  part.read("index_head_weights", indexer.head_weights);
  if (indexer.heads > 0) out = indexer;
}

void read_part(const Part& part, model::Attention& out) {
  read_keys(part, out);
  read_indexer(part, out.indexer);
}

void read_part(const Part& part, model::LatentAttention& out) {
  read_keys(part, out);
  read_indexer(part, out.indexer);
}

void read_part(const Part& part, model::CompressedAttention& out) {
  read_keys(part, out);
  read_indexer(part, out.indexer);
}

void read_part(const Part& part, model::Linear& out) {
  for (const auto& [name, rule] : kLinearRules)
    if (part.word("rule") == name) out.rule = rule;
  read_keys(part, out);
}

/// Reads one decoder.
class Decoder {
 public:
  Decoder(const Value& object, const std::string& path, const TypeRow& type, model::Model& out)
      : sizes_(object, path, type), type_(type), out_(out) {}

  void read(bool is_file) {
    if (is_file) need_main_sizes();
    const std::size_t count = layer_count();
    out_.hidden = need("hidden");
    out_.vocabulary = need("vocabulary");
    out_.tied = sizes_.truth(text("tied"));
    out_.positions = sizes_.whole(text("positions")).value_or(0);
    out_.sequence = std::min(sizes_.whole(text("sequence")).value_or(0), need("most_sequence"));
    out_.tables = sizes_.whole(text("tables")).value_or(0);
    if (const auto streams = sizes_.whole(text("streams")); streams && *streams > 0) out_.streams = *streams;
    out_.head_bias = sizes_.truth(text("head_bias"));
    out_.head_product = sizes_.truth(text("head_product"));
    out_.head_product_bias = sizes_.truth(text("head_product_bias"));
    out_.final_norm = sizes_.truth(text("final_norm"));
    out_.dropout = sizes_.truth(text("dropout"));
    out_.norm = norm();
    for (const char* which : {"mixer", "feed"})
      for (const std::string& part : parts_named(type_, which)) static_cast<void>(layer(part, ""));
    layers(parts_of_layers(sizes_, type_, "mixer", count), parts_of_layers(sizes_, type_, "feed", count));
    if (const auto mtp = sizes_.whole(text("mtp")))
      out_.mtp = static_cast<int>(std::min(*mtp, kMostDecoderLayers + 1));
    out_.mtp_letter = out_.layers.back();
  }

  /// What is passed over, and what a reader should know.
  void finish() {
    const std::string file = sizes_.object().where().file;
    if (const Value* assumed = type_.find({"assumed"}))
      for (std::size_t i = 0; i < assumed->keys().size(); ++i)
        if (const std::string& key = assumed->keys()[i].name; sizes_.find(key) == nullptr)
          warn(file, fmt::format("{} is null or missing: {} is assumed", sizes_.path_of(key),
                                 assumed->items()[i].text()));
    if (const Value* says = type_.find({"says"})) warn(file, says->text());
    sizes_.finish(out_.warnings);
    const std::int64_t biases = router_numbers();
    const bool counts = std::any_of(out_.kinds.begin(), out_.kinds.end(), [](const model::Layer& kind) {
      return kind.experts && kind.experts->router_bias;
    });
    if (text("router_buffers") == "1" && biases > 0)
      warn(
          file,
          fmt::format(
              "training holds {} biases of routers, which the class keeps beside its parameters; they are {}",
              biases, counts ? "counted, as topk_method is noaux_tc" : "not counted"));
  }

 private:
  [[nodiscard]] std::string_view text(std::string_view name) const {
    const Value* at = type_.find({name});
    return at == nullptr ? "0" : std::string_view(at->text());
  }

  /// A file of its own says these; a part of another may leave them to its class.
  void need_main_sizes() {
    for (const Value& key : type_.find({"needs"})->items())
      if (!sizes_.is_stated(key.text()) || !sizes_.whole(key.text()))
        throw InputError(sizes_.object().where(),
                         fmt::format("{} is missing; give it as a whole number", key.text()));
  }

  std::int64_t need(std::string_view name) {
    const auto value = sizes_.whole(text(name));
    if (!value) refuse_missing(name);
    return *value;
  }

  [[noreturn]] void refuse_missing(std::string_view name) const {
    std::string keys;
    for (const char c : text(name)) keys += c == '|' ? std::string(" or ") : std::string(c == '#' ? 0 : 1, c);
    throw InputError(sizes_.object().where(),
                     fmt::format("{} is null or missing; give it", sizes_.path_of(keys)));
  }

  void warn(const std::string& file, const std::string& message) {
    out_.warnings.push_back(fmt::format("{}: {}", file, message));
  }

  std::size_t layer_count() {
    const std::int64_t count = need("count");
    if (count < 1 || count > kMostDecoderLayers) {
      const Value* at = sizes_.find(text("count"));
      refuse(at == nullptr ? sizes_.object() : *at, sizes_.path_of(text("count")),
             fmt::format("a whole number from 1 to {}", kMostDecoderLayers));
    }
    return static_cast<std::size_t>(count);
  }

  [[nodiscard]] model::NormKind norm() const {
    const std::string_view name = text("norm");
    if (name == "layer") return model::NormKind::Layer;
    if (name == "centered") return model::NormKind::Centered;
    return name == "bare" ? model::NormKind::Bare : model::NormKind::Rms;
  }

  [[nodiscard]] model::NormPlace place(std::string_view part) const {
    const Value* own = type_.find({"parts", part, "place"});
    const std::string_view name = own == nullptr ? text("place") : std::string_view(own->text());
    if (name == "after") return model::NormPlace::After;
    if (name == "around") return model::NormPlace::Around;
    return name == "shared" ? model::NormPlace::Shared : model::NormPlace::Before;
  }

  template <class Struct>
  void add(std::string_view part, std::string_view member, std::optional<Struct>& out) {
    const Part rules(sizes_, type_, part, member);
    if (part.empty() || !rules.exists()) return;
    read_part(rules, out.emplace());
  }

  [[nodiscard]] std::string word(std::string_view part, std::string_view name) const {
    const Value* at = part.empty() ? nullptr : type_.find({"parts", part, name});
    return at == nullptr ? "" : at->text();
  }

  /// Small ones that belong to no part; without outputs there is none.
  void add_products(std::string_view part, std::vector<model::Product>& out) {
    const Value* rows = type_.find({"parts", part, "beside"});
    for (std::size_t i = 0; rows != nullptr && i < rows->items().size(); ++i) {
      const Value& row = rows->items()[i];
      const auto number = [&](std::string_view name) {
        const Value* at = row.find(name);
        return at == nullptr ? 0 : sizes_.whole(at->text()).value_or(0);
      };
      const model::Product product{number("inputs"), number("outputs"), 0, number("bias") != 0,
                                   number("activation") != 0};
      for (std::int64_t times = row.find("times") == nullptr ? 1 : number("times"); times > 0; --times)
        if (product.outputs > 0) out.push_back(product);
    }
  }

  model::Layer layer(const std::string& mixer, const std::string& feed) {
    model::Layer out;
    for (const std::string& part : {mixer, feed}) {
      if (const Value* side = part.empty() ? nullptr : type_.find({"parts", part, "side"}))
        out.side = sizes_.whole(side->text()).value_or(0);
      if (const Value* tables = part.empty() ? nullptr : type_.find({"parts", part, "tables"}))
        out.tables += sizes_.whole(tables->text()).value_or(0);
      if (!part.empty()) add_products(part, out.beside);
      add(part, "attention", out.attention);
      add(part, "latent", out.latent_attention);
      add(part, "compressed", out.compressed_attention);
      add(part, "mamba", out.mamba);
      add(part, "linear", out.linear);
      add(part, "mlp", out.mlp);
      add(part, "experts", out.experts);
    }
    out.place = place(mixer.empty() ? feed : mixer);
    if (const Value* then = feed.empty() ? nullptr : type_.find({"parts", feed, "then"}))
      out.then.push_back(layer(mixer, then->text()));
    return out;
  }

  void layers(const std::vector<std::string>& mixers, const std::vector<std::string>& feeds) {
    std::map<std::pair<std::string, std::string>, std::size_t> known;
    std::vector<std::size_t> order;
    std::vector<model::Layer> kinds;
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < mixers.size(); ++i) {
      const auto [at, is_new] = known.try_emplace({mixers[i], feeds[i]}, kinds.size());
      order.push_back(at->second);
      if (!is_new) continue;
      kinds.push_back(layer(mixers[i], feeds[i]));
      kinds.back().name = word(mixers[i], "name");
      kinds.back().letter = letter_of(mixers[i], feeds[i], seen);
      if (kinds.back().name.empty())
        kinds.back().name = mixers[i].empty() ? word(feeds[i], "name") : "transformer";
    }
    name_kinds(kinds, seen);
    for (const std::size_t kind : order) out_.layers += kinds[kind].letter;
    out_.kinds = std::move(kinds);
  }

  /// Of its rules; else nothing yet.
  char letter_of(const std::string& mixer, const std::string& feed, std::vector<std::string>& seen) const {
    const std::string own = word(mixer.empty() ? feed : mixer, "letter");
    seen.push_back(mixer);
    return own.empty() ? '\0' : own.front();
  }

  /// Letters that rules leave open, and names that tell kinds apart.
  static void name_kinds(std::vector<model::Layer>& kinds, const std::vector<std::string>& mixers) {
    const bool routed = std::any_of(kinds.begin(), kinds.end(),
                                    [](const model::Layer& kind) { return kind.experts.has_value(); });
    std::vector<std::string> order;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i].letter != '\0') continue;
      auto at = std::find(order.begin(), order.end(), mixers[i]);
      if (at == order.end()) at = order.insert(order.end(), mixers[i]);
      const auto index = static_cast<std::size_t>(at - order.begin()) % kLetters.size();
      const bool is_dense = routed && !kinds[i].experts;
      kinds[i].letter = (is_dense ? kDenseLetters : kLetters)[index];
      if (kinds[i].experts) kinds[i].name += " with experts";
      if (is_dense) kinds[i].name += ", dense";
    }
  }

  [[nodiscard]] std::int64_t router_numbers() const {
    std::int64_t sum = 0;
    for (const char letter : out_.layers) {
      const model::Layer* kind = out_.find(letter);
      if (kind != nullptr && kind->experts) sum += kind->experts->experts;
    }
    return sum;
  }

  Sizes sizes_;
  const TypeRow& type_;
  model::Model& out_;
};

}  // namespace

void read_decoder(const Value& object, const std::string& path, const TypeRow& type, const TypeRow& whole,
                  model::Model& out) {
  Decoder decoder(object, path, type, out);
  decoder.read(type.name() == whole.name());
  decoder.finish();
}

}  // namespace pipeloom::io::models
