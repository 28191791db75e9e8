// The grammar of searches. See search.hpp.

#include <algorithm>
#include <charconv>
#include <limits>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/panels/search.hpp"
#include "sim/base/text_cursor.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/kinds.hpp"

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

constexpr std::string_view kBlanks = " \t\n\r";

}  // namespace

/// Recursive descent; every place is a byte offset, every error names its column.
class SearchParser {
 public:
  SearchParser(std::string_view text, TimeUnit unit) : cursor_(text), unit_(unit) {}

  SearchQuery parse() {
    if (cursor_.text().size() > kMaxSearchText)
      fail(kMaxSearchText, "a text of " + std::to_string(cursor_.text().size()) + " bytes",
           "at most " + std::to_string(kMaxSearchText));
    skip_blanks();
    if (!cursor_.at_end()) {
      parse_any();
      if (!cursor_.at_end()) fail_here("a '(' in front of it, or the end");
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
  [[noreturn]] void fail_here(const std::string& allowed) const {
    fail(at(), quoted(at(), at() + 1), allowed);
  }
  /// Fails for the text that was read as a value from `begin` on; if that is empty, for its next character.
  [[noreturn]] void fail_from(std::size_t begin, const std::string& allowed) const {
    fail(begin, quoted(begin, std::max(at(), begin + 1)), allowed);
  }
  [[nodiscard]] std::string quoted(std::size_t from, std::size_t to) const {
    if (from >= cursor_.text().size()) return "the end";
    return "'" + shortened(cursor_.text().substr(from, to - from), 40) + "'";
  }
  [[nodiscard]] std::size_t at() const { return cursor_.at(); }
  [[nodiscard]] char peek() const { return cursor_.peek(); }
  void skip_blanks() { cursor_.skip_blanks(kBlanks); }
  /// Takes the word if it comes next, as a word of its own.
  bool take_word(std::string_view word) {
    if (lower(cursor_.word(is_name)) != word) return false;
    cursor_.skip(word.size());
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
    while (!cursor_.at_end() && peek() != ')' && lower(cursor_.word(is_name)) != "or") {
      take_word("and");
      parse_one();
      push(Step::What::And);
    }
  }

  /// { "not" | "-" } ( "(" any ")" | term )
  void parse_one() {
    bool negated = false;
    while (true) {
      if (cursor_.take('-'))
        skip_blanks();
      else if (!take_word("not"))
        break;
      negated = !negated;
    }
    if (peek() == '(')
      parse_parentheses();
    else
      parse_term();
    if (negated) push(Step::What::Not);
  }

  void parse_parentheses() {
    const std::size_t opened = at();
    if (++depth_ > kMaxSearchDepth)
      fail(opened, "parentheses more than " + std::to_string(kMaxSearchDepth) + " deep", "fewer");
    cursor_.skip();
    skip_blanks();
    parse_any();
    if (!cursor_.take(')')) fail(opened, "'(' without its ')'", "a ')' at the end of what belongs together");
    skip_blanks();
    --depth_;
  }

  void parse_term() {
    const std::size_t begin = at();
    const std::string_view word = cursor_.take_word(is_name);
    if (word.empty()) fail_here("a field such as stage:3, an op such as 3F1, critical, group, not or '('");
    const auto field = std::find_if(std::begin(kFields), std::end(kFields),
                                    [&](const FieldName& f) { return f.name == lower(word); });
    const std::size_t place = at();
    skip_blanks();
    const std::string relation = take_relation();
    if (field == std::end(kFields)) {
      if (!relation.empty()) unknown_field(begin, word);
      parse_op_text(begin, word);
    } else if (is_flag(field->field)) {
      if (!relation.empty())
        fail(place, "'" + relation + "'", "nothing behind '" + std::string(field->name) + "'");
      add({field->field, false, {}});
    } else {
      if (relation.empty())
        fail(place, quoted(at(), at() + 1),
             "one of : = != < <= > >= behind '" + std::string(field->name) + "'");
      parse_values(field->field, field->name, relation);
    }
    // A term ends at a blank, a parenthesis, or the end.
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
      if (cursor_.take(relation)) {
        skip_blanks();
        return std::string(relation);
      }
    return "";
  }

  void parse_values(Field field, std::string_view name, const std::string& relation) {
    SearchQuery::Term term{field, relation == "!=", {}};
    const bool single = relation[0] == '<' || relation[0] == '>';
    if (single && field == Field::Kind) fail(at(), "'" + relation + "'", "type:F or type!=F");
    while (true) {
      const std::size_t begin = at();
      const Range value = parse_range(field, name);
      if (single && value.first != value.second)
        fail(begin, quoted(begin, at()), "one value behind '" + relation + "'");
      term.ranges.push_back(single ? compared(relation, value.first) : value);
      if (single && peek() == ',') fail(at(), "','", "one value behind '" + relation + "'");
      if (!cursor_.take(',')) break;
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
    const std::size_t begin = at();
    const std::int64_t first = parse_value(field, name);
    if (field == Field::Kind || !cursor_.take('-')) return {first, first};
    const std::int64_t last = parse_value(field, name);
    if (last < first) fail(begin, quoted(begin, at()), "a range that goes up");
    return {first, last};
  }

  std::int64_t parse_value(Field field, std::string_view name) {
    const std::size_t begin = at();
    const std::string_view word = cursor_.take_word(is_name);
    if (field == Field::Kind) return parse_kind(begin, word);
    if (is_time(field)) return parse_time(begin, word);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size() || value > kMaxIndex)
      fail_from(begin, "numbers from 0 to " + std::to_string(kMaxIndex) + " behind '" + std::string(name) +
                           "', with commas and ranges such as 0-3,7");
    return value;
  }

  std::int64_t parse_kind(std::size_t begin, std::string_view word) const {
    for (const OpKind kind : kAllOpKinds)
      if (word.size() == 1 && lower(word) == lower(std::string(1, letter_of(kind))))
        return static_cast<std::int64_t>(index_of(kind));
    fail_from(begin, "F, B, I, W, R, O, L, S or T, with commas between them");
  }

  std::int64_t parse_time(std::size_t begin, std::string_view word) const {
    const std::size_t digits = std::min(word.find_first_not_of("0123456789."), word.size());
    const std::string suffix = lower(word.substr(digits));
    const auto unit = suffix.empty() ? std::optional(unit_) : time_unit_named(suffix);
    const bool abstract = unit_ == TimeUnit::Unit;
    const bool fits = unit && (*unit == TimeUnit::Unit) == abstract;
    const auto time = fits ? parse_ticks(word.substr(0, digits), *unit) : std::nullopt;
    if (!time)
      fail_from(begin, abstract ? "a number: times of this run have no unit"
                                : "a number in " + std::string(name_of(unit_)) +
                                      ", or with s, ms, us or ns behind it");
    return time->value;
  }

  void add(SearchQuery::Term term) {
    const char last = cursor_.text()[at() - 1];
    if (!cursor_.at_end() && kBlanks.find(last) == std::string_view::npos &&
        kBlanks.find(peek()) == std::string_view::npos && peek() != ')' && peek() != '(')
      fail_here("a blank between two terms");
    query_.asks_slack_ = query_.asks_slack_ || term.field == Field::Slack;
    push(Step::What::Term, query_.terms_.size());
    query_.terms_.push_back(std::move(term));
  }

  TextCursor cursor_;
  TimeUnit unit_;
  std::size_t depth_ = 0;
  SearchQuery query_;
};

SearchQuery SearchQuery::parse(std::string_view text, TimeUnit unit) {
  return SearchParser(text, unit).parse();
}

}  // namespace pipeloom::gui
