#pragma once

// From a configuration to the schedule that it names.

#include <memory>
#include <string>

#include <pipeloom/costs.hpp>
#include <pipeloom/run.hpp>
#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/config/effective_config.hpp"

namespace pipeloom::study {

/// The generator of a configuration's schedule, and its inputs.
struct SchedulePlan {
  schedules::Found found;  ///< no generator: the schedule is a file
  Params params;
  /// Times and bytes of its ops, for a schedule whose order depends on them; else null.
  std::shared_ptr<const Terms> terms;
};
/// The same whatever its size, and without terms. Throws InputError for unknown names and options that the schedule does not know.
[[nodiscard]] SchedulePlan name_schedule(const io::Config& config);
/// Throws InputError as make_schedule() does, but not for parameters that the schedule itself refuses; nothing is generated or read.
[[nodiscard]] SchedulePlan plan_schedule(const io::Config& config, const Limits& limits);
/// The schedule of plan_schedule(config). Throws as make_schedule().
[[nodiscard]] std::shared_ptr<const Schedule> make_planned(const SchedulePlan& plan, const io::Config& config,
                                                           const Limits& limits,
                                                           schedules::Emission& emission);

/// Writes the canonical name, the chunks and options that hold, and where they came from. REQUIRES: plan.found has a generator.
void describe_plan(const SchedulePlan& plan, const io::Config& config, io::EffectiveConfig& effective);

/// The schedule that a configuration names, checked for size before anything is allocated. `effective` receives the
/// canonical name, the chunks and options that hold, where they came from, and warnings. Throws InputError for unknown names and runs
/// that are too large (both figures named), ScheduleError for parameters that the schedule refuses.
[[nodiscard]] std::shared_ptr<const Schedule> make_schedule(const io::Config& config, const Limits& limits,
                                                            io::EffectiveConfig& effective);
/// The same with what its emit() is asked, and says.
[[nodiscard]] std::shared_ptr<const Schedule> make_schedule(const io::Config& config, const Limits& limits,
                                                            io::EffectiveConfig& effective,
                                                            schedules::Emission& emission);

/// The blanks that the framework of the configured schedule draws into `schedule`, which make_schedule() made of it; empty if it draws
/// none, or if options have changed the queues since.
[[nodiscard]] IdleCells drawn_blanks(const io::Config& config, const Schedule& schedule);

/// The generator's parameters that a configuration means, with the defaults of the name that was typed.
[[nodiscard]] Params params_of(const io::Config& config, const schedules::Found& found);
/// Shape and origins of a schedule that a file says.
void describe_file(const Schedule& schedule, const std::string& name, io::EffectiveConfig& effective);
/// The schedule with the ops that options add to any schedule: recomputation first, since a reload is for the first op that needs the activations.
[[nodiscard]] std::shared_ptr<const Schedule> with_extras(std::shared_ptr<const Schedule> schedule,
                                                          const io::Config& config);

// The memory that a run may take and the memory that it needs: checked before anything is allocated.

/// Three quarters of physical memory, in bytes.
[[nodiscard]] double default_max_memory();

/// The walk of an evaluation: the queues alone; also an order of all entries, where groups and copies tie microbatches together; or a
/// program of sends and receives.
enum class Walk : unsigned char { Queues, Order, Messages };
[[nodiscard]] Walk walk_of(const io::Config& config, bool has_groups_or_copies);

/// Size of a run, before anything is allocated.
struct RunSize {
  double ops = 0;
  double stages = 0;
  int steps = 1;
  Walk walk = Walk::Queues;
};
/// How many of the configured steps are simulated: all where messages block or queue, since messages of two steps may meet.
[[nodiscard]] int simulated_steps(const io::Config& config, const Limits& limits);
/// The size of that many steps of a schedule.
[[nodiscard]] RunSize size_of(const Schedule& schedule, const io::Config& config, const Limits& limits);

/// The most that a run of these parameters has. REQUIRES: plan.found has a generator.
[[nodiscard]] RunSize size_of(const SchedulePlan& plan, const io::Config& config, const Limits& limits);

/// True if a run of this size needs no more memory than the limits allow, and its file is no larger than any that the readers take.
[[nodiscard]] bool fits(const RunSize& size, const Limits& limits);
/// Throws InputError, with the size, if a text of about `bytes_per_time` for every op of every step would be longer than any reader takes.
void check_text(const RunSize& size, double bytes_per_time, const std::string& what);
/// Throws InputError, with the memory needed and allowed, if the run does not fit. `what` is the run's name.
void check_size(const RunSize& size, const Limits& limits, const std::string& what);

}  // namespace pipeloom::study
