// pipeloom report IN... [-o FILE]: one self-contained page for a run, a comparison or a sweep.

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/link.hpp>
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/pages/scenario_options.hpp"
#include "sim/base/text_tools.hpp"
#include "study/document/formats.hpp"
#include "study/pages/run_page.hpp"
#include "study/pages/sweep_page.hpp"
#include "study/report/run_tables.hpp"
#include "study/run/input.hpp"
#include "study/text/at_place.hpp"
#include "version.hpp"

namespace pipeloom::cli::commands {
namespace {

using study::page::Medium;
using study::page::Page;
using study::page::PageFormat;

struct ReportOptions {
  InputOptions input;  ///< values on top of every simulated run
  OutputOptions output;
  std::vector<std::string> files;
  std::optional<std::string> page_file;
  std::optional<std::string> format;
  bool force = false;
  study::page::SweepQuestion question;
  std::optional<std::string> top;
  std::optional<std::string> over;
  ScenarioOptions scenarios;
  std::string base = std::string(kServeAddress);
};

/// True if any option was given that only sweeps understand.
bool asks_of_sweep(const ReportOptions& options) {
  const study::page::SweepQuestion& q = options.question;
  return options.top || !q.where.empty() || !q.metrics.empty() || !q.x.empty() || !q.y.empty() ||
         !q.winner.empty() || !q.group_by.empty() || !q.decided.empty() || options.over;
}

/// --format, else the format of the file's name; a terminal's text without a file.
const PageFormat& format_of(const ReportOptions& options) {
  if (options.format) {
    if (const PageFormat* format = study::page::page_format_named(*options.format)) return *format;
    require_choice("--format", *options.format, study::page::page_format_names());
  }
  if (!options.page_file) return study::page::page_formats().front();
  const std::string& name = *options.page_file;
  if (name == "-") return *study::page::page_format_named("html");
  if (const PageFormat* format = study::page::page_format_of_file(name)) return *format;
  throw InputError(
      Where{"-o"},
      fmt::format("cannot tell from '{}' what kind of page to write; end it in .html, .md, .tex, "
                  ".csv or .txt, or give --format {}",
                  shortened(name, 80), join(study::page::page_format_names(), "|")));
}

void require_no_scenarios(const ReportOptions& options) {
  if (options.scenarios.scenarios || options.scenarios.seed)
    throw InputError(Where{"--scenarios"},
                     "scenarios are of one run, and the page is of several; write a page of each run");
}

/// The page and whether some run is over its memory limit.
struct Result {
  Page page;
  bool over_limit = false;
};

Result page_of_runs(const ReportOptions& options, Medium medium) {
  if (asks_of_sweep(options))
    throw InputError(
        "--where, --metric, --x, --y, --winner, --over, --decide, --group-by and --top ask a sweep's result; "
        "the input is "
        "none");
  std::list<pipeloom::Run> runs;
  if (options.files.empty())
    runs.push_back(study::load_run(static_cast<const pipeloom::Request&>(options.input),
                                   options.input.limits(), TimeUnit::Unit));
  else
    runs = study::load_runs(options.files, options.input, options.input.limits());
  Result result;
  for (const pipeloom::Run& run : runs) {
    options.output.warn(run.warnings);
    if (!run.over_limit) continue;
    result.over_limit = true;
    say(fmt::format("{}{}error: {}\n", run.title, run.title.empty() ? "" : ": ",
                    study::over_limit_text(*run.over_limit, *run.memory)));
  }
  if (runs.size() == 1) {
    const auto scenarios =
        study::at_place(runs.front().title, [&] { return scenarios_of(options.scenarios, runs.front()); });
    result.page = study::page::run_page(runs.front(), medium, scenarios ? &*scenarios : nullptr);
  } else {
    require_no_scenarios(options);
    result.page = study::page::compare_page(runs, medium);
  }
  if (medium == Medium::Html) study::page::add_link(result.page, runs, options.base);
  return result;
}

Result make_page(const ReportOptions& options, Medium medium) {
  const auto sweeps = std::count_if(options.files.begin(), options.files.end(), sweep::is_result_file);
  if (sweeps == 0) return page_of_runs(options, medium);
  if (static_cast<std::size_t>(sweeps) != options.files.size())
    throw InputError("results of sweeps and single runs do not share a page; write one for each kind");
  require_no_scenarios(options);
  study::page::SweepQuestion question = options.question;
  if (options.top) question.top = static_cast<std::size_t>(parse_count("--top", *options.top, 1, 1000));
  if (options.over) {
    require_choice("--over", *options.over, {"mean", "worst"});
    question.over = *options.over == "mean" ? sweep::Over::Mean : sweep::Over::Worst;
  }
  return {study::page::sweep_page(options.files, question, fmt::format("pipeloom {}", kVersion)), false};
}

ExitCode run_report(const ReportOptions& options) {
  const PageFormat& format = format_of(options);
  const bool printed = !options.page_file;
  if (!printed) require_free(*options.page_file, options.force);
  const Result result = make_page(options, format.has_pictures ? Medium::Html : Medium::Markdown);
  if (printed && &format == study::page::page_formats().data())
    print(page_text(result.page, options.output.screen(), options.output.verbose));
  else
    io::write_file(options.page_file.value_or("-"), overwrite_if(printed || options.force),
                   [&](std::ostream& out) { format.write(out, result.page, {.everything = true}); });
  return result.over_limit ? ExitCode::AnswerIsNo : ExitCode::Ok;
}

constexpr const char* kReportFooter =
    "\nOne run gives a page about it, several a comparison with the first as baseline, results of sweeps "
    "what "
    "is best in\n"
    "them. The HTML is one file that opens from disk and loads nothing; Markdown is for pull requests; LaTeX "
    "and "
    "CSV\n"
    "have the tables alone. Exit codes: 0 fine, 1 over the memory limit (the page is written), 2 wrong "
    "input, 3 "
    "the disk\nfailed.\n\n"
    "Examples:\n"
    "  pipeloom report run.json\n"
    "  pipeloom report run.json -o run.html\n"
    "  pipeloom report 1f1b.json zb-h1.json -o zb.html --set ranks=8\n"
    "  pipeloom report 1f1b.json zb-h1.json -o tables.tex\n"
    "  pipeloom report --schedule zb-h1 --ranks 4 --microbatches 8 -o - --format markdown\n"
    "  pipeloom report sweep.jsonl --metric makespan --metric peak_bytes\n"
    "  pipeloom report sweep.jsonl -o sweep.html --where 'peak_bytes <= 60e9' --group-by ranks --top 3";

void add_sweep_options(OptionList& list, ReportOptions& options) {
  study::page::SweepQuestion& question = options.question;
  list.option("--where", question.where, "CONDITION", "Of a sweep: points for which this holds; repeatable")
      .repeatable();
  list.option("--metric", question.metrics, "METRIC",
              "Of a sweep: what ranks its points, then what it is weighed against; repeatable")
      .repeatable();
  list.option("--x", question.x, "KEY", "Of a sweep: key along the winner map");
  list.option("--y", question.y, "KEY", "Of a sweep: key up the winner map");
  list.option("--winner", question.winner, "KEY", "Of a sweep: key whose values compete in the map");
  list.option(
      "--over", options.over, "mean|worst",
      "Of a sweep that varies costs, links or hardware: what ranks a choice over all of them; default mean");
  list.option("--decide", question.decided, "KEY",
              "Of a sweep: a key of costs, links or hardware that is a choice; repeatable")
      .repeatable();
  list.option("--group-by", question.group_by, "KEY",
              "Of a sweep: the best points of each value of this key");
  list.option("--top", options.top, "N", "Of a sweep: how many of the best points");
}

}  // namespace

Run report(OptionList& list) {
  auto options = std::make_shared<ReportOptions>();
  list.set_footer(kReportFooter);
  list.positional("FILES", options->files, "FILE",
                  "Configurations, schedule files, timelines, reports with a timeline; or results of sweeps")
      .at_least(0);
  list.option("-o,--output", options->page_file, "FILE",
              "The page; - is standard output; without it a text for the terminal is printed");
  list.option("--format", options->format, join(study::page::page_format_names(), "|"),
              "What to write, whatever the file's name is; without -o to standard output");
  list.option("--base", options->base, "URL",
              "HTML: address of the page that its link opens in, by default that of `pipeloom serve`");
  list.flag("--force", options->force, "Overwrite an existing file");
  add_sweep_options(list, *options);
  add_shape_options(list, options->input);
  add_trace_options(list, options->input);
  add_scenario_options(list, options->scenarios);
  add_value_options(list, options->input);
  add_output_options(list, options->output);
  return [options] { return run_report(*options); };
}

}  // namespace pipeloom::cli::commands
