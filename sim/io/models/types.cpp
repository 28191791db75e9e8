#include "sim/io/models/types.hpp"

#include <algorithm>
#include <iterator>

namespace pipeloom::io::models {
namespace {

struct Row {
  std::string_view type;
  std::string_view like;     ///< "" or the type whose rules hold where this one says nothing
  std::string_view classes;  ///< that read it, with blanks between
  std::string_view rules;
};

constexpr Row kRows[] = {
#define PIPELOOM_TYPE(type, like, classes, rules) {type, like, classes, rules},
#include "sim/io/models/types.def"
#include "sim/io/models/types_alike.def"
#undef PIPELOOM_TYPE
};

const Row* row_of(std::string_view type) {
  const auto* const found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.type == type; });
  return found == std::end(kRows) ? nullptr : found;
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

std::optional<TypeRow> TypeRow::named(std::string_view type) {
  const Row* row = row_of(type);
  if (row == nullptr) return std::nullopt;
  TypeRow out;
  out.name_ = row->type;
  out.classes_ = row->classes;
  for (; row != nullptr; row = row_of(row->like))
    out.chain_.push_back(Document::parse(row->rules, std::string(row->type)));
  return out;
}

std::optional<TypeRow> TypeRow::of_class(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kRows), std::end(kRows),
                                         [&](const Row& row) { return lists(row.classes, name); });
  return found == std::end(kRows) ? std::nullopt : named(found->type);
}

std::vector<std::string> TypeRow::names() {
  std::vector<std::string> out;
  for (const Row& row : kRows) out.emplace_back(row.type);
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
