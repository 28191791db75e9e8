#include "sim/orders/blocks/extension.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace pipeloom::orders {
namespace {

using Word = std::vector<Letter>;
using LetterCounts = std::array<std::uint32_t, std::size_t{std::numeric_limits<Letter>::max()} + 1>;

/// A stretch of a word in which each letter is the one a block before it.
struct RepeatedStretch {
  std::size_t begin = 0;  ///< of its first block
  std::size_t end = 0;

  [[nodiscard]] std::size_t length() const { return end - begin; }
};

RepeatedStretch longest_stretch(const Word& word, std::size_t block) {
  RepeatedStretch best;
  RepeatedStretch now{0, block};
  for (std::size_t i = block; i <= word.size(); ++i) {
    if (i < word.size() && word[i] == word[i - block]) {
      now.end = i + 1;
      continue;
    }
    if (now.length() > best.length()) best = now;
    now = {i + 1 - block, i + 1};
  }
  return best;
}

/// True if every letter of the word is `each` times in the block.
bool has_each(const Word& word, std::size_t begin, std::size_t block, std::size_t each) {
  LetterCounts counts = {};
  for (std::size_t i = begin; i < begin + block; ++i) ++counts[word[i]];
  return std::ranges::all_of(word, [&](Letter letter) { return counts[letter] == each; });
}

/// Different letters of a word.
std::size_t letters_of(const Word& word) {
  LetterCounts counts = {};
  for (const Letter letter : word) ++counts[letter];
  return static_cast<std::size_t>(
      std::ranges::count_if(counts, [](std::uint32_t count) { return count > 0; }));
}

/// The longest stretch; nullopt if the word has no block of this period twice in a row.
std::optional<RepeatedStretch> repeated(const Word& word, std::size_t period) {
  const std::size_t block = letters_of(word) * period;
  if (2 * block > word.size()) return std::nullopt;
  const RepeatedStretch stretch = longest_stretch(word, block);
  return stretch.length() >= 2 * block && has_each(word, stretch.begin, block, period)
             ? std::optional(stretch)
             : std::nullopt;
}

}  // namespace

std::vector<std::size_t> periods_of(const Order& order, std::size_t microbatches) {
  if (std::ranges::any_of(order.pairs, [](const auto& pairs) { return !pairs.empty(); })) return {};
  std::vector<std::size_t> out;
  for (std::size_t period = 1; 3 * period <= microbatches && out.size() < kMostPeriods; ++period)
    if (std::ranges::all_of(order.words,
                            [&](const Word& word) { return repeated(word, period).has_value(); }))
      out.push_back(period);
  return out;
}

Order extended(const Order& order, std::size_t period, std::size_t blocks) {
  Order out;
  for (const Word& word : order.words) {
    const auto block = static_cast<std::ptrdiff_t>(letters_of(word) * period);
    const auto begin = word.begin() + static_cast<std::ptrdiff_t>(repeated(word, period)->begin);
    Word& longer = out.words.emplace_back();
    longer.reserve(word.size() + blocks * static_cast<std::size_t>(block));
    longer.assign(word.begin(), begin + block);
    for (std::size_t i = 0; i < blocks; ++i) longer.insert(longer.end(), begin, begin + block);
    longer.insert(longer.end(), begin + block, word.end());
  }
  return out;
}

}  // namespace pipeloom::orders
