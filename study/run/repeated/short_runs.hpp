#pragma once

// Two short runs of a configuration, and what they have in common with runs of more microbatches.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <pipeloom/metrics.hpp>
#include <pipeloom/run.hpp>
#include "sim/base/tick_sum.hpp"
#include "sim/engine/repetition.hpp"
#include "sim/io/config/config.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/make_schedule.hpp"
#include "study/run/messages.hpp"
#include "study/run/repeated/repeated_messages.hpp"

namespace pipeloom::study {

/// The cuts of the shorter run at which its state repeats.
struct RepeatedCuts {
  RepeatingQueues queues;
  Repetition repetition;
  std::size_t last = 0;  ///< the cut at which longer runs have their further repetitions

  [[nodiscard]] bool is_before(const Schedule& schedule, std::size_t op, std::size_t cut) const {
    const Rank rank = schedule.home_of(schedule.ops()[op]);
    return op - schedule.queue_begin(rank) < queues.cut(rank, cut);
  }
  /// Ops of a repetition in the rank's queue.
  [[nodiscard]] std::size_t repetition_ops(Rank rank) const {
    return repetition.blocks * queues.block_ops(rank);
  }
};

/// The run with one repetition more.
struct LongerRun {
  std::shared_ptr<const Schedule> schedule;
  Costs costs;
  Timeline timeline;
  std::optional<Metrics> metrics;  ///< unless Limits::with_metrics is false
  std::optional<OverLimit> over_limit;
  std::optional<MessageRun> messages;  ///< under another transfer model than latency
};

/// A run, and the same with one repetition more. Every number of a run with n repetitions more is that of the shorter one and n times what one adds.
class ShortRuns {
 public:
  /// A run is worth shortening where it has this multiple of the microbatches of both short ones.
  static constexpr int kWorthwhile = 4;

  /// Nullopt where queues do not repeat a block, where the run does not within the microbatches that are worth it, and where a number may not grow by
  /// the same with every repetition. Throws as evaluate() does. `worthwhile` >= 1: the configuration has this multiple of the microbatches of both runs.
  [[nodiscard]] static std::optional<ShortRuns> find(const io::Config& config, const Limits& limits,
                                                     Depth depth, int worthwhile = kWorthwhile);

  /// Ops of the first two runs that find() makes; nullopt if it makes none.
  [[nodiscard]] static std::optional<double> first_ops(const io::Config& config, const Limits& limits,
                                                       Depth depth);

  /// Repetitions that the configuration with this number of microbatches has more than shorter(); nullopt if its run is not one with more repetitions.
  [[nodiscard]] std::optional<std::int64_t> times(int microbatches) const;

  // Of the run with `times` repetitions more, which times() says.

  /// Throws as evaluate() does where bytes or times cannot be added up.
  void require_fits(std::int64_t times) const;
  /// All of them but lower_bound, which is there if the depth is Depth::All. Throws InputError for times above kMaxTicks. REQUIRES: longer() has metrics.
  void extend_metrics(std::int64_t times, Metrics& metrics) const;
  /// The costs of messages in a run of this makespan; null under the transfer model latency.
  [[nodiscard]] std::shared_ptr<const MessageSummary> messages(std::int64_t times, Ticks makespan) const;
  /// True if each rank is fullest at an op of the same number in all these runs. REQUIRES: longer() has metrics.
  [[nodiscard]] bool peaks_early() const;
  /// The first op above its rank's limit; nullopt if none is.
  [[nodiscard]] std::optional<OverLimit> over_limit(std::int64_t times) const;

  [[nodiscard]] const Run& shorter() const { return shorter_; }
  [[nodiscard]] const LongerRun& longer() const { return longer_; }
  [[nodiscard]] const RepeatedCuts& cuts() const { return cuts_; }
  /// Microbatches of a repetition, as schedules count them: those of all updates.
  [[nodiscard]] int repeated_microbatches() const {
    return static_cast<int>(cuts_.repetition.blocks) * cuts_.queues.period();
  }
  /// Microbatches of the run with `times` repetitions more.
  [[nodiscard]] int microbatches(std::int64_t times) const {
    return static_cast<int>(shorter_.schedule->microbatches() + times * repeated_microbatches());
  }
  /// The shorter run, for the caller to extend.
  [[nodiscard]] Run take_shorter() && { return std::move(shorter_); }
  /// Ops whose schedules both runs hold.
  [[nodiscard]] std::size_t held_ops() const {
    return shorter_.schedule->num_ops() + longer_.schedule->num_ops();
  }
  /// Lets go of the times of ops, which totals do not need.
  void drop_times();

 private:
  class Search;
  /// Bounds of the work of all ops.
  struct Sums {
    TickSum easy;
    TickSum exact;
  };
  ShortRuns(Run shorter, LongerRun longer, RepeatedCuts cuts, SchedulePlan plan, int period,
            io::Config config);

  [[nodiscard]] bool take_messages();
  [[nodiscard]] bool take_facts(const Limits& limits, Depth depth);
  [[nodiscard]] bool grow_alike() const;

  Run shorter_;
  LongerRun longer_;
  RepeatedCuts cuts_;
  std::optional<MessagesOfTwo> messages_;
  SchedulePlan plan_;  // of the shorter run; its options are those in force
  int period_;         // of the generator, in microbatches of the configuration
  io::Config config_;
  Sums shorter_sums_;
  Sums longer_sums_;
};

}  // namespace pipeloom::study
