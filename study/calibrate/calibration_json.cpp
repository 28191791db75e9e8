#include "study/calibrate/calibration_json.hpp"

#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"
#include "study/calibrate/costs_file.hpp"

namespace pipeloom::study::calibrate {
namespace {

void write_times(io::JsonWriter& out, std::string_view key, const std::vector<Ticks>& times, TimeUnit unit) {
  out.key(key).array();
  for (const Ticks time : times) out.ticks(time, unit);
  out.close();
}

void write_residuals(io::JsonWriter& out, const Calibration& calibration, TimeUnit unit) {
  out.line(2).key("residuals").array();
  if (calibration.replay)
    for (const Residual& one : calibration.replay->residuals) {
      out.line(4).object().member("stage", one.stage);
      out.member("kind", one.kind ? std::string(1, letter_of(*one.kind)) : "group");
      out.member("count", one.measured.count).key("measured").ticks(one.measured.median, unit);
      out.key("time").ticks(one.time, unit).key("median").ticks(one.rest.median, unit);
      out.key("spread").ticks(one.rest.spread, unit).close();
    }
  out.close(2);
}

void write_transfer(io::JsonWriter& out, const cost::TransferSpec& transfer, TimeUnit unit) {
  out.line(2).key("transfer").object().key("latency");
  transfer.link.latency ? out.ticks(*transfer.link.latency, unit) : out.null();
  out.key("rank_time").ticks(transfer.rank_time, unit).key("links").array();
  for (const cost::LinkException& link : transfer.links) {
    out.object().member("from", link.from).member("to", link.to).member("oneway", link.oneway);
    out.key("latency").ticks(*link.link.latency, unit).close();
  }
  out.close().close();
}

void write_unexplained(io::JsonWriter& out, const Calibration& calibration, TimeUnit unit) {
  out.line(2).key("unexplained");
  if (!calibration.replay) {
    out.null();
    return;
  }
  const Replay& replay = *calibration.replay;
  out.object().key("measured").ticks(replay.measured, unit).key("simulated").ticks(replay.simulated, unit);
  out.key("difference").ticks(replay.measured - replay.simulated, unit).line(4).key("causes").array();
  if (replay.explanation)
    for (const explain::Cause& cause : replay.explanation->causes) {
      out.line(6).object().member("kind", name_of(cause.kind)).key("amount").ticks(cause.amount, unit);
      out.member("text", cause.text).close();
    }
  out.close(4).close(2);
}

void write_constant(io::JsonWriter& out, const std::optional<cost::DurationSample>& constant, TimeUnit unit) {
  if (!constant) {
    out.null();
    return;
  }
  out.object().member("count", constant->count).key("median").ticks(constant->median, unit);
  out.key("spread").ticks(constant->spread, unit).close();
}

void write_clocks(io::JsonWriter& out, const ClockFit& clocks, TimeUnit unit) {
  write_times(out.line(2), "clock_offsets", clocks.apart ? clocks.offset : std::vector<Ticks>(), unit);
  out.key("clock_uncertainty").ticks(clocks.uncertain, unit);
}

}  // namespace

std::string calibration_json(const Calibration& calibration, const Timeline& timeline, bool partial) {
  const TimeUnit unit = calibration.measured.unit;
  const Schedule& schedule = *timeline.schedule;
  const auto write = [&](io::JsonWriter& out) {
    out.object().line(2).member("schema_version", 1).line(2).key("schedule");
    calibration.orders.empty() ? out.null() : out.text(calibration.orders.front().name);
    out.key("also").array();
    for (std::size_t i = 1; i < calibration.orders.size(); ++i) out.text(calibration.orders[i].name);
    out.close().line(2).member("ranks", schedule.ranks()).member("stages", schedule.stages());
    out.member("microbatches", schedule.microbatches()).line(2).member("time_unit", name_of(unit));
    out.line(2).member("steps", timeline.steps).member("partial", partial);
    write_times(out, "step_times", calibration.measured.waits.step_times, unit);
    write_residuals(out, calibration, unit);
    write_transfer(out, calibration.costs.transfer, unit);
    out.line(2).key("entry").ticks(calibration.costs.entry, unit);
    out.key("constant");
    write_constant(out, calibration.constant, unit);
    out.member("noise_sigma", calibration.measured.single.sigma);
    out.member("exceptions", calibration.measured.single.rows.size());
    write_clocks(out, calibration.measured.waits.clocks, unit);
    write_unexplained(out, calibration, unit);
    out.line(2).member("warnings", calibration.warnings).close(0);
  };
  return io::written_json(io::kReportStyle, write) + "\n";
}

}  // namespace pipeloom::study::calibrate
