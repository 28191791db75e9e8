#include <fmt/format.h>

#include <filesystem>

#include "study/document/html.hpp"
#include "study/gate/outputs.hpp"
#include "study/suite/case_verdict.hpp"

namespace pipeloom::study::gate {
namespace {

/// Text inside an element or an attribute, where a line end would be read as a blank.
std::string xml(const std::string& text) {
  std::string out;
  for (const char c : page::escaped(text)) {
    if (c == '\n' || c == '\t')
      out += fmt::format("&#{};", static_cast<int>(c));
    else
      out += c;
  }
  return out;
}

std::string test_case(const CheckResult& result, const CaseVerdict& verdict, const std::string& group) {
  std::string out = fmt::format(R"(    <testcase name="{}" classname="{}")", xml(verdict.name), group);
  if (verdict.severity == Severity::Fine) return out + "/>\n";
  out += fmt::format(">\n      <failure type=\"{}\" message=\"{}\">", name_of(verdict.severity),
                     xml(headline(result, verdict)));
  const std::string place = verdict.where.text();
  if (!place.empty()) out += xml(place) + '\n';
  for (const std::string& line : all_lines(result, verdict)) out += xml(line) + '\n';
  return out + "</failure>\n    </testcase>\n";
}

std::string failed_suite(const Finding& failure, const std::string& group) {
  const std::string place = failure.where.text();
  return fmt::format(
      "    <testcase name=\"the suite can be run\" classname=\"{}\">\n      <error type=\"{}\" "
      "message=\"{}\">{}</error>\n    </testcase>\n",
      group, xml(failure.rule), xml(failure.message), xml(place));
}

}  // namespace

std::string junit(const CheckResult& result) {
  const std::string group = xml(std::filesystem::path(result.suite_path).stem().string());
  const auto verdicts = verdicts_of(result);
  const std::size_t errors = result.failure ? 1 : 0;
  const std::string counts = fmt::format(R"(tests="{}" failures="{}" errors="{}")", verdicts.size() + errors,
                                         failing(verdicts).size(), errors);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"pipeloom check\" {}>\n", counts);
  out += fmt::format("  <testsuite name=\"{}\" {} skipped=\"0\">\n", xml(result.suite_path), counts);
  if (result.failure) out += failed_suite(*result.failure, group);
  for (const CaseVerdict& verdict : verdicts) out += test_case(result, verdict, group);
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace pipeloom::study::gate
