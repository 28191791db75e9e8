#pragma once

// The language of grids and filters, of points of sweeps and of ops in the window: "8*ranks", "ranks*chunks <= 96",
// "stage == 3 && duration > 2ms", and in short "stage:3 duration > 2ms".
//
//   or     := and ('||' and)*               and    := not ('&&' not)*
//   not    := 'not'* equal                  equal  := less (('==' | '!=') less)*
//   less   := sum (('<' | '<=' | '>' | '>=') sum)*
//   sum    := product (('+' | '-') product)*   product := unary (('*' | '/' | '%') unary)*
//   unary  := ('!' | '-') unary | '(' or ')' | number | number unit | 'text' | key | short
//   short  := key (':' | '=') value (',' value)*     value := number | number '-' number | word | 'text'
//
// A key is a dotted path: letters, digits, '_', '.', and '-' is never part of it. Numbers are exact decimals with nine places (an exponent
// may follow); further places of a product or a quotient are rounded to nearest, ties to even. A unit is one of time (s, ms, us, ns) or of
// bytes (KB, GiB ..); times count in the caller's unit. a % b has the sign of a. A text is never equal to a number; texts are equal byte by
// byte, and have no order. True is 1, false 0, and a text is true if it is not empty; && and || do not look at their right side where the
// left one decides.
//
// Short forms: `stage:0-3,7` is one of these values, ends of ranges included; the words `and` and `or` are && and ||; two conditions with
// nothing but a blank between them must both hold; '-' in front of a condition is `not`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/units.hpp>
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

/// A name that expressions about one kind of thing may use.
struct FilterField {
  enum class Kind : std::uint8_t { Number, Time, Text, Flag };
  std::string_view name;
  std::string_view alias;  ///< another spelling; "" for none
  Kind kind = Kind::Number;
};

/// The names and units of a caller's expressions. The default: any key, and no time has a unit.
struct Vocabulary {
  /// Unless empty, no other names are known, in letters of either case; keys() then has names, not aliases, and errors have the column in the text
  /// as their place.
  std::span<const FilterField> fields = {};
  /// Times count in this unit; the abstract one takes no times with units.
  TimeUnit unit = TimeUnit::Unit;
  /// True of a word that is a condition by itself, such as "3F1": it means that the text `named` equals the word. Null for none.
  bool (*is_name)(std::string_view word) = nullptr;
  std::string_view named = {};
};

inline constexpr int kMaxExpressionDepth = 64;
inline constexpr std::size_t kMaxExpressionLength = 4096;

/// A parsed expression. Cheap to copy; evaluate() may be called from several threads at once.
class Expression {
 public:
  /// Throws InputError at `where` with the column inside the text: what was found and what is allowed there; also for texts
  /// longer than kMaxExpressionLength or nested deeper than kMaxExpressionDepth.
  [[nodiscard]] static Expression parse(std::string_view text, const Where& where,
                                        const Vocabulary& vocabulary = {});

  /// Keys in order of first use, each once.
  [[nodiscard]] const std::vector<std::string>& keys() const;
  [[nodiscard]] const std::string& text() const;
  struct Tree;
  /// The program, for callers that run it in a way of their own (study/text/expression_tree.hpp).
  [[nodiscard]] const Tree& tree() const { return *tree_; }
  /// `value(i)` is the value of keys()[i]; it may throw. Throws InputError for texts where numbers are needed, division by
  /// zero, and results beyond kMaxNano; the message names the expression.
  [[nodiscard]] Operand evaluate(const std::function<Operand(std::size_t)>& value) const;

 private:
  std::shared_ptr<const Tree> tree_;
};

}  // namespace pipeloom::sweep
