#pragma once

// The automatic order of the zero-bubble paper: F, I and W on a linear placement, found for given times and a memory limit.
//
// Source: Qi et al., "Zero Bubble Pipeline Parallelism" (2023, arXiv 2401.10241), section 4 and appendix B; the rules in the form that
// the authors' scheduler has since it takes times and limits per stage. The paper's B is the I of this program.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <pipeloom/costs.hpp>

namespace pipeloom::schedules {

/// One way to play the rules. The names are the letters t and f in this order.
struct ZbAutoSetting {
  bool early = true;  ///< leave a gap before a rank's first I rather than delay that I by one more forward
  bool input_first = true;  ///< hold a forward back where it would delay the next I
  bool fill_small = true;   ///< fill gaps with a W even where the gap costs nothing

  friend bool operator==(const ZbAutoSetting&, const ZbAutoSetting&) = default;
};
/// All of them in the order in which they are tried: the first cheapest wins.
inline constexpr std::array<ZbAutoSetting, 8> kZbAutoSettings = {{{true, true, true},
                                                                  {true, true, false},
                                                                  {true, false, true},
                                                                  {true, false, false},
                                                                  {false, true, true},
                                                                  {false, true, false},
                                                                  {false, false, true},
                                                                  {false, false, false}}};
/// kZbAutoSettings[i] as options.variant spells it.
inline constexpr std::array<std::string_view, 8> kZbAutoNames = {"ttt", "ttf", "tft", "tff",
                                                                 "ftt", "ftf", "fft", "fff"};

/// An order: queues[r * 3m + i] is the kind of entry i of rank r. The k-th op of a kind belongs to microbatch k.
struct ZbAutoOrder {
  std::vector<OpKind> queues;
  /// The longest time from a rank's first start to its last end, every op as early as its order allows.
  Ticks cost = 0;
  std::size_t setting = 0;  ///< index in kZbAutoSettings
};

/// Plays the rules for p = `terms.costs` slots on p ranks and m microbatches.
class ZbAutoSearch {
 public:
  /// `limit[r]`: most bytes of activations on rank r. REQUIRES: Terms of Placement::linear(limit.size()); m >= 1. `terms` is copied
  /// from.
  ZbAutoSearch(const Terms& terms, int microbatches, std::span<const Bytes> limit);

  /// The order of one setting; nullopt if a rank has no room for the ops that the rules want. O(p m).
  [[nodiscard]] std::optional<ZbAutoOrder> play(std::size_t setting);
  /// The first cheapest of all settings; nothing where none has an order.
  [[nodiscard]] std::optional<ZbAutoOrder> best();

 private:
  /// Times and bytes of a rank's ops.
  struct Stage {
    Ticks forward = 0;
    Ticks input = 0;
    Ticks weight = 0;
    Ticks forward_delay = 0;   ///< from the end of F on the rank before
    Ticks gradient_delay = 0;  ///< from the end of I on the next rank
    Bytes held = 0;            ///< F takes it
    Bytes kept = 0;            ///< of it, from I on; W gives it back
    Bytes limit = 0;
  };
  /// A rank while its queue grows.
  struct Rank {
    Ticks clock = 0;
    Ticks idle = 0;  ///< since its first F
    Bytes memory = 0;
    std::int32_t forwards = 0;
    std::int32_t inputs = 0;
    std::int32_t weights = 0;

    [[nodiscard]] bool weight_pending() const { return weights < inputs; }
  };

  bool run(ZbAutoSetting setting);
  void warm_up(ZbAutoSetting setting);
  [[nodiscard]] std::int32_t extra_forwards(std::size_t rank, bool early, Ticks& first_input) const;
  [[nodiscard]] bool wants_forward(std::size_t rank, bool input_first) const;
  [[nodiscard]] Ticks time_to_fit(std::size_t rank) const;
  bool make_room(std::size_t rank, Bytes wanted);
  void fill(std::size_t rank, Ticks arrival, bool small_too);
  void issue_forward(std::size_t rank);
  void issue_input(std::size_t rank);
  void issue_weight(std::size_t rank);
  void put(std::size_t rank, OpKind kind);
  void idle_until(std::size_t rank, Ticks when);
  [[nodiscard]] Ticks arrival_of_forward(std::size_t rank) const;
  [[nodiscard]] Ticks arrival_of_gradient(std::size_t rank) const;
  [[nodiscard]] Ticks cost() const;

  std::size_t microbatches_;
  std::vector<Stage> stages_;
  std::vector<Rank> ranks_;
  std::vector<Ticks> forward_end_;   // [r * m + k]
  std::vector<Ticks> input_end_;     // [r * m + k]
  std::vector<OpKind> queues_;       // [r * 3m + i]
  std::vector<char> needs_;          // [r]
  std::vector<std::int32_t> extra_;  // [r]
  Ticks most_idle_ = 0;              // over all ranks
};

}  // namespace pipeloom::schedules
