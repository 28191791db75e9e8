#pragma once

// What only some schedules take: the keys below "options" of a configuration, as one noun.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/costs.hpp"

namespace pipeloom {

/// Options that a schedule must know to be given them. Recomputation, offloading and forward-only runs are for all schedules.
enum class Option : std::uint8_t { GroupSize, Slices, Waves, Updates, Variant, MemoryLimit, File };

/// Which of them a schedule takes.
class OptionSet {
 public:
  constexpr OptionSet() = default;
  constexpr OptionSet(std::initializer_list<Option> options) {
    for (const Option option : options) bits_ |= bit(option);
  }
  [[nodiscard]] constexpr bool has(Option option) const { return (bits_ & bit(option)) != 0; }

 private:
  static constexpr unsigned bit(Option option) { return 1U << static_cast<unsigned>(option); }
  unsigned bits_ = 0;
};

/// "memory_limit": what a rank may hold of activations, for schedules whose order keeps a limit. At most one is given.
struct MemoryLimit {
  std::optional<Bytes> bytes = {};
  std::optional<Scale> microbatches = {};  ///< in units of 1e-9 of what one microbatch holds
  [[nodiscard]] bool given() const { return bytes || microbatches; }
  friend bool operator==(const MemoryLimit&, const MemoryLimit&) = default;
};

/// "recompute": which forwards run again before their backward.
struct RecomputeOption {
  bool on = false;
  int keep = 0;  ///< of a rank's outstanding passes, so many keep their activations
  friend bool operator==(const RecomputeOption&, const RecomputeOption&) = default;
};

/// "offload": which activations go to the host meanwhile.
struct OffloadOption {
  bool on = false;
  std::optional<int> chunks;  ///< of each rank, the longest-lived first; no value: all
  int prefetch = 1;           ///< entries between the issue of a reload and its use
  int min_gap = 3;            ///< entries between forward and backward below which a pass stays
  friend bool operator==(const OffloadOption&, const OffloadOption&) = default;
};

/// An option without a value has the schedule's default.
struct ScheduleOptions {
  std::optional<int> group_size = {};     ///< N, microbatches per group of the interleaved schedules
  std::vector<std::int64_t> slices = {};  ///< weight of every piece of a microbatch's sequence
  std::optional<int> waves = {};          ///< W of hanayo
  std::optional<int> updates = {};        ///< optimizer updates in one endless run
  std::string variant = {};
  MemoryLimit memory_limit = {};
  std::string file = {};  ///< of `custom`, as given; relative to the configuration's folder
  RecomputeOption recompute = {};
  OffloadOption offload = {};
  bool forward_only = false;  ///< drop everything but the forwards
  friend bool operator==(const ScheduleOptions&, const ScheduleOptions&) = default;
};

/// The weights of n equal slices.
[[nodiscard]] inline std::vector<std::int64_t> equal_slices(int n) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(n), 1);
}

/// What error texts say about an option whose value is a number, and its limits.
struct OptionCount {
  Option option;
  std::string_view name;
  std::optional<int> ScheduleOptions::*member;
  int most;
};
inline constexpr OptionCount kOptionCounts[] = {
    {Option::Waves, "waves", &ScheduleOptions::waves, kMaxIndex / 2},
    {Option::Updates, "updates", &ScheduleOptions::updates, kMaxIndex},
};

}  // namespace pipeloom
