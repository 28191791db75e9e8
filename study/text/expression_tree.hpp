#pragma once

// An expression as a program for a stack machine. Flat, so that a long chain of operators costs no recursion.

#include <cstdint>
#include <string>
#include <vector>

#include "study/text/expression.hpp"

namespace pipeloom::sweep {

struct Expression::Tree {
  enum class Code : std::uint8_t {
    Constant,  ///< pushes constants[index]
    Key,       ///< pushes the value of keys[index]
    Not,
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    AndThen,  ///< if the top is false it becomes 0 and the program goes on at `index`; else it is dropped
    OrElse,   ///< if the top is true it becomes 1 and the program goes on at `index`; else it is dropped
    Truth,    ///< the top becomes 0 or 1
  };
  struct Step {
    Code code;
    std::uint32_t index = 0;
    std::uint32_t at = 0;  ///< offset in the text of the key or value that was read last
  };

  std::string text;
  Where where;
  std::vector<std::string> keys;
  std::vector<Operand> constants;
  /// True of constants that were given with a unit, of time or of bytes.
  std::vector<bool> with_unit;
  /// True of those that are times.
  std::vector<bool> is_time;
  std::vector<Step> steps;
  /// Most operands at once.
  std::size_t stack = 0;
};

}  // namespace pipeloom::sweep
