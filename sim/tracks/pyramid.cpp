#include "sim/tracks/pyramid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace pipeloom::tracks {
namespace {

constexpr std::uint32_t kFull = 65535;

std::uint32_t sum_of(const std::uint16_t* cell, std::size_t channels) {
  return std::accumulate(cell, cell + channels, std::uint32_t{0});
}

/// Gives the largest channel the amount missing to `target`, or takes it from there; no channel that is touched becomes 0.
void settle(std::uint16_t* cell, std::size_t channels, std::uint32_t target) {
  std::uint16_t* largest = std::max_element(cell, cell + channels);
  const std::uint32_t others = sum_of(cell, channels) - *largest;
  *largest = static_cast<std::uint16_t>(target > others ? target - others : 1);
}

/// The cell above two cells, of lengths that weigh them; full only if both are.
void merge(const std::uint16_t* a, const std::uint16_t* b, double share_of_b, std::size_t channels,
           std::uint16_t* out) {
  for (std::size_t c = 0; c < channels; ++c)
    out[c] = static_cast<std::uint16_t>(std::ceil((1 - share_of_b) * a[c] + share_of_b * b[c] - 1e-9));
  const bool full = sum_of(a, channels) == kFull && sum_of(b, channels) == kFull;
  if (full || sum_of(out, channels) >= kFull) settle(out, channels, full ? kFull : kFull - 1);
}

/// Factor of a bin's shares that keeps them visible.
float visible_factor(float total, bool gap) {
  constexpr float kRounding = 1e-4F;
  if (total <= 0) return 1;
  const float least = gap ? kLeastShare : 1 - kRounding;
  const float most = gap ? 1 - kLeastShare : 1 + kRounding;
  if (total >= least && total <= most) return 1;
  return (gap ? std::clamp(total, least, most) : 1) / total;
}

}  // namespace

void keep_visible(float* out, std::span<const std::uint8_t> places, bool gap) {
  float total = 0;
  for (const std::uint8_t place : places) total += out[place];
  const float factor = visible_factor(total, gap);
  if (factor == 1) return;
  for (const std::uint8_t place : places) out[place] *= factor;
}

// The query in units of cells of one level, so that the loop over bins adds and floors only.
struct Pyramid::Query {
  Level level;
  double first = 0;  // start of the range
  double step = 0;   // a bin
  double last = 0;   // end of the row
  int bins = 0;
  std::size_t stride = 0;
};

template <std::size_t kChannels>
void Pyramid::fill(const Query& query, std::span<const std::uint8_t> places, float* out) const {
  const std::size_t channels = kChannels == 0 ? channels_ : kChannels;
  const std::uint16_t* const cells = cells_.data() + query.level.begin * channels;
  const auto scale = static_cast<float>(1 / (query.step * kFull));
  for (int i = 0; i < query.bins; ++i, out += query.stride) {
    const double from = query.first + i * query.step;
    const double begin = std::max(from, 0.0);
    const double end = std::min(from + query.step, query.last);
    if (begin >= end) continue;
    std::array<float, kChannels == 0 ? kMaxChannels : kChannels> sums{};
    std::uint32_t missing = 0;
    const auto take = [&](const std::uint16_t* cell, float weight) {
      std::uint32_t sum = 0;
      for (std::size_t c = 0; c < channels; ++c) {
        sums[c] += weight * static_cast<float>(cell[c]);
        sum += cell[c];
      }
      missing |= kFull - sum;
    };
    // Weights of the first and the last cell, 1 for those between them. No cell is longer than a bin.
    const auto first = static_cast<std::uint32_t>(begin);
    const auto last =
        std::min(static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(query.level.count - 1));
    const std::uint16_t* cell = cells + first * channels;
    if (first == last) {
      take(cell, static_cast<float>(end - begin));
    } else {
      take(cell, static_cast<float>(first + 1 - begin));
      for (std::uint32_t at = first + 1; at < last; ++at) take(cell += channels, 1);
      if (end > last) take(cell + channels, static_cast<float>(end - last));
    }
    const bool gap = missing != 0 || begin > from || end < from + query.step;
    float total = 0;
    for (std::size_t c = 0; c < channels; ++c) total += sums[c];
    const float factor = scale * visible_factor(total * scale, gap);
    for (std::size_t c = 0; c < channels; ++c) out[places[c]] = sums[c] * factor;
  }
}

void Pyramid::shares(TimeRange range, int bins, std::span<const std::uint8_t> places, float* out,
                     std::size_t stride) const {
  if (levels_.empty()) return;
  const double width = range.length() / bins;
  std::size_t l = 0;
  double cell_width = cell();
  for (; l + 1 < levels_.size() && 2 * cell_width <= width; ++l) cell_width *= 2;
  const Query query{levels_[l],
                    (range.start - static_cast<double>(span_.start)) / cell_width,
                    width / cell_width,
                    static_cast<double>(span_.length()) / cell_width,
                    bins,
                    stride};
  switch (channels_) {
    case 1:
      return fill<1>(query, places, out);
    case 2:
      return fill<2>(query, places, out);
    case 3:
      return fill<3>(query, places, out);
    case 4:
      return fill<4>(query, places, out);
    default:
      return fill<0>(query, places, out);
  }
}

void Pyramid::add_level() {
  const Level below = levels_.back();
  const Level level{below.begin + below.count, (below.count + 1) / 2};
  const double width = std::ldexp(1.0, shift_ + static_cast<int>(levels_.size()) - 1);
  const double last_width =
      static_cast<double>(span_.length()) - width * static_cast<double>(below.count - 1);
  for (std::size_t i = 0; i < level.count; ++i) {
    const std::uint16_t* a = cells_.data() + (below.begin + 2 * i) * channels_;
    std::uint16_t* out = cells_.data() + (level.begin + i) * channels_;
    if (2 * i + 1 == below.count)
      std::copy_n(a, channels_, out);
    else
      merge(a, a + channels_, 2 * i + 2 == below.count ? last_width / (width + last_width) : 0.5, channels_,
            out);
  }
  levels_.push_back(level);
}

void Pyramid::Builder::begin(Span span, std::size_t channels, std::size_t cells) {
  row_ = {};
  row_.span_ = {span.start, std::max(span.end, span.start + 1)};
  row_.channels_ = channels;
  const auto last = static_cast<std::uint64_t>(row_.span_.length() - 1);
  while ((last >> row_.shift_) + 1 > std::max<std::size_t>(cells, 1)) ++row_.shift_;
  const auto count = static_cast<std::size_t>(last >> row_.shift_) + 1;
  row_.levels_.push_back({0, count});
  busy_.assign(count * channels, 0);
  gap_.assign(count, 0);
}

void Pyramid::Builder::add(Ticks start, Ticks end, std::size_t channel, std::size_t of) {
  start = std::max(start, row_.span_.start) - row_.span_.start;
  end = std::min(end, row_.span_.end) - row_.span_.start;
  if (start >= end) return;
  const float part = 1.0F / static_cast<float>(of);
  const Ticks last = (end - 1) >> row_.shift_;
  for (Ticks cell = start >> row_.shift_; cell <= last; ++cell) {
    const Ticks from = std::max(start, cell << row_.shift_);
    const Ticks to = std::min(end, (cell + 1) << row_.shift_);
    busy_[static_cast<std::size_t>(cell) * row_.channels_ + channel] += part * static_cast<float>(to - from);
  }
}

void Pyramid::Builder::gap(Ticks start, Ticks end) {
  start = std::max(start, row_.span_.start) - row_.span_.start;
  end = std::min(end, row_.span_.end) - row_.span_.start;
  if (start >= end) return;
  const auto first = static_cast<std::ptrdiff_t>(start >> row_.shift_);
  const auto last = static_cast<std::ptrdiff_t>((end - 1) >> row_.shift_);
  std::fill(gap_.begin() + first, gap_.begin() + last + 1, std::uint8_t{1});
}

void Pyramid::Builder::quantise(std::size_t cell, std::uint16_t* out) const {
  const float* busy = busy_.data() + cell * row_.channels_;
  const float sum = std::accumulate(busy, busy + row_.channels_, 0.0F);
  if (sum <= 0) return;
  const Ticks begin = static_cast<Ticks>(cell) << row_.shift_;
  const Ticks length = std::min(row_.span_.length() - begin, Ticks{1} << row_.shift_);
  const bool gap = gap_[cell] != 0;
  // Things that overlap without being a group do not make a cell more than full.
  const float whole = gap ? std::max(static_cast<float>(length), sum) : sum;
  for (std::size_t c = 0; c < row_.channels_; ++c)
    if (busy[c] > 0) out[c] = static_cast<std::uint16_t>(std::clamp(kFull * busy[c] / whole, 1.0F, 65535.0F));
  if (!gap || sum_of(out, row_.channels_) >= kFull) settle(out, row_.channels_, gap ? kFull - 1 : kFull);
}

Pyramid Pyramid::Builder::take() {
  std::size_t total = 0;
  for (std::size_t count = row_.levels_.front().count;; count = (count + 1) / 2) {
    total += count;
    if (count == 1) break;
  }
  row_.cells_.assign(total * row_.channels_, 0);
  for (std::size_t cell = 0; cell < row_.levels_.front().count; ++cell)
    quantise(cell, row_.cells_.data() + cell * row_.channels_);
  while (row_.levels_.back().count > 1) row_.add_level();
  return std::exchange(row_, {});
}

BinAdder::BinAdder(TimeRange range, int bins, float* out, std::size_t stride)
    : range_(range),
      bins_(bins),
      per_tick_(bins / range.length()),
      out_(out),
      stride_(stride),
      gap_(static_cast<std::size_t>(bins), 0) {}

void BinAdder::add(double start, double end, std::size_t place, std::size_t of) {
  const double from = place_of(start);
  const double to = place_of(end);
  if (from >= to) return;
  const float part = 1.0F / static_cast<float>(of);
  auto bin = static_cast<std::size_t>(from);
  const auto last = static_cast<std::size_t>(to);
  float* out = out_ + bin * stride_ + place;
  if (bin == last) {
    *out += static_cast<float>(to - from) * part;
    return;
  }
  *out += static_cast<float>(static_cast<double>(bin + 1) - from) * part;
  for (++bin; bin < last; ++bin) *(out += stride_) += part;
  if (to > static_cast<double>(last))
    *(out + stride_) += static_cast<float>(to - static_cast<double>(last)) * part;
}

void BinAdder::gap(double start, double end) {
  const double from = place_of(start);
  const double to = place_of(end);
  for (auto bin = static_cast<std::size_t>(from); static_cast<double>(bin) < to; ++bin) gap_[bin] = 1;
}

void BinAdder::finish(std::span<const std::uint8_t> places) {
  float* out = out_;
  for (const std::uint8_t gap : gap_) {
    keep_visible(out, places, gap != 0);
    out += stride_;
  }
}

}  // namespace pipeloom::tracks
