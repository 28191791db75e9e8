#include <fmt/format.h>

#include "sim/base/text_tools.hpp"
#include "study/gate/outputs.hpp"
#include "study/suite/case_verdict.hpp"

namespace pipeloom::study::gate {
namespace {

/// The message of a workflow command: characters that would end it are percent-encoded.
std::string message_text(const std::string& text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    if (c == '%')
      out += "%25";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else
      out += c;
  }
  return out;
}

/// A property of a workflow command: it also ends at ':' and ','.
std::string property_text(const std::string& text) {
  std::string out;
  for (const char c : message_text(text)) {
    if (c == ':')
      out += "%3A";
    else if (c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

std::string command(std::string_view level, const Where& where, const std::string& title,
                    const std::string& message) {
  std::string out = fmt::format("::{} ", level);
  if (!where.file.empty()) out += fmt::format("file={},", property_text(where.file));
  if (where.line > 0) out += fmt::format("line={},", where.line);
  if (where.line > 0 && where.column > 0) out += fmt::format("col={},", where.column);
  return out + fmt::format("title={}::{}\n", property_text(title), message_text(message));
}

std::string notice_of_rest(const CheckResult& result, std::size_t errors, std::size_t warnings) {
  std::vector<std::string> rest;
  if (errors > kMaxAnnotations) rest.push_back(fmt::format("{} more with errors", errors - kMaxAnnotations));
  if (warnings > kMaxAnnotations)
    rest.push_back(fmt::format("{} more with warnings", warnings - kMaxAnnotations));
  if (rest.empty()) return "";
  return command(
      "notice", Where{result.suite_path}, "pipeloom check: more cases differ",
      fmt::format("{}: see the output of the step, or its summary (--summary)", fmt::join(rest, ", ")));
}

}  // namespace

std::string annotations(const CheckResult& result) {
  if (result.failure)
    return command("error", result.failure->where, "pipeloom check: the suite cannot be run",
                   result.failure->message);
  std::string out;
  std::size_t errors = 0;
  std::size_t warnings = 0;
  for (const CaseVerdict& verdict : failing(verdicts_of(result))) {
    const bool error = verdict.severity <= Severity::Changed;
    if (++(error ? errors : warnings) > kMaxAnnotations) continue;
    out += command(error ? "error" : "warning", verdict.where,
                   fmt::format("pipeloom check: {} is {}", verdict.name, name_of(verdict.severity)),
                   join(all_lines(result, verdict), "\n"));
  }
  return out + notice_of_rest(result, errors, warnings);
}

}  // namespace pipeloom::study::gate
