#include <fmt/format.h>

#include "sim/base/text_tools.hpp"
#include "study/document/formats.hpp"
#include "study/gate/outputs.hpp"
#include "study/suite/case_verdict.hpp"

namespace pipeloom::study::gate {
namespace {

/// Kept free for the lines that say how much is missing.
constexpr std::size_t kReserve = 512;

/// One line of a Markdown table's cell or list: markup is escaped.
std::string plain(const std::string& text) {
  return page::markdown_escaped(printable(text));
}

/// Text that stops growing at a limit.
class Page {
 public:
  explicit Page(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Appends all or nothing of it.
  bool add(const std::string& text) {
    if (text_.size() + text.size() + kReserve > max_bytes_) return false;
    text_ += text;
    return true;
  }
  /// Uses the reserve. REQUIRES: once per section, and short.
  void close(const std::string& text) {
    if (text_.size() + text.size() <= max_bytes_) text_ += text;
  }
  /// Rows until they no longer fit, under a heading; the rows left out are counted as `noun`.
  void add_table(const std::string& heading, const std::vector<std::string>& rows, std::string_view noun) {
    if (rows.empty() || !add(heading)) return;
    std::size_t written = 0;
    while (written < rows.size() && add(rows[written])) ++written;
    if (written < rows.size())
      close(fmt::format("\n{} more {} left out: there is no room for them.\n", rows.size() - written, noun));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::size_t max_bytes_;
  std::string text_;
};

std::string heading(const CheckResult& result, std::size_t cases, std::size_t differing) {
  const std::string suite = plain(result.suite_path);
  if (result.failure)
    return fmt::format("### :x: pipeloom check {}: the suite cannot be run\n\n{}: {}\n", suite,
                       plain(result.failure->where.text()), plain(result.failure->message));
  const std::string noun = cases == 1 ? "case" : "cases";
  if (differing > 0)
    return fmt::format("### :x: pipeloom check {}: {} of {} {} differ{}\n", suite, differing, cases, noun,
                       differing == 1 && cases == 1 ? "s" : "");
  if (result.updated)
    return fmt::format("### :white_check_mark: pipeloom check {}: baseline updated, {} {}\n", suite, cases,
                       noun);
  return fmt::format("### :white_check_mark: pipeloom check {}: {} {}, all as in the baseline\n", suite,
                     cases, noun);
}

std::vector<std::string> change_rows(const CheckResult& result, const std::vector<CaseVerdict>& verdicts) {
  std::vector<std::string> out;
  for (const CaseVerdict& verdict : verdicts)
    for (const Change* change : verdict.changes) {
      std::string may = tolerance_text(result, *change);
      if (!may.empty()) may = "; " + may;
      out.push_back(fmt::format("| {} | {} | {} | {} | {} | {}{} |\n", plain(verdict.name),
                                plain(change->what), plain(change->before), plain(change->after),
                                relative_change(*change), verdict_text(*change), may));
    }
  return out;
}

/// Cases with the worst news first; those whose changes were accepted too.
std::vector<CaseVerdict> told(const CheckResult& result) {
  auto verdicts = verdicts_of(result);
  if (!result.updated) return failing(std::move(verdicts));
  std::vector<CaseVerdict> out;
  for (CaseVerdict& verdict : verdicts)
    if (!verdict.changes.empty() || verdict.severity != Severity::Fine) out.push_back(std::move(verdict));
  return out;
}

std::string metric_heading(const CheckResult& result) {
  std::string names = "| case | status |";
  std::string rule = "| --- | --- |";
  for (const CaseResult& row : result.results) {
    if (row.metrics.empty()) continue;
    for (const auto& [name, value] : row.metrics) {
      names += " " + plain(name) + " |";
      rule += " ---: |";
    }
    break;
  }
  return "\n<details><summary>Metrics of all cases</summary>\n\n" + names + '\n' + rule + '\n';
}

std::vector<std::string> metric_rows(const CheckResult& result) {
  std::vector<std::string> out;
  for (const CaseResult& row : result.results) {
    out.push_back(fmt::format("| {} | {} |", plain(row.name), plain(row.status)));
    for (const auto& [name, value] : row.metrics)
      out.back() += find_metric(name).unit == Unit::Time ? fmt::format(" {} {} |", value, row.time_unit)
                                                         : fmt::format(" {} |", value);
    out.back() += '\n';
  }
  return out;
}

}  // namespace

std::string summary(const CheckResult& result, std::size_t max_bytes) {
  const auto verdicts = told(result);
  const std::size_t differing = failing(verdicts).size();
  Page page(max_bytes);
  page.close(heading(result, verdicts_of(result).size(), differing));
  std::vector<std::string> unexpected;
  for (const CaseVerdict& verdict : verdicts)
    if (verdict.severity == Severity::Broken)
      unexpected.push_back(
          fmt::format("- {}: {}\n", plain(verdict.name), plain(unexpected_text(*verdict.row))));
  page.add_table("\n", unexpected, "cases are");
  page.add_table(
      "\n| case | what | before | after | change | verdict |\n| --- | --- | ---: | ---: | ---: | --- |\n",
      change_rows(result, verdicts), "changes are");
  if (!result.changes.empty() && !result.updated && !result.failure)
    (void)page.add(fmt::format(
        "\nIf these changes are wanted, run `pipeloom check {} --update` and commit the baseline.\n",
        plain(shortened(result.suite_path, 200))));
  const auto metrics = metric_rows(result);
  if (!metrics.empty() && page.add(metric_heading(result))) {
    page.add_table("", metrics, "cases are");
    page.close("\n</details>\n");
  }
  return page.take();
}

}  // namespace pipeloom::study::gate
