#include <fmt/format.h>

#include <cctype>
#include <map>

#include "sim/io/json/json_writer.hpp"
#include "study/gate/outputs.hpp"
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

void write_rules(io::JsonWriter& out) {
  out.array();
  for (const LintRule& rule : lint_rules()) {
    out.line(12).object().member("id", rule.id);
    out.key("shortDescription").object().member("text", rule.summary).close();
    out.key("defaultConfiguration").object().member("level", "error").close().close();
  }
  out.line(10).close();
}

void write_location(io::JsonWriter& out, const Where& where) {
  out.object().key("physicalLocation").object();
  out.key("artifactLocation").object().member("uri", uri_of(where.file)).close();
  if (where.line > 0) {
    out.key("region").object().member("startLine", where.line);
    if (where.column > 0) out.member("startColumn", where.column);
    out.close();
  }
  out.close().close();
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

void write_finding(io::JsonWriter& out, const Finding& finding, Identities& identities) {
  const std::size_t index = lint_rule_index(finding.rule);
  out.line(8).object().line(10).member("ruleId", lint_rules()[index].id).member("ruleIndex", index);
  out.member("level", "error");
  out.line(10).key("message").object().member("text", finding.message).close();
  out.line(10).key("locations").array();
  if (!finding.where.file.empty()) write_location(out, finding.where);
  out.close().line(10).key("partialFingerprints").object();
  out.member("pipeloom/v1", identities.of(finding)).close().close(8);
}

void write_log(io::JsonWriter& out, std::span<const Finding> findings, std::string_view version) {
  out.object().line(2).member("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  out.line(2).member("version", "2.1.0").line(2).key("runs").array().line(4).object();
  out.line(6).key("tool").object().line(8).key("driver").object().line(10).member("name", "pipeloom");
  out.line(10).member("version", version);
  write_rules(out.line(10).key("rules"));
  out.close(8).close(6).line(6).key("results").array();
  Identities identities;
  for (const Finding& finding : findings) write_finding(out, finding, identities);
  out.close(6).close(4).close(2).close(0);
}

}  // namespace

std::string sarif(std::span<const Finding> findings, std::string_view version) {
  return io::written_json(io::kReportStyle, [&](io::JsonWriter& out) { write_log(out, findings, version); }) +
         "\n";
}

std::vector<Finding> lint_findings(const CheckResult& result) {
  std::vector<Finding> out;
  if (result.failure) out.push_back(*result.failure);
  for (const CaseResult& row : result.results)
    if (!row.as_expected()) out.insert(out.end(), row.findings.begin(), row.findings.end());
  return out;
}

}  // namespace pipeloom::study::gate
