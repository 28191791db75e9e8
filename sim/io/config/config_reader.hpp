#pragma once

// Typed values out of the tree, with the errors that the table of keys words. Used by run_config.cpp.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/cost_spec.hpp"
#include "sim/io/config/config_keys.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// One object of a configuration, say "costs.transfer". Every get_ function takes the name of a key directly below it
/// and returns nothing if the input does not have it (then the path is noted as defaulted).
class ConfigReader {
 public:
  /// What readers of all objects of one configuration share.
  struct Shared {
    TimeUnit unit = TimeUnit::Unit;
    std::vector<std::string> warnings;
    std::vector<std::string> defaulted;
  };

  /// `object` may be null: then nothing is there. Throws InputError if it is no object or has unknown keys.
  ConfigReader(const Value* object, std::string path, Shared& shared);

  [[nodiscard]] const Value* find(std::string_view name) const;
  [[nodiscard]] ConfigReader child(std::string_view name) const;
  [[nodiscard]] Where where() const { return object_ ? object_->where() : Where{}; }
  [[nodiscard]] std::string path_of(std::string_view name) const;

  [[nodiscard]] std::optional<int> count(std::string_view name) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  /// One of the key's choices.
  [[nodiscard]] std::optional<std::string> choice(std::string_view name) const;
  [[nodiscard]] std::optional<Ticks> time(std::string_view name) const;
  [[nodiscard]] std::optional<Bytes> bytes(std::string_view name) const;
  /// Bytes, one number per rank, or nothing for null.
  [[nodiscard]] std::optional<cost::LimitSpec> limit(std::string_view name) const;
  /// A positive decimal in units of 1e-9.
  [[nodiscard]] std::optional<std::int64_t> positive_decimal(std::string_view name) const;
  /// Factors: an array of one each, or a table.
  struct Scales {
    std::vector<Scale> array;
    std::optional<cost::ScaleTable> table;
  };
  [[nodiscard]] std::optional<Scales> scales(std::string_view name) const;
  /// A number, an array, or a table of times or bytes (by the key's type).
  [[nodiscard]] std::optional<cost::StageNumbers> stage_numbers(std::string_view name) const;

  /// Pieces for keys with a form of their own. `key` is the full path, for texts.
  [[nodiscard]] Ticks time_of(const Value& value, const std::string& key) const;
  [[nodiscard]] Scale scale_of(const Value& value, const std::string& key) const;
  [[nodiscard]] cost::StageNumbers numbers_of(const Value& value, const std::string& key, bool times) const;
  /// "found 12; allowed: ...".
  [[noreturn]] static void fail(const Value& value, const std::string& key, std::string_view allowed);

 private:
  [[nodiscard]] const Value* take(std::string_view name) const;
  [[nodiscard]] std::int64_t fixed_of(const Value& value, const std::string& key, std::int64_t scale,
                                      std::string_view allowed, bool may_round) const;
  [[nodiscard]] Bytes bytes_of(const Value& value, const std::string& key) const;
  [[nodiscard]] Ticks time_of_literal(const Value& value, const std::string& key) const;
  /// {"default": x, members: {"3": y}}, or the numbers themselves as keys: fallback(value) and exception(index, value, place).
  template <class Default, class Exception>
  static void read_table(const Value& table, const std::string& key, const std::string& members,
                         Default&& fallback, Exception&& exception);
  template <class Exception>
  static void read_exceptions(const Value& object, const std::string& key, const std::string& members,
                              Exception&& exception);

  const Value* object_;
  std::string path_;
  Shared* shared_;
};

}  // namespace pipeloom::io
