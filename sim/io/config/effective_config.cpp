#include "sim/io/config/effective_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "sim/io/json/file.hpp"
#include "sim/io/json/text_writer.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::io {
namespace {

template <class Numbers>
cost::StageNumbers by_stage(Numbers&& numbers) {
  cost::StageNumbers out;
  out.form = cost::StageNumbers::Form::Array;
  out.array.assign(numbers.begin(), numbers.end());
  return out;
}

cost::ScaleSpec scales(const std::vector<Scale>& factors) {
  cost::ScaleSpec out;
  out.array = factors;
  return out;
}

/// True unless the kind is one that not every pass needs, and the schedule has none of it: it then has no duration in the configuration.
bool is_shown(const EffectiveConfig& config, OpKind kind) {
  return !row_of(kind).extra || config.runs(kind);
}

cost::LinkSpec link_or(const cost::LinkSpec& link, const cost::LinkSpec& otherwise) {
  cost::LinkSpec out;
  out.latency = link.latency.value_or(otherwise.latency.value_or(0));
  out.bits_per_second = link.bits_per_second ? link.bits_per_second : otherwise.bits_per_second;
  return out;
}

void take_costs(cost::CostSpec& costs, const cost::ResolvedCosts& resolved, const Costs& found,
                const EffectiveConfig& config) {
  costs.per = cost::Per::Stage;
  costs.layers = resolved.layers;
  costs.stage_ranks = resolved.stage_ranks;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    costs.duration[kind].reset();
    if (is_shown(config, kAllOpKinds[kind])) costs.duration[kind] = by_stage(resolved.stage_duration[kind]);
  }
  const Overlap& overlap = found.overlap;
  auto pairs = costs.overlap ? std::move(costs.overlap->pairs) : std::vector<std::vector<Ticks>>();
  costs.overlap = cost::OverlapSpec{.rule = overlap.rule,
                                    .duration = by_stage(resolved.stage_overlap),
                                    .factor = overlap.factor,
                                    .saving = overlap.saving};
  if (!overlap.pairs.empty()) costs.overlap->pairs = std::move(pairs);
  costs.table = resolved.table;
  costs.exceptions = resolved.exceptions;
  costs.rank_scale = scales(resolved.rank_scale);
  costs.stage_scale = scales(resolved.stage_scale);
  costs.microbatch_scale = scales(found.microbatch_scale);
  cost::TransferSpec& transfer = costs.transfer;
  transfer.link = link_or(transfer.link, {});
  const bool has_nodes = transfer.ranks_per_node.has_value();
  transfer.intra = has_nodes ? link_or(transfer.intra, transfer.link) : cost::LinkSpec();
  transfer.inter = has_nodes ? link_or(transfer.inter, transfer.link) : cost::LinkSpec();
}

/// Where v passes make an activation without a size, numbers in 1/v of a byte are those of a rank.
void take_memory(cost::MemorySpec& spec, const MemoryModel& memory, std::size_t stages) {
  const auto stage_bytes = [stages](const std::vector<Bytes>& by_slot) {
    return by_stage(std::span(by_slot).first(stages));
  };
  spec.per = memory.parts > 1 ? cost::Per::Rank : cost::Per::Stage;
  spec.activation = stage_bytes(memory.activation);
  spec.released_at_input = stage_bytes(memory.released_at_input);
  spec.static_bytes = stage_bytes(memory.static_bytes);
  spec.receive = stage_bytes(memory.receive);
  for (std::int64_t& bytes : spec.receive.array) bytes /= memory.parts;
  spec.stash = stage_bytes(memory.stash);
  spec.logits = cost::StageNumbers::all(memory.logits[stages - 1] / memory.parts, spec.logits.key);
  spec.limit.reset();
  if (memory.limit.empty()) return;
  spec.limit.emplace().bytes = memory.limit;
  for (Bytes& bytes : spec.limit->bytes) bytes /= memory.parts;
}

/// The keys below `parent` as they are written.
std::vector<KeyId> in_written_order(const Key* parent) {
  const auto ids = children_of(parent);
  std::vector<KeyId> order(ids.begin(), ids.end());
  std::stable_sort(order.begin(), order.end(), [](KeyId a, KeyId b) {
    return config_keys()[a].written_at < config_keys()[b].written_at;
  });
  return order;
}

/// "" where `config` has no value.
std::string value_text(const Key& key, const Config& config) {
  if (!key.has(config)) return {};
  std::ostringstream stream;
  TextWriter out(stream);
  key.write(key, out, config);
  out.flush();
  return stream.str();
}

std::string changed_text(const Key& key, const Config& config, const Config& otherwise) {
  if (key.write != nullptr) {
    std::string text = value_text(key, config);
    return text == value_text(key, otherwise) ? std::string() : text;
  }
  std::string out;
  for (const KeyId id : in_written_order(&key)) {
    const Key& child = config_keys()[id];
    const std::string text = changed_text(child, config, otherwise);
    if (!text.empty()) out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", name_of(child), text);
  }
  return out.empty() ? out : "{" + out + "}";
}

/// True if the key is part of a value that may be written as one word.
bool is_below_word(std::string_view path) {
  const Key* group = find_config_key(path.substr(0, std::min(path.rfind('.'), path.size())));
  return group != nullptr && group->path != path && group->word != nullptr;
}

/// "\"full\"" where all keys of the group have their defaults, else those that hold as an object.
std::string text_of_group(const Key& group, const Config& config, const Config& otherwise) {
  EffectiveConfig all;
  static_cast<Config&>(all) = config;
  bool is_word = true;
  std::string out;
  for (const KeyId id : in_written_order(&group)) {
    const Key& key = config_keys()[id];
    const std::string text = value_text(key, config);
    if (text.empty() || (key.holds != nullptr && !key.holds(all))) continue;
    is_word = is_word && text == value_text(key, otherwise);
    out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", name_of(key), text);
  }
  return is_word ? fmt::format("\"{}\"", group.word(config)) : "{" + out + "}";
}

/// Files that the configuration names, as seen from the working folder.
void with_paths_of_files(Config& config) {
  const auto resolve = [&](std::string_view key, std::string& name, bool is_file) {
    if (is_file && !name.empty() && name != "-") name = relative_to(config.place_of(key).file, name);
  };
  cost::ModelSpec& model = config.costs.model;
  resolve("schedule", config.options.file, true);
  resolve("costs.model", model.model, looks_like_file(model.model));
  resolve("costs.hardware", model.hardware, looks_like_file(model.hardware));
}

class Writer {
 public:
  explicit Writer(const EffectiveConfig& config) : config_(config), out_(stream_) {}

  std::string text() {
    out_ << '{';
    write_children(nullptr);
    out_ << ", \"origin\": {";
    for (std::size_t i = 0; i < config_.origins.size(); ++i) {
      if (i > 0) out_ << ", ";
      out_.quoted(config_.origins[i].first) << ": ";
      out_.quoted(config_.origins[i].second);
    }
    out_ << "}}";
    out_.flush();
    return stream_.str();
  }

 private:
  [[nodiscard]] bool is_written(const Key& key) const {
    if (key.write == nullptr) {
      const auto ids = children_of(&key);
      return std::any_of(ids.begin(), ids.end(), [this](KeyId id) { return is_written(config_keys()[id]); });
    }
    return holds(key);
  }
  [[nodiscard]] bool holds(const Key& key) const {
    return key.has(config_) && (key.holds == nullptr || key.holds(config_));
  }

  void write_children(const Key* parent) {
    bool first = true;
    for (const KeyId id : in_written_order(parent)) {
      const Key& key = config_keys()[id];
      if (!is_written(key)) continue;
      out_ << (first ? "\"" : ", \"") << name_of(key) << "\": ";
      first = false;
      write(key);
    }
  }

  void write(const Key& key) {
    if (key.write != nullptr) return key.write(key, out_, config_);
    out_ << '{';
    write_children(&key);
    out_ << '}';
  }

  const EffectiveConfig& config_;
  std::ostringstream stream_;
  TextWriter out_;
};

}  // namespace

void take_resolved(EffectiveConfig& config, const Config& given, const cost::ResolvedCosts& resolved,
                   const Costs& costs, const MemoryModel& memory, const Schedule& schedule) {
  for (const OpKind kind : kAllOpKinds)
    if (schedule.contains(kind)) config.kinds.add(kind);
  config.costs = given.costs;
  take_costs(config.costs, resolved, costs, config);
  config.memory = given.memory;
  take_memory(config.memory, memory, static_cast<std::size_t>(schedule.stages()));
  config.step = given.step;
}

void collect_origins(EffectiveConfig& config, const Config& given,
                     const std::vector<cost::Origin>& resolved) {
  std::vector<std::string> all(config_keys().size());
  const auto say = [&all](std::string_view path, const std::string& text) {
    if (const Key* key = find_config_key(path)) all[id_of(*key)] = text;
  };
  for (const Key& key : config_keys())
    if (key.read != nullptr && !given.given.has(id_of(key))) all[id_of(key)] = "default";
  if (given.memory.per != cost::Per::Stage)
    say("memory.per",
        fmt::format("{}divided: given per {}", given.given.has("memory.per") ? "" : "as costs.per; ",
                    name_of(given.memory.per)));
  for (const auto& [path, text] : config.origins) say(path, text);
  for (const auto& [path, text] : resolved) say(path, text);
  config.origins.clear();
  for (const Key& key : config_keys()) {
    const bool holds = key.has_origin && (key.has == nullptr || key.has(config)) &&
                       (key.holds == nullptr || key.holds(config));
    if (holds && !all[id_of(key)].empty()) config.origins.emplace_back(key.path, std::move(all[id_of(key)]));
  }
}

std::string changed_text(std::string_view path, const Config& config) {
  Config otherwise;
  otherwise.costs.unit = config.costs.unit;
  return changed_text(*find_config_key(path), config, otherwise);
}

std::map<std::string, std::string> stated_keys(const Config& config) {
  Config otherwise;
  otherwise.costs.unit = config.costs.unit;
  EffectiveConfig all;
  static_cast<Config&>(all) = config;
  with_paths_of_files(all);
  std::map<std::string, std::string> out;
  const auto state = [&](const Key& key) {
    if (key.read == nullptr || is_below_word(key.path)) return;
    std::string text = key.word != nullptr ? text_of_group(key, all, otherwise) : value_text(key, all);
    const std::string usual =
        key.word != nullptr ? text_of_group(key, otherwise, otherwise) : value_text(key, otherwise);
    if (!text.empty() && (config.given.has(id_of(key)) || text != usual))
      out.emplace(key.path, std::move(text));
  };
  std::ranges::for_each(config_keys(), state);
  return out;
}

std::string effective_config_text(const EffectiveConfig& config) {
  return Writer(config).text();
}

}  // namespace pipeloom::io
