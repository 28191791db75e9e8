#pragma once

// A workload: a configuration without its schedule. Configurations of other schedules are made from it.

#include <optional>
#include <string>

#include "sim/io/config/config.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {

/// A configuration, and on how many stages of a rank (and replica) its numbers are.
struct Workload {
  io::Config config;  ///< ranks and microbatches are there where a schedule file says them
  int chunks = 1;
};

/// The workload of a configuration. A schedule file is read, and its placement asked; a configuration without a schedule has the stages that
/// "chunks" says. Throws InputError for unknown names, and as make_schedule() for a file.
[[nodiscard]] Workload workload_of(io::Config config, const Limits& limits = {});
/// The same where the schedule has been made.
[[nodiscard]] Workload workload_of(io::Config config, const Schedule& schedule);

/// The workload under another schedule: options that it does not take are dropped. Chunks are those given here, else the workload's where the
/// schedule takes them, else its default. Every schedule runs the same model: costs and sizes of stages of which a rank has v0 become costs
/// and sizes of a rank, v0 times as large, which the schedule divides by its own v; what a named model takes follows from the stages, and
/// where costs.layers is given, costs are dealt out by it. Tables per stage stay as they are, and are refused where they do not fit. `custom`
/// takes its shape from its file. Throws InputError for a name that no schedule has. The schedule that is there already changes
/// nothing.
[[nodiscard]] io::Config with_schedule(const Workload& from, const std::string& schedule,
                                       std::optional<int> chunks = std::nullopt);

/// Stages of a rank under a schedule of the registry. REQUIRES: it is no file. Throws InputError for a name that no schedule has.
[[nodiscard]] int chunks_of(const io::Config& config);

}  // namespace pipeloom::study
