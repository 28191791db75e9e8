#include "study/text/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/text/expression_tree.hpp"

namespace pipeloom::sweep {

namespace {

/// Most expressions need no more operands at once, so that running them allocates nothing.
constexpr std::size_t kSmallStack = 6;

}  // namespace

std::string Operand::json() const {
  std::string out;
  if (is_text)
    io::append_json_string(out, text);
  else
    append_nano(out, nano);
  return out;
}

/// Runs one expression once.
class ExpressionRun {
 public:
  using Tree = Expression::Tree;
  using Code = Tree::Code;
  using Values = std::function<Operand(std::size_t)>;

  ExpressionRun(const Tree& tree, const Values& values, Operand* stack)
      : tree_(tree), values_(values), top_(stack) {}

  Operand result() {
    for (std::size_t at = 0; at < tree_.steps.size();) at = step(at);
    return std::move(top_[-1]);
  }

 private:
  /// Returns where the program goes on.
  std::size_t step(std::size_t at) {
    const Code code = tree_.steps[at].code;
    const std::size_t index = tree_.steps[at].index;
    switch (code) {
      case Code::Constant:
        *top_++ = tree_.constants[index];
        break;
      case Code::Key:
        *top_++ = values_(index);
        break;
      case Code::Not:
        set_truth(!top_[-1].is_true());
        break;
      case Code::Truth:
        set_truth(top_[-1].is_true());
        break;
      case Code::Negate:
        require_number(top_[-1], "-");
        top_[-1].nano = -top_[-1].nano;
        break;
      case Code::AndThen:
      case Code::OrElse:
        if (top_[-1].is_true() == (code == Code::OrElse)) {
          set_truth(code == Code::OrElse);
          return index;
        }
        --top_;
        break;
      default:
        --top_;
        binary(code, top_[-1], *top_);
        break;
    }
    return at + 1;
  }

  void set_truth(bool truth) { top_[-1] = Operand::number(truth ? kOne : 0); }

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(tree_.where, fmt::format("expression '{}': {}", shortened(tree_.text, 80), what));
  }

  void require_number(const Operand& operand, std::string_view what) const {
    if (operand.is_text)
      fail(fmt::format("the text '{}' stands where {} needs a number; texts take == and != only",
                       shortened(operand.text, 40), what));
  }

  static bool equal(const Operand& a, const Operand& b) {
    return a.is_text == b.is_text && (a.is_text ? a.text == b.text : a.nano == b.nano);
  }

  /// a = a OPERATOR b
  void binary(Code code, Operand& a, const Operand& b) const {
    if (code == Code::Equal || code == Code::Unequal) {
      a = Operand::number(equal(a, b) == (code == Code::Equal) ? kOne : 0);
      return;
    }
    const std::string_view name = name_of(code);
    require_number(a, name);
    require_number(b, name);
    const auto value = calculate(code, a.nano, b.nano);
    if (!value)
      fail(fmt::format("{} {} {} is beyond 9.2e18, the largest number; use smaller ones", nano_text(a.nano),
                       name, nano_text(b.nano)));
    a.nano = *value;
  }

  [[nodiscard]] std::optional<Nano> calculate(Code code, Nano a, Nano b) const {
    if ((code == Code::Divide || code == Code::Modulo) && b == 0)
      fail(fmt::format("{} {} 0 has no value; ask first, as in x != 0 && 1 / x < 2", nano_text(a),
                       name_of(code)));
    switch (code) {
      case Code::Add:
        return in_range(a + b);
      case Code::Subtract:
        return in_range(a - b);
      case Code::Multiply:
        return multiply(a, b);
      case Code::Divide:
        return divide(a, b);
      case Code::Modulo:
        return a % b;
      case Code::Less:
        return a < b ? kOne : 0;
      case Code::LessEqual:
        return a <= b ? kOne : 0;
      case Code::Greater:
        return a > b ? kOne : 0;
      default:
        return a >= b ? kOne : 0;
    }
  }

  static std::optional<Nano> in_range(Nano number) {
    if (number > kMaxNano || number < -kMaxNano) return std::nullopt;
    return number;
  }

  static std::string_view name_of(Code code) {
    switch (code) {
      case Code::Add:
        return "+";
      case Code::Subtract:
        return "-";
      case Code::Multiply:
        return "*";
      case Code::Divide:
        return "/";
      case Code::Modulo:
        return "%";
      case Code::Less:
        return "<";
      case Code::LessEqual:
        return "<=";
      case Code::Greater:
        return ">";
      default:
        return ">=";
    }
  }

  const Tree& tree_;
  const Values& values_;
  Operand* top_;  // one above the last operand
};

const std::vector<std::string>& Expression::keys() const {
  return tree_->keys;
}

const std::string& Expression::text() const {
  return tree_->text;
}

Operand Expression::evaluate(const std::function<Operand(std::size_t)>& value) const {
  if (tree_->stack <= kSmallStack) {
    std::array<Operand, kSmallStack> stack;
    return ExpressionRun(*tree_, value, stack.data()).result();
  }
  std::vector<Operand> stack(tree_->stack);
  return ExpressionRun(*tree_, value, stack.data()).result();
}

}  // namespace pipeloom::sweep
