#include "cli/sweep/sweep_options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "cli/numbers.hpp"
#include "sim/base/text_tools.hpp"
#include "study/run/run_link.hpp"

namespace pipeloom::cli {

namespace {

constexpr int kMaxThreads = 4096;

/// A number of points: "100000", "1e8".
std::uint64_t parse_points(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 1) || value > 1e15 || value != std::floor(value))
    throw InputError(
        Where{"--max-points"},
        fmt::format("found '{}'; allowed is a whole number from 1 to 1e15", shortened(text, 64)));
  return static_cast<std::uint64_t>(value);
}

/// Throws InputError if an option of a run is given together with a grid's file, which states it itself.
void require_no_base_options(const InputOptions& input) {
  const auto refuse = [](const char* option, const std::string& instead) {
    throw InputError(
        Where{option},
        fmt::format("a grid's file says this itself; put it into {}, or give axes by --axis instead "
                    "of a grid",
                    instead));
  };
  if (input.schedule) refuse("--schedule", "its \"base\"");
  if (input.ranks) refuse("--ranks", "its \"base\"");
  if (input.microbatches) refuse("--microbatches", "its \"base\"");
  if (input.chunks) refuse("--chunks", "its \"base\"");
  if (!input.set.empty()) refuse("--set", "its \"base\"");
}

/// The configuration that --axis varies: of the file, if any, with the options on top.
io::Document read_base(const InputOptions& input) {
  io::Document base;
  if (input.file) {
    base = study::read_config_text(*input.file);
    const std::string name = base.root().where().file;
    if (io::is_schedule_file(base.root()))
      throw InputError(Where{name}, "this is a schedule; --axis varies a configuration, so give one");
    if (base.root().find("axes") != nullptr)
      throw InputError(Where{name},
                       "this is a grid, which has its own axes; give it without --axis, or a configuration");
  }
  if (input.schedule) base.set("schedule", *input.schedule, "--schedule");
  if (input.ranks) base.set("ranks", *input.ranks, "--ranks");
  if (input.microbatches) base.set("microbatches", *input.microbatches, "--microbatches");
  if (input.chunks) base.set("chunks", *input.chunks, "--chunks");
  io::inline_costs_file(base);
  for (const std::string& assignment : input.set) base.set_option(assignment);
  return base;
}

std::string format_of(const SweepArguments& arguments) {
  if (arguments.format) return *arguments.format;
  const std::string& out = arguments.out;
  return out.size() > 4 && out.substr(out.size() - 4) == ".csv" ? "csv" : "jsonl";
}

std::string counts_text(const sweep::Counts& counts) {
  std::string out;
  const auto add = [&out](std::uint64_t count, std::string_view what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count_text(count), what);
  };
  add(counts.ok, "ok");
  add(counts.illegal, "illegal");
  add(counts.hang, "deadlock");
  add(counts.over_memory, "over the memory limit");
  add(counts.failed, "failed");
  return out;
}

}  // namespace

void add_grid_options(OptionList& list, SweepArguments& arguments) {
  list.positional("GRID", arguments.input.file, "FILE",
                  "File with the grid, or the configuration that --axis varies; - is standard input");
  list.option(
          "--axis", arguments.axes, "PATH=VALUES",
          "Vary a key, such as ranks=4,8,16 or costs.forward=1..2:0.1; repeatable, the last varies fastest")
      .repeatable();
  add_shape_options(list, arguments.input);
  add_value_options(list, arguments.input);
  list.option("--metrics", arguments.metrics, "METRIC",
              "What is written of every run, separated by commas; default: the grid's, else makespan, "
              "bubble_ratio, peak_activation_bytes")
      .separated_by(',')
      .repeatable();
  list.option("--scenarios", arguments.scenarios.scenarios, "N",
              "Run every point so many times, with durations that vary as costs.noise says: quantiles of "
              "makespan and bubble; default: the grid's");
  list.option("--seed", arguments.scenarios.seed, "S", "Which scenarios: the same seed gives the same ones");
  list.option("--max-points", arguments.max_points, "N",
              "Refuse grids of more points than this; default 1e8");
}

void add_run_options(OptionList& list, SweepArguments& arguments) {
  list.option("-o,--output", arguments.out, "FILE", "Write the results to a file; default: standard output");
  list.option("--format", arguments.format, "jsonl|csv",
              "JSON lines, or CSV; default: by the file's extension, else jsonl");
  list.option("-j,--jobs", arguments.threads, "N", "Threads; default: as many as there are processors");
  list.flag("--resume", arguments.resume,
            "Go on with the file where an earlier sweep ended, if there is one");
  list.flag("--force", arguments.force, "Overwrite an existing file");
  list.option(
      "--shard", arguments.shard, "I/N",
      "Only part I of N, from 1; auto/N takes I from the Slurm array, the Kubernetes job or the launcher");
  list.option("--progress", arguments.progress, "auto|plain|none",
              "A line that is kept up to date on a terminal, a line now and then for logs, or none");
  add_output_options(list, arguments.output);
}

namespace {

sweep::Grid read_grid_alone(const SweepArguments& arguments) {
  sweep::GridLimits limits;
  if (arguments.max_points) limits.max_points = parse_points(*arguments.max_points);
  if (!arguments.axes.empty())
    return sweep::Grid::of_options(read_base(arguments.input), arguments.axes, limits);
  if (!arguments.input.file)
    throw InputError("there is nothing to sweep; name a file with a grid, or vary keys by --axis KEY=VALUES");
  if (arguments.input.file->empty())
    throw InputError("the name of the grid's file is empty; name a file, or -");
  require_no_base_options(arguments.input);
  return sweep::Grid::read(*arguments.input.file, limits);
}

}  // namespace

sweep::Grid read_grid(const SweepArguments& arguments) {
  sweep::Grid grid = read_grid_alone(arguments);
  if (const auto choice = choice_of(arguments.scenarios)) grid.set_scenarios(*choice);
  return grid;
}

sweep::SweepOptions read_sweep_options(const SweepArguments& arguments) {
  const std::string format = format_of(arguments);
  require_choice("--format", format, {"jsonl", "csv"});
  require_choice("--progress", arguments.progress, {"auto", "plain", "none"});
  if (arguments.resume && arguments.force)
    throw InputError(Where{"--resume"}, "--force starts anew and --resume goes on; give one of them");
  sweep::SweepOptions out;
  out.out = arguments.out;
  out.format = format == "csv" ? sweep::ResultFormat::Csv : sweep::ResultFormat::JsonLines;
  if (arguments.threads) out.threads = parse_count("--jobs", *arguments.threads, 1, kMaxThreads);
  out.existing = arguments.resume  ? sweep::Existing::Resume
                 : arguments.force ? sweep::Existing::Overwrite
                                   : sweep::Existing::Refuse;
  if (arguments.shard) out.shard = sweep::Shard::parse(*arguments.shard);
  out.metrics = arguments.metrics;
  out.limits = arguments.input.limits();
  return out;
}

std::string summary_text(const sweep::SweepSummary& summary, const SweepArguments& arguments) {
  const std::uint64_t written = summary.counts.total();
  std::string out;
  if (arguments.resume && summary.resumed + summary.dropped > 0) {
    out += count_text(summary.resumed, "point") + (summary.resumed == 1 ? " was there" : " were there");
    if (summary.dropped > 0)
      out += fmt::format("; {} of damaged or unfinished lines dropped", count_text(summary.dropped, "byte"));
    out += written == 0 && !summary.stopped ? "; nothing is left to do\n" : "\n";
  }
  if (written > 0) {
    const double rate = static_cast<double>(written) / std::max(summary.seconds, 1e-3);
    out +=
        fmt::format("{}: {}; {:.1f} s, {} points/s\n", count_text(written, "point"),
                    counts_text(summary.counts), summary.seconds, count_text(static_cast<std::size_t>(rate)));
  } else if (out.empty() && !summary.stopped) {
    out = "0 points\n";
  }
  if (summary.stopped && arguments.out != "-" && summary.points > 0)
    out += fmt::format("stopped: {} of {} are in {}; go on with --resume\n", count_text(summary.lines),
                       count_text(summary.points, "point"), arguments.out);
  if (written > 0 && summary.counts.ok + summary.counts.over_memory == 0)
    out += "warning: none of the points ran; see \"error\" in their lines\n";
  return out;
}

namespace {

constexpr double kPlainEvery = 10;  // seconds
/// Before that a rate says nothing.
constexpr double kSettled = 0.5;  // seconds

}  // namespace

std::string progress_text(const sweep::Progress& progress) {
  const double share =
      progress.total == 0 ? 1 : static_cast<double>(progress.done) / static_cast<double>(progress.total);
  // Rounded down: 100 % is when it is done.
  std::string out = fmt::format("{} %  {} of {} points", static_cast<int>(100 * share),
                                count_text(progress.done), count_text(progress.total));
  const double passed = static_cast<double>(progress.done - progress.resumed);
  if (progress.seconds < kSettled || passed <= 0) return out;
  const double rate = passed / progress.seconds;
  const double left = static_cast<double>(progress.total - progress.done) / rate;
  return out +
         fmt::format(", {}/s, {} left",
                     rate < 10 ? fmt::format("{:.1f}", rate) : count_text(static_cast<std::size_t>(rate)),
                     duration_text(left));
}

SweepProgress::SweepProgress(const std::string& mode)
    : line_(mode == "auto"), plain_(mode == "plain"), next_plain_(kPlainEvery) {}

std::function<void(const sweep::Progress&)> SweepProgress::callback() {
  if (!line_.is_on() && !plain_) return {};
  return [this](const sweep::Progress& progress) { show(progress); };
}

void SweepProgress::show(const sweep::Progress& progress) {
  if (line_.is_on()) {
    line_.show(progress_text(progress));
  } else if (progress.seconds >= next_plain_) {
    say(progress_text(progress) + '\n');
    next_plain_ = progress.seconds + kPlainEvery;
  }
}

}  // namespace pipeloom::cli
