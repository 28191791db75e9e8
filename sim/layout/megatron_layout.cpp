// The reader: megatron_layout_text.cpp writes.
// The writer of layout strings.

#include "sim/layout/megatron_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/text_tools.hpp"

namespace pipeloom::layout {

namespace {

constexpr std::string_view kLetters = "EtmL";

/// Letters and |, each with the column it was read at.
struct Letters {
  std::string text;
  std::vector<int> columns;
  bool ends_in_repeat = false;  ///< the last letter was read with its repeat

  void append(const Letters& other) {
    text += other.text;
    columns.insert(columns.end(), other.columns.begin(), other.columns.end());
    ends_in_repeat = other.ends_in_repeat;
  }
};

class Parser {
 public:
  Parser(std::string_view text, std::string source)
      : text_(text), source_(source.empty() ? "layout" : std::move(source)) {}

  MegatronLayout parse() {
    for (skip_commas(); !at_end(); skip_commas()) {
      if (peek() == '(')
        read_group();
      else
        read_letter(letters_);
    }
    MegatronLayout layout;
    layout.stages.emplace_back();
    for (const char letter : letters_.text) {
      if (letter == '|')
        layout.stages.emplace_back();
      else
        layout.stages.back() += letter;
    }
    layout.source = source_;
    layout.columns = std::move(letters_.columns);
    layout.columns.push_back(column(text_.size()));
    return layout;
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] char peek() const { return text_[at_]; }

  void skip_commas() {
    while (!at_end() && peek() == ',') ++at_;
  }

  [[nodiscard]] static int column(std::size_t at) { return static_cast<int>(at) + 1; }

  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    throw InputError(Where{source_, 1, column(at)}, message);
  }

  [[noreturn]] void fail_at_unknown() const {
    const std::string found = shortened(text_.substr(at_, 1), 8);
    if (peek() == '*') fail(at_, "'*' repeats nothing; write it behind a letter, a | or a group, once");
    if (peek() == ')')
      fail(at_, "')' closes no group; write ( in front of what is repeated, or leave it out");
    fail(at_,
         fmt::format("found '{}'; allowed are E (embedding), t (decoder layer), m (MTP layer), L (loss), |, "
                     "repeats *n, groups (...)*n, and commas",
                     found));
  }

  /// One letter or |, and its repeat, at the end of `out`.
  void read_letter(Letters& out) {
    if (peek() != '|' && kLetters.find(peek()) == std::string_view::npos) fail_at_unknown();
    const std::size_t begin = at_;
    const char letter = text_[at_++];
    const auto repeat = read_repeat();
    append(out, letter, begin, repeat.value_or(1));
    out.ends_in_repeat = repeat.has_value();
  }

  void append(Letters& out, char letter, std::size_t begin, std::int64_t count) const {
    require_room(begin, count, out.text.size());
    out.text.append(static_cast<std::size_t>(count), letter);
    out.columns.insert(out.columns.end(), static_cast<std::size_t>(count), column(begin));
  }

  /// A second repeat after a group: Megatron-LM writes the group out first, so that it is of the letter then in front of it.
  void read_repeat_of_last() {
    if (letters_.text.empty() || letters_.ends_in_repeat) return;
    const auto repeat = read_repeat();
    if (!repeat) return;
    const char letter = letters_.text.back();
    const auto begin = static_cast<std::size_t>(letters_.columns.back()) - 1;
    letters_.text.pop_back();
    letters_.columns.pop_back();
    append(letters_, letter, begin, *repeat);
    letters_.ends_in_repeat = true;
  }

  void read_group() {
    const std::size_t begin = at_++;
    Letters inner;
    bool empty = true;
    for (skip_commas(); !at_end() && peek() != ')'; skip_commas()) {
      if (peek() == '(')
        fail(at_, "a group in a group; Megatron-LM does not read that: write the inner one out");
      read_letter(inner);
      empty = false;
    }
    if (at_end()) fail(begin, "the group is not closed; write (...)*n");
    ++at_;
    if (empty) fail(begin, "the group is empty; leave it out");
    const auto count = read_repeat();
    if (!count) fail(begin, "the group has no repeat, and Megatron-LM reads none without; write (...)*n");
    std::int64_t size = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(inner.text.size()), *count, &size)) size = kMaxCount;
    require_room(begin, size, letters_.text.size());
    for (std::int64_t i = 0; i < *count; ++i) letters_.append(inner);
    read_repeat_of_last();
  }

  /// "*12"; the number of a count too large for any layout is kMaxCount.
  std::optional<std::int64_t> read_repeat() {
    skip_commas();
    if (at_end() || peek() != '*') return std::nullopt;
    const std::size_t begin = at_++;
    std::int64_t count = -1;
    for (skip_commas(); !at_end() && peek() >= '0' && peek() <= '9'; skip_commas())
      count = std::min(std::max<std::int64_t>(count, 0) * 10 + (text_[at_++] - '0'), kMaxCount);
    if (count < 0) fail(begin, "'*' has no number; write how often, as in t*3");
    return count;
  }

  void require_room(std::size_t at, std::int64_t more, std::size_t before) const {
    if (more <= kMaxLayoutLetters - static_cast<std::int64_t>(before)) return;
    fail(at, fmt::format("the layout would grow to {}{} letters and stages here; at most {} are read; give "
                         "smaller repeats",
                         more >= kMaxCount ? "more than " : "",
                         std::min(more, kMaxCount) + static_cast<std::int64_t>(before), kMaxLayoutLetters));
  }

  /// Larger counts are as good as this one: none of them fits.
  static constexpr std::int64_t kMaxCount = 1'000'000'000'000;

  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0;
  Letters letters_;
};

int count(const std::vector<StageContent>& contents, int StageContent::*part) {
  return std::accumulate(contents.begin(), contents.end(), 0,
                         [part](int sum, const StageContent& stage) { return sum + stage.*part; });
}

/// The first stage that has letters, or the last one; 0 if none has any.
std::size_t home_of(const MegatronLayout& layout, bool first) {
  const auto has_letters = [](const std::string& stage) { return !stage.empty(); };
  const auto& stages = layout.stages;
  if (first) {
    const auto found = std::ranges::find_if(stages, has_letters);
    return found == stages.end() ? 0 : static_cast<std::size_t>(found - stages.begin());
  }
  const auto found = std::find_if(stages.rbegin(), stages.rend(), has_letters);
  return found == stages.rend() ? 0 : static_cast<std::size_t>(stages.rend() - found) - 1;
}

/// The letter of this kind that is elsewhere than it must be; if there is none, the place that it should have.
Where place_of_misplaced(const MegatronLayout& layout, char letter, bool first) {
  const std::size_t home = home_of(layout, first);
  const std::size_t position = first || layout.stages[home].empty() ? 0 : layout.stages[home].size() - 1;
  for (std::size_t stage = 0; stage < layout.stages.size(); ++stage)
    for (std::size_t i = 0; i < layout.stages[stage].size(); ++i)
      if (layout.stages[stage][i] == letter && (stage != home || i != position))
        return layout.place(stage, i);
  return layout.place(home, first ? 0 : layout.stages[home].size());
}

void require_once(const MegatronLayout& layout, char letter, const char* what, bool first) {
  std::ptrdiff_t found = 0;
  for (const std::string& stage : layout.stages) found += std::count(stage.begin(), stage.end(), letter);
  const std::string& stage = layout.stages[home_of(layout, first)];
  const bool in_place = !stage.empty() && (first ? stage.front() : stage.back()) == letter;
  if (found == 1 && in_place) return;
  const std::string_view where = first ? "first" : "last";
  throw InputError(
      place_of_misplaced(layout, letter, first),
      fmt::format("the layout has {} times {} ({}){}; write it once, as the {} of all letters", found, letter,
                  what, found == 1 ? fmt::format(", but not {}", where) : "", where));
}

StageContent content_of(const MegatronLayout& layout, std::size_t stage) {
  const std::string& letters = layout.stages[stage];
  const auto unsorted = std::is_sorted_until(
      letters.begin(), letters.end(), [](char a, char b) { return kLetters.find(a) < kLetters.find(b); });
  if (unsorted != letters.end())
    throw InputError(
        layout.place(stage, static_cast<std::size_t>(unsorted - letters.begin())),
        fmt::format("stage {} is '{}', with {} behind {}; the order within a stage is E, t, m, L", stage,
                    shortened(letters, 40), *unsorted, *(unsorted - 1)));
  StageContent content;
  content.embedding = letters.starts_with('E');
  content.layers = static_cast<int>(std::count(letters.begin(), letters.end(), 't'));
  content.mtp = static_cast<int>(std::count(letters.begin(), letters.end(), 'm'));
  content.head = letters.ends_with('L');
  return content;
}

void require_count(const MegatronLayout& layout, int found, std::optional<int> wanted, char letter,
                   const char* what) {
  if (wanted && found != *wanted)
    throw InputError(layout.place(0),
                     fmt::format("the layout has {} times {}, the model {} {} layers; they must be the same: "
                                 "correct one of them",
                                 found, letter, *wanted, what));
}

void require_mtp_in_place(const MegatronLayout& layout, const std::vector<StageContent>& contents,
                          int ranks) {
  const auto holds = [](const StageContent& stage) { return stage.mtp > 0; };
  const auto place_of = [&](std::vector<StageContent>::const_iterator found, char letter) {
    const auto stage = static_cast<std::size_t>(found - contents.begin());
    return layout.place(stage, layout.stages[stage].find(letter));
  };
  const auto first = std::find_if(contents.begin(), contents.end(), holds);
  if (first == contents.end()) return;
  const auto decoder =
      std::find_if(first + 1, contents.end(), [](const StageContent& stage) { return stage.layers > 0; });
  if (decoder != contents.end())
    throw InputError(
        place_of(decoder, 't'),
        "a decoder layer (t) stands behind an MTP layer (m); put the MTP layers behind all of them");
  if (const auto second = std::find_if(first + 1, contents.end(), holds); second != contents.end())
    throw InputError(place_of(second, 'm'), "the MTP layers (m) stand in several stages; put them into one");
  const auto stage = static_cast<int>(first - contents.begin());
  const int chunks = static_cast<int>(contents.size()) / ranks;
  if (stage / ranks != chunks - 1)
    throw InputError(
        place_of(first, 'm'),
        fmt::format("the MTP layers (m) are in stage {}, chunk {} of rank {}; they must be in the last "
                    "chunk of a rank, which are stages {} to {}",
                    stage, stage / ranks, stage % ranks, (chunks - 1) * ranks, contents.size() - 1));
}

}  // namespace

Where MegatronLayout::place(std::size_t stage, std::size_t letter) const {
  if (columns.empty()) return {};
  std::size_t at = letter;
  for (std::size_t k = 0; k < stage; ++k) at += stages[k].size() + 1;
  return {source, 1, columns[at]};
}

MegatronLayout parse_megatron_layout(std::string_view text, const std::string& source) {
  return Parser(text, source).parse();
}

MegatronLayout layout_of(const std::vector<StageContent>& contents) {
  MegatronLayout layout;
  for (const StageContent& stage : contents)
    layout.stages.push_back(
        std::string(stage.embedding ? 1 : 0, 'E') + std::string(static_cast<std::size_t>(stage.layers), 't') +
        std::string(static_cast<std::size_t>(stage.mtp), 'm') + std::string(stage.head ? 1 : 0, 'L'));
  return layout;
}

std::vector<StageContent> contents_of(const MegatronLayout& layout, int ranks, const LayoutModel& model) {
  const std::size_t stages = layout.stages.size();
  if (stages % static_cast<std::size_t>(ranks) != 0)
    throw InputError(layout.place(0), fmt::format("the layout has {} stages, no multiple of {} ranks; stages "
                                                  "are separated by |: add some, or take some away",
                                                  stages, ranks));
  require_once(layout, 'E', "embedding", true);
  require_once(layout, 'L', "loss", false);
  std::vector<StageContent> contents;
  for (std::size_t k = 0; k < stages; ++k) contents.push_back(content_of(layout, k));
  require_count(layout, count(contents, &StageContent::layers), model.layers, 't', "decoder");
  require_count(layout, count(contents, &StageContent::mtp), model.mtp, 'm', "MTP");
  require_mtp_in_place(layout, contents, ranks);
  return contents;
}

std::string layout_refusal(const Placement& placement) {
  if (placement.replicas() > 1)
    return fmt::format("the model is there {} times, and a layout string places it once",
                       placement.replicas());
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage) {
    const Rank rank = placement.rank_of(stage);
    const int wanted = stage.value() % placement.ranks();
    if (rank.value() != wanted)
      return fmt::format(
          "stage {} is on rank {}, and a layout string always puts stage k on rank k mod {}, here {}",
          stage.value(), rank.value(), placement.ranks(), wanted);
  }
  return "";
}

namespace {

/// Groups repeat up to this many stages; patterns of real models have one or two.
constexpr std::size_t kLongestPattern = 8;

bool ends_in_digit(const std::string& text) {
  return !text.empty() && text.back() >= '0' && text.back() <= '9';
}

/// Appends with a comma where a count would run into the next character.
void append(std::string& out, const std::string& text) {
  if (ends_in_digit(out) && !text.empty() && text.front() != '|') out += ',';
  out += text;
}

/// "tttt" as "t*4", where that is shorter.
std::string stage_text(const std::string& letters) {
  std::string out;
  for (std::size_t begin = 0; begin < letters.size();) {
    std::size_t end = begin;
    while (end < letters.size() && letters[end] == letters[begin]) ++end;
    const std::size_t count = end - begin;
    const std::string repeated = fmt::format("{}*{}", letters[begin], count);
    append(out, repeated.size() < count ? repeated : letters.substr(begin, count));
    begin = end;
  }
  return out;
}

/// A run of the same few stages, each with its | after it.
struct Run {
  std::size_t pattern = 1;  ///< stages in the group
  std::size_t repeats = 1;
  std::string text = {};
  std::size_t saved = 0;  ///< characters, against writing the stages out
};

class Writer {
 public:
  explicit Writer(const MegatronLayout& layout) {
    for (const std::string& letters : layout.stages) stages_.push_back(stage_text(letters));
  }

  std::string text() const {
    std::string out;
    // The last stage has no | after it.
    for (std::size_t at = 0; at + 1 < stages_.size();) {
      const Run run = best_run(at);
      append(out, run.text);
      at += run.pattern * run.repeats;
    }
    append(out, stages_.back());
    return out;
  }

 private:
  [[nodiscard]] std::string joined(std::size_t at, std::size_t count) const {
    std::string out;
    for (std::size_t k = at; k < at + count; ++k) out += stages_[k] + '|';
    return out;
  }

  [[nodiscard]] std::size_t repeats_of(std::size_t at, std::size_t pattern) const {
    std::size_t end = at + pattern;
    while (end + 1 < stages_.size() && stages_[end] == stages_[end - pattern]) ++end;
    return (end - at) / pattern;
  }

  [[nodiscard]] Run run_of(std::size_t at, std::size_t pattern) const {
    Run run{.pattern = pattern, .repeats = repeats_of(at, pattern)};
    const std::string inner = joined(at, pattern);
    // A group of empty stages is a repeated |.
    run.text = inner == "|" ? fmt::format("|*{}", run.repeats) : fmt::format("({})*{}", inner, run.repeats);
    const std::size_t plain = inner.size() * run.repeats;
    // One character less is none where a comma must follow.
    run.saved = plain > run.text.size() + 1 ? plain - run.text.size() : 0;
    return run;
  }

  [[nodiscard]] Run best_run(std::size_t at) const {
    Run best{.text = joined(at, 1)};
    const std::size_t longest = std::min(kLongestPattern, stages_.size() - 1 - at);
    for (std::size_t pattern = 1; pattern <= longest; ++pattern) {
      Run run = run_of(at, pattern);
      if (run.saved > best.saved) best = std::move(run);
    }
    return best;
  }

  std::vector<std::string> stages_;
};

}  // namespace

std::string to_text(const MegatronLayout& layout) {
  return Writer(layout).text();
}

}  // namespace pipeloom::layout
