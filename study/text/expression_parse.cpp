// Expression::parse: recursive descent, one function per level of the grammar.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "study/text/expression_tree.hpp"

namespace pipeloom::sweep {

/// Reads one text.
class ExpressionParser {
 public:
  using Code = Expression::Tree::Code;

  ExpressionParser(std::string_view text, const Where& where) : text_(text) {
    tree_.text = text;
    tree_.where = where;
  }

  Expression::Tree take() {
    parse_or();
    skip_blank();
    if (at_ != text_.size()) fail("an operator or the end must follow here");
    return std::move(tree_);
  }

 private:
  /// An operator's spelling and what it does.
  struct Operator {
    std::string_view text;
    Code code;
  };

  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found = at_ >= text_.size() ? std::string("the end")
                                                  : fmt::format("'{}'", shortened(text_.substr(at_, 16), 16));
    throw InputError(tree_.where, fmt::format("expression '{}', character {}: found {}; {}",
                                              shortened(text_, 80), at_ + 1, found, expected));
  }

  void skip_blank() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  [[nodiscard]] bool take_operator(std::string_view text) {
    skip_blank();
    if (text_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
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
    const char first = at_ < text_.size() ? text_[at_] : '\0';
    if (first >= '0' && first <= '9')
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
    std::size_t end = at_;
    const auto skip_digits = [&] {
      while (end < text_.size() && is_digit(text_[end])) ++end;
    };
    skip_digits();
    if (text_.substr(end, 1) == ".") {
      ++end;
      skip_digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      ++end;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      skip_digits();
    }
    const auto number = parse_nano(text_.substr(at_, end - at_));
    if (!number) fail("numbers are decimals with at most nine places and 9.2e18 at most");
    if (end < text_.size() && is_letter(text_[end])) {
      at_ = end;
      fail("an operator must stand between a number and a key");
    }
    at_ = end;
    add_constant(Operand::number(*number));
  }

  void parse_text() {
    const auto close = text_.find('\'', at_ + 1);
    if (close == std::string_view::npos) fail("a text ends with another '");
    std::string content(text_.substr(at_ + 1, close - at_ - 1));
    at_ = close + 1;
    add_constant(Operand::of_text(std::move(content)));
  }

  void parse_key() {
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.')) ++end;
    std::string key(text_.substr(at_, end - at_));
    if (key.back() == '.' || key.find("..") != std::string::npos)
      fail("a key is names joined by dots, such as costs.forward");
    at_ = end;
    const auto known = std::find(tree_.keys.begin(), tree_.keys.end(), key);
    const auto index = static_cast<std::size_t>(known - tree_.keys.begin());
    if (known == tree_.keys.end()) tree_.keys.push_back(std::move(key));
    emit(Code::Key, index);
  }

  void add_constant(Operand constant) {
    tree_.constants.push_back(std::move(constant));
    emit(Code::Constant, tree_.constants.size() - 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
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
