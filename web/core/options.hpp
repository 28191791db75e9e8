#pragma once

// Options of a page's question: JSON text, read by the reader of configurations.

#include <optional>
#include <string>
#include <string_view>

#include "sim/io/json/json_value.hpp"

namespace pipeloom::web {

/// Members are asked for by name. After the last, done() refuses those with other names.
class Options {
 public:
  /// Throws InputError where `text` is no JSON object; "" has no members.
  explicit Options(std::string_view text);

  /// Throw InputError where the member is of another kind.
  [[nodiscard]] std::optional<std::string> text(const char* name);
  [[nodiscard]] std::optional<double> number(const char* name);
  [[nodiscard]] bool flag(const char* name);
  /// As it is spelt: a number, a text or a list for Document::set().
  [[nodiscard]] std::optional<std::string> spelling(const char* name);
  /// Throws InputError where a member has another name than those asked for.
  void done() const;

 private:
  const io::Value* find(const char* name);

  io::Document document_;
  std::vector<std::string> asked_;
};

}  // namespace pipeloom::web
