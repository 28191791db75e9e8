#include "sim/io/models/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/models/fields.hpp"

namespace pipeloom::io::models {
namespace {

constexpr std::int64_t kMostDecoderLayers = 4096;
/// Letters of kinds, in the order in which their mixers appear: with experts (or in models without any), and without beside them.
constexpr std::string_view kLetters = "TSUKNQRYZ";
constexpr std::string_view kDenseLetters = "DGHIOBFAC";

/// Of rules about layers' numbers, as expressions.
constexpr std::string_view kConditions[] = {"period", "offset", "from", "to", "if", "base"};

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

template <class Struct, class Type>
struct Member {
  std::string_view name;
  Type Struct::*at;
};

template <class Struct, class Type, std::size_t N>
void read_all(const Part& part, Struct& out, const Member<Struct, Type> (&members)[N]) {
  for (const Member<Struct, Type>& member : members) part.read(member.name, out.*member.at);
}

using Whole = std::int64_t;

void read_part(const Part& part, model::Attention& out) {
  using A = model::Attention;
  static constexpr Member<A, Whole> kSizes[] = {
      {"heads", &A::heads}, {"kv_heads", &A::kv_heads}, {"head_dim", &A::head_dim}, {"window", &A::window}};
  static constexpr Member<A, bool> kSwitches[] = {
      {"qkv_bias", &A::qkv_bias},     {"output_bias", &A::output_bias},
      {"head_norms", &A::head_norms}, {"wide_norms", &A::wide_norms},
      {"gated", &A::gated},           {"sinks", &A::sinks},
      {"values", &A::values},         {"chunked", &A::chunked},
      {"key_bias", &A::key_bias},     {"head_gates", &A::head_gates}};
  read_all(part, out, kSizes);
  read_all(part, out, kSwitches);
}

void read_part(const Part& part, model::LatentAttention& out) {
  using A = model::LatentAttention;
  static constexpr Member<A, Whole> kSizes[] = {{"heads", &A::heads},       {"q_rank", &A::q_rank},
                                                {"kv_rank", &A::kv_rank},   {"nope_dim", &A::nope_dim},
                                                {"rope_dim", &A::rope_dim}, {"v_dim", &A::v_dim}};
  read_all(part, out, kSizes);
  part.read("bias", out.bias);
  model::Indexer indexer;
  part.read("index_heads", indexer.heads);
  part.read("index_dim", indexer.head_dim);
  part.read("index_top_k", indexer.top_k);
  if (indexer.heads > 0) out.indexer = indexer;
}

void read_part(const Part& part, model::Mamba& out) {
  using M = model::Mamba;
  static constexpr Member<M, Whole> kSizes[] = {{"heads", &M::heads},
                                                {"head_dim", &M::head_dim},
                                                {"groups", &M::groups},
                                                {"state", &M::state},
                                                {"conv", &M::conv}};
  static constexpr Member<M, bool> kSwitches[] = {{"in_bias", &M::in_bias},
                                                  {"out_bias", &M::out_bias},
                                                  {"conv_bias", &M::conv_bias},
                                                  {"gated_norm", &M::gated_norm}};
  read_all(part, out, kSizes);
  read_all(part, out, kSwitches);
}

void read_part(const Part& part, model::Linear& out) {
  using L = model::Linear;
  using enum model::LinearRule;
  static constexpr std::pair<std::string_view, model::LinearRule> kRules[] = {{"gated_delta", GatedDelta},
                                                                              {"kimi_delta", KimiDelta},
                                                                              {"lightning", Lightning},
                                                                              {"mamba1", Mamba1},
                                                                              {"short_conv", ShortConv}};
  static constexpr Member<L, Whole> kSizes[] = {{"heads", &L::heads},         {"head_dim", &L::head_dim},
                                                {"key_heads", &L::key_heads}, {"key_dim", &L::key_dim},
                                                {"conv", &L::conv},           {"rank", &L::rank}};
  static constexpr Member<L, bool> kSwitches[] = {
      {"bias", &L::bias}, {"conv_bias", &L::conv_bias}, {"norms", &L::norms}};
  for (const auto& [name, rule] : kRules)
    if (part.word("rule") == name) out.rule = rule;
  read_all(part, out, kSizes);
  read_all(part, out, kSwitches);
}

void read_part(const Part& part, model::Mlp& out) {
  part.read("ffn", out.ffn);
  part.read("gated", out.gated);
  part.read("bias", out.bias);
}

void read_part(const Part& part, model::Experts& out) {
  using E = model::Experts;
  static constexpr Member<E, Whole> kSizes[] = {
      {"experts", &E::experts}, {"top_k", &E::top_k}, {"ffn", &E::ffn}, {"shared_ffn", &E::shared_ffn}};
  static constexpr Member<E, bool> kSwitches[] = {{"gated", &E::gated},
                                                  {"shared_gate", &E::shared_gate},
                                                  {"router_bias", &E::router_bias},
                                                  {"bias", &E::bias},
                                                  {"shared_bias", &E::shared_bias}};
  read_all(part, out, kSizes);
  read_all(part, out, kSwitches);
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
    out_.head_bias = sizes_.truth(text("head_bias"));
    out_.final_norm = sizes_.truth(text("final_norm"));
    out_.dropout = sizes_.truth(text("dropout"));
    out_.norm = norm();
    layers(parts_by("mixer", count), parts_by("feed", count));
    if (const auto mtp = sizes_.whole(text("mtp")))
      out_.mtp = static_cast<int>(std::min(*mtp, kMostDecoderLayers + 1));
    out_.mtp_letter = out_.layers.back();
  }

  /// What is passed over, and what a reader should know.
  void finish() {
    const std::string file = sizes_.object().where().file;
    if (const Value* passed = type_.find({"passed"}))
      for (const Value& key : passed->items()) static_cast<void>(sizes_.find(key.text()));
    if (const Value* assumed = type_.find({"assumed"}))
      for (std::size_t i = 0; i < assumed->keys().size(); ++i)
        if (const std::string& key = assumed->keys()[i].name; sizes_.find(key) == nullptr)
          warn(file, fmt::format("{} is null or missing: {} is assumed", sizes_.path_of(key),
                                 assumed->items()[i].text()));
    const std::vector<std::string> unknown = sizes_.finish();
    if (!unknown.empty())
      warn(file, fmt::format("the class of '{}' does not know these keys, so they change nothing: {}",
                             shortened(type_.name(), 80), shortened(join(unknown, ", "), 400)));
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
    const Value* also = type_.find({"agrees"});
    const auto said = also == nullptr ? std::nullopt : sizes_.whole(also->text());
    if (said && *said != count)
      refuse(*sizes_.find(also->text()), sizes_.path_of(also->text()),
             fmt::format("{}, as many as the layers that are listed", count));
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

  /// A part's name for each layer, by the first of the rules that holds.
  std::vector<std::string> parts_by(std::string_view which, std::size_t count) {
    const Value* rules = type_.find({which});
    for (const Value& rule : rules->items()) ask(rule);
    for (const Value& rule : rules->items()) {
      if (rule.is(ValueKind::String)) return std::vector<std::string>(count, rule.text());
      const Value* list = rule.find("by");
      if (list != nullptr && has_entries(list->text())) return listed(rule, list->text(), count);
      if (list != nullptr) continue;
      const Value* needed = rule.find("needs");
      if (needed == nullptr || sizes_.find(needed->text()) != nullptr) return counted(rule, count);
    }
    throw InputError(sizes_.object().where(), "the order of layers is missing");
  }

  /// Keys of rules and parts that this file has no layers for count as read too.
  void ask(const Value& rule) {
    if (rule.is(ValueKind::String)) return static_cast<void>(layer(rule.text(), ""));
    for (std::size_t i = 0; i < rule.keys().size(); ++i) {
      const std::string& name = rule.keys()[i].name;
      const std::string& text = rule.items()[i].text();
      if (name == "by" || name == "needs" || name == "in" || name == "not_in")
        static_cast<void>(sizes_.find(text));
      else if (std::find(std::begin(kConditions), std::end(kConditions), name) != std::end(kConditions))
        static_cast<void>(sizes_.number(text));
      else
        static_cast<void>(layer(text, ""));
    }
  }

  bool has_entries(std::string_view key) {
    const Value* list = sizes_.find(key);
    return list != nullptr && (!list->is(ValueKind::Array) || !list->items().empty());
  }

  /// An entry, or a letter of a text, for each layer.
  std::vector<std::string> listed(const Value& rule, const std::string& key, std::size_t count) {
    const Value& list = *sizes_.find(key);
    const std::string path = sizes_.path_of(key);
    std::vector<std::string> entries;
    if (list.is(ValueKind::String))
      for (const char letter : list.text()) entries.emplace_back(1, letter);
    else if (list.is(ValueKind::Array))
      for (const Value& item : list.items()) entries.push_back(item.text());
    if (entries.size() != count) refuse(list, path, fmt::format("an entry for each of the {} layers", count));
    for (std::size_t i = 0; i < count; ++i) {
      const Value* part = rule.find(entries[i]);
      if (part == nullptr || entries[i] == "by")
        refuse(list.is(ValueKind::Array) ? list.items()[i] : list, path,
               fmt::format("of the kinds that '{}' has", shortened(type_.name(), 80)));
      entries[i] = part->text();
    }
    return entries;
  }

  /// Layers for which all conditions of the rule hold have its part `on`, the others `off`.
  std::vector<std::string> counted(const Value& rule, std::size_t count) {
    const auto size = [&](std::string_view name, std::int64_t usual) {
      const Value* at = rule.find(name);
      const auto value = at == nullptr ? std::nullopt : sizes_.number(at->text());
      return value ? static_cast<std::int64_t>(*value) : usual;
    };
    const std::int64_t period = size("period", 1);
    const std::int64_t offset = size("offset", 0);
    const std::int64_t from = size("from", 0);
    const std::int64_t to = size("to", kMostDecoderLayers);
    const Value* condition = rule.find("if");
    std::vector<bool> on(count, condition == nullptr || sizes_.truth(condition->text()));
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (period < 1 || at % period != offset || at < from || (to >= 0 && at > to)) on[i] = false;
    }
    apply_list(rule, "in", on, true);
    apply_list(rule, "not_in", on, false);
    std::vector<std::string> out;
    for (const bool is_on : on) out.push_back(rule.find(is_on ? "on" : "off")->text());
    return out;
  }

  /// Takes off the layers that a list of numbers lacks (or has).
  void apply_list(const Value& rule, std::string_view name, std::vector<bool>& on, bool wanted) {
    const Value* key = rule.find(name);
    const Value* list = key == nullptr ? nullptr : sizes_.find(key->text());
    if (list == nullptr) return;
    const std::string path = sizes_.path_of(key->text());
    const std::int64_t base = rule.find("base") == nullptr ? 0 : 1;
    if (!list->is(ValueKind::Array)) refuse(*list, path, "an array of layers");
    std::vector<bool> named(on.size(), false);
    for (const Value& item : list->items()) {
      const std::int64_t at = whole_number(item, "an entry of " + path) - base;
      if (at < 0 || static_cast<std::size_t>(at) >= on.size())
        refuse(item, "an entry of " + path,
               fmt::format("from {} to {}", base, static_cast<std::int64_t>(on.size()) - 1 + base));
      named[static_cast<std::size_t>(at)] = true;
    }
    for (std::size_t i = 0; i < on.size(); ++i)
      if (named[i] != wanted) on[i] = false;
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

  model::Layer layer(const std::string& mixer, const std::string& feed) {
    model::Layer out;
    for (const std::string& part : {mixer, feed}) {
      if (const Value* tables = part.empty() ? nullptr : type_.find({"parts", part, "tables"}))
        out.tables += sizes_.whole(tables->text()).value_or(0);
      add(part, "attention", out.attention);
      add(part, "latent", out.latent_attention);
      add(part, "mamba", out.mamba);
      add(part, "linear", out.linear);
      add(part, "mlp", out.mlp);
      add(part, "experts", out.experts);
    }
    out.place = place(mixer.empty() ? feed : mixer);
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
