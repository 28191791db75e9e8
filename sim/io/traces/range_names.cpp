#include "sim/io/traces/range_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_cursor.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom::io {
namespace {

constexpr std::string_view kTorchRange = "PP:";
constexpr std::string_view kOwnRange = "pipeloom:";
constexpr std::string_view kTorchStep = "ProfilerStep#";
constexpr std::size_t kMostRules = 1000;
constexpr std::size_t kLongestPattern = 200;
constexpr std::size_t kLongestRangeName = 4096;

bool is_digit_of_name(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// An index in decimal digits, nothing for anything else.
std::optional<std::int32_t> index_in_name(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value >= kMaxIndex)
    return std::nullopt;
  return value;
}

/// "0SEND_F3", "2RECV_B1".
std::optional<TraceMessage> torch_message(std::string_view text) {
  TextCursor cursor(text);
  const auto stage = index_in_name(cursor.take_word(is_digit_of_name));
  TraceMessage message;
  message.is_receive = cursor.take("RECV_");
  if (!stage || (!message.is_receive && !cursor.take("SEND_"))) return std::nullopt;
  message.is_gradient = cursor.take('B');
  if (!message.is_gradient && !cursor.take('F')) return std::nullopt;
  const auto microbatch = index_in_name(cursor.rest());
  if (!microbatch) return std::nullopt;
  message.stage = *stage;
  message.microbatch = *microbatch;
  return message;
}

/// "Forward 3", "Backward 3": ScheduleGPipe's, whose stage is the rank.
std::optional<RangeMeaning> gpipe_meaning(std::string_view name) {
  TextCursor cursor(name);
  const bool is_forward = cursor.take("Forward ");
  if (!is_forward && !cursor.take("Backward ")) return std::nullopt;
  const auto microbatch = index_in_name(cursor.rest());
  if (!microbatch) return std::nullopt;
  RangeMeaning meaning;
  meaning.ops.push_back({.kind = is_forward ? OpKind::Forward : OpKind::Backward, .microbatch = *microbatch});
  return meaning;
}

/// The ops of "0F3" or "(0F3;7B1)OVERLAP_F_B"; empty for anything else.
std::vector<TraceOp> ops_of_entry(std::string_view name) {
  std::vector<TraceOp> ops;
  for (const Op op : parse_entry(name)) {
    if (op.is_sliced()) return {};
    ops.push_back({.kind = op.kind(), .stage = op.stage().value(), .microbatch = op.microbatch().value()});
  }
  return ops;
}

std::optional<RangeMeaning> torch_meaning(std::string_view name) {
  RangeMeaning meaning;
  if (name.starts_with(kTorchStep)) {
    meaning.step = index_in_name(name.substr(kTorchStep.size()));
    return meaning.step ? std::optional(meaning) : std::nullopt;
  }
  if (name.size() > kLongestRangeName) return std::nullopt;
  meaning.holds_no_wait = name.starts_with(kOwnRange);
  if (!meaning.holds_no_wait && !name.starts_with(kTorchRange)) return gpipe_meaning(name);
  name.remove_prefix(meaning.holds_no_wait ? kOwnRange.size() : kTorchRange.size());
  meaning.ops = ops_of_entry(name);
  if (meaning.ops.empty()) meaning.message = torch_message(name);
  return meaning.ops.empty() && !meaning.message ? std::nullopt : std::optional(meaning);
}

struct NumberPart {
  std::string_view name;
  std::optional<std::int32_t> NameParts::*member;
};
constexpr NumberPart kNumberParts[] = {{"stage", &NameParts::stage},
                                       {"chunk", &NameParts::chunk},
                                       {"microbatch", &NameParts::microbatch},
                                       {"rank", &NameParts::rank},
                                       {"step", &NameParts::step}};

/// The part between braces at the beginning of a pattern; "" if none stands there.
std::string_view part_name(std::string_view pattern) {
  const std::size_t close = pattern.find('}');
  return pattern.starts_with('{') && close != std::string_view::npos ? pattern.substr(1, close - 1)
                                                                     : std::string_view();
}

/// Takes a part's text from the beginning of `name`. False if there is none.
bool take_part(std::string_view part, TextCursor& name, NameParts& found) {
  if (part == "kind") {
    found.kind = name.take_word(is_letter_of_name);
    return !found.kind.empty();
  }
  const auto value = index_in_name(name.take_word(is_digit_of_name));
  for (const NumberPart& one : kNumberParts)
    if (one.name == part) found.*one.member = value;
  return value.has_value();
}

/// Passes one element of both, or says that they differ.
bool match_element(TextCursor& pattern, TextCursor& name, NameParts& found) {
  if (const std::string_view part = part_name(pattern.rest()); !part.empty()) {
    pattern.skip(part.size() + 2);
    return take_part(part, name, found);
  }
  if (name.at_end() || (pattern.peek() != '?' && pattern.peek() != name.peek())) return false;
  pattern.skip();
  name.skip();
  return true;
}

}  // namespace

std::optional<NameParts> match_name(std::string_view pattern_text, std::string_view name_text) {
  TextCursor pattern(pattern_text);
  TextCursor name(name_text);
  NameParts found;
  // Where to go on if what follows the last star does not match: the star takes one character more.
  std::optional<std::pair<TextCursor, TextCursor>> behind_star;
  while (!pattern.at_end() || !name.at_end()) {
    if (pattern.take('*')) {
      behind_star = {pattern, name};
      continue;
    }
    if (!pattern.at_end() && match_element(pattern, name, found)) continue;
    if (!behind_star || behind_star->second.at_end()) return std::nullopt;
    behind_star->second.skip();
    std::tie(pattern, name) = *behind_star;
  }
  return found;
}

struct RangeNames::Rule {
  std::string pattern;
  NameParts fixed;
  /// What {kind} may be and what it means; of a fixed kind one row with "".
  std::vector<std::pair<std::string, std::optional<OpKind>>> kinds;  // nothing: a mark of a step

  void read(const Value& value);
  void read_member(const std::string& key, const Value& value);
  void read_kind(const std::string& name, const Value& value);
  void check(const Where& where) const;
  [[nodiscard]] std::optional<RangeMeaning> meaning(std::string_view name) const;
};

void RangeNames::Rule::read_kind(const std::string& name, const Value& value) {
  const std::string& text = value.text();
  if (value.is(ValueKind::String) && text == "step") {
    kinds.emplace_back(name, std::nullopt);
    return;
  }
  const auto kind = value.is(ValueKind::String) && text.size() == 1 ? kind_of_letter(text[0]) : std::nullopt;
  if (!kind)
    throw InputError(value.where(), fmt::format("kind is {}; it must be F, B, I, W, R or \"step\"",
                                                shortened(value.described(), 80)));
  kinds.emplace_back(name, kind);
}

void RangeNames::Rule::read_member(const std::string& key, const Value& value) {
  if (key == "match") {
    if (!value.is(ValueKind::String) || value.text().empty() || value.text().size() > kLongestPattern)
      throw InputError(value.where(), fmt::format("match is {}; it must be a text of 1 to {} bytes",
                                                  shortened(value.described(), 80), kLongestPattern));
    pattern = value.text();
    return;
  }
  if (key == "kind") {
    if (!value.is(ValueKind::Object)) return read_kind("", value);
    for (std::size_t i = 0; i < value.keys().size(); ++i) read_kind(value.keys()[i].name, value.items()[i]);
    return;
  }
  for (const NumberPart& part : kNumberParts) {
    if (part.name != key) continue;
    fixed.*part.member = value.is(ValueKind::Number) ? index_in_name(value.text()) : std::nullopt;
    if (!(fixed.*part.member))
      throw InputError(value.where(), fmt::format("{} is {}; it must be a whole number from 0 to {}", key,
                                                  shortened(value.described(), 80), kMaxIndex - 1));
    return;
  }
  throw InputError::unknown_name(value.where(), "key of a range", key,
                                 {"match", "kind", "stage", "chunk", "microbatch", "rank", "step"});
}

/// Every part in braces has a name that is known, and {kind} says what it stands for.
void RangeNames::Rule::check(const Where& where) const {
  if (pattern.empty() || kinds.empty())
    throw InputError(where, "a range needs match and kind; add what is missing");
  bool has_kind = false;
  for (std::size_t at = pattern.find('{'); at != std::string::npos; at = pattern.find('{', at + 1)) {
    const std::string part(part_name(std::string_view(pattern).substr(at)));
    const auto* known = std::find_if(std::begin(kNumberParts), std::end(kNumberParts),
                                     [&part](const NumberPart& one) { return one.name == part; });
    if (part == "kind")
      has_kind = true;
    else if (known == std::end(kNumberParts))
      throw InputError::unknown_name(where, "part of match", part,
                                     {"kind", "stage", "chunk", "microbatch", "rank", "step"});
  }
  const bool wants_kind = !kinds.front().first.empty();
  if (has_kind != wants_kind)
    throw InputError(where, has_kind ? "match has {kind}, so kind must say what it stands for: "
                                       "{\"forward\": \"F\", ...}"
                                     : "kind says what {kind} stands for, but match has none; add it there");
}

void RangeNames::Rule::read(const Value& value) {
  if (!value.is(ValueKind::Object))
    throw InputError(value.where(), fmt::format("a range is {}; it must be an object with match and kind",
                                                shortened(value.described(), 80)));
  for (std::size_t i = 0; i < value.keys().size(); ++i) read_member(value.keys()[i].name, value.items()[i]);
  check(value.where());
}

std::optional<RangeMeaning> RangeNames::Rule::meaning(std::string_view name) const {
  auto parts = match_name(pattern, name);
  if (!parts) return std::nullopt;
  for (const NumberPart& part : kNumberParts)
    if (fixed.*part.member) *parts.*part.member = fixed.*part.member;
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&parts](const auto& one) { return one.first == parts->kind; });
  if (kind == kinds.end()) return std::nullopt;
  RangeMeaning meaning;
  meaning.rank = parts->rank.value_or(kUnknown);
  if (!kind->second) {
    meaning.step = parts->step.value_or(kUnknown);
    return meaning;
  }
  meaning.ops.push_back({.kind = *kind->second,
                         .stage = parts->stage.value_or(kUnknown),
                         .chunk = parts->chunk.value_or(kUnknown),
                         .microbatch = parts->microbatch.value_or(kUnknown),
                         .step = parts->step.value_or(kUnknown)});
  return meaning;
}

bool looks_like_mapping(std::string_view text) {
  constexpr std::size_t kLongestMapping = std::size_t{1} << 20;
  if (text.size() > kLongestMapping || text.find("\"ranges\"") == std::string_view::npos) return false;
  try {
    const Document document = Document::parse(std::string(text), "");
    return document.root().is(ValueKind::Object) && document.root().find("ranges") != nullptr;
  } catch (const InputError&) {
    return false;
  }
}

RangeNames::RangeNames() = default;
RangeNames::RangeNames(RangeNames&&) noexcept = default;
RangeNames& RangeNames::operator=(RangeNames&&) noexcept = default;
RangeNames::~RangeNames() = default;

RangeNames::RangeNames(const std::string& path) : is_mapped_(true) {
  const Document document = Document::parse(read_file(path), path);
  const Value& root = document.root();
  if (!root.is(ValueKind::Object) || root.find("ranges") == nullptr)
    throw InputError(Where{path, 1, 1},
                     "a mapping is an object with the list \"ranges\"; see docs/measured-runs.md");
  for (std::size_t i = 0; i < root.keys().size(); ++i) {
    const std::string& key = root.keys()[i].name;
    const Value& value = root.items()[i];
    if (key == "chunks") {
      if (value.text() != "loop" && value.text() != "wave")
        throw InputError(value.where(), fmt::format("chunks is {}; it must be \"loop\" or \"wave\"",
                                                    shortened(value.described(), 80)));
      chunk_order_ = value.text() == "wave" ? ChunkOrder::Wave : ChunkOrder::Loop;
    } else if (key == "ranges") {
      if (!value.is(ValueKind::Array) || value.items().empty() || value.items().size() > kMostRules)
        throw InputError(value.where(), fmt::format("ranges is {}; it must be a list of 1 to {} objects",
                                                    shortened(value.described(), 80), kMostRules));
      for (const Value& item : value.items()) rules_.emplace_back().read(item);
    } else {
      throw InputError::unknown_name(root.where_key(i), "key of a mapping", key, {"chunks", "ranges"});
    }
  }
}

std::optional<RangeMeaning> RangeNames::meaning(std::string_view name) const {
  if (!is_mapped_) return torch_meaning(name);
  if (name.size() > kLongestRangeName) return std::nullopt;
  for (const Rule& rule : rules_)
    if (auto meaning = rule.meaning(name)) return meaning;
  return std::nullopt;
}

}  // namespace pipeloom::io
