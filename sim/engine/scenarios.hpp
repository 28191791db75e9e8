#pragma once

// The same order many times, with durations that vary: how long steps take, and which ops decide it.
//
// A scenario is one pass over a fixed order (sim/engine/fixed_order.hpp), kLanes of them side by side; each entry's duration is drawn anew.
// Scenario i of a seed is the same whatever the count, on every machine: draws are integers and one multiplication.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/engine/entry_times.hpp"
#include "sim/engine/fixed_order.hpp"

namespace pipeloom {

/// Results of many scenarios.
struct ScenarioTimes {
  std::vector<Ticks> makespan;  ///< [scenario]
  std::vector<double> bubble;   ///< idle / (ranks * makespan), [scenario]
  /// Time on the critical path, summed over all scenarios, of ops by kind and slot, [kind][slot]. A group's is shared by its parts as they
  /// take when they run alone.
  std::vector<std::vector<double>> on_path;
  /// The same for messages from rank to rank, [from * ranks + to].
  std::vector<double> link_on_path;
};

/// Times of no scenario, with room for sums.
[[nodiscard]] ScenarioTimes no_times_yet(const Schedule& schedule);

/// Adds `time` of the entry that begins at op index `first` to out.on_path, shared by its parts.
void add_on_path(const Schedule& schedule, const Costs& costs, std::size_t first, double time,
                 ScenarioTimes& out);

/// Adds the makespan of one scenario and its bubble; `busy` is the work of all ranks.
void add_step(Ticks makespan, double busy, int ranks, ScenarioTimes& out);

/// One scenario on an engine that runs it whole: entries take the times of `entry_times`, and those of `costs` where it is empty. Adds step and
/// path to `out`.
using RunScenario =
    std::function<void(const Costs& costs, const EntryTimes& entry_times, ScenarioTimes& out)>;

/// Scenarios 0 .. count - 1 of `seed` one after another on such an engine, some tens of times slower than Scenarios: drawn as that does or, where it
/// does not support the schedule, as OpDraws (sim/engine/op_draws.hpp). Throws as these do. REQUIRES: as Scenarios, but supports(); 0 <= count.
[[nodiscard]] ScenarioTimes run_each(const Schedule& schedule, const Costs& costs, const Noise& noise,
                                     int count, std::uint64_t seed, const RunScenario& run);

/// Draws of one scenario, for engines of their own.
struct DrawnTimes {
  std::vector<Ticks> duration;  ///< without pauses, [first op index of the entry]
  std::vector<Ticks> pause;     ///< when each rank's first one begins, [rank]; kMaxTicks: none
};

class Scenarios {
 public:
  static constexpr std::size_t kLanes = 8;

  /// No recomputation, copies or slices, no Sequential overlap: those have sim/analysis/simulated_scenarios.hpp.
  [[nodiscard]] static bool supports(const Schedule& schedule, const Costs& costs);

  /// `costs` are bound to the schedule (sim/cost/bind.hpp); all three must outlive it. Throws as FixedOrder does. REQUIRES: supports(); Hiccup: 0 <= time <
  /// period; Empirical: factors.
  Scenarios(const Schedule& schedule, const Costs& costs, const Noise& noise);

  /// O(records * count). Throws InputError where a step may take more than kMaxTicks, and where pauses are so frequent that they would take minutes.
  /// REQUIRES: count >= 0.
  [[nodiscard]] ScenarioTimes run(int count, std::uint64_t seed) const;

  /// Writes the draws of run() for scenario `scenario` of `seed`. `out` keeps its memory between calls.
  void draw(std::uint64_t seed, int scenario, DrawnTimes& out) const;
  /// Throws as run() does before it begins.
  void require_fit(int count) const;

 private:
  struct Record {
    std::uint32_t previous = 0;
    std::uint32_t producer = 0;
    std::uint32_t row = 0;
    std::uint32_t rank = 0;
    Ticks delay = 0;
    double duration = 0;  // without noise; 0 where another record of the group has it
    Ticks before = 0;     // rank time of the messages that the entry receives, which does not vary
    Ticks lane = 0;       // of all its messages
  };
  struct Batch;

  template <bool kHiccups>
  void evaluate(Batch& batch) const;
  void finish(const Batch& batch, std::size_t lane, ScenarioTimes& out, std::vector<double>& rows) const;
  void walk_path(const Batch& batch, std::size_t lane, std::size_t position, ScenarioTimes& out,
                 std::vector<double>& rows) const;

  const Schedule& schedule_;
  const Costs& costs_;
  const Noise& noise_;
  FixedOrder order_;
  std::vector<Record> records_;
  std::vector<std::size_t> first_op_of_row_;  // of an entry whose duration it gives
  std::vector<Ticks> after_;                  // of the last entry of each rank, [rank]
  std::vector<double> factors_;               // as likely each: a power of two of them
};

}  // namespace pipeloom
