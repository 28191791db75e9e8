#pragma once

// Sizes of a foreign configuration by the rules of its class: names, defaults where a key is missing, and expressions over keys.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/json_value.hpp"
#include "sim/io/models/types.hpp"

namespace pipeloom::io::models {

/// One object of a configuration. A key that is missing has its class's default; null is a value of its own, and so is the text "auto", which is read as
/// null. What no expression asked for is judged by finish().
///
/// Expressions, from loose to tight: `a|b` (b where a is null), `a?b` (b where a is true, else null), `a+b` `a-b`, `a*b` `a/b` (rounded down), `!a`, `#key`
/// (entries of an array, letters of a string), `?key` (the key as the file states it, without a default), `key=word`, `key.inner`, `key.each.inner` (what all members agree on), `key.0` (an array's
/// first entry, or one number for both), names of bind(), numbers, parentheses.
/// Throws InputError at the value for one of another type.
class Sizes {
 public:
  /// REQUIRES: `object` and `type` outlive this. Throws InputError where `object` is no object.
  Sizes(const Value& object, std::string path, const TypeRow& type);

  /// The value of a key ("key.inner" in an object) or of its other name, else its default; null where there is neither or either is null.
  [[nodiscard]] const Value* find(std::string_view path) { return found(path, true); }
  /// Whether the file says it, and not as null.
  [[nodiscard]] bool is_stated(std::string_view key) const;

  /// Nothing where the expression is null.
  [[nodiscard]] std::optional<double> number(std::string_view expression);
  /// A whole number from 0 to 2^53, or nothing.
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view expression);
  [[nodiscard]] bool truth(std::string_view expression) { return number(expression).value_or(0) != 0; }
  /// A whole number from 1 to `most`. Throws InputError for another one, and for null.
  [[nodiscard]] std::int64_t size(std::string_view expression, std::int64_t most);

  /// Throws InputError for the value that was read last: it must be `allowed`.
  [[noreturn]] void refuse_last(std::string_view allowed) const;

  /// A name of expressions that is no key.
  void bind(std::string_view name, std::int64_t value) { bound_[std::string(name)] = value; }
  [[nodiscard]] std::optional<std::int64_t> bound(std::string_view name) const;

  /// Throws InputError for a key that is smaller than its type's `least` allows.
  void check_least();
  /// Throws InputError for a key that is not what its type's `equal`, `one_of` (words) or `counted_up` (0, 1, 2, ..) says, and for a key that the class knows, that says another thing than its default, and
  /// that no expression asked for, nor `passed`. Keys that the class does not know change nothing: a warning names them.
  void finish(std::vector<std::string>& warnings);
  /// "text_config.hidden_size"
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] const Value& object() const { return object_; }

 private:
  friend class Expression;

  [[nodiscard]] const Value* stated(std::string_view key) const;
  [[nodiscard]] const Value* outer(std::string_view key);
  [[nodiscard]] const Value* found(std::string_view path, bool with_default);
  [[nodiscard]] const Value* inner(const Value& value, std::string_view key, std::string_view rest) const;
  [[nodiscard]] bool is_known(std::size_t at) const;
  void check_words();
  void check_counted_up();

  const Value& object_;
  std::string path_;
  const TypeRow& type_;
  std::set<std::string, std::less<>> asked_ = {};
  std::map<std::string, std::int64_t, std::less<>> bound_ = {};
  const Value* last_ = nullptr;  ///< the value that an expression read last, for its place in messages
  std::string last_path_;
};

}  // namespace pipeloom::io::models
