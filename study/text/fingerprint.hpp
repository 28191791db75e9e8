#pragma once

// Short identities of inputs and results, for baselines.

#include <cstdint>
#include <string>
#include <string_view>

#include <pipeloom/simulate.hpp>

namespace pipeloom::study {

/// 64-bit FNV-1a (Fowler, Noll, Vo), fed piece by piece.
class Fingerprint {
 public:
  void add(std::string_view bytes);
  /// Eight bytes, lowest first, whatever the machine.
  void add(std::uint64_t number);
  [[nodiscard]] std::uint64_t number() const { return state_; }
  /// The same as 16 hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t state_ = 14695981039346656037ULL;
};

[[nodiscard]] std::string fingerprint(std::string_view bytes);
/// Ranks, entries and groups, in queue order.
[[nodiscard]] std::string fingerprint_of_orders(const Schedule& schedule);
/// Start and end of every op, in ticks.
[[nodiscard]] std::string fingerprint_of_times(const Timeline& timeline);

}  // namespace pipeloom::study
