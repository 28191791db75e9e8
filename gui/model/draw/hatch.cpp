#include "gui/model/draw/hatch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/tracks/op_track.hpp"

namespace pipeloom::gui {
namespace {

/// This many neighbouring columns of one kind are drawn as they are; fewer belong to the bands that they touch.
constexpr std::size_t kPlain = 4;
/// Bands are as wide as the shares of this many columns to each side: enough for straight edges.
constexpr std::size_t kAround = 12;
/// This many neighbours have the same bands.
constexpr std::int64_t kShared = 4;
static_assert(kAround + kShared + kPlain <= kHatchMargin);
constexpr auto kPeriod = static_cast<std::int64_t>(kHatch);

/// Full only without a gap, none only without an op.
double opacity(double busy) {
  if (busy >= 1 - static_cast<double>(tracks::kLeastShare) / 2) return 1;
  return std::clamp(busy, static_cast<double>(kLeastOpaque), static_cast<double>(kMostOpaque));
}

class Hatcher {
 public:
  Hatcher(std::span<const float> shares, std::span<const Rgba> colours)
      : columns_(shares.size() / colours.size()), kind_(columns_) {
    take_used(shares, colours);
    for (std::size_t column = 0; column < columns_; ++column) kind_[column] = kind_of(column);
    find_bands();
    add_up();
  }

  /// The texels of all columns but the margins; the first of these is number `first`.
  void write(std::int64_t first, int step, std::span<HatchedTexel> out) const {
    HatchedTexel bands{};
    std::size_t bands_at = columns_;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t column = i + kHatchMargin;
      const std::int64_t number = first + static_cast<std::int64_t>(i);
      if (kind_[column] == kNone) {
        out[i].fill(0);
      } else if (band_[column].end == 0) {
        out[i].fill(alpha_of(busy(column)) | colours_[static_cast<std::size_t>(kind_[column])]);
      } else {
        const std::size_t at = std::max(column - remainder(number, kShared), band_[column].begin);
        if (at != bands_at) bands = bands_of(around(at));
        bands_at = at;
        const auto phase = static_cast<std::ptrdiff_t>(remainder(number, step * kPeriod)) / step;
        std::rotate_copy(bands.begin(), bands.begin() + phase, bands.end(), out[i].begin());
        const Rgba alpha = alpha_of(busy_at(column, around(at)));
        for (Rgba& texel : out[i]) texel |= alpha;
      }
    }
  }

 private:
  static constexpr int kNone = -1;
  static constexpr int kMixed = -2;
  /// Columns [begin, end); end is 0 for none.
  struct Band {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// Finds the colours in use: of many kinds few are in a row.
  void take_used(std::span<const float> shares, std::span<const Rgba> colours) {
    std::array<std::size_t, kHatch> used{};
    std::array<float, kHatch> most{};
    for (std::size_t column = 0; column < columns_; ++column)
      for (std::size_t i = 0; i < colours.size(); ++i)
        most[i] = std::max(most[i], shares[column * colours.size() + i]);
    for (std::size_t i = 0; i < colours.size(); ++i) {
      if (most[i] <= 0) continue;
      used[colours_.size()] = i;
      colours_.push_back(colours[i] & 0x00FFFFFFU);
    }
    shares_.reserve(columns_ * colours_.size());
    for (std::size_t column = 0; column < columns_; ++column)
      for (std::size_t i = 0; i < colours_.size(); ++i)
        shares_.push_back(std::max(static_cast<double>(shares[column * colours.size() + used[i]]), 0.0));
  }

  [[nodiscard]] std::span<const double> of(std::size_t column) const {
    return std::span(shares_).subspan(column * colours_.size(), colours_.size());
  }

  [[nodiscard]] int kind_of(std::size_t column) const {
    int found = kNone;
    const std::span<const double> shares = of(column);
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (shares[i] > 0) found = found == kNone ? static_cast<int>(i) : kMixed;
    return found;
  }

  [[nodiscard]] double busy(std::size_t column) const {
    double total = 0;
    for (const double share : of(column)) total += share;
    return total;
  }

  static std::size_t remainder(std::int64_t number, std::int64_t of) {
    return static_cast<std::size_t>((number % of + of) % of);
  }

  static Rgba alpha_of(double busy) { return static_cast<Rgba>(std::lround(opacity(busy) * 255)) << 24U; }

  /// The columns whose time the bands of a column have.
  [[nodiscard]] Band around(std::size_t column) const {
    const auto [begin, end] = band_[column];
    return {std::max(begin + kAround, column) - kAround, std::min(end, column + kAround + 1)};
  }

  /// A gap now and then is a column of its own; where every third has one, what falls into a column is chance, and the mean is what counts.
  [[nodiscard]] double busy_at(std::size_t column, const Band& near) const {
    const std::size_t columns = near.end - near.begin;
    if (std::size_t{3} * (gaps_[near.end] - gaps_[near.begin]) <= columns) return busy(column);
    double total = 0;
    for (std::size_t i = 0; i < colours_.size(); ++i) total += part_of(near, i);
    return total / static_cast<double>(columns);
  }

  [[nodiscard]] double part_of(const Band& band, std::size_t colour) const {
    return sums_[band.end * colours_.size() + colour] - sums_[band.begin * colours_.size() + colour];
  }

  /// Finds the pixels of several kinds, and the few of one kind between or next to them.
  void find_bands() {
    std::vector<bool> hatched(columns_);
    for (std::size_t begin = 0, end = 0; begin < columns_; begin = end) {
      const int kind = kind_[begin];
      for (end = begin + 1; end < columns_ && kind_[end] == kind;) ++end;
      const bool touches =
          (begin > 0 && kind_[begin - 1] == kMixed) || (end < columns_ && kind_[end] == kMixed);
      const bool joins = kind == kMixed || (kind != kNone && end - begin < kPlain && touches);
      std::fill(hatched.begin() + static_cast<std::ptrdiff_t>(begin),
                hatched.begin() + static_cast<std::ptrdiff_t>(end), joins);
    }
    band_.assign(columns_, {});
    for (std::size_t begin = 0, end = 0; begin < columns_; begin = end) {
      for (end = begin + 1; end < columns_ && hatched[end] == hatched[begin];) ++end;
      if (!hatched[begin]) continue;
      for (std::size_t column = begin; column < end; ++column) band_[column] = {begin, end};
    }
  }

  void add_up() {
    sums_.assign((columns_ + 1) * colours_.size(), 0);
    for (std::size_t i = 0; i < shares_.size(); ++i) sums_[i + colours_.size()] = sums_[i] + shares_[i];
    gaps_.assign(columns_ + 1, 0);
    for (std::size_t column = 0; column < columns_; ++column)
      gaps_[column + 1] = gaps_[column] + (opacity(busy(column)) < 1 ? 1U : 0U);
  }

  /// Colours across one period, transparent: each as wide as its share of these columns, one texel at least.
  [[nodiscard]] HatchedTexel bands_of(const Band& near) const {
    std::array<double, kHatch> part{};
    double total = 0;
    std::size_t left = 0;
    for (std::size_t i = 0; i < colours_.size(); ++i) {
      part[i] = part_of(near, i);
      // Sums of floating point: an empty share may differ from 0 in its last digits.
      if (part[i] < 1e-6) part[i] = 0;
      total += part[i];
      if (part[i] > 0) ++left;
    }
    HatchedTexel out{};
    const double scale = kHatch / total;
    double sum = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < colours_.size(); ++i) {
      if (part[i] <= 0) continue;
      sum += part[i];
      --left;
      const auto wanted = static_cast<std::size_t>(sum * scale + 0.5 - 1e-6);
      const std::size_t stop = std::min(std::max(wanted, at + 1), kHatch - left);
      for (; at < stop; ++at) out[at] = colours_[i];
    }
    return out;
  }

  std::size_t columns_;
  std::vector<Rgba> colours_;   // of those that any column has, transparent
  std::vector<double> shares_;  // [column * colours + colour]
  std::vector<int> kind_;
  std::vector<Band> band_;
  std::vector<unsigned> gaps_;  // columns before that a gap touches
  std::vector<double> sums_;    // of the columns before, as shares_
};

}  // namespace

void hatch(std::span<const float> shares, std::span<const Rgba> colours, std::int64_t first, int step,
           std::span<HatchedTexel> out) {
  Hatcher(shares, colours).write(first, step, out);
}

}  // namespace pipeloom::gui
