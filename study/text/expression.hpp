#pragma once

// The small language of grids and filters: "8*ranks", "ranks*chunks <= 96", "schedule != 'gpipe' && bubble_ratio < 0.1".
//
//   or     := and ('||' and)*            and    := equal ('&&' equal)*
//   equal  := less (('==' | '!=') less)* less   := sum (('<' | '<=' | '>' | '>=') sum)*
//   sum    := product (('+' | '-') product)*    product := unary (('*' | '/' | '%') unary)*
//   unary  := ('!' | '-') unary | '(' or ')' | number | 'text' | key
//
// A key is a dotted path: letters, digits, '_', '.', and '-' is never part of it. Numbers are exact decimals with nine places (an exponent
// may follow); further places of a product or a quotient are rounded to nearest, ties to even. a % b has the sign of a. A text is
// never equal to a number; texts are equal byte by byte, and have no order. True is 1, false 0, and a text is true if it is not empty; &&
// and || do not look at their right side where the left one decides.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "study/text/decimal.hpp"

namespace pipeloom::sweep {

/// A decimal number (in units of 1e-9, so that bytes of whole clusters fit) or a text.
struct Operand {
  bool is_text = false;
  Nano nano = 0;
  std::string text;
  [[nodiscard]] static Operand number(Nano nano) { return {false, nano, {}}; }
  [[nodiscard]] static Operand of_text(std::string text) { return {true, 0, std::move(text)}; }
  [[nodiscard]] bool is_true() const { return is_text ? !text.empty() : nano != 0; }
  /// JSON: "64", "0.5", "\"zb-h1\"". Numbers without trailing zeros.
  [[nodiscard]] std::string json() const;
};

inline constexpr int kMaxExpressionDepth = 64;
inline constexpr std::size_t kMaxExpressionLength = 4096;

/// A parsed expression. Cheap to copy; evaluate() may be called from several threads at once.
class Expression {
 public:
  /// Throws InputError at `where` with the column inside the text: what was found and what is allowed there; also for texts
  /// longer than kMaxExpressionLength or nested deeper than kMaxExpressionDepth.
  [[nodiscard]] static Expression parse(std::string_view text, const Where& where);

  /// Keys in order of first use, each once.
  [[nodiscard]] const std::vector<std::string>& keys() const;
  [[nodiscard]] const std::string& text() const;
  /// `value(i)` is the value of keys()[i]; it may throw. Throws InputError for texts where numbers are needed, division by
  /// zero, and results beyond kMaxNano; the message names the expression.
  [[nodiscard]] Operand evaluate(const std::function<Operand(std::size_t)>& value) const;

 private:
  friend class ExpressionParser;
  friend class ExpressionRun;
  struct Tree;
  std::shared_ptr<const Tree> tree_;
};

}  // namespace pipeloom::sweep
