#include "sim/io/config/config_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/literals.hpp"
#include "sim/io/json/rounding.hpp"

namespace pipeloom::io {
namespace {

std::vector<std::string> split_choices(std::string_view choices) {
  std::vector<std::string> out;
  for (;;) {
    const auto bar = choices.find('|');
    out.emplace_back(choices.substr(0, bar));
    if (bar == std::string_view::npos) return out;
    choices.remove_prefix(bar + 1);
  }
}

const ConfigKey& key_of(const std::string& path) {
  const ConfigKey* key = find_config_key(path);
  if (key == nullptr) throw InternalError(fmt::format("the table of configuration keys lacks '{}'", path));
  return *key;
}

/// What the keys of a table of factors name: "ranks" for costs.rank_scale.
std::string members_of(std::string_view path) {
  std::string name(path.substr(path.rfind('.') + 1));
  name.resize(name.size() - std::string_view("_scale").size());
  return name + (name.ends_with("ch") ? "es" : "s");
}

/// A number of a stage, rank or microbatch as a table's key: plain digits, no sign, no leading zeros.
std::optional<std::int32_t> index_of_key(std::string_view text) {
  std::int32_t stage = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), stage);
  if (error != std::errc{} || end != text.data() + text.size() || stage < 0 || stage >= kMaxIndex)
    return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return stage;
}

}  // namespace

ConfigReader::ConfigReader(const Value* object, std::string path, Shared& shared)
    : object_(object), path_(std::move(path)), shared_(&shared) {
  if (object_ == nullptr) return;
  if (!object_->is(ValueKind::Object))
    fail(*object_, path_.empty() ? "the configuration" : path_, "an object");
  require_known_keys(*object_, path_);
}

const Value* ConfigReader::find(std::string_view name) const {
  return object_ ? object_->find(name) : nullptr;
}

ConfigReader ConfigReader::child(std::string_view name) const {
  return {find(name), path_of(name), *shared_};
}

std::string ConfigReader::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void ConfigReader::fail(const Value& value, const std::string& key, std::string_view allowed) {
  throw InputError(value.where(), fmt::format("{} is {}; it must be {}", key, value.described(), allowed));
}

const Value* ConfigReader::take(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr) shared_->defaulted.push_back(path_of(name));
  return value;
}

std::int64_t ConfigReader::fixed_of(const Value& value, const std::string& key, std::int64_t scale,
                                    std::string_view allowed, bool may_round) const {
  if (!value.is(ValueKind::Number)) fail(value, key, allowed);
  const auto number = parse_fixed(value.text(), scale);
  if (!number)
    throw InputError(value.where(), fmt::format("{} is {}, which is too large; it must be {}{}", key,
                                                value.described(), allowed,
                                                allowed.find(" to ") == std::string_view::npos
                                                    ? fmt::format(" below {}", kMaxTicks / scale)
                                                    : std::string()));
  if (value.text()[0] == '-' && number->value != 0) fail(value, key, allowed);
  if (number->rounded && !may_round) fail(value, key, allowed);
  if (number->rounded) shared_->warnings.push_back(rounded_warning(value.where(), key, value.described()));
  return number->value;
}

std::optional<int> ConfigReader::count(std::string_view name) const {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  const ConfigKey& key = key_of(path_of(name));
  const std::string allowed = fmt::format("a whole number from {} to {}", key.minimum, key.maximum);
  const std::int64_t number = fixed_of(*value, path_of(name), 1, allowed, false);
  if (number < key.minimum || number > key.maximum) fail(*value, path_of(name), allowed);
  return static_cast<int>(number);
}

std::optional<bool> ConfigReader::flag(std::string_view name) const {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is(ValueKind::Bool)) fail(*value, path_of(name), "true or false");
  return value->text() == "true";
}

std::optional<std::string> ConfigReader::text(std::string_view name) const {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is(ValueKind::String)) fail(*value, path_of(name), "a string");
  return value->text();
}

std::optional<std::string> ConfigReader::choice(std::string_view name) const {
  auto found = text(name);
  if (!found) return std::nullopt;
  const auto valid = split_choices(key_of(path_of(name)).choices);
  if (std::find(valid.begin(), valid.end(), *found) == valid.end())
    throw InputError::unknown_name(find(name)->where(), path_of(name), shortened(*found, 64), valid);
  return found;
}

Ticks ConfigReader::time_of(const Value& value, const std::string& key) const {
  if (value.is(ValueKind::String)) return time_of_literal(value, key);
  return fixed_of(value, key, ticks_per(shared_->unit), "a time of 0 or more", true);
}

Ticks ConfigReader::time_of_literal(const Value& value, const std::string& key) const {
  const auto ticks = parse_time_literal(value.text());
  if (!ticks)
    fail(value, key, "a time of 0 or more, such as 23.6, or \"23.6ms\" with a unit (s, ms, us or ns)");
  if (shared_->unit == TimeUnit::Unit)
    throw InputError(
        value.where(),
        fmt::format("{} is {}, a real time, but costs.time_unit is \"unit\", which has no length; "
                    "set it to s, ms, us or ns, or give a plain number",
                    key, value.described()));
  if (ticks->rounded) shared_->warnings.push_back(rounded_warning(value.where(), key, value.described()));
  return ticks->value;
}

Scale ConfigReader::scale_of(const Value& value, const std::string& key) const {
  return fixed_of(value, key, kUnitScale, "a factor of 0 or more", true);
}

Bytes ConfigReader::bytes_of(const Value& value, const std::string& key) const {
  if (value.is(ValueKind::String)) {
    const auto bytes = parse_bytes_literal(value.text());
    if (!bytes)
      fail(value, key, "a whole number of bytes, 0 or more, or a size such as \"80GB\" or \"75GiB\"");
    return *bytes;
  }
  return fixed_of(value, key, 1, "a whole number of bytes, 0 or more", false);
}

std::optional<Ticks> ConfigReader::time(std::string_view name) const {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  return time_of(*value, path_of(name));
}

std::optional<Bytes> ConfigReader::bytes(std::string_view name) const {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  return bytes_of(*value, path_of(name));
}

std::optional<cost::LimitSpec> ConfigReader::limit(std::string_view name) const {
  const Value* value = take(name);
  if (value == nullptr || value->is(ValueKind::Null)) return std::nullopt;
  cost::LimitSpec out;
  out.where = value->where();
  out.per_rank = value->is(ValueKind::Array);
  if (out.per_rank && value->items().empty())
    fail(*value, path_of(name), "a number of bytes, an array of one per rank, or null");
  if (!out.per_rank) out.bytes.push_back(bytes_of(*value, path_of(name)));
  for (const Value& item : value->items()) out.bytes.push_back(bytes_of(item, path_of(name)));
  return out;
}

std::optional<std::int64_t> ConfigReader::positive_decimal(std::string_view name) const {
  const Value* value = take(name);
  if (value == nullptr || value->is(ValueKind::Null)) return std::nullopt;
  const bool is_rate = key_of(path_of(name)).unit == "1e9 bit/s";
  const std::string_view allowed =
      is_rate ? "a number above 0, or a rate such as \"400Gbit/s\" or \"50GB/s\"" : "a number above 0";
  const auto rate =
      is_rate && value->is(ValueKind::String) ? parse_rate_literal(value->text()) : std::nullopt;
  const auto number = rate ? *rate : fixed_of(*value, path_of(name), kUnitScale, allowed, true);
  if (number == 0) fail(*value, path_of(name), allowed);
  return number;
}

std::optional<ConfigReader::Scales> ConfigReader::scales(std::string_view name) const {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  const std::string key = path_of(name);
  const std::string members = members_of(key);
  Scales out;
  if (value->is(ValueKind::Array) && !value->items().empty()) {
    for (const Value& item : value->items()) out.array.push_back(scale_of(item, key));
    return out;
  }
  if (!value->is(ValueKind::Object))
    fail(*value, key,
         fmt::format(
             "an array of factors, such as [1, 1, 1.1, 1], or {{\"default\": 1, \"{}\": {{\"2\": 1.1}}}}",
             members));
  cost::ScaleTable& table = out.table.emplace();
  read_table(
      *value, key, members, [&](const Value& item) { table.fallback = scale_of(item, key); },
      [&](std::int32_t index, const Value& item, const Where& where) {
        table.exceptions.push_back({index, scale_of(item, key), where});
      });
  return out;
}

std::optional<cost::StageNumbers> ConfigReader::stage_numbers(std::string_view name) const {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  return numbers_of(*value, path_of(name), key_of(path_of(name)).type != KeyType::BytesTable);
}

cost::StageNumbers ConfigReader::numbers_of(const Value& value, const std::string& key, bool times) const {
  cost::StageNumbers out;
  out.key = key;
  out.where = value.where();
  const auto number = [&](const Value& item) { return times ? time_of(item, key) : bytes_of(item, key); };
  if (value.is(ValueKind::Number) || value.is(ValueKind::String)) {
    out.scalar = number(value);
  } else if (value.is(ValueKind::Array)) {
    out.form = cost::StageNumbers::Form::Array;
    for (const Value& item : value.items()) out.array.push_back(number(item));
  } else if (value.is(ValueKind::Object)) {
    out.form = cost::StageNumbers::Form::Table;
    read_table(
        value, key, "stages", [&](const Value& item) { out.fallback = number(item); },
        [&](std::int32_t stage, const Value& item, const Where& where) {
          out.exceptions.push_back({stage, number(item), where});
        });
  } else {
    fail(value, key,
         "a number, an array with one entry per stage, or {\"default\": 2, \"stages\": {\"3\": 2.5}}");
  }
  return out;
}

template <class Default, class Exception>
void ConfigReader::read_table(const Value& table, const std::string& key, const std::string& members,
                              Default&& fallback, Exception&& exception) {
  for (std::size_t i = 0; i < table.keys().size(); ++i) {
    const Value& item = table.items()[i];
    const std::string& name = table.keys()[i].name;
    if (name == "default") {
      fallback(item);
    } else if (const auto index = index_of_key(name)) {
      exception(*index, item, table.where_key(i));  // as --set costs.rank_scale.2=1.1 makes it
    } else if (name == members) {
      read_exceptions(item, key, members, exception);
    } else {
      throw InputError::unknown_name(table.where_key(i), fmt::format("key of {}", key), shortened(name, 64),
                                     {"default", members});
    }
  }
}

template <class Exception>
void ConfigReader::read_exceptions(const Value& object, const std::string& key, const std::string& members,
                                   Exception&& exception) {
  const std::string one = members.substr(0, members.size() - (members.ends_with("ches") ? 2 : 1));
  if (!object.is(ValueKind::Object))
    fail(object, key + "." + members, fmt::format("an object from {} numbers to numbers", one));
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const auto index = index_of_key(object.keys()[i].name);
    if (!index)
      throw InputError(object.where_key(i),
                       fmt::format("'{}' is no {}; the keys of {}.{} are numbers such as \"3\"",
                                   shortened(object.keys()[i].name, 40), one, key, members));
    exception(*index, object.items()[i], object.where_key(i));
  }
}

}  // namespace pipeloom::io
