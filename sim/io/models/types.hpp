#pragma once

// The table of Hugging Face's model types: what keys each has, their class's defaults, and how layers follow from them.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/json_value.hpp"

namespace pipeloom::io::models {

/// A line of a table.
struct TypeRules {
  std::string_view type;
  std::string_view like;     ///< "" or the type whose rules hold where this one says nothing
  std::string_view classes;  ///< that read it, with blanks between
  std::string_view rules;
};

/// A type's rules, with those of the type that it is like. Rows of types.def are JSON:
///
/// | key | meaning |
/// | --- | --- |
/// | `keys` | the class's keys with their defaults |
/// | `names` | other names of keys, as the class maps them |
/// | `read` | the model's sizes as expressions (sim/io/models/sizes.hpp), and its `parts`, `mixer` and `feed`; or those of a file with a tower, and of an encoder
/// (sim/io/models/towers.hpp) |
class TypeRow {
 public:
  /// The row of a type's name, or nothing.
  static std::optional<TypeRow> named(std::string_view type);
  /// REQUIRES: encoders.def has it.
  static TypeRow encoder(std::string_view type);
  /// The row of a class's name ("LlamaForCausalLM"), or nothing.
  static std::optional<TypeRow> of_class(std::string_view name);
  static std::vector<std::string> names();

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] bool has_class(std::string_view name) const;
  /// With blanks between.
  [[nodiscard]] std::string_view classes() const { return classes_; }
  /// Null for a key that the class does not know.
  [[nodiscard]] const Value* default_of(std::string_view key) const;
  /// Without `key` itself.
  [[nodiscard]] std::vector<std::string> other_names(std::string_view key) const;
  /// What `read` says at this path, of this type or else of the one that it is like.
  [[nodiscard]] const Value* find(std::initializer_list<std::string_view> path) const;

 private:
  TypeRow(std::span<const TypeRules> rows, const TypeRules* row);

  std::string_view name_;
  std::string_view classes_;
  std::vector<Document> chain_;  ///< this type's row, then that of the type it is like, and so on
};

}  // namespace pipeloom::io::models
