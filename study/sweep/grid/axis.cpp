#include "study/sweep/grid/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/config/value_reading.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/kinds.hpp"
#include "study/sweep/grid/grid_keys.hpp"
#include "study/text/fingerprint.hpp"
#include "study/text/mix.hpp"

namespace pipeloom::sweep {

namespace {

using io::Value;
using io::ValueKind;

/// Reads {from, to, ...} of one key.
class RangeReader {
 public:
  RangeReader(const std::string& key, const Value& object) : key_(key), object_(object) {
    const std::vector<std::string> valid = {"from", "to", "step", "steps", "factor"};
    for (std::size_t i = 0; i < object.keys().size(); ++i)
      if (std::find(valid.begin(), valid.end(), object.keys()[i].name) == valid.end())
        throw InputError::unknown_name(object.where_key(i), fmt::format("key of a range of {}", key),
                                       shortened(object.keys()[i].name, 64), valid);
    const auto row = row_of(key);
    const bool number = row.is_place || row.row->form->is_number;
    if (!number) fail("has no ranges, as its values are no numbers; give a list");
    whole_ = !row.is_place && row.row->form->is_whole;
    from_ = member("from");
    to_ = member("to");
  }

  void read(AxisKey& out) {
    const int ways =
        (object_.find("step") ? 1 : 0) + (object_.find("steps") ? 1 : 0) + (object_.find("factor") ? 1 : 0);
    if (ways != 1) fail("needs one of \"step\", \"steps\" and \"factor\"");
    if (object_.find("step") != nullptr)
      out.range = by_step();
    else if (object_.find("steps") != nullptr)
      out.range = by_steps();
    else
      by_factor(out);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(object_.where(), fmt::format("the range of {} {}", key_, what));
  }

  [[nodiscard]] Nano member(const char* name) const {
    const Value* value = object_.find(name);
    if (value == nullptr) fail(fmt::format("lacks \"{}\"; add it", name));
    const auto number = value->is(ValueKind::Number) ? parse_nano(value->text()) : std::nullopt;
    if (!number)
      io::refuse_value(*value, fmt::format("\"{}\" of {}", name, key_),
                       "a number of at most nine decimals, up to 9.2e18");
    return *number;
  }

  void require_whole(Nano number) const {
    if (whole_ && number % kOne != 0)
      fail(fmt::format("gives {}, but {} takes whole numbers", nano_text(number), key_));
  }

  [[nodiscard]] Range by_step() const {
    const Nano step = member("step");
    if (step == 0) fail("has step 0 and never ends; give another step");
    if (from_ != to_ && (to_ > from_) != (step > 0))
      fail(fmt::format("is empty: step {} leads from {} away from {}", nano_text(step), nano_text(from_),
                       nano_text(to_)));
    require_whole(from_);
    const Nano count = (to_ - from_) / step + 1;
    if (count > 1) require_whole(from_ + step);
    return sized({from_, step, 1, 0}, count);
  }

  [[nodiscard]] Range by_steps() const {
    const Nano steps = member("steps");
    if (steps < kOne || steps % kOne != 0)
      fail(fmt::format("has {} steps; give a whole number of values, both ends counted", nano_text(steps)));
    const Nano count = steps / kOne;
    if ((count == 1) != (from_ == to_))
      fail(count == 1 ? "has one value but two ends; give them as a list, or more steps"
                      : "has the same number at both ends; give it as a list");
    require_whole(from_);
    if (count == 1) return sized({from_, 0, 1, 0}, 1);
    const Nano span = to_ - from_;
    if ((span < 0 ? -span : span) < count - 1)
      fail(fmt::format("has {} values closer than nine decimals tell apart; give fewer steps",
                       nano_text(steps)));
    const Range range{from_, span, count - 1, 0};
    // All are whole if the first two are exactly so.
    if (whole_ && (span % (kOne * (count - 1)) != 0))
      fail(fmt::format("gives {}, but {} takes whole numbers; choose steps so that they are",
                       nano_text(range.value(1)), key_));
    return sized(range, count);
  }

  [[nodiscard]] Range sized(Range range, Nano count) const {
    if (count >= (Nano{1} << 63)) fail("has more than 9.2e18 values; give fewer");
    range.size = static_cast<std::uint64_t>(count);
    return range;
  }

  void by_factor(AxisKey& out) const {
    const Nano factor = member("factor");
    if (factor <= 0 || factor == kOne)
      fail(fmt::format("has factor {}; it must be above 0 and not 1", nano_text(factor)));
    if (from_ <= 0) fail(fmt::format("begins at {}; with a factor it must begin above 0", nano_text(from_)));
    if (from_ != to_ && (to_ > from_) != (factor > kOne))
      fail(fmt::format("is empty: factor {} leads from {} away from {}", nano_text(factor), nano_text(from_),
                       nano_text(to_)));
    for (Nano value = from_; factor > kOne ? value <= to_ : value >= to_;) {
      require_whole(value);
      const std::string text = nano_text(value);
      out.list.push_back({text, Operand::number(value), value_of(text), leaf_hash(key_, text)});
      if (out.list.size() > kMaxFactorValues)
        fail(fmt::format("has more than {} values; a factor may give no more", kMaxFactorValues));
      const auto next = multiply(value, factor);
      if (!next) return;  // beyond the largest number, and so beyond `to`
      if (*next == value) fail("never ends: at nine decimals the factor changes nothing");
      value = *next;
    }
  }

  /// The number as if it stood in the range's place.
  [[nodiscard]] Value value_of(const std::string& number) const {
    io::Document document;
    document.set("value", number, object_.where().file);
    return *document.root().find("value");
  }

  const std::string& key_;
  const Value& object_;
  bool whole_ = false;
  Nano from_ = 0;
  Nano to_ = 0;
};

ListValue list_value(const std::string& key, const Value& value) {
  require_type(value, key);
  ListValue out;
  append_plain_json(out.json, value, false);
  out.operand = operand_of(value);
  out.value = key == "costs" && value.is(ValueKind::String) ? read_costs_file(value) : value;
  out.leaves = leaf_sum(out.value, key);
  return out;
}

}  // namespace

Nano Range::value(std::uint64_t i) const {
  // span * i could leave 127 bits: whole parts first. parts and i are below 2^63.
  const Nano index = i;
  return from + span / parts * index + round_quotient(span % parts * index, parts);
}

AxisKey read_axis_key(const std::string& key, const Value& values) {
  AxisKey out;
  out.name = key;
  out.where = values.where();
  if (values.is(ValueKind::Object)) {
    RangeReader(key, values).read(out);
    return out;
  }
  if (!values.is(ValueKind::Array) || values.items().empty())
    io::refuse_value(values, fmt::format("the axis {}", key),
                     "a list of values, or {\"from\", \"to\"} with \"step\", \"steps\" or \"factor\"");
  for (const Value& value : values.items()) out.list.push_back(list_value(key, value));
  return out;
}

std::optional<Operand> operand_of(const Value& value) {
  switch (value.kind()) {
    case ValueKind::Bool:
      return Operand::number(value.text() == "true" ? kOne : 0);
    case ValueKind::String:
      return Operand::of_text(value.text());
    case ValueKind::Number:
      if (const auto number = parse_nano(value.text())) return Operand::number(*number);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Value read_costs_file(const Value& name) {
  io::Document document;
  document.set("costs", name, name.where().file);
  io::inline_costs_file(document);
  const Value& costs = *document.root().find("costs");
  require_type(costs, "costs");
  if (costs.is(ValueKind::String)) io::refuse_value(costs, "costs", "an object");
  return costs;
}

namespace {

using io::Value;
using io::ValueKind;

class LeafWalk {
 public:
  explicit LeafWalk(const std::vector<std::string_view>& except) : except_(except) {}

  std::uint64_t walk(const Value& value, std::string& path) {
    if (path == "origin" || is_excepted(path)) return 0;
    const std::size_t size = path.size();
    std::uint64_t sum = 0;
    if (!value.is(ValueKind::Object) && (!value.is(ValueKind::Array) || value.items().empty()))
      return leaf(value, path);
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      if (size > 0) path += '.';
      path += value.is(ValueKind::Object) ? value.keys()[i].name : std::to_string(i);
      sum += walk(value.items()[i], path);
      path.resize(size);
    }
    return sum;
  }

 private:
  [[nodiscard]] bool is_excepted(std::string_view path) const {
    return std::any_of(except_.begin(), except_.end(), [path](std::string_view key) {
      return key.size() <= path.size() && overlap(key, path);
    });
  }

  static std::uint64_t leaf(const Value& value, std::string_view path) {
    std::string json;
    if (path == "schedule" && value.is(ValueKind::String))
      io::append_json_string(json, schedule_identity(value.text()));
    else
      append_plain_json(json, value, true);
    return leaf_hash(path, json);
  }

  const std::vector<std::string_view>& except_;
};

}  // namespace

std::uint64_t leaf_hash(std::string_view key, std::string_view json) {
  study::Fingerprint hash;
  hash.add(key);
  hash.add(std::string_view("=", 1));
  hash.add(json);
  // FNV's low bits know little of the last bytes; the sum below needs every bit to depend on all of them.
  return mixed(hash.number());
}

std::uint64_t leaf_sum(const Value& value, std::string_view key,
                       const std::vector<std::string_view>& except) {
  std::string path(key);
  return LeafWalk(except).walk(value, path);
}

std::string schedule_identity(std::string_view name) {
  if (name == io::kCustomSchedule) return std::string(name);
  try {
    const schedules::Found found = schedules::find(name);
    const bool brings_defaults = found.alias != nullptr && found.alias->defaults;
    return brings_defaults ? found.generator->name + "/" + found.alias->name : found.generator->name;
  } catch (const InputError&) {
    return std::string(name);
  }
}

std::string identity_text(std::uint64_t sum) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::uint64_t number = mixed(sum + kMixStep);
  std::string out(16, '0');
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kDigits[(number >> (60 - 4 * i)) & 0xF];
  return out;
}

}  // namespace pipeloom::sweep
