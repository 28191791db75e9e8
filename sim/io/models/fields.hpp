#pragma once

// An object's members by name and type, with the errors of model files.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/json_value.hpp"

namespace pipeloom::io::models {

/// A size that holds where a file leaves it out.
struct Assumed {
  std::string_view key;
  std::int64_t value = 0;
};

/// Walks one object. Every reader throws InputError at the value for another type or a number out of range; a member that is missing leaves the
/// default. `path` begins every message: "kinds.T.attention".
class Fields {
 public:
  /// Throws InputError where `object` is none.
  Fields(const Value& object, std::string path);

  /// The member, or null where it is missing or null.
  const Value* find(std::string_view key);
  /// A whole number from 0 to 2^53.
  void read(std::string_view key, std::int64_t& out);
  void read(std::string_view key, int& out);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, std::string& out);  ///< printable(): what is read here is shown
  /// Throws InputError where it is missing.
  void need(std::string_view key, std::int64_t& out);
  /// Of whole numbers that are missing (not null). REQUIRES: `sizes` outlives this.
  void assume(std::span<const Assumed> sizes) { assumed_ = sizes; }
  /// Throws InputError for the first member that nobody asked for.
  void finish() const;

  /// "kinds.T.ffn"
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] const Value& object() const { return object_; }

 private:
  [[nodiscard]] const Assumed* assumed(std::string_view key) const;

  const Value& object_;
  std::string path_;
  std::vector<std::string> asked_ = {};
  std::span<const Assumed> assumed_ = {};
};

/// "PATH is 12; it must be ALLOWED" at the value's place.
[[noreturn]] void refuse(const Value& value, std::string_view path, std::string_view allowed);
[[nodiscard]] std::int64_t whole_number(const Value& value, std::string_view path);

}  // namespace pipeloom::io::models
