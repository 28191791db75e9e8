// Codecs of plain lists of whole numbers: counts of stages, and lengths of documents.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/io/config/codecs.hpp"

namespace pipeloom::io::codec {

namespace {

std::vector<std::int32_t> whole_numbers_of(const Value& value, const ReadContext& context) {
  const Key& key = context.key;
  if (!value.is(ValueKind::Array) || value.items().empty() || value.items().size() > kMaxIndex)
    refuse_value(value, key.path, std::string(key.form->kinds_text));
  std::vector<std::int32_t> out;
  for (const Value& item : value.items()) out.push_back(static_cast<std::int32_t>(count_of(item, context)));
  return out;
}

std::string list_text(const std::vector<std::int32_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

}  // namespace

void Counts::read(cost::StageCounts& member, const Value& value, const ReadContext& context) {
  member = {.counts = whole_numbers_of(value, context), .where = value.where()};
}

void Counts::write(TextWriter& out, const cost::StageCounts& member, const Context&) {
  out << list_text(member.counts);
}

void Documents::read(cost::DocumentLists& member, const Value& value, const ReadContext& context) {
  const bool nested =
      value.is(ValueKind::Array) && !value.items().empty() && value.items()[0].is(ValueKind::Array);
  member = {.per_microbatch = nested, .where = value.where()};
  if (!nested) {
    member.lists.push_back(whole_numbers_of(value, context));
    return;
  }
  for (const Value& list : value.items()) member.lists.push_back(whole_numbers_of(list, context));
}

void Documents::write(TextWriter& out, const cost::DocumentLists& member, const Context&) {
  std::vector<std::string> lists;
  for (const std::vector<std::int32_t>& list : member.lists) lists.push_back(list_text(list));
  out << (member.per_microbatch ? fmt::format("[{}]", fmt::join(lists, ", ")) : lists.front());
}

}  // namespace pipeloom::io::codec
