#pragma once

// A run as the window shows it: made once, off the frame thread, then only read. Sharing one between threads is safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/model/detail/message_bar.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/costs.hpp"
#include "sim/deadlock.hpp"
#include "sim/memory.hpp"
#include "sim/messages/program_engine.hpp"
#include "sim/timeline.hpp"
#include "study/report/run_numbers.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::gui {

class LaneIndex;
class MessageLanes;

/// Where a run's times come from.
enum class RunSource : std::uint8_t {
  Configuration,  ///< simulated: a configuration made the schedule
  ScheduleFile,   ///< simulated: a file holds the queues
  TimelineFile,   ///< measured, or written by an earlier simulation: the file holds the times
};

/// Why a run did not get to its end. The timeline then holds what did run.
struct Hang {
  /// One line per rank that stands still, the cycle first: "rank 2 stands at 2B0 and waits for 3B0 of rank 3, which".
  std::vector<std::string> lines;
  /// What would let it run: "on rank 1, move 1F3 from position 7 to 5, in front of 1B1"; may be empty.
  std::vector<std::string> remedies;
  /// An arrow from a rank that waits to the rank it waits for; those of the cycle come first.
  struct Wait {
    Rank rank;
    Op stands_at;
    Op waits_for;
    Rank on;
    bool in_cycle = false;
  };
  std::vector<Wait> waits;
};

struct RunModel {
  /// Different for every RunModel of a process: what caches compare.
  std::uint64_t id = 0;
  /// "1f1b p=4 m=8", or the file's name.
  std::string title;
  RunSource source = RunSource::Configuration;
  /// The file it was read from, "" if none.
  std::string file;

  std::shared_ptr<const Schedule> schedule;
  Timeline timeline;
  /// Of simulated runs. Null for measured ones.
  std::optional<Costs> costs;
  std::optional<MemoryModel> memory;
  std::optional<Metrics> metrics;
  std::optional<OverLimit> over_limit;
  /// Of simulated runs: with every default spelt out.
  std::optional<io::EffectiveConfig> effective;
  std::optional<study::MessageSummary> messages;
  /// Messages of the first step in order of start; empty where they take no time, or where there are more than
  /// kMaxMessageBars.
  std::vector<MessageBar> message_bars;
  std::vector<std::string> warnings;

  /// Gaps of the first step, [rank], in time order. Measured runs have them too; all their gaps are the phase's.
  std::vector<std::vector<IdleSpan>> idle;
  /// Op indices of the critical path, in time order; empty if unknown or too large to find.
  std::vector<std::size_t> critical;
  std::optional<Hang> hang;
  /// Of a run that hangs: the schedule as it was given, of which `schedule` is the part that ran. Null otherwise.
  std::shared_ptr<const Schedule> whole;
  /// Text pages on what is wrong, as `pipeloom validate` writes them: the steps around the standstill, PyTorch's verdict. May be "".
  std::string explanation;

  /// What of each row is visible at a scale (level of detail).
  std::shared_ptr<const LaneIndex> lanes;
  /// The same for message_bars; null where there are none.
  std::shared_ptr<const MessageLanes> message_lanes;

  [[nodiscard]] Span span() const { return span_; }
  [[nodiscard]] int ranks() const { return schedule->ranks(); }
  Span span_;
};

inline constexpr std::size_t kMaxMessageBars = std::size_t{1} << 20;

/// What metrics are read from; a view.
[[nodiscard]] study::RunNumbers numbers_of(const RunModel& run);

using RunPtr = std::shared_ptr<const RunModel>;

}  // namespace pipeloom::gui
