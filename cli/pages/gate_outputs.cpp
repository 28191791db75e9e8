#include "cli/pages/gate_outputs.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "cli/console.hpp"
#include "sim/io/json/file.hpp"
#include "study/gate/outputs.hpp"
#include "version.hpp"

namespace pipeloom::cli {
namespace {

using study::CheckResult;

struct Output {
  const char* option;
  const std::optional<std::string>* path;
};

std::vector<Output> all_of(const GateOutputs& outputs) {
  return {{"--junit", &outputs.junit},
          {"--summary", &outputs.summary},
          {"--bmf", &outputs.bmf},
          {"--benchmark-json", &outputs.benchmark_json},
          {"--sarif", &outputs.sarif}};
}

void replace_file(const std::string& path, const std::string& text) {
  if (path == "-")
    print(text);
  else
    io::write_file(path, io::Overwrite::Yes, [&text](std::ostream& stream) { stream << text; });
}

/// Steps of a job share the file of their summaries, and its limit.
void append_summary(const std::string& path, const CheckResult& result) {
  if (path == "-") return print(study::gate::summary(result));
  std::error_code none;
  const bool is_file = std::filesystem::is_regular_file(path, none);
  if (!is_file && std::filesystem::exists(path, none))
    return replace_file(path, study::gate::summary(result));
  const auto there = is_file ? std::filesystem::file_size(path, none) : 0;
  const std::size_t room = there < study::gate::kMaxSummaryBytes ? study::gate::kMaxSummaryBytes - there : 0;
  const std::string text = study::gate::summary(result, room);
  if (text.empty()) print_warning(fmt::format("{} is full: the summary is left out", path));
  errno = 0;
  std::ofstream stream(path, std::ios::app | std::ios::binary);
  stream << text;
  stream.close();
  if (!stream)
    throw SystemError::cannot_write(path, errno != 0 ? std::strerror(errno) : "the disk refused it");
}

}  // namespace

bool GateOutputs::take_stdout() const {
  for (const Output& output : all_of(*this))
    if (*output.path && **output.path == "-") return true;
  return false;
}

void add_gate_options(OptionList& list, GateOutputs& outputs) {
  list.option("--junit", outputs.junit, "FILE",
              "Write JUnit XML, a test case per case; - is standard output, as below");
  list.flag("--github", outputs.github, "Print annotations of GitHub Actions, at most ten of a kind");
  list.option("--summary", outputs.summary, "FILE",
              "Append a page of Markdown, such as to \"$GITHUB_STEP_SUMMARY\"");
  list.option("--bmf", outputs.bmf, "FILE", "Write all metrics in Bencher Metric Format");
  list.option("--benchmark-json", outputs.benchmark_json, "FILE",
              "Write metrics for github-action-benchmark, customSmallerIsBetter");
  list.option("--sarif", outputs.sarif, "FILE",
              "Write what is wrong with configurations and schedule files as SARIF 2.1.0");
}

void require_distinct(const GateOutputs& outputs) {
  std::set<std::string> taken;
  if (outputs.github) taken.insert("-");
  for (const auto& [option, path] : all_of(outputs)) {
    if (!*path) continue;
    if ((*path)->empty()) throw InputError(Where{option}, "the name of the file is empty; name a file, or -");
    if (!taken.insert(**path).second)
      throw InputError(Where{option}, fmt::format("{} already holds another output; give each its own",
                                                  **path == "-" ? "standard output" : **path));
  }
}

void write_outputs(const GateOutputs& outputs, const CheckResult& result) {
  std::optional<SystemError> failed;
  const auto write = [&failed](const std::optional<std::string>& path, auto&& how) {
    if (!path) return;
    try {
      how(*path);
    } catch (const SystemError& error) {
      if (!failed) failed = error;
    }
  };
  namespace gate = study::gate;
  if (outputs.github) print(gate::annotations(result));
  write(outputs.junit, [&](const auto& path) { replace_file(path, gate::junit(result)); });
  write(outputs.summary, [&](const auto& path) { append_summary(path, result); });
  write(outputs.bmf, [&](const auto& path) { replace_file(path, gate::bmf(result)); });
  write(outputs.benchmark_json, [&](const auto& path) { replace_file(path, gate::benchmark_json(result)); });
  write(outputs.sarif, [&](const auto& path) { write_sarif(path, gate::lint_findings(result)); });
  if (failed) throw SystemError(*failed);
}

void add_sarif_option(OptionList& list, std::optional<std::string>& path) {
  list.option("--sarif", path, "FILE", "Write what is wrong as SARIF 2.1.0 too; - is standard output");
}

void write_sarif(const std::string& path, const std::vector<study::Finding>& findings) {
  replace_file(path, study::gate::sarif(findings, kVersion));
}

}  // namespace pipeloom::cli
