// pipeloom calibrate TRACE...: a measured run to a costs file, and how well that gives the run again.

#include "study/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/timeline_jsonl.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "sim/kinds.hpp"
#include "study/calibrate/calibration_json.hpp"
#include "study/calibrate/costs_file.hpp"
#include "study/text/at_place.hpp"

namespace pipeloom::cli::commands {
namespace {

using study::calibrate::Calibration;
using study::calibrate::Replay;
using study::calibrate::Residual;

struct CalibrateOptions {
  std::vector<std::string> files;
  InputOptions input;  ///< --from, --mapping
  OutputOptions output;
  PrintOptions print;
  std::optional<std::string> costs_file;
  std::optional<std::string> timeline_file;
  std::optional<std::string> layers;
  std::optional<std::string> with;
  std::string unit = "unit";
  std::string first_stage;
};

/// A run as its files tell it.
struct MeasuredRun {
  Timeline timeline;
  bool clocks_by_step = false;
  bool partial = false;
  Timeline usual = {};  ///< without the steps that something else made longer
  std::vector<bool> held = {};
  study::calibrate::ClockFit clocks = {};
  bool is_of_torch = false;
  std::vector<std::string> warnings = {};
};

/// Throws InputError for several files of which one is a timeline: that is a whole run.
MeasuredRun read_times(const CalibrateOptions& options) {
  const std::string& file = options.files.front();
  if (options.files.size() > 1)
    throw InputError(Where{file}, "a timeline is a whole run; give it alone, or only files of one trace");
  const std::string text = io::read_file(file, io::kMaxTimelineBytes);
  if (!options.input.from && !io::looks_like_timeline(text))
    throw InputError(
        Where{file},
        "it is no trace and no timeline of a run; `pipeloom calibrate --help` lists what is read");
  io::TimelineFile read = io::read_timeline(text, file, *time_unit_named(options.unit));
  return {.timeline = read.timeline, .usual = read.timeline, .warnings = std::move(read.warnings)};
}

/// The shifts that reading took off the ranks' clocks.
study::calibrate::ClockFit clocks_of(const io::TraceRun& run) {
  study::calibrate::ClockFit out;
  for (const io::RankVerdict& rank : run.verdicts) {
    out.offset.push_back(rank.ahead);
    out.apart = out.apart || rank.ahead != 0;
  }
  out.uncertain = run.clocks_uncertain;
  return out;
}

MeasuredRun read_run(const CalibrateOptions& options) {
  const auto& from = options.input.from;
  const bool names_trace = from && io::is_trace_format(*from);
  if (from && !names_trace && !io::find_format(*from, Where{"--from"}).read_timeline)
    throw InputError(Where{"--from"},
                     fmt::format("the format {} has no times of ops; give a trace's or timeline", *from));
  const bool is_trace =
      names_trace || (!from && std::any_of(options.files.begin(), options.files.end(), io::is_trace));
  if (!is_trace) return read_times(options);
  io::TraceRun read = io::assemble(io::read_trace(options.files, {from, options.input.mapping}));
  Timeline usual = io::usual_steps(read);
  return {.timeline = std::move(read.timeline),
          .clocks_by_step = read.has_step_clocks,
          .partial = read.is_partial,
          .usual = std::move(usual),
          .held = std::move(read.held),
          .clocks = clocks_of(read),
          .is_of_torch = read.is_of_torch,
          .warnings = std::move(read.warnings)};
}

std::string change_of(Ticks part, Ticks whole) {
  return whole == 0 ? std::string("-") : change_text(static_cast<double>(part) / static_cast<double>(whole));
}

std::string head(const Calibration& calibration, const Timeline& timeline) {
  const Schedule& schedule = *timeline.schedule;
  std::string name = calibration.orders.empty() ? "an order of its own" : calibration.orders.front().name;
  for (std::size_t i = 1; i < calibration.orders.size(); ++i)
    name += (i == 1 ? " (also " : ", ") + calibration.orders[i].name;
  if (calibration.orders.size() > 1) name += ")";
  return fmt::format("{}: {}, {}, {}; {}\n", name,
                     count_text(static_cast<std::size_t>(schedule.ranks()), "rank"),
                     count_text(static_cast<std::size_t>(schedule.stages()), "stage"),
                     count_text(static_cast<std::size_t>(schedule.microbatches()), "microbatch"),
                     count_text(static_cast<std::size_t>(timeline.steps), "step"));
}

/// How far the simulated step is from the measured one; times in which messages arrive before they leave are met by no costs.
std::string fit_text(const Calibration& calibration, TimeUnit unit) {
  constexpr Ticks kSmallPart = 100;  // of a usual op
  const Replay& replay = *calibration.replay;
  const Ticks early = calibration.measured.waits.clocks.early;
  if (early > calibration.measured.usual_entry / kSmallPart)
    return fmt::format("no fit: messages arrive up to {} before they leave", time_text(early, unit));
  return change_of(replay.simulated - replay.measured, replay.measured);
}

std::string step_lines(const Calibration& calibration, const Timeline& timeline) {
  const TimeUnit unit = timeline.unit;
  const std::vector<Ticks>& steps = calibration.measured.waits.step_times;
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  std::string out;
  if (calibration.replay) {
    const Replay& replay = *calibration.replay;
    out += fmt::format("measured   {}{}\n", time_text(replay.measured, unit),
                       timeline.steps == 1 ? ""
                                           : fmt::format(": median step, {} to {}", time_text(*least, unit),
                                                         time_text(*most, unit)));
    out += fmt::format("simulated  {} with these costs ({})\n", time_text(replay.simulated, unit),
                       fit_text(calibration, unit));
  }
  return out;
}

std::string kind_text(const Residual& one) {
  return one.kind ? std::string(1, letter_of(*one.kind)) : "group";
}

/// Median, spread and what the costs leave of it, per stage, of each kind that ran.
std::string op_table(const Calibration& calibration, TimeUnit unit, bool colour) {
  if (!calibration.replay) return "";
  std::vector<Column> columns = {{"stage", Align::Right}};
  std::vector<std::optional<OpKind>> kinds;
  const std::vector<Residual>& residuals = calibration.replay->residuals;
  for (const Residual& one : residuals) {
    if (std::find(kinds.begin(), kinds.end(), one.kind) != kinds.end()) continue;
    kinds.push_back(one.kind);
    columns.push_back({kind_text(one), Align::Right});
    columns.push_back({"spread", Align::Right});
    columns.push_back({"left", Align::Right});
  }
  Table table(columns);
  for (auto one = residuals.begin(); one != residuals.end();) {
    std::vector<std::string> row(columns.size());
    const int stage = one->stage;
    row[0] = std::to_string(stage);
    for (; one != residuals.end() && one->stage == stage; ++one) {
      const auto kind = std::find(kinds.begin(), kinds.end(), one->kind) - kinds.begin();
      const auto column = static_cast<std::size_t>(1 + 3 * kind);
      row[column] = time_text(one->measured.median, unit);
      row[column + 1] = time_text(one->measured.spread, unit);
      row[column + 2] = time_text(one->rest.median, unit);
    }
    table.add_row(std::move(row));
  }
  return "\n" + table.text(colour);
}

/// `before`: what of its time passes before the op begins.
std::string row_text(const cost::CostRow& row, Ticks before, TimeUnit unit) {
  std::string out = row.kind ? fmt::format("{}{}", row.of_group ? "overlapped " : "", letter_of(*row.kind))
                             : std::string("all");
  if (row.stage) out += fmt::format(" of stage {}", *row.stage);
  if (row.microbatch) out += fmt::format(", microbatch {}", *row.microbatch);
  if (row.slice) out += fmt::format(", slice {}", *row.slice);
  if (row.is_factor)
    return fmt::format("{}: {:.4g} times", out,
                       static_cast<double>(row.number) / static_cast<double>(kUnitScale));
  out += ": " + time_text(row.number, unit);
  if (before > 0) out += fmt::format(", of which {} before it begins", time_text(before, unit));
  return out;
}

std::string exception_lines(const Calibration& calibration, TimeUnit unit, bool all) {
  const auto& rows = calibration.measured.single.rows;
  const auto& before = calibration.measured.single.before;
  if (rows.empty()) return "";
  constexpr std::size_t kShown = 6;
  const std::size_t shown = all ? rows.size() : std::min(rows.size(), kShown);
  std::string out = fmt::format("\n{} of single ops:\n", count_text(rows.size(), "exception"));
  for (std::size_t i = 0; i < shown; ++i)
    out += "  " + row_text(rows[i], before.empty() ? 0 : before[i], unit) + "\n";
  if (shown < rows.size()) out += fmt::format("  and {} more (-v)\n", rows.size() - shown);
  return out;
}

std::string message_lines(const Calibration& calibration, TimeUnit unit) {
  const cost::TransferSpec& transfer = calibration.costs.transfer;
  std::string out;
  if (transfer.link.latency)
    out += fmt::format("messages take {} on their way", time_text(*transfer.link.latency, unit));
  if (transfer.link.latency && transfer.rank_time > 0)
    out += fmt::format(", and {} of each of their ranks", time_text(transfer.rank_time, unit));
  if (!out.empty()) out += "\n";
  for (const cost::LinkException& link : transfer.links)
    out += fmt::format("  rank {} {} rank {}: {}\n", link.from, link.oneway ? "to" : "and", link.to,
                       time_text(*link.link.latency, unit));
  if (calibration.measured.waits.between > 0)
    out += fmt::format("{} lie between ops that neither send nor receive\n",
                       time_text(calibration.measured.waits.between, unit));
  return out.empty() ? out : "\n" + out;
}

std::string constant_lines(const Calibration& calibration, TimeUnit unit) {
  if (!calibration.constant || calibration.constant->median <= 0) return "";
  return fmt::format(
      "\n{} of every op does not go by its layers ({} of kinds and ranks, spread {}): `entry`\n",
      time_text(calibration.constant->median, unit), count_text(calibration.constant->count, "number"),
      time_text(calibration.constant->spread, unit));
}

std::string clock_lines(const Calibration& calibration, TimeUnit unit) {
  const auto& clocks = calibration.measured.waits.clocks;
  if (!clocks.apart) return "";
  std::string out = "clocks stand apart; aligned by messages, the first rank's is 0:";
  for (const Ticks offset : clocks.offset) out += " " + time_text(offset, unit);
  return out + fmt::format("; sure to {}\n", time_text(clocks.uncertain, unit));
}

std::string cause_lines(const Calibration& calibration, TimeUnit unit) {
  if (!calibration.replay || !calibration.replay->explanation) return "";
  const auto& explanation = *calibration.replay->explanation;
  if (explanation.causes.empty()) return "";
  constexpr std::size_t kLongestCause = 160;
  std::string out = "\nwhat these costs do not say:\n";
  for (const auto& cause : explanation.causes)
    out += fmt::format("  {:>10}  {}\n", (cause.amount > 0 ? "+" : "") + time_text(cause.amount, unit),
                       shortened(cause.text, kLongestCause));
  return out;
}

std::string next_line(const Calibration& calibration, const CalibrateOptions& options) {
  if (!options.costs_file || *options.costs_file == "-" || calibration.orders.empty()) return "";
  return fmt::format("\npipeloom simulate {} --set costs={}\n", arguments_of(calibration.orders.front()),
                     *options.costs_file);
}

std::string page_of(const Calibration& calibration, const Timeline& timeline,
                    const CalibrateOptions& options) {
  const TimeUnit unit = timeline.unit;
  const double sigma = calibration.measured.single.sigma;
  return head(calibration, timeline) + step_lines(calibration, timeline) +
         op_table(calibration, unit, options.output.screen().has_colour()) +
         (sigma > 0 ? fmt::format("single ops vary by {:.2g} %\n", 100 * sigma) : "") +
         exception_lines(calibration, unit, options.output.verbose) + message_lines(calibration, unit) +
         constant_lines(calibration, unit) + clock_lines(calibration, unit) + cause_lines(calibration, unit) +
         next_line(calibration, options);
}

void write_timeline(const CalibrateOptions& options, const Timeline& timeline) {
  io::write_file(*options.timeline_file, overwrite_if(options.print.force),
                 [&](std::ostream& out) { io::write_timeline_with_unit(out, timeline); });
}

ExitCode run_calibrate(const CalibrateOptions& options) {
  const bool json = options.print.is("json");
  require_choice("--unit", options.unit, {"unit", "s", "ms", "us", "ns"});
  if (!options.first_stage.empty()) require_choice("--first-stage", options.first_stage, {"full", "torch"});
  options.print.require_free_file();
  for (const auto& file : {options.costs_file, options.timeline_file}) {
    if (file) require_free(*file, options.print.force);
    if (file == "-" && json)
      throw InputError(Where{"--json"},
                       "standard output takes one of --json and a file; give the file a name");
  }
  MeasuredRun run = read_run(options);
  const Timeline& timeline = run.usual;
  if (timeline.steps < run.timeline.steps)
    run.warnings.push_back(fmt::format("costs are of {} of the {} steps: the longer ones are left out",
                                       timeline.steps, run.timeline.steps));
  options.output.warn(run.warnings);
  const std::vector<std::int32_t> layers = parse_layers(options.layers, timeline.schedule->stages());
  if (options.with && layers.empty())
    throw InputError(Where{"--with"}, "it takes the layers of this run's stages too; give --layers");
  const auto other =
      options.with ? std::optional(study::calibrate::read_other_run(*options.with)) : std::nullopt;
  const study::calibrate::KnownOfRun known{
      .clocks_by_step = run.clocks_by_step,
      .clocks = run.clocks,
      .held = run.held,
      .layers = layers,
      .is_of_torch = options.first_stage.empty() ? run.is_of_torch : options.first_stage == "torch"};
  Calibration calibration = study::at_place(
      options.files.front(), [&] { return study::calibrate::calibrate(timeline, known, other); });
  options.output.warn(calibration.warnings);
  calibration.warnings.insert(calibration.warnings.begin(), run.warnings.begin(), run.warnings.end());
  if (options.timeline_file) write_timeline(options, run.timeline);
  if (options.costs_file)
    io::write_file(*options.costs_file, overwrite_if(options.print.force), [&](std::ostream& out) {
      study::calibrate::write_made_costs(out, calibration.measured, calibration.costs);
    });
  const bool has_stdout = options.costs_file == "-" || options.timeline_file == "-";
  print_answer(
      options.print, options.output.quiet || has_stdout,
      [&] { return study::calibrate::calibration_json(calibration, timeline, run.partial); },
      [&] { return page_of(calibration, timeline, options); });
  return ExitCode::Ok;
}

constexpr const char* kCalibrateFooter =
    "\nThe costs are medians over steps and microbatches, exceptions for single ops that differ for sure, "
    "what\n"
    "messages take of ranks (read from ops that run back to back) and on their way (read from idle "
    "ranks),\n"
    "and how much ops vary. The order that ran is then simulated with them and compared.\n\n"
    "Examples:\n"
    "  pipeloom calibrate trace/ -o costs.json\n"
    "  pipeloom calibrate trace/rank*.json --from kineto --layers 32 -o costs.json --timeline run.jsonl\n"
    "  pipeloom simulate --schedule zb-h1 --ranks 4 --microbatches 32 --set costs=costs.json\n";

}  // namespace

Run calibrate(OptionList& list) {
  auto options = std::make_shared<CalibrateOptions>();
  list.set_footer(kCalibrateFooter);
  list.positional("TRACE", options->files, "FILE",
                  "Files or folders of one run's trace, or its timeline; see `pipeloom convert --help`")
      .required();
  add_trace_options(list, options->input);
  list.option("-o,--output", options->costs_file, "FILE",
              "Write the costs, for `--set costs=FILE`; - is standard output");
  list.option("--timeline", options->timeline_file, "FILE", "Write the timeline of the trace (JSON lines)");
  list.option(
      "--layers", options->layers, "N[,N...]",
      "Layers of each stage, or of the model if stages share them equally; without it all stages count as "
      "equal");
  list.option(
      "--with", options->with, "COSTS",
      "Costs of the same model on the same ranks with chunks of another size: tells what every op takes "
      "whatever its layers (`entry`); needs --layers");
  list.option("--unit", options->unit, "UNIT",
              "Of a timeline that does not say its own: s, ms, us or ns; default: unit");
  list.option("--first-stage", options->first_stage, "full|torch",
              "Whether stage 0 has a gradient of its input: full; PyTorch's has not: torch, which is the "
              "default of its traces");
  list.flag("--force", options->print.force, "Overwrite existing files");
  add_print_options(list, options->print, {"table", "json"}, "What is printed");
  add_json_file_option(list, options->print);
  add_output_options(list, options->output);
  return [options] { return run_calibrate(*options); };
}

}  // namespace pipeloom::cli::commands
