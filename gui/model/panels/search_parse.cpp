// Searches for ops: expressions, as programs that test columns of ops. See search.hpp.

#include <array>
#include <limits>
#include <string>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/panels/search.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/kinds.hpp"
#include "study/text/expression.hpp"
#include "study/text/expression_tree.hpp"

namespace pipeloom::gui {
namespace {

using Field = SearchQuery::Field;
using FieldKind = sweep::FilterField::Kind;
using sweep::Nano;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// The fields of ops, [Field].
constexpr std::array<sweep::FilterField, 14> kFields = {{{"kind", "type", FieldKind::Text},
                                                         {"stage", "", FieldKind::Number},
                                                         {"microbatch", "mb", FieldKind::Number},
                                                         {"rank", "", FieldKind::Number},
                                                         {"chunk", "", FieldKind::Number},
                                                         {"slice", "", FieldKind::Number},
                                                         {"step", "", FieldKind::Number},
                                                         {"duration", "dur", FieldKind::Time},
                                                         {"start", "", FieldKind::Time},
                                                         {"end", "", FieldKind::Time},
                                                         {"slack", "", FieldKind::Time},
                                                         {"critical", "", FieldKind::Flag},
                                                         {"group", "", FieldKind::Flag},
                                                         {"op", "", FieldKind::Text}}};

Field field_of(std::string_view name) {
  const auto found = std::ranges::find(kFields, name, &sweep::FilterField::name);
  return static_cast<Field>(found - kFields.begin());
}

FieldKind kind_of(Field field) {
  return kFields[static_cast<std::size_t>(field)].kind;
}

}  // namespace

/// Makes the program of a search from that of its expression: comparisons of a field with a value become terms.
class SearchCompiler {
 public:
  SearchCompiler(const sweep::Expression& expression, TimeUnit unit)
      : tree_(expression.tree()), unit_(unit) {}

  SearchQuery compile() {
    for (std::size_t at = 0; at < tree_.steps.size(); ++at) {
      at_ = tree_.steps[at].at;
      take(tree_.steps[at]);
      while (!joins_.empty() && joins_.back().end == at + 1) {
        push(joins_.back().what);
        joins_.pop_back();
      }
    }
    take_condition();
    return std::move(query_);
  }

 private:
  using Code = sweep::Expression::Tree::Code;
  using Step = SearchQuery::Step;
  using Range = std::pair<std::int64_t, std::int64_t>;

  /// An operand: a field, a constant, or a condition whose terms are in the program.
  struct Part {
    enum class What : std::uint8_t { Key, Constant, Condition } what = What::Condition;
    std::size_t index = 0;
  };
  /// A && or || whose right side ends before the step `end`.
  struct Join {
    std::size_t end = 0;
    Step::What what = Step::What::And;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(Where{"search", 1, static_cast<int>(at_) + 1}, what);
  }

  void push(Step::What what, std::size_t term = 0) { query_.program_.push_back({what, term}); }

  void take(const sweep::Expression::Tree::Step& step) {
    switch (step.code) {
      case Code::Key:
        return parts_.push_back({Part::What::Key, step.index});
      case Code::Constant:
        return parts_.push_back({Part::What::Constant, step.index});
      case Code::Not:
        take_condition();
        push(Step::What::Not);
        return parts_.push_back({});
      case Code::AndThen:
      case Code::OrElse:
        take_condition();
        joins_.push_back({step.index, step.code == Code::AndThen ? Step::What::And : Step::What::Or});
        return;
      case Code::Truth:
        take_condition();
        return parts_.push_back({});
      case Code::Negate:
      case Code::Add:
      case Code::Subtract:
      case Code::Multiply:
      case Code::Divide:
      case Code::Modulo:
        fail(
            "a search compares a field with a value and does not calculate; write the number that it comes "
            "to");
      default:
        return compare(step.code);
    }
  }

  Part pop() {
    const Part part = parts_.back();
    parts_.pop_back();
    return part;
  }

  /// Makes the last operand a condition in the program.
  void take_condition() {
    const Part part = pop();
    if (part.what == Part::What::Condition) return;
    const std::string shown =
        part.what == Part::What::Key ? tree_.keys[part.index] : tree_.constants[part.index].json();
    const Field field = part.what == Part::What::Key ? field_of(shown) : Field::Op;
    if (kind_of(field) != FieldKind::Flag)
      fail("'" + shortened(shown, 40) + "' is no condition; compare it: stage == 3, stage:3, duration > 2");
    add({field, false, {}});
  }

  void compare(Code code) {
    Part right = pop();
    Part left = pop();
    if (left.what == Part::What::Constant && right.what == Part::What::Key) {
      std::swap(left, right);
      code = mirrored(code);
    }
    if (left.what != Part::What::Key || right.what != Part::What::Constant)
      fail("a condition of a search compares a field with a value: stage == 3, duration > 2");
    const Field field = field_of(tree_.keys[left.index]);
    if (kind_of(field) == FieldKind::Flag)
      fail("'" + shortened(tree_.keys[left.index], 40) + "' is true or not, and is compared with nothing");
    const bool negated = code == Code::Unequal;
    add({field, negated && field != Field::Op, {range_of(field, code, right.index)}});
    if (negated && field == Field::Op) push(Step::What::Not);
    parts_.push_back({});
  }

  static Code mirrored(Code code) {
    switch (code) {
      case Code::Less:
        return Code::Greater;
      case Code::LessEqual:
        return Code::GreaterEqual;
      case Code::Greater:
        return Code::Less;
      case Code::GreaterEqual:
        return Code::LessEqual;
      default:
        return code;
    }
  }

  [[nodiscard]] Range range_of(Field field, Code code, std::size_t constant) const {
    const sweep::Operand& value = tree_.constants[constant];
    if (kind_of(field) == FieldKind::Text) {
      if (!value.is_text || (code != Code::Equal && code != Code::Unequal))
        fail("kinds and ops are compared with == and !=: kind == 'F', type:F,B");
      return field == Field::Kind ? kind_range(value.text) : op_range(value.text);
    }
    if (value.is_text) fail("the text '" + shortened(value.text, 40) + "' is no number");
    const std::int64_t number =
        kind_of(field) == FieldKind::Time ? ticks_of(value.nano) : index_of_value(field, constant);
    switch (code) {
      case Code::Less:
        return {-kMost, number - 1};
      case Code::LessEqual:
        return {-kMost, number};
      case Code::Greater:
        return {number + 1, kMost};
      case Code::GreaterEqual:
        return {number, kMost};
      default:
        return {number, number};
    }
  }

  [[nodiscard]] Range kind_range(const std::string& word) const {
    for (const OpKind kind : kAllOpKinds)
      if (lower(word) == lower(std::string(1, letter_of(kind)))) {
        const auto index = static_cast<std::int64_t>(index_of(kind));
        return {index, index};
      }
    fail("found '" + shortened(word, 40) +
         "'; allowed is F, B, I, W, R, O, L, S or T, with commas between them");
  }

  [[nodiscard]] Range op_range(const std::string& word) const {
    const auto op = parse_op(word);
    if (!op) fail("'" + shortened(word, 40) + "' is no op; write 3F1, or 3F1.2 for a slice");
    return {static_cast<std::int64_t>(op->key()), op->is_sliced() ? 1 : 0};
  }

  [[nodiscard]] std::int64_t ticks_of(Nano number) const {
    const auto ticks = sweep::multiply(number, Nano{ticks_per(unit_)} * sweep::kOne);
    if (!ticks || *ticks > Nano{kMaxTicks} * sweep::kOne) fail("a time of the search is beyond all times");
    return static_cast<std::int64_t>(sweep::round_quotient(*ticks, sweep::kOne));
  }

  [[nodiscard]] std::int64_t index_of_value(Field field, std::size_t constant) const {
    const Nano number = tree_.constants[constant].nano;
    if (number % sweep::kOne != 0 || number / sweep::kOne > kMaxIndex || tree_.with_unit[constant])
      fail("'" + shortened(kFields[static_cast<std::size_t>(field)].name, 40) +
           "' is compared with whole numbers from 0 to " + std::to_string(kMaxIndex));
    return static_cast<std::int64_t>(number / sweep::kOne);
  }

  void add(SearchQuery::Term term) {
    query_.asks_slack_ = query_.asks_slack_ || term.field == Field::Slack;
    push(Step::What::Term, query_.terms_.size());
    query_.terms_.push_back(std::move(term));
  }

  const sweep::Expression::Tree& tree_;
  TimeUnit unit_;
  std::size_t at_ = 0;  // place of the step in the text
  std::vector<Part> parts_;
  std::vector<Join> joins_;
  SearchQuery query_;
};

SearchQuery SearchQuery::parse(std::string_view text, TimeUnit unit) {
  if (trimmed(text, " \t\n\r").empty()) return {};
  const sweep::Vocabulary vocabulary{
      .fields = kFields,
      .unit = unit,
      .is_name = [](std::string_view word) { return parse_op(word).has_value(); },
      .named = "op"};
  return SearchCompiler(sweep::Expression::parse(text, Where{"search"}, vocabulary), unit).compile();
}

}  // namespace pipeloom::gui
