#pragma once

// Measured steps whose causes are known: a schedule's predicted times, a few causes planted in it, and noise. Times come from a small
// simulator of its own, so that the explainer's model is not its own judge; what can be said with Costs is checked against simulate().

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "study/explain/explain.hpp"

namespace pipeloom::test {

struct Planted {
  study::explain::CauseKind kind = study::explain::CauseKind::Rank;
  std::optional<Rank> rank = {};
  std::optional<Stage> stage = {};
  std::optional<Microbatch> microbatch = {};
  std::optional<OpKind> op_kind = {};
  std::optional<Rank> from = {};
  std::optional<Rank> to = {};
  double factor = 1;
  Ticks added = 0;
  std::vector<std::size_t> entries = {};  ///< of a hiccup; of an order the two that change places
  double truth = 0;                       ///< Shapley's value among the planted causes, ticks
  double sd = 0;                          ///< of that value, under the planted noise
  std::string text = {};
};

struct PlantedWorld {
  double sigma = 0;        ///< of each op's log
  double jitter = 0;       ///< of each message's log latency
  double wrong_costs = 0;  ///< of each cell's log
  double clocks = 0;       ///< largest offset of a rank, in forwards
  int causes = -1;         ///< -1: one to three
  double size = 1;         ///< of causes, against the usual ones
  int steps = 1;
  Ticks launch = 0;           ///< mean time that a rank launches an op for; uniform from 0
  bool heavy = false;         ///< its log is normal with sigma 1 instead
  bool launch_hides = false;  ///< it passes while the rank waits for messages, or comes after they are there
  Ticks least_latency = 0;    ///< messages take from here, uniformly, whatever causes add ..
  Ticks most_latency = 0;     ///< .. up to here; the mean is predicted. 0: a twentieth of a forward
  double last_stage = 1;      ///< times as long as others, as predicted
  double collections =
      0;  ///< chance that a garbage collector stops a rank before an entry, for 0.2 to 1 forward
  Ticks early_end = 0;  ///< what is recorded of an op ends earlier, by up to this
};

struct PlantedRun {
  std::string shape;
  study::explain::Predicted predicted;
  Timeline measured;
  std::vector<Planted> causes;
  double step_sd = 0;  ///< of the step under the planted noise
  Ticks even_step =
      0;  ///< without noise, launches and collections before each entry as long as they are in the mean
  Ticks forward = 0;
  bool launches = false;    ///< ranks are idle between ops
  std::vector<Ticks> lost;  ///< [op] over the steps: what launches and collections took before it
};

/// The same seed gives the same run on every machine but for the last bits of logarithms.
[[nodiscard]] PlantedRun plant(std::uint64_t seed, const PlantedWorld& world);

/// The timeline as its file would be read: queues are in the order that ran, which a planted order is not.
[[nodiscard]] Timeline as_read(const Timeline& measured);

/// A cause that should be and is named.
struct JudgedAmount {
  study::explain::CauseKind kind = study::explain::CauseKind::Rank;
  double truth = 0;      ///< ticks
  double amount = 0;     ///< found
  double sd = 0;         ///< the planted cause's
  double stated_sd = 0;  ///< that the explanation has beside the amount
};

struct Verdict {
  bool right =
      true;  ///< named what was planted, larger first, and nothing else; other names that fit as well count
  bool false_name = false;  ///< something was named that was not planted
  bool invented =
      false;  ///< something was named where nothing was planted: none of its ops, messages or pauses
  std::vector<JudgedAmount> amounts = {};
  int within_tenth = 0;  ///< of the amounts: within 10 % of the truth
  int within = 0;        ///< or within 2 sd
  std::string why = {};  ///< what was wrong
};
[[nodiscard]] Verdict judge(const PlantedRun& run, const study::explain::Explanation& found);

/// "planted ...; named ...", for people.
[[nodiscard]] std::string told(const PlantedRun& run, const study::explain::Explanation& found);

}  // namespace pipeloom::test
