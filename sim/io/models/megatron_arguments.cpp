// Megatron-LM's command line (megatron/training/arguments.py), as far as it says what the model is.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/units.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/models/model_readers.hpp"
#include "sim/model/check.hpp"
#include "sim/options.hpp"

namespace pipeloom::io {
namespace {

struct Word {
  std::string_view text;
  Where where;
};

/// Blanks and line ends separate words; quotation marks hold blanks together and go. A backslash by itself goes on with the line.
class Words {
 public:
  Words(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<Word> all() {
    std::vector<Word> words;
    while (skip_blanks()) {
      const Where where{name_, line_, static_cast<int>(at_ - line_start_) + 1};
      const std::string_view word = next();
      if (word != "\\") words.push_back({word, where});
    }
    return words;
  }

 private:
  bool skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) return false;
      if (text_[at_] == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r') {
        return true;
      }
    }
    return false;
  }

  std::string_view next() {
    const char quote = text_[at_];
    const std::size_t begin = at_;
    if (quote == '"' || quote == '\'') {
      const std::size_t end = text_.find_first_of(std::string({quote, '\n'}), begin + 1);
      if (end != std::string_view::npos && text_[end] == quote) {
        at_ = end + 1;
        return text_.substr(begin + 1, end - begin - 1);
      }
    }
    at_ = std::min(text_.find_first_of(" \t\r\n", begin), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

/// Options with their first value; one without is a flag. The last of several counts, as there.
class Arguments {
 public:
  Arguments(std::string_view text, const std::string& name) : file_{name, 0, 0} {
    const std::vector<Word> words = Words(text, name).all();
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!words[i].text.starts_with("--")) continue;
      const auto equals = words[i].text.find('=');
      Word value = words[i];
      value.text = {};
      if (equals != std::string_view::npos)
        value.text = words[i].text.substr(equals + 1);
      else if (i + 1 < words.size() && !words[i + 1].text.starts_with("--"))
        value = words[i + 1];
      const std::string_view option = words[i].text.substr(0, equals);
      options_[option] = value;
      lists_[option] = {std::string(value.text)};
      for (std::size_t more = i + 2; more < words.size() && !words[more].text.starts_with("--"); ++more)
        lists_[option].emplace_back(words[more].text);
    }
  }

  [[nodiscard]] bool has(std::string_view option) const { return options_.count(option) > 0; }
  [[nodiscard]] const Where& file() const { return file_; }

  [[nodiscard]] std::string_view text(std::string_view option, std::string_view fallback) const {
    const auto found = options_.find(option);
    return found == options_.end() ? fallback : found->second.text;
  }

  /// All values of an option that takes several. REQUIRES: has(option).
  [[nodiscard]] const std::vector<std::string>& list(std::string_view option) const {
    return lists_.find(option)->second;
  }

  [[nodiscard]] std::int64_t number(std::string_view option, std::int64_t fallback) const {
    const auto found = options_.find(option);
    if (found == options_.end() || found->second.text == "None") return fallback;
    const auto value = parse_fixed(found->second.text, 1);
    if (!value || value->rounded || value->value < 0 || value->value > std::int64_t{1} << 40)
      refuse(option, fmt::format("a whole number from 0 to {}", std::int64_t{1} << 40));
    return value->value;
  }

  [[nodiscard]] std::int64_t number_within(std::string_view option, std::int64_t fallback, std::int64_t least,
                                           std::int64_t most) const {
    const std::int64_t value = number(option, fallback);
    if (value < least || value > most)
      refuse(option, fmt::format("a whole number from {} to {}", least, most));
    return value;
  }

  [[nodiscard]] std::int64_t needed(std::string_view option) const {
    if (!has(option))
      throw InputError(file_,
                       fmt::format("{} is missing; these arguments of Megatron-LM name no model", option));
    return number(option, 0);
  }

  /// A rate such as 0.1: whether it is more than 0.
  [[nodiscard]] bool rate(std::string_view option, bool fallback) const {
    const auto found = options_.find(option);
    if (found == options_.end()) return fallback;
    const auto value = parse_fixed(found->second.text, kUnitScale);
    if (!value || value->value < 0) refuse(option, "a rate of 0 or more");
    return value->value > 0;
  }

  [[noreturn]] void refuse(std::string_view option, std::string_view allowed) const {
    const Word& value = options_.find(option)->second;
    throw InputError(value.where,
                     fmt::format("{} is '{}'; it must be {}", option, shortened(value.text, 80), allowed));
  }

 private:
  Where file_;
  std::map<std::string_view, Word> options_ = {};
  std::map<std::string_view, std::vector<std::string>> lists_ = {};
};

/// "([0]*3+[1]*58)", "[0,1,1]*4" or a number N, of which every Nth layer has experts.
class LayerPattern {
 public:
  LayerPattern(const Arguments& arguments, std::size_t layers) : arguments_(arguments), layers_(layers) {}

  /// A letter per layer: 'T' with experts, 'D' without.
  std::string letters() {
    const std::string_view text = arguments_.text("--moe-layer-freq", "1");
    if (text.find('[') == std::string_view::npos) return every(arguments_.number("--moe-layer-freq", 1));
    std::string out;
    for (const std::string& term : split(trimmed(text, " ()"), '+')) add_term(trimmed(term), out);
    if (out.size() != layers_) refuse();
    return out;
  }

 private:
  [[noreturn]] void refuse() const {
    arguments_.refuse(
        "--moe-layer-freq",
        fmt::format("a number above 0, or lists of 0 and 1 for {} layers, such as [0]*3+[1]*58", layers_));
  }

  [[nodiscard]] std::string every(std::int64_t step) const {
    if (step < 1) refuse();
    std::string out(layers_, 'D');
    for (std::size_t i = 0; i < layers_; i += static_cast<std::size_t>(step)) out[i] = 'T';
    return out;
  }

  void add_term(std::string_view term, std::string& out) const {
    const auto end = term.find(']');
    if (!term.starts_with("[") || end == std::string_view::npos) refuse();
    std::string list;
    for (const std::string& item : split(term.substr(1, end - 1), ',')) {
      const std::string_view bit = trimmed(item);
      if (bit != "0" && bit != "1") refuse();
      list += bit == "1" ? 'T' : 'D';
    }
    const std::string_view rest = trimmed(term.substr(end + 1));
    const auto times = rest.empty()            ? std::optional<FixedPoint>(FixedPoint{1, false})
                       : rest.starts_with("*") ? parse_fixed(trimmed(rest.substr(1)), 1)
                                               : std::nullopt;
    if (!times || times->rounded || times->value < 1 || static_cast<std::size_t>(times->value) > layers_)
      refuse();
    for (std::int64_t i = 0; i < times->value; ++i) {
      out += list;
      if (out.size() > layers_) refuse();
    }
  }

  const Arguments& arguments_;
  std::size_t layers_;
};

/// Recomputation by the rules of megatron-core 0.19.2: TransformerConfig says which values go together, recompute.py which layers
/// they mean. Full: by --recompute-method, of --recompute-num-layers. Selective: of the modules that are named, core attention where none is.
class RecomputeArguments {
 public:
  explicit RecomputeArguments(const Arguments& arguments) : arguments_(arguments) {}

  [[nodiscard]] std::optional<RecomputeOption> read() const {
    const std::string_view granularity = arguments_.text("--recompute-granularity", "None");
    if (granularity == "full") return full();
    if (granularity == "selective" || arguments_.has("--recompute-activations")) return selective();
    if (granularity != "None") arguments_.refuse("--recompute-granularity", "full or selective");
    return std::nullopt;
  }

 private:
  [[nodiscard]] RecomputeOption full() const {
    const std::string_view method = arguments_.text("--recompute-method", "None");
    if (method != "block" && method != "uniform") refuse_pair("--recompute-method", "block or uniform");
    const std::string_view layers = arguments_.text("--recompute-num-layers", "None");
    if (layers == "None") refuse_pair("--recompute-num-layers", "a number of layers");
    RecomputeOption out{.on = true};
    out.layers = static_cast<int>(arguments_.number_within("--recompute-num-layers", 1, 1, kMaxIndex));
    // Groups of one layer are every layer by itself.
    if (method == "uniform" && *out.layers == 1)
      out.layers.reset();
    else if (method == "uniform")
      out.method = RecomputeMethod::Uniform;
    return out;
  }

  [[nodiscard]] RecomputeOption selective() const {
    if (arguments_.text("--recompute-num-layers", "None") != "None")
      arguments_.refuse("--recompute-num-layers", "left out where the granularity is selective");
    RecomputeOption out{.modules = std::string(kSelectiveModules)};
    if (!arguments_.has("--recompute-modules")) return out;
    for (const std::string& module : arguments_.list("--recompute-modules"))
      if (std::ranges::find(kRecomputeModules, module) == std::end(kRecomputeModules))
        arguments_.refuse("--recompute-modules",
                          fmt::format("one or more of {}", fmt::join(kRecomputeModules, ", ")));
    out.modules = fmt::format("{}", fmt::join(arguments_.list("--recompute-modules"), ","));
    return out;
  }

  /// An option that full recomputation needs is missing or is none of its values.
  [[noreturn]] void refuse_pair(std::string_view option, std::string_view allowed) const {
    if (arguments_.has(option)) arguments_.refuse(option, allowed);
    arguments_.refuse("--recompute-granularity",
                      fmt::format("selective, or have {} ({}) beside it", option, allowed));
  }

  const Arguments& arguments_;
};

class MegatronModel {
 public:
  MegatronModel(std::string_view text, const std::string& name) : arguments_(text, name) {}

  model::Model read() {
    model_.name = "megatron";
    model_.source = "arguments of Megatron-LM";
    model_.where = arguments_.file();
    model_.hidden = arguments_.needed("--hidden-size");
    read_ends();
    if (arguments_.has("--hybrid-override-pattern"))
      hybrid();
    else
      transformer();
    model::check(model_);
    model_.recompute = RecomputeArguments(arguments_).read();
    warn_of_parallelism();
    return model_;
  }

 private:
  void read_ends() {
    const std::int64_t multiple =
        arguments_.number_within("--make-vocab-size-divisible-by", 128, 1, 1 << 24) *
        arguments_.number_within("--tensor-model-parallel-size", 1, 1, 1 << 20);
    const std::int64_t words = arguments_.has("--padded-vocab-size") ? 0 : arguments_.needed("--vocab-size");
    model_.vocabulary = words > 0 ? (words + multiple - 1) / multiple * multiple
                                  : arguments_.number("--padded-vocab-size", 0);
    model_.tied = !arguments_.has("--untie-embeddings-and-output-weights");
    model_.norm = arguments_.text("--normalization", "LayerNorm") == "RMSNorm" ? model::NormKind::Rms
                                                                               : model::NormKind::Layer;
    model_.dropout =
        arguments_.rate("--hidden-dropout", true) || arguments_.rate("--attention-dropout", true);
    model_.sequence = arguments_.number("--seq-length", 0);
    const bool learned =
        arguments_.text("--position-embedding-type", "learned_absolute") == "learned_absolute" &&
        !arguments_.has("--use-rotary-position-embeddings") && !arguments_.has("--no-position-embedding");
    if (learned) model_.positions = arguments_.number("--max-position-embeddings", model_.sequence);
  }

  /// How the model is spread over devices is the configuration's to say.
  void warn_of_parallelism() {
    constexpr std::string_view kIgnored[] = {"--tensor-model-parallel-size",
                                             "--pipeline-model-parallel-size",
                                             "--context-parallel-size",
                                             "--expert-model-parallel-size",
                                             "--expert-tensor-parallel-size",
                                             "--num-layers-per-virtual-pipeline-stage",
                                             "--num-virtual-stages-per-pipeline-rank",
                                             "--pipeline-model-parallel-layout",
                                             "--decoder-first-pipeline-num-layers",
                                             "--decoder-last-pipeline-num-layers",
                                             "--micro-batch-size",
                                             "--global-batch-size"};
    std::vector<std::string> found;
    for (const std::string_view option : kIgnored)
      if (arguments_.has(option) && arguments_.text(option, "") != "1")
        found.push_back(fmt::format("{} {}", option, shortened(arguments_.text(option, ""), 40)));
    if (found.empty()) return;
    const std::string& file = arguments_.file().file;
    model_.warnings.push_back(fmt::format(
        "{}{}of these arguments the model alone is taken, not how it runs: {}; say that by ranks, chunks, "
        "costs.tp, costs.cp, costs.ep, costs.micro_batch and costs.layers",
        file, file.empty() ? "" : ": ", join(found, ", ")));
  }

  [[nodiscard]] bool biases() const { return !arguments_.has("--disable-bias-linear"); }
  [[nodiscard]] bool gated() const { return arguments_.has("--swiglu"); }

  /// 4 h, and for gated ones 2/3 of that in steps of 64, unless stated.
  [[nodiscard]] std::int64_t ffn() const {
    const std::int64_t four = 4 * model_.hidden;
    return arguments_.number("--ffn-hidden-size", gated() ? four * 2 / 3 / 64 * 64 : four);
  }

  [[nodiscard]] model::Attention attention() const {
    model::Attention out;
    out.heads = arguments_.needed("--num-attention-heads");
    out.kv_heads =
        arguments_.has("--group-query-attention") ? arguments_.number("--num-query-groups", 1) : out.heads;
    out.head_dim = arguments_.number("--kv-channels", out.heads > 0 ? model_.hidden / out.heads : 0);
    out.qkv_bias = biases() || arguments_.has("--add-qkv-bias");
    out.output_bias = biases();
    out.head_norms = arguments_.has("--qk-layernorm");
    return out;
  }

  [[nodiscard]] model::LatentAttention latent() const {
    return {arguments_.needed("--num-attention-heads"),     arguments_.number("--q-lora-rank", 0),
            arguments_.number("--kv-lora-rank", 32),        arguments_.number("--qk-head-dim", 128),
            arguments_.number("--qk-pos-emb-head-dim", 64), arguments_.number("--v-head-dim", 128)};
  }

  [[nodiscard]] model::Experts experts() const {
    model::Experts out;
    out.experts = arguments_.number("--num-experts", 0);
    out.top_k = arguments_.number("--moe-router-topk", 2);
    out.ffn = arguments_.number("--moe-ffn-hidden-size", ffn());
    out.shared_ffn = arguments_.number("--moe-shared-expert-intermediate-size", 0);
    out.gated = gated();
    out.shared_gate = arguments_.has("--moe-shared-expert-gate");
    out.router_bias = arguments_.has("--moe-router-enable-expert-bias");
    return out;
  }

  model::Layer layer(char letter, std::string name) const {
    model::Layer out;
    out.letter = letter;
    out.name = std::move(name);
    if (arguments_.has("--multi-latent-attention"))
      out.latent_attention = latent();
    else
      out.attention = attention();
    return out;
  }

  void transformer() {
    for (const char* share : {"--hybrid-attention-ratio", "--hybrid-mlp-ratio"})
      if (arguments_.has(share))
        arguments_.refuse(share, "replaced by --hybrid-override-pattern: a letter per layer");
    static_cast<void>(arguments_.needed("--num-layers"));
    const std::int64_t layers = arguments_.number_within("--num-layers", 0, 1, 4096);
    const bool routed = arguments_.number("--num-experts", 0) > 0;
    model_.layers = routed ? LayerPattern(arguments_, static_cast<std::size_t>(layers)).letters()
                           : std::string(static_cast<std::size_t>(layers), 'T');
    model_.mtp = static_cast<int>(arguments_.number_within("--mtp-num-layers", 0, 0, 4096));
    model_.mtp_letter = model_.layers.back();
    if (model_.layers.find('T') != std::string::npos) {
      model_.kinds.push_back(layer('T', routed ? "transformer with experts" : "transformer"));
      if (routed)
        model_.kinds.back().experts = experts();
      else
        model_.kinds.back().mlp = model::Mlp{ffn(), gated(), biases()};
    }
    if (model_.layers.find('D') == std::string::npos) return;
    model_.kinds.push_back(layer('D', "transformer, dense"));
    model_.kinds.back().mlp = model::Mlp{ffn(), gated(), biases()};
  }

  /// M, *, - and E (experts), one part a layer. '|' separates stages and says nothing of layers.
  void hybrid() {
    const bool routed = arguments_.number("--num-experts", 0) > 0;
    const std::string_view allowed = routed ? "M*-E" : "M*-";
    for (const char c : arguments_.text("--hybrid-override-pattern", "")) {
      if (c != '|' && allowed.find(c) == std::string_view::npos)
        arguments_.refuse(
            "--hybrid-override-pattern",
            fmt::format("a letter of {} per layer{}", allowed, routed ? "" : ", and E with --num-experts"));
      if (c != '|') model_.layers += c == 'E' ? '#' : c;
    }
    const auto layers = static_cast<std::int64_t>(model_.layers.size());
    if (arguments_.number("--num-layers", layers) != layers)
      arguments_.refuse("--num-layers",
                        fmt::format("{}, as many as the letters of --hybrid-override-pattern", layers));
    model::Layer mamba;
    mamba.letter = 'M';
    mamba.name = "mamba";
    const std::int64_t width = arguments_.number("--mamba-head-dim", 64);
    mamba.mamba = model::Mamba{
        arguments_.number("--mamba-num-heads", width > 0 ? 2 * model_.hidden / width : 0), width,
        arguments_.number("--mamba-num-groups", 8), arguments_.number("--mamba-state-dim", 128), 4};
    model::Layer mlp;
    mlp.letter = '-';
    mlp.name = "mlp";
    mlp.mlp = model::Mlp{ffn(), gated(), biases()};
    model_.kinds = {mamba, layer('*', "attention"), mlp};
    if (!routed) return;
    model_.kinds.emplace_back();
    model_.kinds.back().letter = '#';
    model_.kinds.back().name = "experts";
    model_.kinds.back().experts = experts();
  }

  Arguments arguments_;
  model::Model model_ = {};
};

}  // namespace

model::Model read_megatron(std::string_view text, const std::string& name) {
  return MegatronModel(text, name).read();
}

}  // namespace pipeloom::io
