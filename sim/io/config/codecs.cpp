#include "sim/io/config/codecs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::io {

std::optional<std::int64_t> exact_number(std::string_view json, std::int64_t scale) {
  const auto number = parse_fixed(json, scale);
  if (!number || number->rounded || number->value < 0) return std::nullopt;
  return number->value;
}

namespace codec {
namespace {

/// `put` writes one of the numbers.
template <class Numbers, class Put>
void write_array(TextWriter& out, const Numbers& numbers, const Put& put) {
  out << '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out << ", ";
    put(numbers[i]);
  }
  out << ']';
}

/// One number if all are alike, else an array.
template <class Numbers, class Put>
void write_numbers(TextWriter& out, const Numbers& numbers, const Put& put) {
  const bool uniform =
      std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end();
  if (uniform && !numbers.empty()) return put(numbers.front());
  write_array(out, numbers, put);
}

template <class Put>
void write_stages(const cost::StageNumbers& numbers, TextWriter& out, const Put& put) {
  if (numbers.form == cost::StageNumbers::Form::Scalar) return put(numbers.scalar);
  write_numbers(out, numbers.array, put);
}

bool store(std::int64_t& out, std::optional<std::int64_t> number) {
  if (number) out = *number;
  return number.has_value();
}

}  // namespace

bool Text::patch(std::string& member, std::size_t index, std::string_view json, const Context&) {
  if (index != kWhole || json.size() < 2 || json.front() != '"' || json.find('\\') != std::string_view::npos)
    return false;
  member = json.substr(1, json.size() - 2);
  return true;
}

std::string_view Choice::choice_at(const KeyRow& row, std::size_t place) {
  std::string_view rest = row.choices;
  for (; place > 0; --place) rest.remove_prefix(rest.find('|') + 1);
  return rest.substr(0, rest.find('|'));
}

void Flag::read(bool& member, const Value& value, const ReadContext& context) {
  if (!value.is(ValueKind::Bool)) refuse_value(value, context.key.path, "true or false");
  member = value.text() == "true";
}

bool StageNumbers::patch_in(cost::StageNumbers* numbers, std::size_t index, std::string_view json,
                            std::int64_t scale, const Where& where) {
  if (numbers == nullptr) return false;
  if (index != kWhole)
    return index < numbers->array.size() && store(numbers->array[index], exact_number(json, scale));
  numbers->where = where;
  return numbers->form == cost::StageNumbers::Form::Scalar &&
         store(numbers->scalar, exact_number(json, scale));
}

void StageTimes::write_in(TextWriter& out, const cost::StageNumbers& numbers, TimeUnit unit) {
  write_stages(numbers, out, [&](Ticks ticks) { out.ticks(ticks, unit); });
}

void StageBytes::write_in(TextWriter& out, const cost::StageNumbers& numbers) {
  write_stages(numbers, out, [&](std::int64_t bytes) { out << bytes; });
}

void Overlapped::read(Member& member, const Value& value, const ReadContext& context) {
  const std::string key(context.key.path);
  cost::OverlapSpec& out = member.emplace();
  if (value.is(ValueKind::String) && !parse_time_literal(value.text())) {
    if (value.text() == "sequential")
      out.rule = OverlapRule::Sequential;
    else if (value.text() != "sum")
      throw InputError::unknown_name(value.where(), key, shortened(value.text(), 64), {"sequential", "sum"});
    return;
  }
  const Value* factor = value.find("factor");
  const Value* saving = value.find("saving");
  if (factor == nullptr && saving == nullptr) {
    out.rule = OverlapRule::Explicit;
    out.duration = stage_numbers_of(value, context, true);
    return;
  }
  if (value.keys().size() != 1)
    refuse_value(value, key,
                 "an object with one key, \"factor\" or \"saving\", or with \"default\" and \"stages\"");
  out.rule = factor ? OverlapRule::Factor : OverlapRule::Saving;
  if (factor) out.factor = scale_of(*factor, key + ".factor", context);
  if (saving) out.saving = time_of(*saving, key + ".saving", context);
}

void Overlapped::write(TextWriter& out, const Member& member, const Context& context) {
  switch (member->rule) {
    case OverlapRule::Sum:
      out << "\"sum\"";
      return;
    case OverlapRule::Sequential:
      out << "\"sequential\"";
      return;
    case OverlapRule::Factor:
      (out << "{\"factor\": ").ticks(member->factor, kNano) << '}';
      return;
    case OverlapRule::Saving:
      (out << "{\"saving\": ").ticks(member->saving, context.unit) << '}';
      return;
    case OverlapRule::Explicit:
      StageTimes::write(out, member->duration, context);
      return;
  }
}

void Limit::read(Member& member, const Value& value, const ReadContext& context) {
  const std::string_view key = context.key.path;
  member.reset();
  if (value.is(ValueKind::Null)) return;
  cost::LimitSpec& out = member.emplace();
  out.where = value.where();
  out.per_rank = value.is(ValueKind::Array);
  if (out.per_rank && value.items().empty())
    refuse_value(value, key, "a number of bytes, an array of one per rank, or null");
  if (!out.per_rank) out.bytes.push_back(bytes_of(value, key, context));
  for (const Value& item : value.items()) out.bytes.push_back(bytes_of(item, key, context));
}

void Limit::write(TextWriter& out, const Member& member, const Context&) {
  if (!member) {
    out << "null";
    return;
  }
  write_numbers(out, member->bytes, [&](std::int64_t bytes) { out << bytes; });
}

bool Limit::patch(Member& member, std::size_t index, std::string_view json, const Context& context) {
  if (index != kWhole || !member) return false;
  member->where = context.where;
  return !member->per_rank && store(member->bytes.front(), exact_number(json, 1));
}

void Scales::write(TextWriter& out, const cost::ScaleSpec& member, const Context&) {
  write_array(out, member.array, [&](Scale scale) { out.ticks(scale, kNano); });
}

bool Scales::patch(cost::ScaleSpec& member, std::size_t index, std::string_view json, const Context&) {
  return index < member.array.size() && store(member.array[index], exact_number(json, kUnitScale));
}

namespace {
constexpr std::string_view kSlicesAllowed =
    "a number of equal slices from 1 to 65535, or an array of one positive whole weight per slice";
}

void Slices::read(Member& member, const Value& value, const ReadContext& context) {
  const std::string_view key = context.key.path;
  if (!value.is(ValueKind::Array)) {
    member = equal_slices(static_cast<int>(count_of(value, context)));
    return;
  }
  member.clear();
  for (const Value& item : value.items()) {
    const auto weight = parse_fixed(item.is(ValueKind::Number) ? item.text() : "", 1);
    if (!weight || weight->rounded || weight->value < 1 || weight->value > kMaxIndex)
      refuse_value(item, key, kSlicesAllowed);
    member.push_back(weight->value);
  }
  if (member.empty() || member.size() > kMaxSlices) refuse_value(value, key, kSlicesAllowed);
}

void Slices::write(TextWriter& out, const Member& member, const Context&) {
  write_array(out, member, [&](std::int64_t weight) { out << weight; });
}

std::size_t Slices::hash(const Member& member) {
  std::size_t hash = member.size();
  for (const std::int64_t weight : member) hash = hash * 31 + static_cast<std::size_t>(weight);
  return hash;
}

void Recompute::read(RecomputeOption& member, const Value& value, const ReadContext& context) {
  member = {};
  member.on = value.is(ValueKind::Object) || (value.is(ValueKind::String) && value.text() == "full");
  if (!member.on && !(value.is(ValueKind::String) && value.text() == "none"))
    refuse_value(value, context.key.path, "\"none\", \"full\", or {\"keep\": passes}");
}

void Offload::read(OffloadOption& member, const Value& value, const ReadContext& context) {
  member = {};
  member.on = value.is(ValueKind::Object) || (value.is(ValueKind::String) && value.text() == "all");
  if (!member.on && !(value.is(ValueKind::String) && value.text() == "none"))
    refuse_value(value, context.key.path,
                 "\"none\", \"all\", or {\"chunks\": c, \"prefetch\": n, \"min_gap\": n}");
}

}  // namespace codec
}  // namespace pipeloom::io
