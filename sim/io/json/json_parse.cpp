// Document::parse: nlohmann's SAX parser decides what is JSON; the place of each token we find ourselves, because the parser does
// not report it.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unordered_set>

#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {
namespace {

using Json = nlohmann::json;

/// Turns offsets that only grow into lines and columns.
class PlaceFinder {
 public:
  explicit PlaceFinder(std::string_view text) : text_(text) {}

  /// REQUIRES: offset is not below the one of the call before.
  std::pair<int, int> at(std::size_t offset) {
    for (; seen_ < offset && seen_ < text_.size(); ++seen_)
      if (text_[seen_] == '\n') {
        ++line_;
        line_begin_ = seen_ + 1;
      }
    return {line_, static_cast<int>(offset - line_begin_) + 1};
  }

 private:
  std::string_view text_;
  std::size_t seen_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
};

/// The tokens of a text that the parser has accepted so far: follows it from token to token.
class TokenCursor {
 public:
  explicit TokenCursor(std::string_view text) : text_(text) {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") next_ = 3;
  }

  struct Token {
    std::size_t begin = 0;
    std::size_t length = 0;
  };

  /// The next token that carries a value, a key or a bracket.
  Token take() {
    skip_blank();
    const std::size_t begin = next_;
    next_ = end_of_token(begin);
    return {begin, next_ - begin};
  }

 private:
  void skip_blank() {
    for (;;) {
      next_ = std::min(text_.find_first_not_of(" \t\r\n,:", next_), text_.size());
      if (text_.substr(next_, 2) == "//") {
        next_ = std::min(text_.find('\n', next_), text_.size());
      } else if (text_.substr(next_, 2) == "/*") {
        const std::size_t close = text_.find("*/", next_ + 2);
        next_ = close == std::string_view::npos ? text_.size() : close + 2;
      } else {
        return;
      }
    }
  }

  [[nodiscard]] std::size_t end_of_token(std::size_t begin) const {
    if (begin >= text_.size()) return text_.size();
    const char first = text_[begin];
    if (std::string_view("{}[]").find(first) != std::string_view::npos) return begin + 1;
    if (first != '"') return std::min(text_.find_first_of(" \t\r\n,:{}[]\"/", begin), text_.size());
    std::size_t i = begin + 1;
    while (i < text_.size() && text_[i] != '"') i += text_[i] == '\\' ? std::size_t{2} : std::size_t{1};
    return std::min(i + 1, text_.size());
  }

  std::string_view text_;
  std::size_t next_ = 0;
};

}  // namespace

/// SAX handler that builds the tree and throws at the first thing that is not allowed. Its parents' addresses are stable:
/// a container only grows while it is the innermost open one.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, std::string name)
      : text_(text),
        source_(std::make_shared<const std::string>(std::move(name))),
        cursor_(text),
        places_(text) {}

  // The interface of nlohmann's SAX parser.
  bool null() { return add(ValueKind::Null, {}); }
  bool boolean(bool value) { return add(ValueKind::Bool, value ? "true" : "false"); }
  bool number_integer(Json::number_integer_t) { return add_number(); }
  bool number_unsigned(Json::number_unsigned_t) { return add_number(); }
  bool number_float(Json::number_float_t, const std::string&) { return add_number(); }
  bool string(std::string& value) { return add(ValueKind::String, std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(ValueKind::Object); }
  bool start_array(std::size_t) { return open(ValueKind::Array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    const auto [line, column] = places_.at(cursor_.take().begin);
    Value& object = *open_.back();
    if (!names_.back().insert(name).second)
      fail(line, column, fmt::format("the key '{}' appears twice; keep one of them", shortened(name, 64)));
    object.keys_.push_back({std::move(name), line, column});
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    const std::size_t offset = std::min(position == 0 ? 0 : position - 1, text_.size());
    const auto [line, column] = PlaceFinder(text_).at(offset);
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..." or, for numbers,
    // "[json.exception.out_of_range.406] number overflow ...": the text after the place is the message.
    std::string_view what = error.what();
    if (const auto tag = what.find("] "); tag != std::string_view::npos) what.remove_prefix(tag + 2);
    if (what.substr(0, 5) == "parse")
      if (const auto colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
    fail(line, column,
         fmt::format("this is not JSON: {}; comments (// and /* */) are allowed, other extensions are not",
                     shortened(what, 200)));
  }

  Value take_root() { return std::move(root_); }

 private:
  [[noreturn]] void fail(int line, int column, const std::string& message) const {
    throw InputError(Where{*source_, line, column}, message);
  }

  Value& append(ValueKind kind, const TokenCursor::Token& token) {
    const auto [line, column] = places_.at(token.begin);
    if (++count_ > kMaxDocumentValues)
      fail(line, column, fmt::format("more than {} values in one file; split it", kMaxDocumentValues));
    Value& value = open_.empty() ? root_ : open_.back()->items_.emplace_back();
    value.kind_ = kind;
    value.line_ = line;
    value.column_ = column;
    value.source_ = source_;
    return value;
  }

  bool add(ValueKind kind, std::string text) {
    append(kind, cursor_.take()).text_ = std::move(text);
    return true;
  }

  bool add_number() {
    const auto token = cursor_.take();
    append(ValueKind::Number, token).text_ = text_.substr(token.begin, token.length);
    return true;
  }

  bool open(ValueKind kind) {
    Value& value = append(kind, cursor_.take());
    if (open_.size() == kMaxDocumentDepth)
      fail(
          value.line_, value.column_,
          fmt::format("nested deeper than the {} levels that are read; write it flatter", kMaxDocumentDepth));
    open_.push_back(&value);
    names_.emplace_back();
    return true;
  }

  bool close() {
    cursor_.take();
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  std::string_view text_;
  std::shared_ptr<const std::string> source_;
  TokenCursor cursor_;
  PlaceFinder places_;
  Value root_;
  std::vector<Value*> open_;
  std::vector<std::unordered_set<std::string>> names_;  // keys seen, per open container
  std::size_t count_ = 0;
};

Document Document::parse(std::string_view text, std::string name) {
  if (text.size() > kMaxDocumentBytes)
    throw InputError(Where{name}, fmt::format("{} of JSON; at most {} are read: split it",
                                              bytes_text(static_cast<Bytes>(text.size())),
                                              bytes_text(static_cast<Bytes>(kMaxDocumentBytes))));
  // The parser would take a NUL for the end of the text and ignore the rest.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    const auto [line, column] = PlaceFinder(text).at(nul);
    throw InputError(Where{std::move(name), line, column},
                     "a NUL byte; this is not a text file: give JSON in UTF-8");
  }
  TreeBuilder builder(text, std::move(name));
  Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, true, true);
  Document document;
  document.root_ = builder.take_root();
  return document;
}

}  // namespace pipeloom::io
