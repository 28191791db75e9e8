#pragma once

// An object of a hardware file, key by key: the keys that it may have, and each value checked.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// Limits of a number: above `over`, at most `most`.
struct NumberRange {
  double over = 0;
  double most = 1;
};

/// The number of a value. Throws InputError naming `key`.
[[nodiscard]] double number_of(const Value& value, std::string_view key, NumberRange range);
/// A whole number from 1 to 2^40.
[[nodiscard]] std::int64_t size_of(const Value& value, std::string_view key);
[[nodiscard]] const std::string& string_of(const Value& value, std::string_view key);
[[nodiscard]] const std::vector<Value>& array_of(const Value& value, std::string_view key,
                                                 std::string_view allowed);

/// The place of a name among `names`. Throws InputError, with the nearest, for a text that is none.
[[nodiscard]] std::size_t choice_in(const Value& value, std::string_view what,
                                    const std::vector<std::string>& names);

class Section {
 public:
  /// `path`: "" for the file itself, "gemm". Throws InputError where `value` is no object or has a key that is not among `keys`; "source" and
  /// "remark", for people, are always allowed.
  Section(const Value& value, std::string path, std::initializer_list<std::string_view> keys);

  [[nodiscard]] const Value* find(std::string_view key) const { return value_.find(key); }
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] Where where() const { return value_.where(); }

  // Each sets `out` if the section has the key and leaves it alone else. Throws InputError for another type and for a value out of range.
  void number(std::string_view key, double& out, NumberRange range) const;
  void seconds(std::string_view key, double& out) const;           ///< "9.4us"
  void bytes(std::string_view key, double& out) const;             ///< "80GB"
  void bytes_per_second(std::string_view key, double& out) const;  ///< "3.35TB/s", "400Gbit/s"
  void text(std::string_view key, std::string& out) const;

 private:
  const Value& value_;
  std::string path_;
};

}  // namespace pipeloom::io
