#pragma once

// Steps in which any of the causes found are on, and the rest is as predicted.

#include <cstdint>
#include <optional>
#include <vector>

#include <pipeloom/units.hpp>
#include "study/explain/model.hpp"
#include "study/explain/ops/op_causes.hpp"
#include "study/explain/waits.hpp"

namespace pipeloom::study::explain {

/// Ops of a rank that took much longer once, or began late, in one step.
struct Hiccup {
  Rank rank;
  struct Place {
    int step = 0;
    std::uint32_t entry = 0;
    Ticks longer = 0;  ///< its duration
    Ticks later = 0;   ///< its start
  };
  std::vector<Place> places;
};

/// What one rank, or every rank, is idle for before its entries, single long times apart.
struct Pause {
  std::optional<Rank> rank = {};               ///< none: all
  Ticks each = 0;                              ///< mean before entries that waited for nothing
  std::vector<std::vector<Ticks>> later = {};  ///< [step][entry]
};

struct Findings {
  OpFindings ops;
  WaitFindings waits;
  std::vector<Hiccup> hiccups;
  std::vector<Pause> pauses;
  bool reordered = false;
};

/// Which causes are on: bits of a list of all, in this order: ops.causes, links, hiccups, pauses, message time, order.
struct Mask {
  std::uint64_t ops = 0;
  std::uint64_t links = 0;
  std::uint64_t hiccups = 0;
  std::uint64_t pauses = 0;
  bool message_time = false;
  bool order = false;
  bool costs = false;        ///< shifts of cells
  bool noise = false;        ///< the measured time of every op, over what is on
  bool unexplained = false;  ///< u, v and r
};

/// Times of one measured step as its causes come and go.
class Worlds {
 public:
  /// All references outlive it. `base` and `order` are of the prediction, `predicted` its times.
  Worlds(const Wiring& wiring, const Times& predicted, const Residuals& base, const Order& order,
         const Findings& findings, Ticks rank_time, const MeasuredStep& measured, int step);

  /// The step time.
  [[nodiscard]] Ticks length(const Mask& mask);
  [[nodiscard]] Times times(const Mask& mask);
  /// The step time with durations multiplied by `scale`, [entry].
  [[nodiscard]] Ticks scaled_length(const Mask& mask, const std::vector<double>& scale);

 private:
  [[nodiscard]] World prepare(const Mask& mask);
  void set_durations(const Mask& mask);
  void set_residuals(const Mask& mask);
  /// An entry's predicted time, in ticks, as the causes that are on make it.
  [[nodiscard]] double time_under(std::size_t e, std::uint64_t on) const;

  const Wiring& wiring_;
  const Residuals& base_;
  const Order& predicted_order_;
  const Findings& findings_;
  Ticks predicted_rank_time_;
  const MeasuredStep& measured_;
  int step_;
  std::vector<Ticks> predicted_;               // [entry] durations
  std::vector<Ticks> longer_;                  // [entry] by hiccups
  std::vector<std::uint64_t> causes_of_part_;  // [part]: bits of op causes
  std::vector<std::uint8_t> hiccup_of_;        // [entry]: number + 1
  Residuals all_;                              // of the step, everything else on
  std::vector<double> factor_;                 // [op cause]
  std::vector<Ticks> duration_;
  std::vector<Ticks> added_;
  Residuals left_;
  std::vector<Ticks> ends_;
  std::vector<Ticks> lanes_;
};

// Which measured times are of which predicted entries.

/// Measured times in the predicted schedule's entries, step by step. Throws InputError where an op is in one of the two only, or on another
/// rank.
[[nodiscard]] std::vector<Times> measured_times(const Wiring& wiring, const Timeline& measured);

/// A measured step in its own order, and where that is not the predicted one. Throws as order_by() does.
[[nodiscard]] MeasuredStep in_order(const Wiring& wiring, const Order& predicted, Times times);

/// Whether a step ran as predicted to the tick, at whatever time it began.
[[nodiscard]] bool is_as_predicted(const Times& predicted, const Times& measured);

}  // namespace pipeloom::study::explain
