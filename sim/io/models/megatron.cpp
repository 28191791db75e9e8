// Megatron-LM's arguments: its names and defaults (megatron/training/arguments.py).

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/models/model_readers.hpp"
#include "sim/model/check.hpp"

namespace pipeloom::io {
namespace {

using model::Model;

/// An option's value, "" of a flag, and where the option stands.
struct Argument {
  std::string value;
  Where where;
};

/// What the user wrote, by name without the dashes.
class Arguments {
 public:
  Arguments(std::string_view text, const std::string& name) : name_(name) { split_lines(text); }

  [[nodiscard]] bool has(std::string_view option) const {
    return arguments_.find(option) != arguments_.end();
  }
  [[nodiscard]] Where place_of(std::string_view option) const {
    const auto found = arguments_.find(option);
    return found == arguments_.end() ? Where{name_} : found->second.where;
  }
  [[nodiscard]] std::string text(std::string_view option, std::string fallback) const {
    const auto found = arguments_.find(option);
    return found == arguments_.end() ? std::move(fallback) : found->second.value;
  }
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view option) const {
    const auto found = arguments_.find(option);
    if (found == arguments_.end()) return std::nullopt;
    const std::string& value = found->second.value;
    std::int64_t out = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (error != std::errc() || end != value.data() + value.size() || out < 0 || out > kMost)
      throw InputError(found->second.where,
                       fmt::format("--{} is '{}'; it must be a whole number from 0 to {}", option,
                                   shortened(value, 64), kMost));
    return out;
  }
  [[nodiscard]] std::int64_t need(std::string_view option) const {
    const auto found = number(option);
    if (!found)
      throw InputError(Where{name_},
                       fmt::format("--{} is missing; Megatron arguments of a model have it", option));
    return *found;
  }
  /// Whether "0" stands there, however it is spelt.
  [[nodiscard]] bool is_zero(std::string_view option) const {
    const std::string value = text(option, "1");
    return !value.empty() && value.find_first_not_of("0.") == std::string::npos;
  }

 private:
  static constexpr std::int64_t kMost = std::int64_t{1} << 53;

  void split_lines(std::string_view text) {
    int line = 1;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      split_line(text.substr(0, end), line++);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  /// A word that begins with dashes is an option, a word behind one its value; comments and line ends are passed over.
  void split_line(std::string_view line, int number) {
    const std::size_t size = std::min(line.find('#'), line.size());
    for (std::size_t at = 0; at < size;) {
      const std::size_t begin = line.find_first_not_of(" \t\r\\", at);
      if (begin == std::string_view::npos || begin >= size) return;
      const std::size_t end = std::min(line.find_first_of(" \t\r", begin), size);
      take(line.substr(begin, end - begin), Where{name_, number, static_cast<int>(begin) + 1});
      at = end;
    }
  }
  void take(std::string_view word, const Where& where) {
    if (word.starts_with("--")) {
      const std::size_t equals = std::min(word.find('='), word.size());
      last_ = &arguments_[std::string(word.substr(2, equals - 2))];
      *last_ = {std::string(word.substr(std::min(equals + 1, word.size()))), where};
      return;
    }
    if (last_ == nullptr)
      throw InputError(
          where, fmt::format("found '{}'; Megatron arguments begin with an option, such as --num-layers 32",
                             shortened(word, 64)));
    // Of several values the first counts; none of a model has more.
    if (last_->value.empty()) last_->value = word;
  }

  std::string name_;
  std::map<std::string, Argument, std::less<>> arguments_;
  Argument* last_ = nullptr;
};

/// Rows of the embedding: as many as there are words, up to a multiple.
std::int64_t padded_vocabulary(const Arguments& arguments) {
  if (const auto padded = arguments.number("padded-vocab-size")) return *padded;
  const std::int64_t words = arguments.need("vocab-size");
  const std::int64_t multiple =
      std::max<std::int64_t>(1, arguments.number("make-vocab-size-divisible-by").value_or(128)) *
      std::max<std::int64_t>(1, arguments.number("tensor-model-parallel-size").value_or(1));
  return (words + multiple - 1) / multiple * multiple;
}

model::Attention attention_of(const Arguments& arguments, const Model& model) {
  model::Attention out;
  out.heads = arguments.need("num-attention-heads");
  out.kv_heads = arguments.has("group-query-attention") ? arguments.need("num-query-groups") : out.heads;
  out.head_dim = arguments.number("kv-channels").value_or(out.heads > 0 ? model.hidden / out.heads : 0);
  out.output_bias = !arguments.has("disable-bias-linear");
  out.qkv_bias = out.output_bias || arguments.has("add-qkv-bias");
  out.head_norms = arguments.has("qk-layernorm");
  out.window = arguments.number("window-size").value_or(0);
  return out;
}

model::LatentAttention latent_of(const Arguments& arguments) {
  model::LatentAttention out;
  out.heads = arguments.need("num-attention-heads");
  out.q_rank = arguments.number("q-lora-rank").value_or(0);
  out.kv_rank = arguments.number("kv-lora-rank").value_or(32);
  out.nope_dim = arguments.number("qk-head-dim").value_or(128);
  out.rope_dim = arguments.number("qk-pos-emb-head-dim").value_or(64);
  out.v_dim = arguments.number("v-head-dim").value_or(128);
  return out;
}

model::Mlp mlp_of(const Arguments& arguments, const Model& model) {
  model::Mlp out;
  out.gated = arguments.has("swiglu");
  // With gates two thirds of 4 h, down to a multiple of 64.
  const std::int64_t usual = out.gated ? 4 * model.hidden * 2 / 3 / 64 * 64 : 4 * model.hidden;
  out.ffn = arguments.number("ffn-hidden-size").value_or(usual);
  out.bias = !arguments.has("disable-bias-linear");
  return out;
}

model::Experts experts_of(const Arguments& arguments, const Model& model) {
  model::Experts out;
  out.experts = arguments.need("num-experts");
  out.top_k = arguments.number("moe-router-topk").value_or(2);
  out.gated = arguments.has("swiglu");
  out.ffn = arguments.number("moe-ffn-hidden-size").value_or(mlp_of(arguments, model).ffn);
  out.shared_ffn = arguments.number("moe-shared-expert-intermediate-size").value_or(0);
  out.shared_gate = arguments.has("moe-shared-expert-gate");
  out.router_bias = arguments.has("moe-router-enable-expert-bias");
  return out;
}

/// "[0]*3+[1]*58", "([0]*1+[1]*3)" or "2": one digit per layer, 1 where it has experts.
std::string expert_layers(const Arguments& arguments, std::size_t layers) {
  const std::string text = arguments.text("moe-layer-freq", "1");
  const auto refuse = [&]() -> std::string {
    throw InputError(arguments.place_of("moe-layer-freq"),
                     fmt::format("--moe-layer-freq is '{}'; it must be a number of layers, or a pattern of "
                                 "all {} such as [0]*3+[1]*{}",
                                 shortened(text, 64), layers, layers > 3 ? layers - 3 : 1));
  };
  std::string out;
  if (text.find('[') == std::string::npos) {
    const auto every = static_cast<std::size_t>(arguments.number("moe-layer-freq").value_or(1));
    if (every == 0) return refuse();
    for (std::size_t i = 0; i < layers; ++i) out += i % every == 0 ? '1' : '0';
    return out;
  }
  for (const std::string& part : split(text, '+')) {
    const std::string_view plain = trimmed(part, " '\"()");
    const std::size_t close = plain.find(']');
    if (!plain.starts_with('[') || close == std::string_view::npos) return refuse();
    std::string digits;
    for (const char sign : plain.substr(1, close - 1))
      if (sign == '0' || sign == '1') digits += sign;
    std::size_t times = 1;
    if (const std::string_view rest = plain.substr(close + 1); rest.starts_with('*')) {
      const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), times);
      if (error != std::errc() || end != rest.data() + rest.size()) return refuse();
    }
    if (digits.size() * times > layers) return refuse();
    for (std::size_t i = 0; i < times; ++i) out += digits;
  }
  return out.size() == layers ? out : refuse();
}

void add_mixer(const Arguments& arguments, const Model& model, model::Layer& layer) {
  if (arguments.has("multi-latent-attention"))
    layer.latent_attention = latent_of(arguments);
  else
    layer.attention = attention_of(arguments, model);
}

/// Transformer layers, some or all of them with experts.
void add_transformer(const Arguments& arguments, Model& out) {
  const std::int64_t count = arguments.need("num-layers");
  if (count < 1 || count > 4096)
    throw InputError(arguments.place_of("num-layers"), "--num-layers must be a whole number from 1 to 4096");
  const auto layers = static_cast<std::size_t>(count);
  const std::string experts =
      arguments.has("num-experts") ? expert_layers(arguments, layers) : std::string(layers, '0');
  for (const char digit : experts) out.layers += digit == '1' ? 'T' : 'D';
  if (experts.find('0') != std::string::npos) {
    model::Layer& dense = out.kinds.emplace_back();
    dense.letter = 'D';
    dense.name = "transformer";
    add_mixer(arguments, out, dense);
    dense.mlp = mlp_of(arguments, out);
  }
  if (experts.find('1') != std::string::npos) {
    model::Layer& sparse = out.kinds.emplace_back();
    sparse.name = "transformer with experts";
    add_mixer(arguments, out, sparse);
    sparse.experts = experts_of(arguments, out);
  }
  out.mtp = static_cast<int>(arguments.number("mtp-num-layers").value_or(0));
  out.mtp_letter = out.layers.back();
}

/// State-space, attention and feed-forward layers by a pattern of M, * and -.
void add_hybrid(const Arguments& arguments, Model& out) {
  out.layers = trimmed(arguments.text("hybrid-override-pattern", ""), " '\"");
  const auto add = [&](char letter, const char* name) -> model::Layer& {
    model::Layer& layer = out.kinds.emplace_back();
    layer.letter = letter;
    layer.name = name;
    return layer;
  };
  const auto uses = [&](char letter) { return out.layers.find(letter) != std::string::npos; };
  if (uses('M')) {
    model::Mamba mamba;
    mamba.head_dim = arguments.number("mamba-head-dim").value_or(64);
    mamba.heads = arguments.number("mamba-num-heads")
                      .value_or(mamba.head_dim > 0 ? 2 * out.hidden / mamba.head_dim : 0);
    mamba.groups = arguments.number("mamba-num-groups").value_or(8);
    mamba.state = arguments.number("mamba-state-dim").value_or(128);
    add('M', "mamba").mamba = mamba;
  }
  if (uses('*')) add('*', "attention").attention = attention_of(arguments, out);
  if (uses('-')) add('-', "mlp").mlp = mlp_of(arguments, out);
}

}  // namespace

Model read_megatron(std::string_view text, const std::string& name) {
  const Arguments arguments(text, name);
  Model out;
  out.name = "megatron";
  out.source = "Megatron-LM's arguments in " + name;
  out.where = Where{name};
  out.hidden = arguments.need("hidden-size");
  out.vocabulary = padded_vocabulary(arguments);
  out.tied = !arguments.has("untie-embeddings-and-output-weights");
  out.norm = arguments.text("normalization", "LayerNorm") == "RMSNorm" ? model::NormKind::Rms
                                                                       : model::NormKind::Layer;
  out.dropout = !(arguments.is_zero("attention-dropout") && arguments.is_zero("hidden-dropout"));
  out.sequence =
      arguments.number("seq-length").value_or(arguments.number("max-position-embeddings").value_or(0));
  if (arguments.text("position-embedding-type", "learned_absolute") == "learned_absolute" &&
      !arguments.has("use-rotary-position-embeddings"))
    out.positions = arguments.number("max-position-embeddings").value_or(out.sequence);
  if (arguments.has("hybrid-override-pattern"))
    add_hybrid(arguments, out);
  else
    add_transformer(arguments, out);
  model::check(out);
  return out;
}

}  // namespace pipeloom::io
