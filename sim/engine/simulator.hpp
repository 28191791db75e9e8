#pragma once

// The engine: device cursors.
//
// Every rank has a cursor in its queue. A rank runs entry after entry until one waits for a tensor that does
// not exist yet; when that tensor's producer ends, the rank goes on. The time of each op is thus found in one
// visit, no event queue is needed (under the `latency` model order never depends on time), and if all cursors
// wait before the end, the schedule hangs and the cursors tell which rank waits for which.
//
//   start(entry) = max(end of the previous entry of its rank, max over its ops of arrival(dependency))
//   arrival      = end of the producer + delay of the hop
//
// Each op waits for one tensor: F(s,k) for F(s-1,k); B or I(s,k) for the gradient of (s+1,k), on the last stage
// for its own F; W(s,k) for its own I. That B also waits for its own F on the other stages follows from the chain.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include <pipeloom/units.hpp>
#include "sim/engine/entry_times.hpp"

namespace pipeloom {

/// Results of one evaluation, other than the timeline; everything indexed [rank] covers one step.
struct Totals {
  Ticks makespan = 0;
  std::vector<Ticks> first_start;
  std::vector<Ticks> last_end;
  std::vector<Ticks> busy;
  std::vector<std::int32_t> peak_live;
  std::vector<Bytes> peak_activation_bytes;
  /// The share of idle time as semantics define it: sum idle / (p * makespan).
  [[nodiscard]] double bubble_ratio() const;
};

/// Evaluates schedules; keeps its buffers between runs, so that a second run allocates nothing.
///
/// REQUIRES (everywhere): the schedule has no structural errors (validate_structure), the tables of `costs` and
/// `memory` have placement().slots() entries. Not thread-safe; use one per thread.
class Simulator {
 public:
  using Outcome = std::variant<Totals, ScheduleHang>;

  Simulator();
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;

  /// Of later evaluations: `stop` is asked now and then, and true ends one with Stopped; schedules of plain ops in one go ask before they run alone.
  /// It must outlive them; null: never.
  void set_stop(const std::function<bool()>* stop);

  /// Totals only: 16 bytes of working memory per (stage, microbatch), no timeline. `ready[r]`, if given, is when rank r may
  /// start its first entry; default 0.
  [[nodiscard]] Outcome evaluate(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
                                 const std::vector<Ticks>& ready = {});

  /// Also writes start[i] and end[i] of op index i. With `entry_times` entries take its times. REQUIRES: both spans have
  /// schedule.num_ops() elements; no time passes kMaxTicks by the times that entry_times adds.
  [[nodiscard]] Outcome evaluate(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
                                 std::span<Ticks> start, std::span<Ticks> end,
                                 const std::vector<Ticks>& ready = {}, const EntryTimes& entry_times = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A cheap bound: true if no time of one step can pass kMaxTicks. If it is false, times may still fit; Simulator looks closer then.
[[nodiscard]] bool times_fit_easily(const Schedule& schedule, const Costs& costs);

/// A schedule with its times for `steps.count` steps. Throws ScheduleError describing the wait cycle if it hangs,
/// InputError if a time would pass kMaxTicks, and Stopped where `stop` says so (Simulator::set_stop).
[[nodiscard]] Timeline simulate(std::shared_ptr<const Schedule> schedule, const Costs& costs,
                                const Steps& steps = {}, const std::function<bool()>& stop = {});

/// Time per step of the endlessly repeated schedule, optimizer included, for `steps.rule`.
///
/// Barrier: makespan + optimizer. PostValidation: the vector of the ranks' ready times evolves max-plus linearly, so its
/// growth per step is the largest cycle mean of one step's transition; found exactly by repeating the step until the vector
/// repeats up to a constant, else by Karp's algorithm (Karp 1978) on the p x p transition matrix. Rounded to the nearest tick.
[[nodiscard]] Ticks steady_period(const Schedule& schedule, const Costs& costs, const Steps& steps);

/// One step under PostValidation: from when each rank may start it to when each may start the next one.
using StepFunction = std::function<std::vector<Ticks>(const std::vector<Ticks>& ready)>;
/// The same of a step that the caller evaluates. REQUIRES: a step of a schedule: `step` is max-plus linear; ranks >= 1.
[[nodiscard]] Ticks post_validation_period(std::size_t ranks, const StepFunction& step);

// The little max-plus algebra that repeated steps need.

/// A square matrix over (max, +); entries are absent (minus infinity) until set.
class MaxPlusMatrix {
 public:
  static constexpr Ticks kAbsent = -kMaxTicks;

  explicit MaxPlusMatrix(std::size_t size) : size_(size), entries_(size * size, kAbsent) {}
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Weight of the edge column -> row.
  [[nodiscard]] Ticks at(std::size_t row, std::size_t column) const { return entries_[row * size_ + column]; }
  void set(std::size_t row, std::size_t column, Ticks value) { entries_[row * size_ + column] = value; }

 private:
  std::size_t size_;
  std::vector<Ticks> entries_;
};

/// The largest mean weight of a cycle, rounded to the nearest tick: the growth per step of x <- matrix (x) x from any
/// finite start. Karp, A characterization of the minimum cycle mean in a digraph, 1978. O(size^3) time, O(size^2) memory. 0
/// without a cycle.
[[nodiscard]] Ticks max_cycle_mean(const MaxPlusMatrix& matrix);

}  // namespace pipeloom
