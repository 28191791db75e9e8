// Expression::parse: recursive descent, one function per level of the grammar.

#include "study/text/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/text_cursor.hpp"
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
    const auto [code, index] = tree_.steps[at];
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

/// Reads one text.
class ExpressionParser {
 public:
  using Code = Expression::Tree::Code;

  ExpressionParser(std::string_view text, const Where& where) : cursor_(text) {
    tree_.text = text;
    tree_.where = where;
  }

  Expression::Tree take() {
    parse_or();
    skip_blank();
    if (!cursor_.at_end()) fail("an operator or the end must follow here");
    return std::move(tree_);
  }

 private:
  /// An operator's spelling and its function.
  struct Operator {
    std::string_view text;
    Code code;
  };

  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found = cursor_.at_end()
                                  ? std::string("the end")
                                  : fmt::format("'{}'", shortened(cursor_.rest().substr(0, 16), 16));
    throw InputError(tree_.where,
                     fmt::format("expression '{}', character {}: found {}; {}", shortened(cursor_.text(), 80),
                                 cursor_.at() + 1, found, expected));
  }

  void skip_blank() { cursor_.skip_blanks(" \t\n"); }

  [[nodiscard]] bool take_operator(std::string_view text) {
    skip_blank();
    return cursor_.take(text);
  }

  void emit(Code code, std::size_t index = 0) {
    tree_.steps.push_back({code, static_cast<std::uint32_t>(index)});
    if (code == Code::Constant || code == Code::Key) {
      ++depth_of_stack_;
      tree_.stack = std::max(tree_.stack, depth_of_stack_);
    } else if (code != Code::Not && code != Code::Negate && code != Code::Truth) {
      --depth_of_stack_;
    }
  }

  /// `part` ('OPERATOR' part)* for operators that need not look at their right side.
  template <class Part>
  void parse_lazy(std::string_view text, Code code, const Part& part) {
    part();
    while (take_operator(text)) {
      const std::size_t jump = tree_.steps.size();
      emit(code);
      part();
      emit(Code::Truth);
      tree_.steps[jump].index = static_cast<std::uint32_t>(tree_.steps.size());
    }
  }

  void parse_or() {
    parse_lazy("||", Code::OrElse, [this] { parse_lazy("&&", Code::AndThen, [this] { parse_equal(); }); });
  }

  /// `part` (OPERATOR part)*; where one operator begins another, the longer comes first.
  template <std::size_t N, class Part>
  void parse_chain(const std::array<Operator, N>& operators, const Part& part) {
    part();
    for (;;) {
      const auto found = std::find_if(operators.begin(), operators.end(),
                                      [this](const Operator& one) { return take_operator(one.text); });
      if (found == operators.end()) return;
      part();
      emit(found->code);
    }
  }

  void parse_equal() {
    static constexpr std::array<Operator, 2> kOperators = {{{"==", Code::Equal}, {"!=", Code::Unequal}}};
    parse_chain(kOperators, [this] { parse_less(); });
  }

  void parse_less() {
    static constexpr std::array<Operator, 4> kOperators = {
        {{"<=", Code::LessEqual}, {">=", Code::GreaterEqual}, {"<", Code::Less}, {">", Code::Greater}}};
    parse_chain(kOperators, [this] { parse_sum(); });
  }

  void parse_sum() {
    static constexpr std::array<Operator, 2> kOperators = {{{"+", Code::Add}, {"-", Code::Subtract}}};
    parse_chain(kOperators, [this] { parse_product(); });
  }

  void parse_product() {
    static constexpr std::array<Operator, 3> kOperators = {
        {{"*", Code::Multiply}, {"/", Code::Divide}, {"%", Code::Modulo}}};
    parse_chain(kOperators, [this] { parse_unary(); });
  }

  void parse_unary() {
    if (++depth_ > kMaxExpressionDepth + 1)  // the innermost is a leaf
      fail(fmt::format("parentheses and signs may be {} deep; split the expression", kMaxExpressionDepth));
    if (take_operator("!")) {
      parse_unary();
      emit(Code::Not);
    } else if (take_operator("-")) {
      parse_unary();
      emit(Code::Negate);
    } else if (take_operator("(")) {
      parse_or();
      if (!take_operator(")")) fail("')' must close what '(' began");
    } else {
      parse_leaf();
    }
    --depth_;
  }

  void parse_leaf() {
    skip_blank();
    const char first = cursor_.peek();
    if (is_digit(first))
      parse_number();
    else if (first == '\'')
      parse_text();
    else if (is_letter(first))
      parse_key();
    else
      fail("a number, a 'text', a key, '(', '!' or '-' must stand here");
  }

  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  void parse_number() {
    TextCursor number_end = cursor_;
    number_end.take_word(is_digit);
    if (number_end.take('.')) number_end.take_word(is_digit);
    if (number_end.take('e') || number_end.take('E')) {
      if (!number_end.take('+')) number_end.take('-');
      number_end.take_word(is_digit);
    }
    const auto number = parse_nano(number_end.since(cursor_.at()));
    if (!number) fail("numbers are decimals with at most nine places and 9.2e18 at most");
    cursor_ = number_end;
    if (is_letter(cursor_.peek())) fail("an operator must stand between a number and a key");
    add_constant(Operand::number(*number));
  }

  void parse_text() {
    const auto length = cursor_.rest().substr(1).find('\'');
    if (length == std::string_view::npos) fail("a text ends with another '");
    std::string content(cursor_.rest().substr(1, length));
    cursor_.skip(length + 2);
    add_constant(Operand::of_text(std::move(content)));
  }

  void parse_key() {
    std::string key(cursor_.word([](char c) { return is_letter(c) || is_digit(c) || c == '.'; }));
    if (key.back() == '.' || key.find("..") != std::string::npos)
      fail("a key is names joined by dots, such as costs.forward");
    cursor_.skip(key.size());
    const auto known = std::find(tree_.keys.begin(), tree_.keys.end(), key);
    const auto index = static_cast<std::size_t>(known - tree_.keys.begin());
    if (known == tree_.keys.end()) tree_.keys.push_back(std::move(key));
    emit(Code::Key, index);
  }

  void add_constant(Operand constant) {
    tree_.constants.push_back(std::move(constant));
    emit(Code::Constant, tree_.constants.size() - 1);
  }

  TextCursor cursor_;
  int depth_ = 0;
  std::size_t depth_of_stack_ = 0;
  Expression::Tree tree_;
};

Expression Expression::parse(std::string_view text, const Where& where) {
  if (text.size() > kMaxExpressionLength)
    throw InputError(where, fmt::format("expression '{}' has {} characters; at most {} are allowed",
                                        shortened(text, 40), text.size(), kMaxExpressionLength));
  Expression out;
  out.tree_ = std::make_shared<const Expression::Tree>(ExpressionParser(text, where).take());
  return out;
}

}  // namespace pipeloom::sweep
