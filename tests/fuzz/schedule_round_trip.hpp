#pragma once

// What must hold for every schedule that some reader accepts, and for every refusal.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/run/build_run.hpp"
#include "sim/analysis/validate.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/run/evaluate.hpp"
#include "tests/fuzz/pages.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/fuzz/window.hpp"

namespace pipeloom::fuzz {

inline std::string json_of(const Schedule& schedule) {
  std::ostringstream out;
  io::write_schedule_json(out, schedule);
  return out.str();
}

/// A valid schedule runs to its end, its JSON form reads back as the same orders, and everything else can be made of it.
inline void check_valid(const std::shared_ptr<const Schedule>& schedule) {
  Run run = study::evaluate_schedule(schedule, "fuzz", {});
  require(run.metrics->makespan >= run.metrics->ideal_time);
  const std::string json = json_of(*schedule);
  require(json_of(io::read_schedule_json(io::Document::parse(json, "again").root())) == json);
  if (schedule->num_ops() > kMostOps) return;
  check_lowering(*schedule);
  check_formats(run);
  check_window(gui::build_run(std::move(run), "fuzz", RunSource::ScheduleFile, ""));
}

/// Of one that hangs, the part that ran.
inline void check_hanging(const std::shared_ptr<const Schedule>& schedule) {
  const Costs costs = default_costs(schedule->placement());
  check_window(gui::build_hanging_run(schedule, costs, "fuzz", RunSource::ScheduleFile, ""));
}

/// Calls a reader that returns a Schedule.
template <class Read>
void check_reader(const Read& read) {
  try {
    const auto schedule = std::make_shared<const Schedule>(read());
    // The one-line text may leave almost everything out, and validate() lists every missing op: that is slow, not wrong.
    if (static_cast<double>(schedule->stages()) * schedule->microbatches() * schedule->slices() > 1 << 12)
      return;
    check_pages(*schedule);
    const auto diagnostics = validate(*schedule);
    if (diagnostics.empty()) check_valid(schedule);
    if (only_hangs(diagnostics) && schedule->num_ops() <= kMostOps) check_hanging(schedule);
  } catch (const InternalError&) {
    throw;  // a bug, whatever the input
  } catch (const Error& error) {
    require_one_line(error.line());
  }
}

}  // namespace pipeloom::fuzz
