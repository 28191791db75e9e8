#include "sim/io/config/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/cost_rows.hpp"
#include "sim/io/config/value_reading.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::io {

namespace {

/// True if "23.6ms" or the like is anywhere in it; no other text of a configuration looks like that.
bool has_time_literal(const Value& value) {
  if (value.is(ValueKind::String)) return parse_time_literal(value.text()).has_value();
  return std::any_of(value.items().begin(), value.items().end(), has_time_literal);
}

/// Reads all keys by their rows.
class ConfigReader {
 public:
  ConfigReader(const Value& root, Config& out) : root_(root), out_(out) {}

  void read() {
    out_.given.add_root(root_.where());
    require_object(root_, "the configuration");
    find_unit();
    read_children(root_, nullptr);
  }

 private:
  static void require_object(const Value& value, std::string_view path) {
    if (!value.is(ValueKind::Object)) refuse_value(value, path, "an object");
  }

  static bool table_has_time_literal(const Value* costs) {
    const Value* table = costs != nullptr && costs->is(ValueKind::Object) ? costs->find("table") : nullptr;
    return table != nullptr && table->is(ValueKind::String) && file_has_time_literal(*table);
  }

  static bool has_model(const Value* costs) {
    return costs != nullptr && costs->is(ValueKind::Object) && costs->find("model") != nullptr;
  }

  /// The unit is read before any time, wherever it is in the file. Real times without one, and a model's, set it to ms.
  void find_unit() {
    const Value* costs = root_.find("costs");
    const Value* name = costs != nullptr ? costs->find("time_unit") : nullptr;
    if (name != nullptr && name->is(ValueKind::String))
      out_.costs.unit = time_unit_named(name->text()).value_or(TimeUnit::Unit);
    if (name != nullptr) return;
    if (!has_model(costs) && !has_time_literal(root_) && !table_has_time_literal(costs)) return;
    out_.costs.unit = TimeUnit::Millisecond;
    out_.given.add_derived(id_of(*find_config_key("costs.time_unit")));
  }

  /// The keys below `parent`, which `object` may have. Returns how many have a value then.
  int read_children(const Value& object, const Key* parent) {
    require_known_keys(object, parent != nullptr ? parent->path : "");
    int found = 0;
    for (const KeyId id : children_of(parent)) {
      const Key& key = config_keys()[id];
      const Value* value = object.find(name_of(key));
      if (value == nullptr) continue;
      out_.given.add(id, value->where());
      read_key(*value, key);
      if (key.has == nullptr || key.has(out_)) ++found;
    }
    return found;
  }

  void read_key(const Value& value, const Key& key) {
    if (key.read != nullptr) key.read(out_, value, {key, out_.costs.unit, out_.warnings});
    if (key.write != nullptr) return;
    if (key.read == nullptr) require_object(value, key.path);
    if (!value.is(ValueKind::Object)) return;
    const int found = read_children(value, &key);
    if (!key.exactly_one.empty() && found != 1) refuse_value(value, key.path, key.exactly_one);
  }

  const Value& root_;
  Config& out_;
};

void require_shape(const Config& config) {
  for (const Key& key : config_keys()) {
    if (key.required.empty() || config.given.has(id_of(key))) continue;
    if (config.schedule == kCustomSchedule) return;
    throw InputError(
        config.place_of(""),
        fmt::format("\"{}\" is missing; add it to the configuration or give {}", key.path, key.required));
  }
}

/// Checks that every key that another one needs is given.
void require_needed(const Config& config) {
  for (const Key& key : config_keys())
    if (!key.needs.empty() && config.given.has(id_of(key)) && !config.given.has(key.needs))
      throw InputError(config.place_of(key.path),
                       fmt::format("{} is for {}, which is not given; give that too, or leave it out",
                                   key.path, key.needs));
}

/// Each plan belongs to some models.
void require_plan_fits(const cost::TransferSpec& spec) {
  using cost::TransferModel;
  const bool separate = spec.model == TransferModel::Async || spec.model == TransferModel::Link;
  const bool fits =
      spec.plan == "auto" ||
      (spec.plan == "entry" || spec.plan == "step" ? spec.model == TransferModel::Blocking : separate);
  if (fits) return;
  const char* allowed = separate ? "auto, overlap, overlap-flush, at-sender, before-use, ahead"
                        : spec.model == TransferModel::Blocking ? "auto, step, entry"
                                                                : "auto";
  throw InputError(
      spec.plan_where,
      fmt::format("costs.transfer.plan \"{}\" does not go with costs.transfer.model \"{}\"; with it: {}",
                  spec.plan, name_of(spec.model), allowed));
}

/// Bytes over a bandwidth take seconds, which the abstract unit has none of.
void require_real_unit(const Config& config) {
  if (config.costs.unit != TimeUnit::Unit) return;
  for (const Key& key : config_keys())
    if (key.unit == "1e9 bit/s" && key.has(config))
      throw InputError(
          config.place_of(key.path),
          fmt::format("{} needs a real time unit, but costs.time_unit is \"unit\"; set it to s, ms, us or ns",
                      key.path));
  const cost::TransferSpec& transfer = config.costs.transfer;
  const bool has_rates = !transfer.matrix.bits_per_second.empty() ||
                         std::any_of(transfer.links.begin(), transfer.links.end(),
                                     [](const auto& one) { return one.link.bits_per_second.has_value(); });
  if (has_rates)
    throw InputError(
        config.place_of("costs.transfer.links"),
        "the bandwidth of a link needs a real time unit, but costs.time_unit is \"unit\"; set it to s, "
        "ms, us or ns");
}

/// Links within and between nodes mean something only where nodes are known.
void require_nodes(const Config& config) {
  if (config.costs.transfer.ranks_per_node) return;
  for (const std::string_view path : {"costs.transfer.intra", "costs.transfer.inter"}) {
    const auto ids = children_of(find_config_key(path));
    if (std::none_of(ids.begin(), ids.end(), [&](KeyId id) { return config.given.has(id); })) continue;
    const std::string_view name = path.substr(path.rfind('.') + 1);
    throw InputError(config.place_of(path),
                     fmt::format("{} needs costs.transfer.ranks_per_node, which says who shares a "
                                 "node; give it, or leave {} out",
                                 path, name));
  }
}

}  // namespace

void inline_costs_file(Document& document) {
  const Value& root = document.root();
  const Value* costs = root.is(ValueKind::Object) ? root.find("costs") : nullptr;
  if (costs == nullptr || !costs->is(ValueKind::String)) return;
  const std::string path = relative_to(costs->where().file, costs->text());
  std::string text;
  try {
    text = read_file(path);
  } catch (const InputError& error) {
    throw InputError(costs->where(),
                     fmt::format("costs names the file '{}': {}", shortened(path, 64), error.what()));
  }
  const Document file = Document::parse(text, path);
  if (!file.root().is(ValueKind::Object))
    throw InputError(file.root().where(),
                     "a costs file holds an object, such as {\"forward\": 1, \"backward\": 2}");
  document.set("costs", file.root(), path);
}

void mark_given(Config& config, std::string_view path) {
  config.given.add_derived(id_of(*find_config_key(path)));
}

void reset_option(Config& config, std::string_view path) {
  const Key& key = *find_config_key(path);
  if (key.take != nullptr) key.take(config, Config());
  config.given.drop(id_of(key));
  for (const KeyId id : children_of(&key)) reset_option(config, config_keys()[id].path);
}

void derive_microbatches(Config& config) {
  const cost::ModelSpec& spec = config.costs.model;
  if (!spec.global_batch) return;
  const Where& where = config.place_of("costs.global_batch");
  const long long samples = static_cast<long long>(spec.micro_batch) * spec.data;
  if (*spec.global_batch % samples != 0)
    throw InputError(
        where,
        fmt::format("costs.global_batch = {} is no multiple of micro_batch * dp = {}; take {}",
                    *spec.global_batch, samples, std::max(samples, *spec.global_batch / samples * samples)));
  const auto microbatches = static_cast<int>(*spec.global_batch / samples);
  const Key& key = *find_config_key("microbatches");
  if (!config.given.has(id_of(key))) {
    config.microbatches = microbatches;
    config.given.add_derived(id_of(key));
  } else if (config.microbatches != microbatches) {
    throw InputError(
        where,
        fmt::format(
            "costs.global_batch = {} gives {} microbatches of {} samples, but microbatches = {}; leave "
            "one of them out",
            *spec.global_batch, microbatches, samples, config.microbatches));
  }
}

bool looks_like_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".json") || text.ends_with(".txt");
}

namespace {

/// Keys whose value is a file or the name of a preset.
bool is_preset_key(std::string_view key) {
  return key == "costs.model" || key == "costs.hardware";
}

}  // namespace

std::vector<std::string> named_files(const Value& value, std::string_view path) {
  std::vector<std::string> files;
  for (const std::string_view key :
       {"options.file", "costs.table", "costs.noise.file", "costs.model", "costs.hardware"}) {
    const Value* found = &value;
    std::string_view rest = key;
    if (!path.empty()) {
      if (!key.starts_with(path) || (key.size() > path.size() && key[path.size()] != '.')) continue;
      rest.remove_prefix(std::min(key.size(), path.size() + 1));
    }
    while (found != nullptr && !rest.empty()) {
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      found = found->is(ValueKind::Object) ? found->find(rest.substr(0, dot)) : nullptr;
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    const bool is_name = found == nullptr || !found->is(ValueKind::String) || found->text() == "-" ||
                         (is_preset_key(key) && !looks_like_file(found->text()));
    if (!is_name) files.push_back(relative_to(found->where().file, found->text()));
  }
  return files;
}

Config read_run_config(const Value& root, Needs needs) {
  if (const Value* costs = root.is(ValueKind::Object) ? root.find("costs") : nullptr;
      costs != nullptr && costs->is(ValueKind::String)) {
    Document document{Value(root)};
    inline_costs_file(document);
    return read_run_config(document.root(), needs);
  }
  Config out;
  ConfigReader(root, out).read();
  derive_microbatches(out);
  if (needs == Needs::Run) require_shape(out);
  require_needed(out);
  if (out.given.has("costs")) out.costs.where = out.place_of("costs");
  if (out.given.has("costs.transfer")) out.costs.transfer.plan_where = out.place_of("costs.transfer.plan");
  require_real_unit(out);
  require_plan_fits(out.costs.transfer);
  require_nodes(out);
  // Numbers of a rank's times go with numbers of a rank's bytes.
  if (!out.given.has("memory.per") && out.costs.per == cost::Per::Rank) out.memory.per = cost::Per::Rank;
  return out;
}

bool is_schedule_file(const Value& root) {
  return root.is(ValueKind::Object) && root.find("orders") != nullptr;
}

namespace {

template <class Places>
auto find_in(Places& places, KeyId id) {
  return std::find_if(places.begin(), places.end(), [id](const auto& place) { return place.first == id; });
}

}  // namespace

bool GivenKeys::has(std::string_view path) const {
  const Key* key = find_config_key(path);
  return key != nullptr && has(id_of(*key));
}

const Where* GivenKeys::find(KeyId id) const {
  if (const auto moved = find_in(moved_, id); moved != moved_.end()) return &moved->second;
  if (places_ == nullptr) return nullptr;
  const auto found = find_in(*places_, id);
  return found == places_->end() ? nullptr : &found->second;
}

const Where& GivenKeys::place_of(std::string_view path) const {
  for (;;) {
    const Key* key = find_config_key(path);
    const Where* found = key != nullptr ? find(id_of(*key)) : nullptr;
    if (found != nullptr) return *found;
    const auto dot = path.rfind('.');
    if (dot == std::string_view::npos) return root_;
    path = path.substr(0, dot);
  }
}

void GivenKeys::add_root(const Where& where) {
  root_ = where;
  places_ = std::make_shared<Places>();
}

void GivenKeys::add(KeyId id, const Where& where) {
  given_.set(id);
  places_->emplace_back(id, where);
}

void GivenKeys::move(KeyId id, const Where& where) {
  const auto moved = find_in(moved_, id);
  if (moved == moved_.end())
    moved_.emplace_back(id, where);
  else
    moved->second = where;
}

}  // namespace pipeloom::io
