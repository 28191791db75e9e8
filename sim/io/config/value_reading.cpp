#include "sim/io/config/value_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_text.hpp"

namespace pipeloom::io {
namespace {

/// The noun for the keys of a table of factors: "ranks" for costs.rank_scale.
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

/// A number of 0 or more in units of 1/scale.
std::int64_t fixed_of(const Value& value, std::string_view key, const ReadContext& context,
                      std::int64_t scale, std::string_view allowed, bool may_round) {
  if (!value.is(ValueKind::Number)) refuse_value(value, key, allowed);
  const auto number = parse_fixed(value.text(), scale);
  if (!number)
    throw InputError(value.where(), fmt::format("{} is {}, which is too large; it must be {}{}", key,
                                                value.described(), allowed,
                                                allowed.find(" to ") == std::string_view::npos
                                                    ? fmt::format(" below {}", kMaxTicks / scale)
                                                    : std::string()));
  if (value.text()[0] == '-' && number->value != 0) refuse_value(value, key, allowed);
  if (number->rounded && !may_round) refuse_value(value, key, allowed);
  if (number->rounded) context.warnings.push_back(rounded_warning(value.where(), key, value.described()));
  return number->value;
}

Ticks time_of_literal(const Value& value, std::string_view key, const ReadContext& context) {
  const auto ticks = parse_time_literal(value.text());
  if (!ticks)
    refuse_value(value, key,
                 "a time of 0 or more, such as 23.6, or \"23.6ms\" with a unit (s, ms, us or ns)");
  if (context.unit == TimeUnit::Unit)
    throw InputError(
        value.where(),
        fmt::format("{} is {}, a real time, but costs.time_unit is \"unit\", which has no length; "
                    "set it to s, ms, us or ns, or give a plain number",
                    key, value.described()));
  if (ticks->rounded) context.warnings.push_back(rounded_warning(value.where(), key, value.described()));
  return ticks->value;
}

template <class Exception>
void read_exceptions(const Value& object, std::string_view key, const std::string& members,
                     Exception&& exception) {
  const std::string one = members.substr(0, members.size() - (members.ends_with("ches") ? 2 : 1));
  if (!object.is(ValueKind::Object))
    refuse_value(object, fmt::format("{}.{}", key, members),
                 fmt::format("an object from {} numbers to numbers", one));
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const auto index = index_of_key(object.keys()[i].name);
    if (!index)
      throw InputError(object.where_key(i),
                       fmt::format("'{}' is no {}; the keys of {}.{} are numbers such as \"3\"",
                                   shortened(object.keys()[i].name, 40), one, key, members));
    exception(*index, object.items()[i], object.where_key(i));
  }
}

/// {"default": x, members: {"3": y}}, or the numbers themselves as keys: fallback(value) and exception(index, value, place).
template <class Default, class Exception>
void read_table(const Value& table, std::string_view key, const std::string& members, Default&& fallback,
                Exception&& exception) {
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

}  // namespace

void refuse_value(const Value& value, std::string_view key, std::string_view allowed) {
  throw InputError(value.where(), fmt::format("{} is {}; it must be {}", key, value.described(), allowed));
}

Ticks time_of(const Value& value, std::string_view key, const ReadContext& context) {
  if (value.is(ValueKind::String)) return time_of_literal(value, key, context);
  return fixed_of(value, key, context, ticks_per(context.unit), "a time of 0 or more", true);
}

Scale scale_of(const Value& value, std::string_view key, const ReadContext& context) {
  return fixed_of(value, key, context, kUnitScale, "a factor of 0 or more", true);
}

Bytes bytes_of(const Value& value, std::string_view key, const ReadContext& context) {
  if (!value.is(ValueKind::String))
    return fixed_of(value, key, context, 1, "a whole number of bytes, 0 or more", false);
  const auto bytes = parse_bytes_literal(value.text());
  if (!bytes)
    refuse_value(value, key, "a whole number of bytes, 0 or more, or a size such as \"80GB\" or \"75GiB\"");
  return *bytes;
}

std::int64_t count_of(const Value& value, const ReadContext& context) {
  const Key& key = context.key;
  const std::string allowed = fmt::format("a whole number from {} to {}", key.minimum, key.maximum);
  const std::int64_t number = fixed_of(value, key.path, context, 1, allowed, false);
  if (number < key.minimum || number > key.maximum) refuse_value(value, key.path, allowed);
  return number;
}

std::int64_t rate_of(const Value& value, std::string_view key, const ReadContext& context) {
  constexpr std::string_view kAllowed = "a number above 0, or a rate such as \"400Gbit/s\" or \"50GB/s\"";
  const auto rate = value.is(ValueKind::String) ? parse_rate_literal(value.text()) : std::nullopt;
  const auto number = rate ? *rate : fixed_of(value, key, context, kUnitScale, kAllowed, true);
  if (number == 0) refuse_value(value, key, kAllowed);
  return number;
}

std::int64_t share_of(const Value& value, const ReadContext& context) {
  constexpr std::string_view kAllowed = "a number from 0 to 1";
  const std::int64_t number = fixed_of(value, context.key.path, context, kUnitScale, kAllowed, true);
  if (number > kUnitScale) refuse_value(value, context.key.path, kAllowed);
  return number;
}

std::optional<std::int64_t> positive_decimal_of(const Value& value, const ReadContext& context) {
  if (value.is(ValueKind::Null)) return std::nullopt;
  if (context.key.unit == "1e9 bit/s") return rate_of(value, context.key.path, context);
  constexpr std::string_view kAllowed = "a number above 0";
  const auto number = fixed_of(value, context.key.path, context, kUnitScale, kAllowed, true);
  if (number == 0) refuse_value(value, context.key.path, kAllowed);
  return number;
}

const std::string& text_of(const Value& value, const ReadContext& context) {
  if (!value.is(ValueKind::String)) refuse_value(value, context.key.path, "a string");
  return value.text();
}

std::size_t choice_of(const Value& value, const ReadContext& context) {
  const std::string& text = text_of(value, context);
  const auto valid = choices_of(context.key);
  const auto found = std::find(valid.begin(), valid.end(), text);
  if (found == valid.end())
    throw InputError::unknown_name(value.where(), std::string(context.key.path), shortened(text, 64), valid);
  return static_cast<std::size_t>(found - valid.begin());
}

cost::ScaleSpec scales_of(const Value& value, const ReadContext& context) {
  const std::string_view key = context.key.path;
  const std::string members = members_of(key);
  cost::ScaleSpec out;
  out.where = value.where();
  if (value.is(ValueKind::Array) && !value.items().empty()) {
    for (const Value& item : value.items()) out.array.push_back(scale_of(item, key, context));
    return out;
  }
  if (!value.is(ValueKind::Object))
    refuse_value(
        value, key,
        fmt::format(
            "an array of factors, such as [1, 1, 1.1, 1], or {{\"default\": 1, \"{}\": {{\"2\": 1.1}}}}",
            members));
  cost::ScaleTable& table = out.table.emplace();
  read_table(
      value, key, members, [&](const Value& item) { table.fallback = scale_of(item, key, context); },
      [&](std::int32_t index, const Value& item, const Where& where) {
        table.exceptions.push_back({index, scale_of(item, key, context), where});
      });
  return out;
}

cost::StageNumbers stage_numbers_of(const Value& value, const ReadContext& context, bool times) {
  const std::string_view key = context.key.path;
  cost::StageNumbers out;
  out.key = key;
  out.where = value.where();
  const auto number = [&](const Value& item) {
    return times ? time_of(item, key, context) : bytes_of(item, key, context);
  };
  if (value.is(ValueKind::Number) || value.is(ValueKind::String)) {
    out.scalar = number(value);
    out.has_unit = value.is(ValueKind::String);
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
    refuse_value(
        value, key,
        "a number, an array with one entry per stage, or {\"default\": 2, \"stages\": {\"3\": 2.5}}");
  }
  return out;
}

}  // namespace pipeloom::io
