#pragma once

// Numbers about a timeline: bubbles, idle time by cause, memory, the lower bound over all orders, the critical path. All are of its first
// step unless noted.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/op.hpp>
#include <pipeloom/simulate.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom {

/// A rank's bytes as a step function: from `time` on, `bytes` are held (static included).
struct MemoryStep {
  Ticks time = 0;
  Bytes bytes = 0;
  friend bool operator==(const MemoryStep&, const MemoryStep&) = default;
};

struct RankMemory {
  /// Most (stage, microbatch) pairs between F and the end of B or W, in queue order.
  std::int32_t peak_live = 0;
  /// Most activation bytes held at once.
  Bytes peak_activation_bytes = 0;
  /// Most bytes of everything held at once, static included.
  Bytes peak_bytes = 0;
  /// Op index of the first entry at whose start peak_bytes is reached.
  std::size_t peak_op = 0;
  /// Most bytes of this rank's activations on the host at once: from the start of O to the end of L.
  Bytes peak_host_bytes = 0;
};

/// The first op, over all ranks in time order, whose start lifts its rank above the limit.
struct OverLimit {
  Rank rank;
  Op op;
  Bytes bytes = 0;
  Bytes limit = 0;
};

enum class IdleCause : unsigned char { Warmup, Cooldown, Imbalance, Transfer, Queueing, Memory };
inline constexpr std::size_t kIdleCauses = 6;
/// "warmup", "cooldown", "imbalance", "transfer", "queueing", "memory".
[[nodiscard]] std::string_view name_of(IdleCause cause);

/// Idle time of one rank, by cause.
struct IdleCauses {
  Ticks warmup = 0;
  Ticks cooldown = 0;
  Ticks imbalance = 0;
  Ticks transfer = 0;
  Ticks queueing = 0;
  Ticks memory = 0;
  [[nodiscard]] Ticks total() const { return warmup + cooldown + imbalance + transfer + queueing + memory; }
  [[nodiscard]] Ticks& of(IdleCause cause);
  [[nodiscard]] Ticks of(IdleCause cause) const;
  friend bool operator==(const IdleCauses&, const IdleCauses&) = default;
};

/// A stretch of idle time with one cause. A gap between two entries may be split into two of these: first the wait
/// for the producer, then the transfer.
struct IdleSpan {
  Ticks start = 0;
  Ticks end = 0;
  IdleCause cause = IdleCause::Imbalance;
  friend bool operator==(const IdleSpan&, const IdleSpan&) = default;
};

struct LowerBound {
  Ticks value = 0;
  /// "rank-work": the busiest rank's work; "rank-head-tail": the earliest possible start, the work and the shortest necessary
  /// remainder of some set of a rank's entries; "microbatch-chain": one microbatch through the whole pipeline. Others: docs/model.md.
  std::string name;
};

struct CriticalPath {
  /// Sum of the durations and transfer delays along the chain: equals the makespan.
  Ticks length = 0;
  /// Op index of the first op of each entry on the chain, in time order.
  std::vector<std::size_t> entries;
};

struct RankMetrics {
  /// Sum of entry durations; a group counts once.
  Ticks busy = 0;
  /// makespan - busy.
  Ticks idle = 0;
  Ticks first_start = 0;
  Ticks last_end = 0;
  RankMemory memory;
  /// Sums exactly to `idle`.
  IdleCauses idle_causes;
  [[nodiscard]] Ticks window() const { return last_end - first_start; }
};

struct Metrics {
  /// Last end - first start over all ranks.
  Ticks makespan = 0;
  /// makespan + optimizer under `barrier`; steady_period under `post-validation`.
  Ticks step_time = 0;
  Ticks steady_period = 0;
  /// max_r of the work that rank must do.
  Ticks ideal_time = 0;
  Ticks max_window = 0;
  LowerBound lower_bound;
  /// sum idle / (p * makespan), in [0, 1). 0 for an empty timeline.
  double bubble_ratio = 0;
  /// sum idle / sum busy.
  double bubble_overhead = 0;
  /// 1 - max busy / max window: the zero-bubble papers' bubble rate when stages are equal.
  double window_bubble_ratio = 0;
  std::size_t num_ops = 0;
  std::size_t num_entries = 0;
  std::vector<RankMetrics> ranks;
  /// The rank with the largest peak_bytes, the lowest such.
  Rank peak_rank;
};

// In the following `terms` are those that the timeline was simulated with; their tables fit its placement.

/// All of Metrics. O(ops), O(ops log ops) where the lower bound needs the dependency graph or messages are received into buffers.
[[nodiscard]] Metrics measure(const Timeline& timeline, const Terms& terms, const Steps& steps = {});

/// Bytes that rank r holds in step `step`, over time: changes at the same instant are merged, releases before allocations. The curve
/// starts at the step's first start with the static bytes.
[[nodiscard]] std::vector<MemoryStep> memory_curve(const Timeline& timeline, const Terms& terms, Rank rank,
                                                   int step = 0);

/// Idle spans of each rank with their causes, [rank], in time order; the lengths sum exactly to its idle time.
[[nodiscard]] std::vector<std::vector<IdleSpan>> idle_spans(const Timeline& timeline, const Terms& terms);

/// The chain of ops and transfers that sets the makespan.
[[nodiscard]] CriticalPath critical_path(const Timeline& timeline, const Terms& terms);
/// [op index]: how much later its entry could start with the makespan unchanged. 0 on the critical path.
[[nodiscard]] std::vector<Ticks> slack(const Timeline& timeline, const Terms& terms);

}  // namespace pipeloom
