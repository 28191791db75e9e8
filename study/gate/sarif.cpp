#include "study/gate/sarif.hpp"

#include <fmt/format.h>

#include <cctype>
#include <map>

#include "sim/io/json/json_text.hpp"
#include "study/suite/case_verdict.hpp"
#include "study/suite/lint_rules.hpp"
#include "study/text/fingerprint.hpp"

namespace pipeloom::study::gate {
namespace {

/// A path as a URI reference (RFC 3986): relative as it is, absolute with its scheme.
std::string uri_of(std::string_view path) {
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string rules() {
  std::string out;
  for (const LintRule& rule : lint_rules()) {
    out += out.empty() ? "\n" : ",\n";
    out += fmt::format(
        "            {{\"id\": {}, \"shortDescription\": {{\"text\": {}}}, \"defaultConfiguration\": "
        "{{\"level\": \"error\"}}}}",
        io::json_string(rule.id), io::json_string(rule.summary));
  }
  return out;
}

std::string location(const Where& where) {
  std::string out = fmt::format("{{\"physicalLocation\": {{\"artifactLocation\": {{\"uri\": {}}}",
                                io::json_string(uri_of(where.file)));
  if (where.line > 0) out += fmt::format(", \"region\": {{\"startLine\": {}", where.line);
  if (where.line > 0 && where.column > 0) out += fmt::format(", \"startColumn\": {}", where.column);
  return out + (where.line > 0 ? "}}}" : "}}");
}

/// Not the place: a finding that moved within its file is the same finding. The n-th of several that differ in nothing else says so.
class Identities {
 public:
  std::string of(const Finding& finding) {
    std::string text = finding.rule + '\n' + finding.where.file + '\n' + finding.message;
    const int before = seen_[text]++;
    if (before > 0) text += fmt::format("\n{}", before + 1);
    return fingerprint(text);
  }

 private:
  std::map<std::string, int> seen_;
};

std::string result_of(const Finding& finding, Identities& identities) {
  const std::size_t index = lint_rule_index(finding.rule);
  return fmt::format(
      "        {{\n          \"ruleId\": {}, \"ruleIndex\": {}, \"level\": \"error\",\n"
      "          \"message\": {{\"text\": {}}},\n          \"locations\": [{}],\n"
      "          \"partialFingerprints\": {{\"pipeloom/v1\": \"{}\"}}\n        }}",
      io::json_string(lint_rules()[index].id), index, io::json_string(finding.message),
      finding.where.file.empty() ? "" : location(finding.where), identities.of(finding));
}

}  // namespace

std::string sarif(std::span<const Finding> findings, std::string_view version) {
  std::string out = fmt::format(
      "{{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n  \"version\": \"2.1.0\",\n"
      "  \"runs\": [\n    {{\n      \"tool\": {{\n        \"driver\": {{\n          \"name\": \"pipeloom\",\n"
      "          \"version\": {},\n          \"rules\": [{}\n          ]\n        }}\n      }},\n"
      "      \"results\": [",
      io::json_string(version), rules());
  Identities identities;
  for (std::size_t i = 0; i < findings.size(); ++i)
    out += (i > 0 ? ",\n" : "\n") + result_of(findings[i], identities);
  return out + (findings.empty() ? "]\n    }\n  ]\n}\n" : "\n      ]\n    }\n  ]\n}\n");
}

std::vector<Finding> lint_findings(const CheckResult& result) {
  std::vector<Finding> out;
  if (result.failure) out.push_back(*result.failure);
  for (const CaseResult& row : result.results)
    if (!row.as_expected()) out.insert(out.end(), row.findings.begin(), row.findings.end());
  return out;
}

}  // namespace pipeloom::study::gate
