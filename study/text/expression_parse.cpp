// Expression::parse.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/base/number_text.hpp"
#include "sim/base/text_cursor.hpp"
#include "sim/base/text_tools.hpp"
#include "study/text/expression.hpp"
#include "study/text/expression_tree.hpp"

namespace pipeloom::sweep {

/// Reads one text, one function per level of the grammar. Each returns true if what it read is a condition: a comparison, a flag, a short form.
class ExpressionParser {
 public:
  using Code = Expression::Tree::Code;

  ExpressionParser(std::string_view text, const Where& where, const Vocabulary& vocabulary)
      : cursor_(text), vocabulary_(vocabulary) {
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

  [[noreturn]] void fail(std::string_view expected) const { fail_at(cursor_.at(), expected); }

  [[noreturn]] void fail_at(std::size_t at, std::string_view expected) const {
    const std::string_view rest = cursor_.text().substr(std::min(at, cursor_.text().size()));
    const std::string found =
        rest.empty() ? std::string("the end") : fmt::format("'{}'", shortened(rest.substr(0, 16), 16));
    if (!vocabulary_.fields.empty())
      throw InputError(place(at), fmt::format("found {}; {}", found, expected));
    throw InputError(tree_.where, fmt::format("expression '{}', character {}: found {}; {}",
                                              shortened(cursor_.text(), 80), at + 1, found, expected));
  }

  [[nodiscard]] Where place(std::size_t at) const {
    return Where{tree_.where.file, 1, static_cast<int>(at) + 1};
  }

  void skip_blank() { cursor_.skip_blanks(kBlanks); }

  [[nodiscard]] bool take_operator(std::string_view text) {
    skip_blank();
    return cursor_.take(text);
  }

  /// Takes a word of letters in either case.
  [[nodiscard]] bool take_word(std::string_view word) {
    skip_blank();
    if (lower(cursor_.word(is_of_key)) != word) return false;
    cursor_.skip(word.size());
    return true;
  }

  void emit(Code code, std::size_t index = 0) {
    tree_.steps.push_back({code, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(token_)});
    if (code == Code::Constant || code == Code::Key) {
      ++depth_of_stack_;
      tree_.stack = std::max(tree_.stack, depth_of_stack_);
    } else if (code != Code::Not && code != Code::Negate && code != Code::Truth) {
      --depth_of_stack_;
    }
  }

  /// `right` is read where the left side, which was, does not decide.
  template <class Right>
  void emit_lazy(Code code, const Right& right) {
    const std::size_t jump = tree_.steps.size();
    emit(code);
    right();
    emit(Code::Truth);
    tree_.steps[jump].index = static_cast<std::uint32_t>(tree_.steps.size());
  }

  bool parse_or() {
    bool condition = parse_and();
    while (take_operator("||") || take_word("or")) {
      emit_lazy(Code::OrElse, [this] { parse_and(); });
      condition = true;
    }
    return condition;
  }

  bool parse_and() {
    bool condition = parse_not();
    for (;;) {
      if (take_operator("&&") || take_word("and")) {
        emit_lazy(Code::AndThen, [this] { parse_not(); });
      } else if (condition && begins_condition()) {
        const std::size_t begin = cursor_.at();
        emit_lazy(Code::AndThen, [&] {
          if (!parse_not()) fail_at(begin, "an operator or the end must follow here");
        });
      } else {
        return condition;
      }
      condition = true;
    }
  }

  /// True if another condition may begin here: a blank or a parenthesis is before it.
  [[nodiscard]] bool begins_condition() {
    skip_blank();
    if (cursor_.at_end() || cursor_.at() == 0) return false;
    const char before = cursor_.text()[cursor_.at() - 1];
    const char next = cursor_.peek();
    if (lower(cursor_.word(is_of_key)) == "or") return false;
    const bool apart = kBlanks.find(before) != std::string_view::npos || before == ')' || next == '(';
    return apart && (is_of_key(next) || next == '(' || next == '-' || next == '!' || next == '\'');
  }

  bool parse_not() {
    std::size_t negations = 0;
    while (take_word("not")) ++negations;
    const bool condition = parse_equal();
    for (std::size_t i = 0; i < negations; ++i) emit(Code::Not);
    return condition || negations > 0;
  }

  /// `part` (OPERATOR part)*; where one operator begins another, the longer comes first.
  template <std::size_t N, class Part>
  bool parse_chain(const std::array<Operator, N>& operators, bool makes_condition, const Part& part) {
    bool condition = part();
    for (;;) {
      skip_blank();
      if (cursor_.peek() == '-' && (condition || minus_begins_condition())) return condition;
      const auto found = std::find_if(operators.begin(), operators.end(),
                                      [this](const Operator& one) { return take_operator(one.text); });
      if (found == operators.end()) return condition;
      takes_word_ = (found->code == Code::Equal || found->code == Code::Unequal) && ends_in_text_field();
      part();
      takes_word_ = false;
      emit(found->code);
      condition = makes_condition;
    }
  }

  /// True if what was read last is a field of texts.
  [[nodiscard]] bool ends_in_text_field() const {
    if (tree_.steps.empty() || tree_.steps.back().code != Code::Key) return false;
    const FilterField* field = field_named(tree_.keys[tree_.steps.back().index]);
    return field != nullptr && field->kind == FilterField::Kind::Text;
  }

  /// True at the minus of " -group" and " -stage:3", which follow a condition that is complete.
  [[nodiscard]] bool minus_begins_condition() const {
    TextCursor ahead = cursor_;
    if (ahead.at() == 0 || kBlanks.find(ahead.text()[ahead.at() - 1]) == std::string_view::npos) return false;
    ahead.skip();
    const std::string_view word = ahead.take_word(is_of_key);
    if (const FilterField* field = field_named(word);
        field != nullptr && field->kind == FilterField::Kind::Flag)
      return true;
    return !word.empty() && ahead.peek() == ':';
  }

  bool parse_equal() {
    static constexpr std::array<Operator, 2> kOperators = {{{"==", Code::Equal}, {"!=", Code::Unequal}}};
    return parse_chain(kOperators, true, [this] { return parse_less(); });
  }

  bool parse_less() {
    static constexpr std::array<Operator, 4> kOperators = {
        {{"<=", Code::LessEqual}, {">=", Code::GreaterEqual}, {"<", Code::Less}, {">", Code::Greater}}};
    return parse_chain(kOperators, true, [this] { return parse_sum(); });
  }

  bool parse_sum() {
    static constexpr std::array<Operator, 2> kOperators = {{{"+", Code::Add}, {"-", Code::Subtract}}};
    return parse_chain(kOperators, false, [this] { return parse_product(); });
  }

  bool parse_product() {
    static constexpr std::array<Operator, 3> kOperators = {
        {{"*", Code::Multiply}, {"/", Code::Divide}, {"%", Code::Modulo}}};
    return parse_chain(kOperators, false, [this] { return parse_unary(); });
  }

  bool parse_unary() {
    if (++depth_ > kMaxExpressionDepth + 1)  // the innermost is a leaf
      fail(fmt::format("parentheses and signs may be {} deep; split the expression", kMaxExpressionDepth));
    bool condition = false;
    if (take_operator("!")) {
      parse_unary();
      emit(Code::Not);
      condition = true;
    } else if (take_operator("-")) {
      condition = parse_unary();
      emit(condition ? Code::Not : Code::Negate);
    } else if (take_operator("(")) {
      condition = parse_or();
      if (!take_operator(")")) fail("')' must close what '(' began");
    } else {
      condition = parse_leaf();
    }
    --depth_;
    return condition;
  }

  bool parse_leaf() {
    skip_blank();
    token_ = cursor_.at();
    if (vocabulary_.is_name != nullptr && vocabulary_.is_name(cursor_.word(is_of_key))) {
      emit(Code::Key, index_of_key(std::string(vocabulary_.named)));
      add_constant(Operand::of_text(std::string(cursor_.take_word(is_of_key))));
      emit(Code::Equal);
      return true;
    }
    const char first = cursor_.peek();
    if (is_digit(first))
      parse_number();
    else if (first == '\'')
      parse_text();
    else if (is_letter(first))
      return parse_key();
    else
      fail("a number, a 'text', a key, '(', '!' or '-' must stand here");
    return false;
  }

  static constexpr std::string_view kBlanks = " \t\n\r";
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_of_key(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
  static bool is_of_value(char c) { return is_of_key(c) || c == '-' || c == '+' || c == '/'; }

  /// The number with its unit; nullopt where it is none, or has a unit that is none here.
  [[nodiscard]] std::optional<Operand> quantity(std::string_view number, std::string_view unit) const {
    const auto of = [](std::optional<Nano> nano) {
      return nano ? std::optional(Operand::number(*nano)) : std::nullopt;
    };
    if (unit.empty()) return of(parse_nano(number));
    const std::string text = std::string(number) + lower(unit);
    if (const auto bytes = parse_bytes_literal(text)) return Operand::number(Nano{*bytes} * kOne);
    const auto time = parse_time_literal(text);
    if (!time || vocabulary_.unit == TimeUnit::Unit) return std::nullopt;
    return of(divide(Nano{time->value} * kOne, Nano{ticks_per(vocabulary_.unit)} * kOne));
  }

  /// Takes "2", "2.5e3", "2ms".
  Operand take_quantity(bool& has_unit) {
    TextCursor number_end = cursor_;
    number_end.take_word(is_digit);
    if (number_end.take('.')) number_end.take_word(is_digit);
    TextCursor exponent = number_end;
    if (exponent.take('e') || exponent.take('E')) {
      if (!exponent.take('+')) exponent.take('-');
      exponent.take_word(is_digit);
      number_end = exponent;
    }
    const std::string_view number = number_end.since(cursor_.at());
    if (!parse_nano(number)) fail("numbers are decimals with at most nine places and 9.2e18 at most");
    const std::string_view unit = number_end.take_word(is_letter);
    const auto value = quantity(number, unit);
    has_unit = !unit.empty();
    took_time_ = has_unit && !parse_bytes_literal(std::string(number) + lower(unit));
    if (!value) fail_for_unit(number, unit);
    cursor_ = number_end;
    return *value;
  }

  [[noreturn]] void fail_for_unit(std::string_view number, std::string_view unit) const {
    if (parse_time_literal(std::string(number) + lower(unit))) {
      if (vocabulary_.unit == TimeUnit::Unit) fail("times have no unit here; give the number alone");
      fail("times here have nine places of " + std::string(pipeloom::name_of(vocabulary_.unit)) + " at most");
    }
    fail_at(cursor_.at() + number.size(),
            "an operator must stand between a number and a key, and units are s, ms, us, ns, KB, GiB ..");
  }

  void parse_number() {
    bool has_unit = false;
    Operand value = take_quantity(has_unit);
    add_constant(std::move(value), has_unit);
  }

  void parse_text() { add_constant(take_text()); }

  Operand take_text() {
    const auto length = cursor_.rest().substr(1).find('\'');
    if (length == std::string_view::npos) fail("a text ends with another '");
    std::string content(cursor_.rest().substr(1, length));
    cursor_.skip(length + 2);
    return Operand::of_text(std::move(content));
  }

  [[nodiscard]] const FilterField* field_named(std::string_view word) const {
    const auto found =
        std::ranges::find_if(vocabulary_.fields, [name = lower(word)](const FilterField& field) {
          return name == field.name || (name == field.alias && !name.empty());
        });
    return found == vocabulary_.fields.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::size_t index_of_key(std::string key) {
    const auto known = std::find(tree_.keys.begin(), tree_.keys.end(), key);
    const auto index = static_cast<std::size_t>(known - tree_.keys.begin());
    if (known == tree_.keys.end()) tree_.keys.push_back(std::move(key));
    return index;
  }

  bool parse_key() {
    std::string key(cursor_.word(is_of_key));
    if (key.back() == '.' || key.find("..") != std::string::npos)
      fail("a key is names joined by dots, such as costs.forward");
    const FilterField* const field = field_named(key);
    if (field == nullptr && takes_word_) {
      cursor_.skip(key.size());
      add_constant(Operand::of_text(std::move(key)));
      return false;
    }
    if (field == nullptr && !vocabulary_.fields.empty()) fail_for_name(key);
    cursor_.skip(key.size());
    const std::size_t index = index_of_key(field == nullptr ? std::move(key) : std::string(field->name));
    const bool is_flag = field != nullptr && field->kind == FilterField::Kind::Flag;
    if (!is_flag && take_short_relation()) {
      parse_values(index, field);
      return true;
    }
    emit(Code::Key, index);
    return is_flag;
  }

  [[noreturn]] void fail_for_name(const std::string& name) const {
    std::vector<std::string> names;
    for (const FilterField& field : vocabulary_.fields)
      for (const std::string_view one : {field.name, field.alias})
        if (!one.empty()) names.emplace_back(one);
    throw InputError::unknown_name(place(cursor_.at()), "field", shortened(name, 40), names);
  }

  /// ':' or a single '='.
  [[nodiscard]] bool take_short_relation() {
    TextCursor ahead = cursor_;
    ahead.skip_blanks(kBlanks);
    const bool colon = ahead.take(':');
    if (!colon && (!ahead.take('=') || ahead.peek() == '=')) return false;
    ahead.skip_blanks(kBlanks);
    cursor_ = ahead;
    return true;
  }

  /// value (',' value)*: the key is one of them.
  void parse_values(std::size_t key, const FilterField* field) {
    parse_value(key, field);
    while (cursor_.take(',')) emit_lazy(Code::OrElse, [&] { parse_value(key, field); });
  }

  void parse_value(std::size_t key, const FilterField* field) {
    token_ = cursor_.at();
    const bool numbers = field != nullptr && field->kind != FilterField::Kind::Text;
    if (cursor_.peek() == '\'' && !numbers) return equal_to(key, take_text(), false);
    const std::string_view word = cursor_.word(is_of_value);
    if (word.empty()) fail("a value must follow, such as 3, 0-3 or 0,2,5");
    const bool may_be_number = numbers || (field == nullptr && is_number_or_range(word));
    if (!may_be_number) {
      cursor_.skip(word.size());
      return equal_to(key, Operand::of_text(std::string(word)), false);
    }
    const std::size_t begin = cursor_.at();
    bool has_unit = false;
    const Operand first = take_quantity(has_unit);
    if (!cursor_.take('-')) return equal_to(key, first, has_unit);
    bool last_has_unit = false;
    const Operand last = take_quantity(last_has_unit);
    if (last.nano < first.nano) fail_at(begin, "a range must go up");
    compared(key, first, has_unit, Code::GreaterEqual);
    emit_lazy(Code::AndThen, [&] { compared(key, last, last_has_unit, Code::LessEqual); });
  }

  /// True of "8", "2ms", "8-16", and not of "1f1b".
  [[nodiscard]] bool is_number_or_range(std::string_view word) const {
    const auto is_number = [this](std::string_view text) {
      const std::size_t end = std::min(text.find_first_not_of("0123456789.eE+"), text.size());
      return !text.empty() && is_digit(text.front()) &&
             quantity(text.substr(0, end), text.substr(end)).has_value();
    };
    const std::size_t dash = word.find('-', 1);
    return is_number(word) || (dash != std::string_view::npos && is_number(word.substr(0, dash)) &&
                               is_number(word.substr(dash + 1)));
  }

  void equal_to(std::size_t key, Operand value, bool has_unit) {
    compared(key, std::move(value), has_unit, Code::Equal);
  }

  void compared(std::size_t key, Operand value, bool has_unit, Code code) {
    emit(Code::Key, key);
    add_constant(std::move(value), has_unit);
    emit(code);
  }

  void add_constant(Operand constant, bool has_unit = false) {
    tree_.constants.push_back(std::move(constant));
    tree_.with_unit.push_back(has_unit);
    tree_.is_time.push_back(has_unit && took_time_);
    emit(Code::Constant, tree_.constants.size() - 1);
  }

  TextCursor cursor_;
  const Vocabulary& vocabulary_;
  bool takes_word_ = false;  // a word that is no field is a text
  bool took_time_ = false;   // the unit that was taken last is one of time
  int depth_ = 0;
  std::size_t token_ = 0;  // where the last key or value began
  std::size_t depth_of_stack_ = 0;
  Expression::Tree tree_;
};

Expression Expression::parse(std::string_view text, const Where& where, const Vocabulary& vocabulary) {
  if (text.size() > kMaxExpressionLength)
    throw InputError(where, fmt::format("expression '{}' has {} characters; at most {} are allowed",
                                        shortened(text, 40), text.size(), kMaxExpressionLength));
  Expression out;
  out.tree_ = std::make_shared<const Expression::Tree>(ExpressionParser(text, where, vocabulary).take());
  return out;
}

}  // namespace pipeloom::sweep
