#include "study/sweep/result/line_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/text/numbers.hpp"
#include "study/text/result_text.hpp"

namespace pipeloom::sweep {
namespace {

/// True if lines with this status have metrics (an error).
bool has_metrics(std::string_view status) {
  return status == name_of(Status::Ok) || status == name_of(Status::OverMemory);
}
bool has_error(std::string_view status) {
  return status != name_of(Status::Ok);
}

/// The status that a text begins with, or "".
std::string_view status_at(LineScanner& scanner) {
  for (const Status status : study::kAllStatuses)
    if (scanner.take(name_of(status))) return name_of(status);
  return "";
}

bool is_json_outcome(std::string_view rest, const std::vector<std::string>& metrics) {
  LineScanner scanner(rest);
  if (!scanner.take(R"("status": ")")) return false;
  const std::string_view status = status_at(scanner);
  if (status.empty() || !scanner.take("\"")) return false;
  if (has_metrics(status)) {
    if (!scanner.take(R"(, "metrics": {)")) return false;
    for (std::size_t i = 0; i < metrics.size(); ++i)
      if (!scanner.take((i > 0 ? ", \"" : "\"") + metrics[i] + "\": ") ||
          (!scanner.take(study::kNoValue) && !scanner.number()))
        return false;
    if (!scanner.take("}")) return false;
  }
  if (has_error(status) && !(scanner.take(R"(, "error": )") && scanner.quoted())) return false;
  return scanner.take("}") && scanner.at_end();
}

bool is_csv_outcome(std::string_view rest, const std::vector<std::string>& metrics) {
  const auto cells = cells_of(rest);
  if (!cells || cells->size() != metrics.size() + 2 || valid_utf8(rest) != rest.size()) return false;
  LineScanner scanner(cells->front());
  const std::string_view status = status_at(scanner);
  if (status.empty() || !scanner.at_end() || has_error(status) == cells->back().empty()) return false;
  return std::all_of(cells->begin() + 1, cells->end() - 1, [&](const std::string& cell) {
    LineScanner number(cell);
    return cell.empty() || (has_metrics(status) && number.number() && number.at_end());
  });
}

}  // namespace

LineWriter::LineWriter(ResultFormat format, Grid grid, std::vector<std::string> metrics)
    : format_(format), grid_(std::move(grid)), metrics_(std::move(metrics)) {}

std::string LineWriter::preamble(const Header& header) const {
  if (format_ == ResultFormat::JsonLines) return header.line() + '\n';
  std::string out = "# " + header.line() + "\npoint,key";
  for (const std::string& key : grid_.keys()) append_cell(out += ',', key);
  out += ",status";
  for (const std::string& metric : metrics_) append_cell(out += ',', metric);
  return out + ",error\n";
}

void LineWriter::append_identity(std::string& out, const Combination& combination, std::uint64_t point,
                                 std::string_view key) const {
  const fmt::format_int number(point);
  const std::string_view digits(number.data(), number.size());
  if (format_ == ResultFormat::JsonLines) {
    ((((out += R"({"point": )") += digits) += R"(, "key": ")") += key) += R"(", "config": {)";
    append_json_identity(out, combination);
  } else {
    ((out += digits) += ',') += key;
    append_csv_identity(out, combination);
  }
}

void LineWriter::append_json_identity(std::string& out, const Combination& combination) const {
  bool first = true;
  for (const Setting& setting : combination.settings) {
    if (!first) out += ", ";
    first = false;
    io::append_json_string(out, grid_.keys()[setting.key]);
    (out += ": ") += setting.json;
  }
  out += "}, ";
}

void LineWriter::append_csv_identity(std::string& out, const Combination& combination) const {
  auto setting = combination.settings.begin();
  for (std::uint32_t key = 0; key < grid_.keys().size(); ++key) {
    out += ',';
    // Settings are in the order of the keys, but a combination need not have all of them.
    if (setting == combination.settings.end() || setting->key != key) continue;
    append_cell(out, cell_of_json(setting->json));
    ++setting;
  }
  out += ',';
}

void LineWriter::append_outcome(std::string& out, const Outcome& outcome) const {
  const std::string_view status = name_of(outcome.status);
  const std::string error = has_error(status) ? shortened(outcome.error, kMaxErrorText) : "";
  if (format_ == ResultFormat::Csv) {
    out += status;
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      out += ',';
      if (has_metrics(status) && outcome.metrics[i] != study::kNoValue) out += outcome.metrics[i];
    }
    append_cell(out += ',', begins_a_formula(error) ? "'" + error : error);
    out += '\n';
    return;
  }
  ((out += R"("status": ")") += status) += '"';
  if (has_metrics(status)) {
    out += R"(, "metrics": {)";
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      if (i > 0) out += ", ";
      (((out += '"') += metrics_[i]) += "\": ") += outcome.metrics[i];
    }
    out += '}';
  }
  if (has_error(status)) io::append_json_string(out += R"(, "error": )", error);
  out += "}\n";
}

bool LineWriter::is_outcome(std::string_view rest) const {
  return format_ == ResultFormat::Csv ? is_csv_outcome(rest, metrics_) : is_json_outcome(rest, metrics_);
}

}  // namespace pipeloom::sweep
