#pragma once

// What a run may cost, and what it would: asked before anything is allocated.

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "sim/io/config/config.hpp"
#include "sim/schedule.hpp"

namespace pipeloom::study {

/// What a run may cost.
struct Limits {
  /// Bytes; no value takes three quarters of the machine's memory.
  std::optional<double> max_memory;
  /// The critical path is left out of runs with more entries than this.
  std::size_t critical_path_entries = std::size_t{1} << 22;
  /// The lower bound is left out (its name is then "") of runs with more entries than this.
  std::size_t bound_entries = std::numeric_limits<std::size_t>::max();
  /// Told now and then how far the search for an order is, 0 to 1; false ends it with schedules::Stopped. May be empty.
  std::function<bool(double)> progress = {};
  /// Asked between the passes of an evaluation (making, simulating, measuring, the bound, the critical path): true ends it with
  /// schedules::Stopped. May be empty.
  std::function<bool()> stop = {};
  /// False leaves `metrics` and `critical_path` empty: for whoever wants the timeline only.
  bool with_metrics = true;
  /// False simulates the first step only, which metrics are of: for whoever shows no times of the others.
  bool with_all_steps = true;
  /// What the caller holds besides, for every op of every step.
  double bytes_per_time = 0;
  /// What it writes for each, about: more than io::kMaxTimelineBytes of it is refused, as no reader takes more.
  double text_per_time = 0;
};

/// Three quarters of physical memory, in bytes.
[[nodiscard]] double default_max_memory();

/// What an evaluation goes through: the queues alone; an order of all entries too, where groups and copies tie microbatches together; or a
/// program of sends and receives.
enum class Walk : unsigned char { Queues, Order, Messages };
[[nodiscard]] Walk walk_of(const io::Config& config, bool has_groups_or_copies);

/// How large a run is, before anything is allocated.
struct RunSize {
  double ops = 0;
  double stages = 0;
  int steps = 1;
  Walk walk = Walk::Queues;
};
/// How many of the configured steps are simulated: all where messages block or queue, since the next step's may meet this one's.
[[nodiscard]] int simulated_steps(const io::Config& config, const Limits& limits);
/// The size of that many steps of a schedule.
[[nodiscard]] RunSize size_of(const Schedule& schedule, const io::Config& config, const Limits& limits);

/// Whether a run of this size needs no more memory than the limits allow, and fills no file larger than any that is read.
[[nodiscard]] bool fits(const RunSize& size, const Limits& limits);
/// Throws InputError if a text of about `bytes_per_time` for every op of every step would be longer than anybody reads, with its size.
void check_text(const RunSize& size, double bytes_per_time, const std::string& what);
/// Throws InputError with what it would take and what is allowed if it does not fit. `what` is the run's name.
void check_size(const RunSize& size, const Limits& limits, const std::string& what);

}  // namespace pipeloom::study
