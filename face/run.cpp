#include <sstream>

#include <pipeloom/link.hpp>
#include <pipeloom/run.hpp>
#include "sim/cost/bind.hpp"
#include "sim/draw/palette.hpp"
#include "sim/draw/scene.hpp"
#include "sim/io/formats/formats.hpp"
#include "study/compare/compare.hpp"
#include "study/report/report.hpp"
#include "study/run/input.hpp"
#include "study/run/run_link.hpp"

namespace pipeloom {
namespace {

draw::SceneOptions scene_options(const Picture& picture) {
  draw::SceneOptions options;
  options.title = picture.title;
  options.width = picture.width;
  options.height = picture.height;
  options.show_memory = picture.memory;
  options.show_idle_causes = picture.idle_causes;
  options.show_critical_path = picture.critical_path;
  options.theme = picture.dark ? draw::Theme::Dark : draw::Theme::Light;
  return options;
}

const io::Format& writable(std::string_view name) {
  const io::Format& format = io::find_format(name);
  if (!format.write) throw InputError("format " + format.name + " can be read, not written");
  return format;
}

void require_costs(const Picture& picture, bool has_costs) {
  if ((picture.idle_causes || picture.critical_path) && !has_costs)
    throw InputError(
        "causes of idle time and the critical path take a simulated run, and this one has times only");
}

/// Remarks of compare() on `run` against `baseline`.
std::vector<std::string> remarks_on(const Run& run, const Run& baseline, std::size_t index) {
  const auto name = [](const Run& r, std::size_t i) {
    return r.title.empty() ? "run " + std::to_string(i) : r.title;
  };
  const study::OpComparison ops = study::compare_ops(baseline.timeline, run.timeline, 0, 0);
  const std::string a = name(baseline, 0);
  const std::string b = name(run, index);
  return study::remarks(baseline, run, ops, {a, b});
}

}  // namespace

Run run(const Request& request, const Limits& limits) {
  return study::load_run(request, limits, TimeUnit::Unit);
}

std::string report_json(const Run& run) {
  if (!run.simulated() || !run.metrics)
    throw InputError("a report takes a simulated run with its metrics; this one has times only");
  std::ostringstream out;
  study::write_report(out, run);
  return std::move(out).str();
}

std::string link_of(const Run& run, const Run* compare, std::string_view base) {
  return study::address_of(run, compare, base);
}

std::string kind_colour(OpKind kind, bool dark) {
  return draw::to_hex(draw::kind_colour(dark ? draw::Theme::Dark : draw::Theme::Light, kind));
}

void write(const Run& run, std::string_view format, std::ostream& out, const Picture& picture) {
  const io::Format& writer = writable(format);
  require_costs(picture, run.costs != nullptr);
  if (writer.needs_metrics && !run.metrics)
    throw InputError(writer.name + " takes a simulated run with its metrics, and this one has times only");
  draw::SceneOptions options = scene_options(picture);
  const MemoryModel counted = default_memory(run.schedule->placement());
  if (run.program_run && run.critical_path) {
    options.idle = &run.idle;
    options.critical = &run.critical_path->entries;
  }
  io::Exported exported;
  exported.schedule = run.schedule.get();
  exported.timeline = &run.timeline;
  exported.costs = run.costs.get();
  exported.memory = run.memory ? run.memory.get() : &counted;
  exported.report = [&run](std::ostream& to) { study::write_report(to, run, {true, true}); };
  exported.picture = &options;
  writer.write(out, exported);
}

void write(const Timeline& timeline, const Terms& terms, std::string_view format, std::ostream& out,
           const Picture& picture) {
  const io::Format& writer = writable(format);
  if (writer.needs_metrics)
    throw InputError(writer.name + " takes a run of a configuration: make it with run()");
  const draw::SceneOptions options = scene_options(picture);
  Costs costs = terms.costs;
  cost::bind_costs(costs, terms.ops, *timeline.schedule);
  io::Exported exported;
  exported.schedule = timeline.schedule.get();
  exported.timeline = &timeline;
  exported.costs = &costs;
  exported.memory = &terms.memory;
  exported.picture = &options;
  writer.write(out, exported);
}

Comparison compare(std::span<const Run* const> runs) {
  Comparison out;
  for (study::MetricRow& row : study::compare_all_metrics(runs)) {
    const int better = row.better == study::Better::Lower ? -1 : row.better == study::Better::Higher ? 1 : 0;
    out.metrics.push_back(
        {std::string(row.name), std::string(study::name_of(row.unit)), better, std::move(row.values)});
  }
  for (std::size_t i = 1; i < runs.size(); ++i) out.remarks.push_back(remarks_on(*runs[i], *runs[0], i));
  return out;
}

}  // namespace pipeloom
