// The grammar of searches. See search.hpp.

#include <algorithm>
#include <charconv>
#include <limits>

#include "gui/model/panels/search.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/text.hpp"

namespace pipeloom::gui {
namespace {

using Field = SearchQuery::Field;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct FieldName {
  std::string_view name;
  Field field;
};
constexpr FieldName kFields[] = {{"type", Field::Kind},
                                 {"kind", Field::Kind},
                                 {"stage", Field::Stage},
                                 {"mb", Field::Microbatch},
                                 {"microbatch", Field::Microbatch},
                                 {"rank", Field::Rank},
                                 {"chunk", Field::Chunk},
                                 {"slice", Field::Slice},
                                 {"step", Field::Step},
                                 {"dur", Field::Duration},
                                 {"duration", Field::Duration},
                                 {"start", Field::Start},
                                 {"end", Field::End},
                                 {"slack", Field::Slack},
                                 {"critical", Field::Critical},
                                 {"group", Field::Group}};

bool is_time(Field field) {
  return field == Field::Duration || field == Field::Start || field == Field::End || field == Field::Slack;
}

bool is_flag(Field field) {
  return field == Field::Critical || field == Field::Group;
}

bool is_name(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

/// Recursive descent; every place is a byte offset, every error names its column.
class SearchParser {
 public:
  SearchParser(std::string_view text, TimeUnit unit) : text_(text), unit_(unit) {}

  SearchQuery parse() {
    if (text_.size() > kMaxSearchText)
      fail(kMaxSearchText, "a text of " + std::to_string(text_.size()) + " bytes",
           "at most " + std::to_string(kMaxSearchText));
    skip_blanks();
    if (at_ < text_.size()) {
      parse_any();
      if (at_ < text_.size()) fail(at_, quoted(at_, at_ + 1), "a '(' in front of it, or the end");
    }
    return std::move(query_);
  }

 private:
  using Step = SearchQuery::Step;
  using Range = std::pair<std::int64_t, std::int64_t>;

  [[noreturn]] static void fail(std::size_t at, const std::string& found, const std::string& allowed) {
    throw InputError(Where{"search", 1, static_cast<int>(at) + 1},
                     "found " + found + "; allowed is " + allowed);
  }
  [[nodiscard]] std::string quoted(std::size_t from, std::size_t to) const {
    if (from >= text_.size()) return "the end";
    return "'" + shortened(text_.substr(from, to - from), 40) + "'";
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] std::string_view word_here() const {
    std::size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  /// Takes the word if it stands here on its own.
  bool take_word(std::string_view word) {
    if (lower(word_here()) != word) return false;
    at_ += word.size();
    skip_blanks();
    return true;
  }
  void push(Step::What what, std::size_t term = 0) { query_.program_.push_back({what, term}); }

  /// all { "or" all }
  void parse_any() {
    parse_all();
    while (take_word("or")) {
      parse_all();
      push(Step::What::Or);
    }
  }

  /// one { ["and"] one }
  void parse_all() {
    parse_one();
    while (at_ < text_.size() && peek() != ')' && lower(word_here()) != "or") {
      take_word("and");
      parse_one();
      push(Step::What::And);
    }
  }

  /// { "not" | "-" } ( "(" any ")" | term )
  void parse_one() {
    bool negated = false;
    while (true) {
      if (peek() == '-') {
        ++at_;
        skip_blanks();
      } else if (!take_word("not")) {
        break;
      }
      negated = !negated;
    }
    if (peek() == '(')
      parse_parentheses();
    else
      parse_term();
    if (negated) push(Step::What::Not);
  }

  void parse_parentheses() {
    const std::size_t opened = at_;
    if (++depth_ > kMaxSearchDepth)
      fail(at_, "parentheses more than " + std::to_string(kMaxSearchDepth) + " deep", "fewer");
    ++at_;
    skip_blanks();
    parse_any();
    if (peek() != ')') fail(opened, "'(' without its ')'", "a ')' at the end of what belongs together");
    ++at_;
    skip_blanks();
    --depth_;
  }

  void parse_term() {
    const std::size_t begin = at_;
    const std::string_view word = word_here();
    if (word.empty())
      fail(begin, quoted(begin, begin + 1),
           "a field such as stage:3, an op such as 3F1, critical, group, not or '('");
    const auto field = std::find_if(std::begin(kFields), std::end(kFields),
                                    [&](const FieldName& f) { return f.name == lower(word); });
    at_ += word.size();
    const std::size_t behind = at_;
    skip_blanks();
    const std::string relation = take_relation();
    if (field == std::end(kFields)) {
      if (!relation.empty()) unknown_field(begin, word);
      parse_op_text(begin, word);
    } else if (is_flag(field->field)) {
      if (!relation.empty())
        fail(behind, "'" + relation + "'", "nothing behind '" + std::string(field->name) + "'");
      add({field->field, false, {}});
    } else {
      if (relation.empty())
        fail(behind, quoted(at_, at_ + 1),
             "one of : = != < <= > >= behind '" + std::string(field->name) + "'");
      parse_values(field->field, field->name, relation);
    }
    // What ends a term: a blank, a parenthesis, the end.
    skip_blanks();
  }

  void parse_op_text(std::size_t begin, std::string_view word) {
    const auto op = parse_op(word);
    if (!op) unknown_field(begin, word);
    add({Field::Op, false, {{static_cast<std::int64_t>(op->key()), op->is_sliced() ? 1 : 0}}});
  }

  [[noreturn]] static void unknown_field(std::size_t at, std::string_view word) {
    std::vector<std::string> names;
    for (const FieldName& f : kFields) names.emplace_back(f.name);
    throw InputError::unknown_name(Where{"search", 1, static_cast<int>(at) + 1}, "field", shortened(word, 40),
                                   names);
  }

  std::string take_relation() {
    for (const std::string_view relation : {"!=", "<=", ">=", ":", "=", "<", ">"})
      if (text_.substr(at_, relation.size()) == relation) {
        at_ += relation.size();
        skip_blanks();
        return std::string(relation);
      }
    return "";
  }

  void parse_values(Field field, std::string_view name, const std::string& relation) {
    SearchQuery::Term term{field, relation == "!=", {}};
    const bool single = relation[0] == '<' || relation[0] == '>';
    if (single && field == Field::Kind) fail(at_, "'" + relation + "'", "type:F or type!=F");
    while (true) {
      const std::size_t begin = at_;
      const Range value = parse_range(field, name);
      if (single && value.first != value.second)
        fail(begin, quoted(begin, at_), "one value behind '" + relation + "'");
      term.ranges.push_back(single ? compared(relation, value.first) : value);
      if (peek() != ',') break;
      if (single) fail(at_, "','", "one value behind '" + relation + "'");
      ++at_;
    }
    add(std::move(term));
  }

  static Range compared(const std::string& relation, std::int64_t value) {
    if (relation == "<") return {-kMost, value - 1};
    if (relation == "<=") return {-kMost, value};
    if (relation == ">") return {value + 1, kMost};
    return {value, kMost};
  }

  /// value, or value - value
  Range parse_range(Field field, std::string_view name) {
    const std::size_t begin = at_;
    const std::int64_t first = parse_value(field, name);
    if (peek() != '-' || field == Field::Kind) return {first, first};
    ++at_;
    const std::int64_t last = parse_value(field, name);
    if (last < first) fail(begin, quoted(begin, at_), "a range that goes up");
    return {first, last};
  }

  std::int64_t parse_value(Field field, std::string_view name) {
    const std::size_t begin = at_;
    const std::string_view word = word_here();
    at_ += word.size();
    if (field == Field::Kind) return parse_kind(begin, word);
    if (is_time(field)) return parse_time(begin, word);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size() || value > kMaxIndex)
      fail(begin, quoted(begin, std::max(at_, begin + 1)),
           "numbers from 0 to " + std::to_string(kMaxIndex) + " behind '" + std::string(name) +
               "', with commas and ranges such as 0-3,7");
    return value;
  }

  std::int64_t parse_kind(std::size_t begin, std::string_view word) const {
    for (const OpKind kind : kAllOpKinds)
      if (word.size() == 1 && lower(word) == lower(std::string(1, letter_of(kind))))
        return static_cast<std::int64_t>(index_of(kind));
    fail(begin, quoted(begin, std::max(at_, begin + 1)), "F, B, I, W, R, O or L, with commas between them");
  }

  std::int64_t parse_time(std::size_t begin, std::string_view word) const {
    const std::size_t digits = std::min(word.find_first_not_of("0123456789."), word.size());
    const std::string suffix = lower(word.substr(digits));
    const auto unit = suffix.empty() ? std::optional(unit_) : time_unit_named(suffix);
    const bool abstract = unit_ == TimeUnit::Unit;
    const bool fits = unit && (*unit == TimeUnit::Unit) == abstract;
    const auto time = fits ? parse_ticks(word.substr(0, digits), *unit) : std::nullopt;
    if (!time)
      fail(begin, quoted(begin, std::max(at_, begin + 1)),
           abstract ? "a number: times of this run have no unit"
                    : "a number in " + std::string(name_of(unit_)) + ", or with s, ms, us or ns behind it");
    return time->value;
  }

  void add(SearchQuery::Term term) {
    if (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ')' && text_[at_] != '(' &&
        !is_blank(text_[at_ - 1]))
      fail(at_, quoted(at_, at_ + 1), "a blank between two terms");
    query_.asks_slack_ = query_.asks_slack_ || term.field == Field::Slack;
    push(Step::What::Term, query_.terms_.size());
    query_.terms_.push_back(std::move(term));
  }

  std::string_view text_;
  TimeUnit unit_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  SearchQuery query_;
};

SearchQuery SearchQuery::parse(std::string_view text, TimeUnit unit) {
  return SearchParser(text, unit).parse();
}

}  // namespace pipeloom::gui
