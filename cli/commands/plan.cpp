// pipeloom plan [CONFIG]: which schedule for this workload.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <ostream>
#include <thread>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/pages/model_options.hpp"
#include "cli/pages/picture_options.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/io/links/link.hpp"
#include "sim/io/pictures/pictures.hpp"
#include "study/layouts/layouts.hpp"
#include "study/layouts/shown/layouts_shown.hpp"
#include "study/plan/asked.hpp"
#include "study/plan/shown/plan_picture.hpp"
#include "study/plan/shown/plan_shown.hpp"
#include "study/run/run_link.hpp"

namespace pipeloom::cli::commands {
namespace {

struct PlanCommand {
  ModelOptions run;
  std::optional<std::string> objective, vary, target, budget, seed, threads, top, include, schedule_out,
      pareto, headroom, gpus, fix, max_cp, measured;
  bool chart = false;
  PrintOptions print;
  OutputOptions output;
};

constexpr const char* kPlanFooter =
    "\nSchedules that can run the workload are simulated, orders of its own are searched for within what a "
    "rank may\n"
    "hold, and what fits is ranked: of steps within 0.1 % of the best, the one that holds least comes first. "
    "A rank may\n"
    "hold --limit, and never the headroom of its device. `gap`: how much longer the step is than what no "
    "order of these\n"
    "stages can go below; `optimal`: no better order exists for them. docs/plan.md has the rest.\n"
    "Exit codes: 0 fine, 1 nothing fits, 2 wrong input.\n\n"
    "Examples:\n"
    "  pipeloom plan config.json --limit 60GB\n"
    "  pipeloom plan llama3-70b --hardware h100 --ranks 16 --tp 8 --dp 4 --seq 8192 --microbatches 64 "
    "--schedule-out best.csv\n"
    "  pipeloom plan llama3-70b --hardware h100 --gpus 512 --global-batch 1024 --seq 8192 --target megatron\n"
    "  pipeloom plan config.json --vary order --budget 10 --json --include orders\n"
    "  pipeloom plan mixtral-8x7b --hardware h200 --ranks 8 --target megatron --vary schedule,chunks,layers";

void add_plan_options(OptionList& list, PlanCommand& options) {
  list.set_footer(kPlanFooter);
  list.positional("CONFIG", options.run.model, "CONFIG|MODEL",
                  "A configuration, whose schedule is what runs now; a schedule file, which runs now; or a "
                  "model as `pipeloom "
                  "estimate` takes it");
  list.option("--objective", options.objective, join(study::objective_names(), "|"),
              "What the best has least of, or most tokens; default step_time");
  list.option("--vary", options.vary, "WORD,WORD,..",
              "What may differ: schedule, chunks, layers, placement, recompute, offload, microbatches, "
              "order; default "
              "schedule,chunks,placement,order, and layers where a model is named. `order` alone searches an "
              "order for CONFIG's own placement");
  list.option("--target", options.target, "NAME[-RELEASE]",
              "Only what this framework runs and can be told, with the lines to paste: " +
                  study::target_spellings() + "; without a release the newest");
  list.option("--limit", options.run.limit, "BYTES",
              "What a rank may hold; default CONFIG's, or the device's memory less the headroom");
  list.option("--headroom", options.headroom, "SHARE",
              "Of the device's memory, that stays free for the allocator and NCCL: 0.05 or 5%, the default");
  list.option("--budget", options.budget, "SECONDS",
              "How long the searches may take, about; default 2, and 0 with --gpus: layers of the first "
              "rows alone are dealt out anew");
  list.option("--seed", options.seed, "N", "Of the searches; default 1: equal seeds give equal plans");
  list.option("-j,--jobs", options.threads, "N", "Threads; default all cores");
  list.option("--top", options.top, "N", "Candidates shown; default 10, and 5 with --gpus");
  list.option("--include", options.include, "orders", "JSON: the queues of every candidate too");
  list.option("--schedule-out", options.schedule_out, "FILE",
              "Write the winner's order: PyTorch's CSV (.csv), or JSON");
  list.option("--pareto", options.pareto, "FILE", "Draw step time against memory: .svg, .png or .pdf");
  list.flag("--chart", options.chart, "Draw the winner's timeline in the terminal");
  list.flag("--force", options.print.force, "Overwrite existing files");
  add_device_options(list, options.run, "The workload");
  list.option("--gpus", options.gpus, "N",
              "In place of --ranks: every layout of N devices is looked at, tp, cp, ep, pp, dp, micro batch, "
              "chunks, schedule and recomputation; needs a model and --global-batch")
      .under("The workload");
  list.option("--fix", options.fix, "KEY=N,..",
              "With --gpus: layouts with these alone, of tp, cp, ep, pp, dp, micro_batch, chunks, zero and "
              "shards")
      .under("The workload");
  list.option("--max-cp", options.max_cp, "C", "With --gpus: the largest cp; default 8")
      .under("The workload");
  list.option(
          "--measured", options.measured, "FILE",
          "With --gpus: measured steps of layouts, which say what of the exchanges is hidden and how fast "
          "everything else is; docs/plan.md")
      .under("The workload");
  list.option("--ranks", options.run.ranks, "P", "p, devices of the pipeline; default 8")
      .under("The workload");
  list.option("--microbatches", options.run.microbatches, "M", "m, instead of --global-batch")
      .under("The workload");
  list.option("--chunks", options.run.chunks, "V",
              "v, stages of a rank: of what runs now, and without --vary chunks of every schedule that takes "
              "a number")
      .under("The workload");
  list.option(
          "--schedule", options.run.schedule, "SCHEDULE",
          "What runs now; default CONFIG's. Without either, changes are against interleaved 1F1B at its best")
      .under("The workload");
  list.option("--set", options.run.set, "PATH=VALUE", "Any key of a configuration; repeatable")
      .repeatable()
      .under("The workload");
  add_page_options(list, options.print, "What is printed: the table in a page's format, or JSON");
  add_json_file_option(list, options.print);
  add_output_options(list, options.output);
}

/// A workload, and whether anybody said which schedule runs it now.
struct Asked {
  io::Document workload;
  bool runs_now = true;
};

/// Throws InputError where nothing says what ops cost: ranks and microbatches alone are no workload.
void require_costs(const io::Value& root) {
  if (root.find("costs") != nullptr) return;
  throw InputError(Where{"CONFIG"},
                   "there is no workload; give a configuration, a model and its --hardware (pipeloom plan "
                   "llama3-70b --hardware h100 --ranks 16 --tp 8), or --schedule for one of unit costs");
}

/// The configuration that runs a schedule file.
io::Document running(const std::string& file) {
  io::Document out;
  out.set("schedule", io::json_string(io::kCustomSchedule), "CONFIG");
  out.set("options.file", io::json_string(file), "CONFIG");
  return out;
}

/// The configuration that CONFIG is or names, with the options on top.
Asked workload_of(PlanCommand& options) {
  ModelOptions run = options.run;
  io::Document base;
  const std::filesystem::path path(run.model);
  std::error_code unknown;
  const bool is_file = std::filesystem::is_regular_file(path, unknown);
  if (run.model == "-" || io::names_link(run.model) || (path.extension() == ".json" && is_file)) {
    base = study::read_config_text(run.model);
    run.model.clear();
  }
  if (is_file && (path.extension() == ".csv" || base.root().find("orders") != nullptr)) {
    base = running(path.string());
    run.model.clear();
  } else if (!study::is_configuration(base.root())) {
    run.model = options.run.model;  // a model's own file
    base = {};
  }
  const bool has_file = !base.root().keys().empty();
  ModelDocument made = document_of(run, std::move(base));
  const bool runs_now =
      std::ranges::none_of(made.origins, [](const auto& one) { return one.first == "schedule"; });
  if (!has_file && !runs_now) require_costs(made.document.root());
  if (!runs_now && run.chunks && *run.chunks != "1")
    made.document.set("schedule", "\"interleaved-1f1b\"", "schedule");
  return {std::move(made.document), runs_now};
}

/// "0.05" or "5%".
std::optional<double> share_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text->c_str(), &end);
  const bool percent = std::string_view(end) == "%";
  const double share = percent ? number / 100 : number;
  if (text->empty() || (*end != '\0' && !percent) || !(share >= 0) || share >= 1)
    throw InputError(Where{"--headroom"},
                     fmt::format("found '{}'; allowed is a share from 0 up to 1, such as 0.05 or 5%",
                                 shortened(*text, 64)));
  return share;
}

double seconds_of(const std::optional<std::string>& text) {
  if (!text) return 2;
  constexpr double kMost = 3600;
  char* end = nullptr;
  const double seconds = std::strtod(text->c_str(), &end);
  if (text->empty() || *end != '\0' || !(seconds >= 0) || seconds > kMost)
    throw InputError(Where{"--budget"},
                     fmt::format("found '{}'; allowed are 0 to {:.0f} seconds", shortened(*text, 64), kMost));
  return seconds;
}

std::uint64_t seed_of(const PlanCommand& command) {
  return command.seed ? static_cast<std::uint64_t>(parse_count("--seed", *command.seed, 0, kMaxIndex)) : 1;
}

int threads_of(const PlanCommand& command) {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return command.threads ? parse_count("--jobs", *command.threads, 1, 1024) : cores;
}

study::PlanOptions plan_options(const PlanCommand& command, bool model) {
  study::PlanOptions out;
  if (command.objective) out.objective = study::objective_of(*command.objective, Where{"--objective"});
  out.vary = study::vary_of(command.vary.value_or(study::usual_vary(model, command.run.chunks.has_value())),
                            Where{"--vary"});
  if (command.target) out.target = &study::target_named(*command.target);
  out.seconds = seconds_of(command.budget);
  out.headroom = share_of(command.headroom);
  out.seed = seed_of(command);
  out.threads = threads_of(command);
  if (command.schedule_out) out.schedule_file = *command.schedule_out;
  return out;
}

void write_winner(const PlanCommand& options, const study::PlanCandidate& winner) {
  const std::string& file = *options.schedule_out;
  const std::string name = std::filesystem::path(file).extension() == ".csv" ? "torch-compute" : "json";
  const io::Format& format = io::find_format(name, Where{"--schedule-out"});
  io::write_file(file, overwrite_if(options.print.force), [&](std::ostream& out) {
    io::Exported exported;
    const auto queues = winner.queues();
    exported.schedule = queues.get();
    format.write(out, exported);
  });
}

using WritePicture = std::function<void(std::ostream&, const draw::Scene&)>;

/// The writer of such a file. Throws InputError for other endings.
WritePicture picture_writer(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending == ".svg") return io::write_svg;
  if (ending == ".png") return [](std::ostream& out, const draw::Scene& scene) { io::write_png(out, scene); };
  if (ending == ".pdf") return io::write_pdf;
  throw InputError(Where{"--pareto"},
                   fmt::format("'{}' has no ending of a picture; give a name that ends in .svg, .png or .pdf",
                               shortened(file, 64)));
}

/// The plan, with a line on a terminal while it is made: "searched loop v=2: 25.0, bound 24.75, gap 1.0 %, 3 s".
study::Plan make_plan(const io::Config& workload, study::PlanOptions& asked, const Interrupt& interrupt,
                      bool says_progress) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kEvery{100};
  ProgressLine line(says_progress);
  const Clock::time_point begin = Clock::now();
  Clock::time_point next = begin + kEvery;
  asked.progress = [&](const std::string& doing, const std::string& best) {
    if (const auto now = Clock::now(); line.is_on() && now >= next) {
      const double seconds = std::chrono::duration<double>(now - begin).count();
      line.show(fmt::format("{}: {}{}", doing, best.empty() ? "" : best + ", ", duration_text(seconds)));
      next = now + kEvery;
    }
    return !interrupt.flag().load();
  };
  Limits limits = InputOptions().limits();
  limits.stop = [&interrupt] { return interrupt.flag().load(); };
  return study::make_plan(workload, asked, limits);
}

/// The page with the winner's chart, if asked for, and its lines to paste.
study::page::Page with_winner(const PlanCommand& options, study::page::Page page, const study::Plan& plan) {
  if (plan.candidates.empty()) return page;
  const Screen screen = options.output.screen();
  const study::PlanCandidate& winner = plan.candidates.front();
  if (options.chart)
    page.sections.push_back(
        {"chart", "", {chart_of_letters(winner.run_of_all().timeline, options.print, screen)}});
  page.sections.push_back(study::paste_section(winner, plan.to_run, screen.width));
  return page;
}

void print_plan(const PlanCommand& options, const study::Plan& plan) {
  const std::size_t top =
      options.top ? static_cast<std::size_t>(parse_count("--top", *options.top, 1, kMaxIndex)) : 10;
  print_answer(
      options.print, options.output, [&] { return study::plan_json(plan, top, options.include.has_value()); },
      [&] {
        return with_winner(options,
                           study::plan_page(plan, {.top = top, .everything = options.output.verbose}), plan);
      });
}

/// "tp=8,cp=1".
study::Fixed fixed_of(const std::optional<std::string>& text) {
  study::Fixed out;
  if (!text) return out;
  for (const std::string& part : split(*text, ',')) {
    const std::size_t sign = part.find('=');
    const std::string key(trimmed(part.substr(0, sign)));
    if (sign == std::string::npos || std::ranges::find(study::kFixable, key) == study::kFixable.end())
      throw InputError(Where{"--fix"},
                       fmt::format("found '{}'; allowed are KEY=NUMBER of {}, separated by commas",
                                   shortened(part, 64), fmt::join(study::kFixable, ", ")));
    const std::string number(trimmed(part.substr(sign + 1)));
    if (!out.emplace(key, parse_count("--fix " + key, number, key == "zero" ? 0 : 1,
                                      key == "zero" ? 3 : kMaxIndex))
             .second)
      throw InputError(Where{"--fix"}, fmt::format("{} is there twice; give it once", key));
  }
  return out;
}

/// Options of plans of a pipeline; what else a plan of layouts finds out, make_layouts() refuses.
void require_layout_options(const PlanCommand& options) {
  for (const auto& [name, given] : {std::pair("--ranks", options.run.ranks.has_value()),
                                    std::pair("--microbatches", options.run.microbatches.has_value()),
                                    std::pair("--schedule", options.run.schedule.has_value()),
                                    std::pair("--vary", options.vary.has_value()),
                                    std::pair("--objective", options.objective.has_value()),
                                    std::pair("--pareto", options.pareto.has_value())})
    if (given)
      throw InputError(
          Where{name},
          fmt::format("{} is for plans of a pipeline, and --gpus is there; leave one of them out", name));
}

/// Throws InputError where MODEL is a configuration.
void require_no_configuration(const std::string& name) {
  std::error_code unknown;
  if (std::filesystem::path(name).extension() != ".json" || !std::filesystem::is_regular_file(name, unknown))
    return;
  const io::Document file = io::Document::parse(io::read_file(name), name);
  if (!file.root().keys().empty() && study::is_configuration(file.root()))
    throw InputError(Where{"MODEL"},
                     fmt::format("{} is a configuration, whose ranks are there; give --gpus a model, and its "
                                 "other keys by --set",
                                 shortened(name, 200)));
}

/// The workload of a plan of layouts: a model on one device, whose batch is one replica's.
io::Config layouts_workload(const PlanCommand& options) {
  ModelOptions run = options.run;
  require_no_configuration(run.model);
  run.ranks = "1";
  run.microbatches = run.global_batch.value_or("1");
  io::Config out = io::read_run_config(document_of(run, {}).document.root());
  // A file of Megatron-LM's arguments says how it was trained; layouts choose that anew.
  if (out.given.has("options.recompute") && out.place_of("options.recompute").file == "MODEL")
    io::reset_option(out, "options.recompute");
  return out;
}

study::LayoutOptions layout_options(const PlanCommand& options) {
  study::LayoutOptions out;
  out.devices = parse_count("--gpus", *options.gpus, 1, 1 << 20);
  out.fixed = fixed_of(options.fix);
  if (options.max_cp) out.max_context = parse_count("--max-cp", *options.max_cp, 1, kMaxIndex);
  if (options.target && *options.target != "any") out.target = &study::target_named(*options.target);
  out.headroom = share_of(options.headroom);
  if (options.top) out.top = static_cast<std::size_t>(parse_count("--top", *options.top, 1, 1000));
  if (options.budget) out.seconds = seconds_of(options.budget);
  out.seed = seed_of(options);
  out.threads = threads_of(options);
  return out;
}

ExitCode run_layouts(const PlanCommand& options, const Interrupt& interrupt) {
  using Clock = std::chrono::steady_clock;
  require_layout_options(options);
  study::LayoutOptions asked = layout_options(options);
  ProgressLine line(!options.output.quiet);
  asked.progress = [&](const std::string& doing) {
    if (line.is_on()) line.show(doing);
    return !interrupt.flag().load();
  };
  const Clock::time_point begin = Clock::now();
  io::Config workload = layouts_workload(options);
  if (options.measured)
    asked.measured = study::read_measured(*options.measured,
                                          {.devices = asked.devices,
                                           .global_batch = workload.costs.model.global_batch.value_or(1),
                                           .order = workload.costs.model.order});
  const study::LayoutPlan plan = study::make_layouts(std::move(workload), asked);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const bool is_empty = plan.plan.candidates.empty();
  if (options.schedule_out && !is_empty) write_winner(options, plan.plan.candidates.front());
  print_answer(
      options.print, options.output,
      [&] { return study::layouts_json(plan, options.include.has_value(), seconds); },
      [&] { return with_winner(options, study::layouts_page(plan, seconds), plan.plan); });
  if (!is_empty) return ExitCode::Ok;
  say(plan.ended ? "error: ended before a layout was simulated\n"
                 : "error: no layout fits; more devices, a smaller --seq or --headroom may help\n");
  return ExitCode::AnswerIsNo;
}

ExitCode run_plan(PlanCommand& options, const Interrupt& interrupt) {
  if (options.include) require_choice("--include", *options.include, {"orders"});
  options.print.require_free_file();
  if (options.schedule_out) require_free(*options.schedule_out, options.print.force);
  if (options.gpus) return run_layouts(options, interrupt);
  for (const auto& [name, given] :
       {std::pair("--fix", options.fix.has_value()), std::pair("--max-cp", options.max_cp.has_value()),
        std::pair("--measured", options.measured.has_value())})
    if (given) throw InputError(Where{name}, "it is for plans of layouts; add --gpus N");
  const WritePicture write_picture = options.pareto ? picture_writer(*options.pareto) : nullptr;
  if (options.pareto) require_free(*options.pareto, options.print.force);
  const Asked given = workload_of(options);
  const io::Config workload = io::read_run_config(given.workload.root());
  study::PlanOptions asked = plan_options(options, !workload.costs.model.model.empty());
  asked.runs_now = given.runs_now || !asked.vary.has(study::Vary::Schedule);
  const study::Plan plan = make_plan(workload, asked, interrupt, !options.output.quiet);
  options.output.warn(plan.warnings);
  if (options.schedule_out && !plan.candidates.empty()) write_winner(options, plan.candidates.front());
  if (options.pareto && !plan.candidates.empty())
    io::write_file(*options.pareto, overwrite_if(options.print.force),
                   [&](std::ostream& out) { write_picture(out, study::pareto_picture(plan)); });
  print_plan(options, plan);
  if (!plan.candidates.empty()) return ExitCode::Ok;
  say("error: nothing fits; the lines above say what is missing\n");
  return ExitCode::AnswerIsNo;
}

}  // namespace

Run plan(OptionList& list) {
  auto options = std::make_shared<PlanCommand>();
  add_plan_options(list, *options);
  return [options] {
    // Until all is printed: a signal ends the plan, not its text.
    const Interrupt interrupt;
    ExitCode code = ExitCode::Ok;
    try {
      code = run_plan(*options, interrupt);
    } catch (const Stopped&) {
      say("error: interrupted before what runs now was simulated\n");
    }
    interrupt.end_by_signal();
    return code;
  };
}

}  // namespace pipeloom::cli::commands
