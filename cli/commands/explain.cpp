// pipeloom explain PREDICTED MEASURED: where the difference in step time comes from.

#include "study/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/links/link.hpp"
#include "study/explain/amounts.hpp"
#include "study/explain/shown/explain_runs.hpp"
#include "study/explain/shown/explain_table.hpp"
#include "study/pages/run_page.hpp"
#include "study/text/at_place.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::cli::commands {
namespace {

using study::explain::Explanation;

struct ExplainOptions {
  InputOptions input;  ///< values on top of the configuration
  OutputOptions output;
  std::string predicted;
  std::string measured;
  PrintOptions print;
};

/// Warnings of what was read: printed at once, and kept for the JSON.
struct Said {
  const OutputOptions& output;
  std::vector<std::string> warnings = {};
  void warn(const std::vector<std::string>& more) {
    output.warn(more);
    warnings.insert(warnings.end(), more.begin(), more.end());
  }
};

/// An explanation under one transfer model, "" where the prediction's times were read.
struct Answer {
  Explanation explanation;
  std::string transfer_model;
};

/// Mappings that are tried after the configured one.
constexpr std::array kModels = {cost::TransferModel::Latency, cost::TransferModel::Async,
                                cost::TransferModel::Blocking};

/// Another model is kept where it leaves so much less.
constexpr double kClearlyLess = 0.8;

/// Throws InputError, at the measured file where none is named.
Explanation explain_at_file(const pipeloom::Run& predicted, const pipeloom::Run& measured) {
  return study::at_place(measured.file, [&] { return study::explain::explain_runs(predicted, measured); });
}

/// The answer under `input`'s model; nothing where the schedule cannot run so.
std::optional<Answer> try_model(const Input& input, const pipeloom::Limits& limits,
                                const pipeloom::Run& measured) {
  std::optional<pipeloom::Run> run;
  try {
    run = evaluate(input, limits);
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const ScheduleError&) {
    return std::nullopt;
  }
  return Answer{explain_at_file(*run, measured), std::string(name_of(input.config.costs.transfer.model))};
}

/// The configured model's answer, or that of another one under which fewer messages wait for no reason.
Answer best_answer(Input input, const pipeloom::Limits& limits, const pipeloom::Run& measured, Said& said) {
  const cost::TransferModel configured = input.config.costs.transfer.model;
  const pipeloom::Run run = study::at_place(input.name, [&] { return evaluate(input, limits); });
  said.warn(run.warnings);
  Answer best{explain_at_file(run, measured), std::string(name_of(configured))};
  if (!study::explain::may_be_of_other_model(best.explanation)) return best;
  const Ticks first = waiting_of(best.explanation);
  for (const cost::TransferModel model : kModels)
    if (model != configured) {
      input.config.costs.transfer.model = model;
      if (auto other = try_model(input, limits, measured);
          other && static_cast<double>(waiting_of(other->explanation)) <
                       kClearlyLess * static_cast<double>(waiting_of(best.explanation)))
        best = std::move(*other);
    }
  if (best.transfer_model != name_of(configured))
    best.explanation.warnings.push_back(fmt::format(
        "predicted with transfers `{}`, under which messages and gaps make a difference of {}; under `{}`, "
        "which the configuration names, they make {}",
        best.transfer_model, study::time_text(waiting_of(best.explanation), best.explanation.unit),
        name_of(configured), study::time_text(first, best.explanation.unit)));
  return best;
}

pipeloom::Run load_measured(const ExplainOptions& options, const pipeloom::Limits& limits, TimeUnit unit,
                            Said& said) {
  Request request;
  request.file = options.measured;
  request.from = options.input.from;
  request.mapping = options.input.mapping;
  pipeloom::Run run = study::load_run(request, limits, unit);
  said.warn(run.warnings);
  return run;
}

/// Of two files of times. The one that does not say its unit is in that of the other.
Explanation explain_times(const ExplainOptions& options, const Request& of_predicted,
                          const pipeloom::Limits& limits, Said& said) {
  const auto load_predicted = [&](TimeUnit unit) {
    pipeloom::Run run = study::load_run(of_predicted, limits, unit);
    said.warn(run.warnings);
    return run;
  };
  if (io::says_unit(*of_predicted.text)) {
    const pipeloom::Run predicted = load_predicted(TimeUnit::Unit);
    return explain_at_file(predicted, load_measured(options, limits, predicted.timeline.unit, said));
  }
  const pipeloom::Run measured = load_measured(options, limits, TimeUnit::Unit, said);
  return explain_at_file(load_predicted(measured.timeline.unit), measured);
}

ExitCode run_explain(const ExplainOptions& options) {
  options.print.require_free_file();
  const Request& given = options.input;
  Request request = given;
  request.file = options.predicted;
  request.from.reset();  // these are the measured run's
  request.mapping.reset();
  request.text = io::read_text(options.predicted, io::kMaxTimelineBytes).text;
  const pipeloom::Limits limits = options.input.limits();
  const bool is_timeline = io::looks_like_timeline(*request.text);
  Answer answer;
  Said said{options.output};
  if (is_timeline) {
    answer.explanation = explain_times(options, request, limits, said);
  } else {
    const Input input = read_input(request);
    const pipeloom::Run measured = load_measured(options, limits, input.config.costs.unit, said);
    answer = best_answer(input, limits, measured, said);
  }
  said.warn(answer.explanation.warnings);
  answer.explanation.warnings = said.warnings;
  print_answer(
      options.print, options.output,
      [&] { return study::explain::explanation_json(answer.explanation, answer.transfer_model); },
      [&] { return study::page::explain_answer(answer.explanation); });
  return ExitCode::Ok;
}

constexpr const char* kExplainFooter =
    "\nAmounts sum to measured - predicted exactly: what nothing explains is taken off first, then the noise "
    "of\n"
    "single ops; the rest is dealt to the causes by Shapley's rule. `alone` is what a cause does to the "
    "predicted\n"
    "step by itself, `if fixed` what the measured step gains without it.\n\n"
    "Examples:\n"
    "  pipeloom explain config.json measured.jsonl\n"
    "  pipeloom explain config.json trace/ --mapping names.json\n"
    "  pipeloom explain predicted.jsonl trace.json --json\n";

}  // namespace

Run explain(OptionList& list) {
  auto options = std::make_shared<ExplainOptions>();
  list.set_footer(kExplainFooter);
  list.positional("PREDICTED", options->predicted, "FILE",
                  "Configuration or schedule file, or a timeline whose times are the prediction")
      .required();
  list.positional(
          "MEASURED", options->measured, "FILE",
          "Timeline or trace of the same ops, one step or several; a folder holds the files of all ranks")
      .required();
  add_trace_options(list, options->input);
  add_page_options(list, options->print, "What is printed");
  add_json_file_options(list, options->print);
  add_value_options(list, options->input);
  add_output_options(list, options->output);
  return [options] { return run_explain(*options); };
}

}  // namespace pipeloom::cli::commands
