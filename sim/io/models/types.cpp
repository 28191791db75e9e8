#include "sim/io/models/types.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace pipeloom::io::models {
namespace {

constexpr TypeRules kRows[] = {
#define PIPELOOM_TYPE(type, like, classes, rules) {type, like, classes, rules},
#include "sim/io/models/types.def"
#include "sim/io/models/types_alike.def"
#include "sim/io/models/types_bert.def"
#include "sim/io/models/types_older.def"
#include "sim/io/models/types_streams.def"
#include "sim/io/models/types_towers.def"
};

constexpr TypeRules kEncoders[] = {
#include "sim/io/models/encoders.def"
#undef PIPELOOM_TYPE
};

const TypeRules* row_of(std::span<const TypeRules> rows, std::string_view type) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const TypeRules& row) { return row.type == type; });
  return found == rows.end() ? nullptr : &*found;
}

bool lists(std::string_view classes, std::string_view name) {
  while (!classes.empty()) {
    const std::string_view first = classes.substr(0, classes.find(' '));
    if (first == name) return true;
    classes.remove_prefix(std::min(first.size() + 1, classes.size()));
  }
  return false;
}

}  // namespace

TypeRow::TypeRow(std::span<const TypeRules> rows, const TypeRules* row)
    : name_(row->type), classes_(row->classes) {
  for (; row != nullptr; row = row_of(rows, row->like))
    chain_.push_back(Document::parse(row->rules, std::string(row->type)));
}

std::optional<TypeRow> TypeRow::named(std::string_view type) {
  const TypeRules* row = row_of(kRows, type);
  return row == nullptr ? std::nullopt : std::optional(TypeRow(kRows, row));
}

TypeRow TypeRow::encoder(std::string_view type) {
  return {kEncoders, row_of(kEncoders, type)};
}

std::optional<TypeRow> TypeRow::of_class(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kRows), std::end(kRows),
                                         [&](const TypeRules& row) { return lists(row.classes, name); });
  return found == std::end(kRows) ? std::nullopt : named(found->type);
}

std::vector<std::string> TypeRow::names() {
  std::vector<std::string> out;
  for (const TypeRules& row : kRows) out.emplace_back(row.type);
  return out;
}

bool TypeRow::has_class(std::string_view name) const {
  return lists(classes_, name);
}

const Value* TypeRow::default_of(std::string_view key) const {
  for (const Document& rules : chain_) {
    const Value* keys = rules.root().find("keys");
    if (keys == nullptr) continue;
    if (const Value* found = keys->find(key)) return found;
    for (const std::string& other : other_names(key))
      if (const Value* found = keys->find(other)) return found;
    return nullptr;  // a row with keys has all of its class
  }
  return nullptr;
}

std::vector<std::string> TypeRow::other_names(std::string_view key) const {
  std::vector<std::string> out;
  for (const Document& rules : chain_) {
    const Value* names = rules.root().find("names");
    if (names == nullptr) continue;
    for (std::size_t i = 0; i < names->keys().size(); ++i) {
      const std::string& one = names->keys()[i].name;
      const std::string& other = names->items()[i].text();
      if (key == one) out.push_back(other);
      if (key == other) out.push_back(one);
    }
    break;
  }
  return out;
}

const Value* TypeRow::find(std::initializer_list<std::string_view> path) const {
  for (const Document& rules : chain_) {
    const Value* at = rules.root().find("read");
    for (const std::string_view key : path)
      if (at != nullptr) at = at->is(ValueKind::Object) ? at->find(key) : nullptr;
    if (at != nullptr) return at;
  }
  return nullptr;
}

}  // namespace pipeloom::io::models
