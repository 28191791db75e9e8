// The writer of layout strings.

#include <fmt/format.h>

#include <algorithm>

#include "sim/layout/megatron_layout.hpp"

namespace pipeloom::layout {
namespace {

/// Groups repeat up to this many stages; patterns of real models have one or two.
constexpr std::size_t kLongestPattern = 8;

bool ends_in_digit(const std::string& text) {
  return !text.empty() && text.back() >= '0' && text.back() <= '9';
}

/// Appends with a comma where a count would run into what follows.
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

/// A run of the same few stages, each with its | behind it.
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
    // The last stage has no | behind it.
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
