#include "web/core/core.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include <pipeloom/run.hpp>
#include <pipeloom/schedules.hpp>
#include "sim/io/config/config.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/plan/asked.hpp"
#include "study/plan/shown/plan_shown.hpp"
#include "study/report/report.hpp"
#include "study/report/run_tables.hpp"
#include "study/run/input.hpp"
#include "study/text/at_place.hpp"
#include "study/validate/findings.hpp"
#include "version.hpp"
#include "web/core/options.hpp"

namespace pipeloom::web {
namespace {

Request request_of(const Asked& asked) {
  Request request;
  request.file = std::string(asked.name);
  request.text = std::string(asked.text);
  return request;
}

void warn(Answer& out, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) out.warnings += "warning: " + warning + '\n';
}

void take_over_limit(Answer& out, const Run& run) {
  if (!run.over_limit) return;
  out.code = ExitCode::AnswerIsNo;
  out.warnings += "error: " + study::over_limit_text(*run.over_limit, *run.memory) + '\n';
}

Answer report(const Asked& asked) {
  Options(asked.options).done();
  const study::Input input = study::read_input(request_of(asked));
  Limits limits;
  limits.with_all_steps = false;
  limits.totals_only = true;
  const Run run = study::at_place(input.name, [&] { return study::evaluate(input, limits); });
  Answer out;
  warn(out, run.warnings);
  std::ostringstream text;
  study::write_report(text, run);
  out.text = std::move(text).str();
  take_over_limit(out, run);
  return out;
}

Picture picture_of(Options& options) {
  constexpr double kMostPixels = 32'767;
  Picture out;
  out.title = options.text("title").value_or("");
  out.width = std::clamp(options.number("width").value_or(0), 0.0, kMostPixels);
  out.height = std::clamp(options.number("height").value_or(0), 0.0, kMostPixels);
  out.memory = options.flag("memory");
  out.idle_causes = options.flag("idle_causes");
  out.critical_path = options.flag("critical_path");
  out.dark = options.flag("dark");
  return out;
}

Answer convert(const Asked& asked) {
  Options options(asked.options);
  const Picture picture = picture_of(options);
  const std::string name = options.text("format").value_or("svg");
  options.done();
  const io::Format& format = io::find_format(name, Where{"format"});
  Limits limits;
  limits.with_metrics = format.needs_metrics || picture.critical_path;
  limits.text_per_time = format.bytes_per_op;
  const Run run = pipeloom::run(request_of(asked), limits);
  Answer out;
  warn(out, run.warnings);
  if (run.over_limit) warn(out, {study::over_limit_text(*run.over_limit, *run.memory)});
  std::ostringstream text;
  write(run, name, text, picture);
  out.text = std::move(text).str();
  return out;
}

/// The tree of a workload, with `limit` on top.
io::Document workload_of(const Asked& asked, const std::optional<std::string>& limit) {
  io::Document document = io::Document::parse(asked.text, std::string(asked.name));
  if (!study::is_configuration(document.root()) || document.root().find("orders") != nullptr)
    throw InputError(Where{std::string(asked.name)}, "this is no configuration; a plan is made of one");
  if (limit) document.set("memory.limit_bytes", *limit, "limit");
  io::inline_costs_file(document);
  return document;
}

Answer plan(const Asked& asked) {
  Options options(asked.options);
  const auto vary = options.text("vary");
  const auto objective = options.text("objective");
  io::Document document = workload_of(asked, options.spelling("limit"));
  const bool names_schedule = document.root().find("schedule") != nullptr;
  study::set_defaults(document);
  const io::Config workload = io::read_run_config(document.root());
  study::PlanOptions given;
  const bool has_model = !workload.costs.model.model.empty();
  given.vary = study::vary_of(vary.value_or(study::usual_vary(has_model, false)), Where{"vary"});
  if (objective) given.objective = study::objective_of(*objective, Where{"objective"});
  given.seconds = std::clamp(options.number("budget").value_or(2), 0.0, 3600.0);
  given.seed =
      static_cast<std::uint64_t>(std::clamp(options.number("seed").value_or(1), 0.0, double{kMaxIndex}));
  // Of a module's plan the bytes count, however slow the browser.
  given.ends_by_clock = false;
  given.runs_now = names_schedule || !given.vary.has(study::Vary::Schedule);
  const auto top =
      static_cast<std::size_t>(std::clamp(options.number("top").value_or(10), 1.0, double{kMaxIndex}));
  const bool orders = options.flag("orders");
  options.done();
  const study::Plan found = study::make_plan(workload, given, {});
  Answer out;
  warn(out, found.warnings);
  out.text = study::plan_json(found, top, orders);
  if (!found.candidates.empty()) return out;
  out.code = ExitCode::AnswerIsNo;
  out.warnings += "error: nothing fits; the lines above say what is missing\n";
  return out;
}

Answer validate(const Asked& asked) {
  Options(asked.options).done();
  const study::Input input = study::read_input(request_of(asked));
  const study::Findings findings =
      input.schedule ? study::examine_schedule(
                           input, study::examine_torch(input.text, input.name, input.format), nullptr)
                     : study::examine_configuration(input, {}, nullptr);
  Answer out;
  warn(out, findings.warnings);
  out.text = study::findings_json(findings);
  if (!findings.ok()) out.code = ExitCode::AnswerIsNo;
  return out;
}

void write_schedule(io::JsonWriter& out, const ScheduleInfo& info) {
  out.object().member("name", info.name).member("summary", info.summary).member("source", info.source);
  out.member("when_to_use", info.when_to_use).member("aliases", info.aliases);
  out.member("needs", info.requirements.text).member("min_chunks", info.requirements.min_chunks);
  out.member("max_chunks", info.requirements.max_chunks);
  out.member("default_chunks", info.requirements.default_chunks);
  out.close();
}

Answer schedules(const Asked& asked) {
  Options(asked.options).done();
  Answer out;
  out.text =
      io::written_json(io::kReportStyle,
                       [](io::JsonWriter& to) {
                         to.object().line(2).member("schema_version", 1).line(2).key("schedules").array();
                         for (const ScheduleInfo& info : all_schedules()) write_schedule(to.line(4), info);
                         to.close(2).close(0);
                       }) +
      '\n';
  return out;
}

Answer keep(const Asked& asked) {
  const std::filesystem::path path(asked.name);
  std::error_code there;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), there);
  std::ofstream file(path, std::ios::binary);
  file.write(asked.text.data(), static_cast<std::streamsize>(asked.text.size()));
  file.close();
  if (!file) throw SystemError::cannot_write(asked.name, "no room");
  return {};
}

Answer version(const Asked& /*asked*/) {
  return {ExitCode::Ok, "{\"version\": " + io::json_string(kVersion) + "}\n"};
}

struct Function {
  std::string_view name;
  Answer (*call)(const Asked&);
};
constexpr std::array<Function, 7> kFunctions = {{{"report", report},
                                                 {"convert", convert},
                                                 {"plan", plan},
                                                 {"validate", validate},
                                                 {"schedules", schedules},
                                                 {"keep", keep},
                                                 {"version", version}}};

Answer called(std::string_view name, const Asked& asked) {
  for (const Function& function : kFunctions)
    if (function.name == name) return function.call(asked);
  std::vector<std::string> names;
  for (const Function& function : kFunctions) names.emplace_back(function.name);
  throw InputError::unknown_name({}, "function", name, names);
}

}  // namespace

Answer answer(std::string_view function, const Asked& asked) {
  try {
    return called(function, asked);
  } catch (const Error& error) {
    return {error.exit_code(), error.line()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::DeviceFailed, "error: out of memory; take fewer microbatches or ranks"};
  } catch (const std::exception& error) {
    return {ExitCode::Bug, std::string("error: a defect of ours: ") + error.what()};
  }
}

}  // namespace pipeloom::web
