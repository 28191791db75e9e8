#pragma once

// Times summed over ranks, ops or messages: they pass 63 bits long before any one of them passes kMaxTicks.

#include <compare>
#include <cstdint>
#include <string>

#include <pipeloom/units.hpp>

namespace pipeloom {

/// An exact sum of 2^64 and more of the longest times. A time is a sum of one, so that both mix freely; the way back is a double or a text.
class TickSum {
 public:
  __extension__ using Wide = __int128;

  constexpr TickSum() = default;
  constexpr TickSum(Ticks ticks) : ticks_(ticks) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] static constexpr TickSum of(Wide ticks) {
    TickSum sum;
    sum.ticks_ = ticks;
    return sum;
  }
  /// `ticks` taken `count` times.
  [[nodiscard]] static constexpr TickSum times(Ticks ticks, std::int64_t count) {
    return of(Wide{ticks} * count);
  }

  [[nodiscard]] constexpr Wide value() const { return ticks_; }
  constexpr explicit operator double() const { return static_cast<double>(ticks_); }

  constexpr TickSum& operator+=(TickSum other) {
    ticks_ += other.ticks_;
    return *this;
  }
  constexpr TickSum& operator-=(TickSum other) {
    ticks_ -= other.ticks_;
    return *this;
  }
  friend constexpr TickSum operator+(TickSum a, TickSum b) { return a += b; }
  friend constexpr TickSum operator-(TickSum a, TickSum b) { return a -= b; }
  constexpr TickSum operator-() const { return TickSum() - *this; }
  friend constexpr bool operator==(TickSum a, TickSum b) { return a.ticks_ == b.ticks_; }
  friend constexpr std::strong_ordering operator<=>(TickSum a, TickSum b) {
    return a.ticks_ < b.ticks_   ? std::strong_ordering::less
           : a.ticks_ > b.ticks_ ? std::strong_ordering::greater
                                 : std::strong_ordering::equal;
  }

 private:
  Wide ticks_ = 0;
};

/// part / whole; 0 where there is no whole.
[[nodiscard]] inline double share_of(TickSum part, TickSum whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

/// As format_ticks() of a time: exact, always with a decimal point.
[[nodiscard]] std::string format_ticks(TickSum sum, TimeUnit unit);

/// As to_double() of a time: for pictures and ratios only.
[[nodiscard]] double to_double(TickSum sum, TimeUnit unit);

}  // namespace pipeloom
