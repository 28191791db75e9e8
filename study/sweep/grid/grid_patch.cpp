// What reading one value of a key does to a configuration: the counterpart of sim/io/config/run_config.cpp for single keys. A test holds
// the two together.

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/io/config/config_keys.hpp"
#include "study/sweep/grid/grid_template.hpp"

namespace pipeloom::sweep {
namespace {

using io::RunConfig;

/// A number of 0 or more that is exact in units of 1/scale.
std::optional<std::int64_t> exact(std::string_view json, std::int64_t scale) {
  const auto number = parse_fixed(json, scale);
  if (!number || number->rounded || number->value < 0) return std::nullopt;
  return number->value;
}

template <class Number>
bool set(Number& out, std::optional<std::int64_t> value) {
  if (value) out = static_cast<Number>(*value);
  return value.has_value();
}

/// A whole number within the range of its key.
std::optional<std::int64_t> count(const char* key, std::string_view json) {
  const auto number = exact(json, 1);
  const io::ConfigKey& row = *io::find_config_key(key);
  if (!number || *number < row.minimum || *number > row.maximum) return std::nullopt;
  return number;
}

bool set_schedule(RunConfig& config, std::size_t, std::string_view json, const Where& where) {
  if (json.size() < 2 || json.front() != '"' || json.find('\\') != std::string_view::npos) return false;
  config.schedule = json.substr(1, json.size() - 2);
  config.schedule_where = where;
  return true;
}

bool set_ranks(RunConfig& config, std::size_t, std::string_view json, const Where& where) {
  config.ranks_where = where;
  return set(config.ranks, count("ranks", json));
}

bool set_microbatches(RunConfig& config, std::size_t, std::string_view json, const Where& where) {
  config.microbatches_where = where;
  return set(config.microbatches, count("microbatches", json));
}

bool set_chunks(RunConfig& config, std::size_t, std::string_view json, const Where& where) {
  config.chunks_where = where;
  return config.chunks && set(*config.chunks, count("chunks", json));
}

bool set_group_size(RunConfig& config, std::size_t, std::string_view json, const Where& where) {
  for (auto& given : config.options.given)
    if (given.name == "group_size") given.where = where;
  return config.options.group_size && set(*config.options.group_size, count("options.group_size", json));
}

bool set_scalar(cost::StageNumbers& numbers, std::string_view json, std::int64_t scale, const Where& where) {
  numbers.where = where;
  return numbers.form == cost::StageNumbers::Form::Scalar && set(numbers.scalar, exact(json, scale));
}

template <OpKind kind>
bool set_duration(RunConfig& config, std::size_t, std::string_view json, const Where& where) {
  auto& numbers = config.costs.duration[static_cast<std::size_t>(kind)];
  return numbers && set_scalar(*numbers, json, ticks_per(config.costs.unit), where);
}

template <OpKind kind>
bool set_duration_entry(RunConfig& config, std::size_t index, std::string_view json, const Where&) {
  auto& numbers = config.costs.duration[static_cast<std::size_t>(kind)];
  return numbers && index < numbers->array.size() &&
         set(numbers->array[index], exact(json, ticks_per(config.costs.unit)));
}

bool set_rank_scale(RunConfig& config, std::size_t index, std::string_view json, const Where&) {
  auto& scales = config.costs.rank_scale;
  return index < scales.size() && set(scales[index], exact(json, kUnitScale));
}

bool set_microbatch_scale(RunConfig& config, std::size_t index, std::string_view json, const Where&) {
  auto& scales = config.costs.microbatch_scale;
  return index < scales.size() && set(scales[index], exact(json, kUnitScale));
}

bool set_latency(RunConfig& config, std::size_t, std::string_view json, const Where&) {
  auto& latency = config.costs.transfer.link.latency;
  return latency && set(*latency, exact(json, ticks_per(config.costs.unit)));
}

bool set_message_bytes(RunConfig& config, std::size_t, std::string_view json, const Where&) {
  return set(config.costs.transfer.bytes, exact(json, 1));
}

bool set_optimizer(RunConfig& config, std::size_t, std::string_view json, const Where&) {
  return set(config.step.optimizer, exact(json, ticks_per(config.costs.unit)));
}

bool set_limit(RunConfig& config, std::size_t, std::string_view json, const Where& where) {
  auto& limit = config.memory.limit;
  if (limit) limit->where = where;
  return limit && !limit->per_rank && set(limit->bytes.front(), exact(json, 1));
}

template <cost::StageNumbers cost::MemorySpec::*member>
bool set_memory(RunConfig& config, std::size_t, std::string_view json, const Where& where) {
  return set_scalar(config.memory.*member, json, 1, where);
}

/// One byte is no size (sim/io/config/run_config.cpp).
bool set_activation(RunConfig& config, std::size_t index, std::string_view json, const Where& where) {
  config.memory.has_sizes = json != "1";
  return set_memory<&cost::MemorySpec::activation>(config, index, json, where);
}

struct Row {
  std::string_view key;
  Patch::Apply apply;
  std::string_view placeholder = "1";
};

constexpr std::array kRows = {
    Row{"schedule", set_schedule, "\"gpipe\""},
    Row{"ranks", set_ranks},
    Row{"microbatches", set_microbatches},
    Row{"chunks", set_chunks},
    Row{"options.group_size", set_group_size},
    Row{"costs.forward", set_duration<OpKind::Forward>},
    Row{"costs.backward", set_duration<OpKind::Backward>},
    Row{"costs.backward_input", set_duration<OpKind::BackwardInput>},
    Row{"costs.backward_weight", set_duration<OpKind::BackwardWeight>},
    Row{"costs.transfer.latency", set_latency},
    Row{"costs.transfer.bytes", set_message_bytes},
    Row{"memory.activation_bytes", set_activation},
    Row{"memory.released_at_input", set_memory<&cost::MemorySpec::released_at_input>},
    Row{"memory.static_bytes", set_memory<&cost::MemorySpec::static_bytes>},
    Row{"memory.limit_bytes", set_limit},
    Row{"step.optimizer", set_optimizer},
};

/// Entries of arrays: the key goes on with ".INDEX".
constexpr std::array kEntries = {
    Row{"costs.forward", set_duration_entry<OpKind::Forward>},
    Row{"costs.backward", set_duration_entry<OpKind::Backward>},
    Row{"costs.backward_input", set_duration_entry<OpKind::BackwardInput>},
    Row{"costs.backward_weight", set_duration_entry<OpKind::BackwardWeight>},
    Row{"costs.rank_scale", set_rank_scale},
    Row{"costs.microbatch_scale", set_microbatch_scale},
};

}  // namespace

std::optional<Patch> find_patch(std::string_view key) {
  const auto has_key = [](std::string_view wanted) {
    return [wanted](const Row& row) { return row.key == wanted; };
  };
  const auto* row = std::find_if(kRows.begin(), kRows.end(), has_key(key));
  if (row != kRows.end()) return Patch{row->apply, 0, row->placeholder};
  const auto dot = std::min(key.rfind('.'), key.size());
  const auto* entry = std::find_if(kEntries.begin(), kEntries.end(), has_key(key.substr(0, dot)));
  const std::string_view digits = key.substr(std::min(dot + 1, key.size()));
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (entry == kEntries.end() || error != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return Patch{entry->apply, index, entry->placeholder};
}

}  // namespace pipeloom::sweep
