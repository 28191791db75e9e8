#pragma once

// What a run may cost, and what it would: asked before anything is allocated.

#include <string>

#include <pipeloom/run.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/io/config/config.hpp"

namespace pipeloom::study {

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
