#pragma once

// What is planted in a schedule, and what steps become of it.

#include <cstddef>
#include <memory>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "support/planted.hpp"
#include "support/planted/steps.hpp"

namespace pipeloom::test {

[[nodiscard]] bool meets(const Planted& cause, Rank rank, Op op);
[[nodiscard]] bool is_of_ops(study::explain::CauseKind kind);

struct Plot {
  Random random;
  PlantedWorld world;
  std::shared_ptr<const Schedule> schedule = {};
  std::shared_ptr<const Costs> costs = {};
  Net net = {};
  Ticks forward = 0;
  std::vector<Planted> causes = {};
  std::vector<double> cell_shift = {};  // [op]

  [[nodiscard]] Conditions plain() const {
    return {std::vector<double>(schedule->num_ops(), 1),
            std::vector<Ticks>(net.entries.size(), 0),
            std::vector<Ticks>(net.entries.size(), 0),
            net.latency,
            net.queues,
            0};
  }
  /// bit i: cause i; the bit behind the last: costs that are wrong.
  [[nodiscard]] Conditions with(unsigned set) const;
  void add(Conditions& to, const Planted& cause) const;
  /// Causes, and costs that are wrong.
  [[nodiscard]] std::size_t players() const { return causes.size() + (cell_shift.empty() ? 0 : 1); }
  [[nodiscard]] Ticks length(unsigned set) const { return play(net, *costs, with(set))->length; }
  Planted invent();
  Planted invent_of_ops(std::size_t which, Rank rank, double factor);
  Planted invent_link(Rank rank, Ticks added);
  Planted invent_order(Rank rank);
  Planted invent_hiccup(Rank rank, Ticks lost);
  /// Launches and collections of one step.
  void pause(Conditions& to);
  /// The same before every entry, as long as they are in the mean.
  void pause_evenly(Conditions& to) const;
  /// Latencies of one step, whatever causes add.
  void draw_latencies(Conditions& to);
  void measure_truth();
  void measure_spreads(PlantedRun& run);
  /// [op]: log of what the predicted costs of its cell are wrong by.
  std::vector<double> draw_shifts();
  /// What such costs make of the causes' log factors for whoever knows their ops and sees both together: least squares.
  [[nodiscard]] std::vector<double> seen_in(const std::vector<double>& log_shifts) const;
  /// Whether two causes are one: "rank 2" and "stage 2" where it holds that stage alone.
  [[nodiscard]] bool of_same_ops(const Planted& a, const Planted& b) const;
};

}  // namespace pipeloom::test
