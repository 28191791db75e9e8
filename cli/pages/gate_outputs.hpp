#pragma once

// Files to which the CI gate writes its results, in addition to the terminal.

#include <optional>
#include <string>
#include <vector>

#include "cli/option_list.hpp"
#include "study/suite/suite.hpp"

namespace pipeloom::cli {

/// Files by kind; "-" is standard output. Existing files are replaced, but for the summary, which is appended to: that is what a CI
/// job expects of its artifacts.
struct GateOutputs {
  std::optional<std::string> junit;
  std::optional<std::string> summary;
  std::optional<std::string> bmf;
  std::optional<std::string> benchmark_json;
  std::optional<std::string> sarif;
  bool github = false;

  /// Standard output belongs to one of them: everything else goes to standard error.
  [[nodiscard]] bool take_stdout() const;
};

/// --junit, --github, --summary, --bmf, --benchmark-json and --sarif.
void add_gate_options(OptionList& list, GateOutputs& outputs);
/// Throws InputError for empty names and where two outputs would write to the same place.
void require_distinct(const GateOutputs& outputs);

/// Writes every output, whatever the result; annotations go to standard output. One that cannot be written does not keep the others from
/// being written: then throws SystemError for the first.
void write_outputs(const GateOutputs& outputs, const study::CheckResult& result);

/// --sarif of commands that look at one file.
void add_sarif_option(OptionList& list, std::optional<std::string>& path);
void write_sarif(const std::string& path, const std::vector<study::Finding>& findings);

}  // namespace pipeloom::cli
