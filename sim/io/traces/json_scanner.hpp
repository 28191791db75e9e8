#pragma once

// JSON of any length, read from front to back: memory holds one value that somebody asks for, never the file.
//
//   JsonScanner json(source);
//   if (json.enter('{'))
//     while (json.next_key(key))
//       if (key == "traceEvents" && json.enter('['))
//         while (json.next_element()) use(json.take_value());
//       else
//         json.skip_value();
//
// Only the structure is looked at; what a taken value means is for read_json() to say. A text that ends early gives what is there.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/traces/byte_source.hpp"

namespace pipeloom::io {

/// The longest value that is taken at once: events of profilers have some hundred bytes, a list of all times of a step a few million.
inline constexpr std::size_t kMaxValueBytes = std::size_t{32} << 20;
/// Values inside values, of those that are skipped too.
inline constexpr int kMaxValueDepth = 256;

class JsonScanner {
 public:
  /// The source outlives it.
  explicit JsonScanner(ByteSource& source);

  /// The next byte that is no blank; '\0' at the end.
  [[nodiscard]] char peek();
  /// Passes the bracket of an object or array if it comes next.
  bool enter(char bracket);
  /// In an object: passes the next key; false where it ends. Throws InputError for anything else.
  bool next_key(std::string& key);
  /// In an array: goes to the next value; false where it ends. Throws InputError for anything else.
  bool next_element();
  /// The value at hand as it stands; "" if the text ends inside it. Holds until the next call. Throws InputError if it is longer than
  /// kMaxValueBytes or nested deeper than kMaxValueDepth.
  [[nodiscard]] std::string_view take_value();
  /// Passes the value at hand, however long.
  void skip_value();
  /// True if the text ended before it was whole.
  [[nodiscard]] bool is_truncated() const { return is_truncated_; }

 private:
  /// Reads on behind what is there; bytes from `kept_` on stay, or from at_ if nothing is kept. False at the end.
  bool fill();
  /// True if a byte is at hand, read on if need be; marks the text as truncated if not.
  bool has_byte();
  /// An object or array.
  void pass_value();
  /// The opening quote is passed.
  void pass_string();
  void pass_scalar();
  bool separate(char close);
  [[noreturn]] void fail(std::string_view expected) const;

  static constexpr std::size_t kNothing = static_cast<std::size_t>(-1);
  ByteSource* source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t kept_ = kNothing;
  std::size_t passed_ = 0;  ///< bytes of the file before buffer_
  bool is_fresh_ = true;    ///< nothing of the object or array at hand has been passed
  bool is_truncated_ = false;
};

}  // namespace pipeloom::io
