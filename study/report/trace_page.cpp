#include "study/report/trace_page.hpp"

#include <fmt/format.h>

#include <string_view>

#include "study/text/numbers.hpp"

namespace pipeloom::study {
namespace {

std::string_view name_of(io::TimesOf times) {
  switch (times) {
    case io::TimesOf::Host:
      return "host";
    case io::TimesOf::HostOfDevice:
      return "host beside a device";
    case io::TimesOf::Device:
      break;
  }
  return "device";
}

/// Says if the ranges of a rank include waits.
std::string waits_text(const io::RankVerdict& rank) {
  if (rank.times_of == io::TimesOf::Device) return "ranges without waits";
  if (rank.times_of == io::TimesOf::HostOfDevice)
    return "which does not wait for its device: no times of ops";
  if (rank.num_held > 0)
    return fmt::format("the ranges of {} ops may hold the wait for their message", rank.num_held);
  if (rank.num_waits_off == 0) return "ranges without waits";
  return fmt::format("ranges without waits: {} of {} ops begin when their message was there",
                     rank.num_waits_off, rank.num_ops);
}

std::string clock_text(const io::RankVerdict& rank, const io::TraceRun& run) {
  const TimeUnit unit = run.timeline.unit;
  if (run.has_step_clocks) return "a clock for each step";
  if (rank.ahead == 0) return "clock as it is";
  return fmt::format("clock {} {}, sure to {}", time_text(rank.ahead < 0 ? -rank.ahead : rank.ahead, unit),
                     rank.ahead < 0 ? "behind" : "ahead", time_text(run.clocks_uncertain, unit));
}

}  // namespace

std::string trace_page(const io::TraceRun& run) {
  std::string out;
  const std::string whole = count_text(static_cast<std::size_t>(run.timeline.steps), "whole step");
  for (const io::RankVerdict& rank : run.verdicts)
    out +=
        fmt::format("rank {}: {}{}; {} {}; {}; times of the {}, {}; {}\n", rank.rank,
                    run.is_cut ? std::string("no whole step") : whole,
                    rank.num_left_out == 0 ? std::string() : fmt::format(", {} left out", rank.num_left_out),
                    rank.is_truncated ? "the file breaks off behind" : "ends with", rank.last,
                    clock_text(rank, run), name_of(rank.times_of), waits_text(rank), rank.file);
  return out;
}

void write_trace(io::JsonWriter& out, const io::TraceRun& run) {
  const TimeUnit unit = run.timeline.unit;
  out.key("trace").array();
  for (const io::RankVerdict& rank : run.verdicts) {
    out.line(4).object().member("rank", rank.rank).member("file", rank.file);
    out.member("whole_steps", run.is_cut ? 0 : run.timeline.steps)
        .member("steps_left_out", rank.num_left_out);
    out.member("last_op", rank.last).member("truncated", rank.is_truncated);
    out.key("clock_ahead").ticks(rank.ahead, unit).member("times_of", name_of(rank.times_of));
    out.member("ops", rank.num_ops).member("ops_without_wait", rank.num_waits_off);
    out.member("ops_that_may_wait", rank.num_held).close();
  }
  out.close(2);
}

}  // namespace pipeloom::study
