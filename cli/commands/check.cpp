// pipeloom check SUITE: does everything still come out as the baseline says?

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdlib>
#include <iostream>

#include "cli/command.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/table.hpp"
#include "study/suite.hpp"

namespace pipeloom::cli::commands {
namespace {

struct SuiteOptions {
  std::string suite;
  study::CheckOptions check;
  std::optional<std::string> max_memory;
  OutputOptions output;
  bool update = false;
};

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' ? std::optional<double>(value) : std::nullopt;
}

/// "+1.25 %" between two numbers, "" between anything else.
std::string relative_change(const study::Change& change) {
  const auto before = number_of(change.before);
  const auto after = number_of(change.after);
  if (!before || !after || *before == 0) return "";
  return fmt::format("{:+.3g} %", 100 * (*after / *before - 1));
}

Table change_table(const std::vector<study::Change>& changes) {
  Table table({{"case", Align::Left},
               {"what", Align::Left},
               {"before", Align::Right},
               {"", Align::Left},
               {"after", Align::Right},
               {"change", Align::Right},
               {"", Align::Left}});
  for (const study::Change& change : changes)
    table.add_row({change.case_name, change.what, change.before, "->", change.after, relative_change(change),
                   std::string(study::name_of(change.verdict))});
  return table;
}

std::string page(const study::CheckResult& result, const Screen& screen) {
  std::string out = result.changes.empty() ? "" : change_table(result.changes).text(screen.has_colour());
  for (const std::string& line : result.unexpected) out += line + '\n';
  return out;
}

std::string verdict(const SuiteOptions& options, const study::Suite& suite,
                    const study::CheckResult& result) {
  const std::string cases = count_text(result.results.size(), "case");
  if (options.update && result.unexpected.empty())
    return fmt::format(
        "{}; {} written, {}\n", cases, suite.baseline_path,
        result.changes.empty() ? "nothing changed" : count_text(result.changes.size(), "change"));
  if (result.passed()) return fmt::format("{}: all as in {}\n", cases, suite.baseline_path);
  std::string out = fmt::format("{}: {}", cases, count_text(result.changes.size(), "change"));
  if (!result.unexpected.empty())
    out += fmt::format(", {} with an unexpected status", result.unexpected.size());
  return out + '\n';
}

ExitCode run_check(const SuiteOptions& options) {
  study::CheckOptions check = options.check;
  if (options.max_memory) check.limits.max_memory = parse_size(*options.max_memory, "--max-memory");
  const Screen screen = options.output.screen();
  const study::Suite suite = study::read_suite(options.suite);
  const study::CheckResult result =
      options.update ? study::update_baseline(suite, check) : study::check(suite, check);
  print(page(result, screen) + (options.output.quiet ? "" : verdict(options, suite, result)));
  const bool fine = options.update ? result.unexpected.empty() : result.passed();
  if (!fine && !options.update)
    std::cerr
        << "error: the suite differs from its baseline; if that is what you want, run it with --update\n";
  return fine ? ExitCode::Ok : ExitCode::AnswerIsNo;
}

}  // namespace

Run check(CLI::App& app) {
  auto options = std::make_shared<SuiteOptions>();
  app.footer(
      "\nExit codes: 0 all as in the baseline, 1 something changed, for better or worse, 2 wrong input.");
  app.add_option("SUITE", options->suite, "Suite file")->type_name("FILE")->required();
  app.add_flag("--update", options->update, "Write the baseline anew and say what changed");
  app.add_option("--only", options->check.only,
                 "Only cases whose name matches; * and ? stand for any text and any character")
      ->type_name("GLOB");
  app.add_option("--max-memory", options->max_memory,
                 "Refuse runs that need more, such as 8GiB; default 3/4 of this machine's memory")
      ->type_name("SIZE");
  add_output_options(app, options->output);
  return [options] { return run_check(*options); };
}

}  // namespace pipeloom::cli::commands
