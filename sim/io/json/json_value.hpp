#pragma once

// JSON as a tree that remembers the place of everything.
//
// Readers of configurations, schedules and suites walk this tree and can point at file:line:column for whatever they
// refuse. Numbers keep their text, so that a decimal reaches the integer time axis without passing through a double.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>

namespace pipeloom::io {

enum class ValueKind : std::uint8_t { Null, Bool, Number, String, Array, Object };
/// "null", "true or false", "a number", "a string", "an array", "an object": for error texts.
[[nodiscard]] std::string_view name_of(ValueKind kind);

/// A JSON value with its place. A default-constructed one is null and has no place.
class Value {
 public:
  /// A key of an object and the key's place; its value is items()[i] for keys()[i].
  struct Key {
    std::string name;
    int line = 0;
    int column = 0;
  };

  [[nodiscard]] ValueKind kind() const { return kind_; }
  [[nodiscard]] bool is(ValueKind kind) const { return kind_ == kind; }
  /// The place of the value's beginning: file, line and column from 1 (columns count bytes). For a value that came from the
  /// command line the file is the option, such as "--set costs.forward", and there is no line.
  [[nodiscard]] Where where() const;
  [[nodiscard]] Where where_key(std::size_t i) const;

  /// A number's text as written ("1.50", "2e3"), a string's content, "true" or "false".
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The double next to a number. REQUIRES: is(ValueKind::Number).
  [[nodiscard]] double number() const;
  /// Elements of an array, values of an object in file order.
  [[nodiscard]] const std::vector<Value>& items() const { return items_; }
  /// Keys of an object in file order, parallel to items().
  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }
  /// The member named so, or null.
  [[nodiscard]] const Value* find(std::string_view key) const;

  /// The value, for error texts: "the string 'abc'", "12", "an array of 3".
  [[nodiscard]] std::string described() const;
  /// Compact JSON text with the keys of every object sorted and numbers as written: equal for trees that mean the
  /// same up to the spelling of numbers. Input fingerprints are made of it.
  [[nodiscard]] std::string canonical_text() const;

 private:
  friend class Document;
  friend class TreeBuilder;

  ValueKind kind_ = ValueKind::Null;
  int line_ = 0;
  int column_ = 0;
  std::shared_ptr<const std::string> source_;
  std::string text_;
  std::vector<Value> items_;
  std::vector<Key> keys_;
};

/// Limits that keep hostile input from costing more than it should; all are far above honest use.
inline constexpr std::size_t kMaxDocumentBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxDocumentValues = std::size_t{1} << 23;
inline constexpr int kMaxDocumentDepth = 64;

/// A JSON text with // and /* */ comments allowed, and edits on top of it.
class Document {
 public:
  /// An empty object: a run that is described by options alone.
  Document();
  /// A part of another document; its values keep their places.
  explicit Document(Value root) : root_(std::move(root)) {}
  /// Reads `text`; `name` is the file's name in error messages. Throws InputError at the first offending byte for text that
  /// is no JSON, duplicate keys, invalid UTF-8, NUL bytes, nesting beyond kMaxDocumentDepth or one of the other limits.
  static Document parse(std::string_view text, std::string name);

  [[nodiscard]] const Value& root() const { return root_; }

  /// Puts a value at a dotted path: "costs.forward", by index in arrays "costs.backward.3". Objects on the way are made as
  /// needed. `text` is read as JSON, and taken as a string if it is none. `source` ("--set costs.forward", "--ranks") is
  /// where the value comes from in later messages. Throws InputError for an empty path or one that leads through
  /// something that is neither an object nor an array, or outside an array.
  void set(std::string_view path, std::string_view text, std::string_view source);
  /// The same for a value read from a file, which keeps its place.
  void set(std::string_view path, const Value& value, std::string_view source);
  /// The argument of --set: "PATH=VALUE". Throws InputError if there is no '='.
  void set_option(std::string_view assignment);

 private:
  Value root_;
};

/// The value that `text` holds; nothing where Document::parse() refuses it.
[[nodiscard]] std::optional<Value> read_json(std::string_view text);

}  // namespace pipeloom::io
