#include "study/report/schemas.hpp"

#include <fmt/format.h>

#include <pipeloom/error.hpp>
#include "sim/io/config/key.hpp"

namespace pipeloom::study {

// study/report/schemas/schemas.cpp.in
namespace embedded {
extern const std::string_view kReportSchema;
extern const std::string_view kScheduleSchema;
extern const std::string_view kSuiteSchema;
extern const std::string_view kBaselineSchema;
extern const std::string_view kComparisonSchema;
extern const std::string_view kGridSchema;
extern const std::string_view kSweepResultSchema;
extern const std::string_view kCheckSchema;
extern const std::string_view kRunSchema;
extern const std::string_view kExplanationSchema;
extern const std::string_view kCalibrationSchema;
extern const std::string_view kEstimateSchema;
extern const std::string_view kPlanSchema;
}  // namespace embedded

namespace {

/// Lines of the schema are not longer, so that it can be read.
constexpr std::size_t kLongestLine = 125;
/// Places of the metrics in schemas/report.json, among the properties and among the required keys.
constexpr std::string_view kProperties = "    \"metrics\": {},\n";
constexpr std::string_view kRequired = "    \"metrics\"\n";

std::string type_of(const Metric& metric) {
  const std::string_view most = metric.share ? R"(, "maximum": 1)" : "";
  switch (metric.unit) {
    case Unit::Time:
      return R"({"$ref": "#/$defs/time"})";
    case Unit::Count:
      return R"({"$ref": "#/$defs/count"})";
    case Unit::Bytes:
    case Unit::Ratio:
    case Unit::PerSecond:
      break;
  }
  // The headroom of a limit is negative where more is needed.
  if (metric.unit == Unit::Bytes && metric.better == Better::Higher) return R"({"type": "number"})";
  return fmt::format(R"({{"type": "number", "minimum": 0{}}})", most);
}

std::string property_of(const Metric& metric) {
  if (metric.which == nullptr) return fmt::format("    \"{}\": {},\n", metric.name, type_of(metric));
  return fmt::format(R"(    "{}": {{
      "type": "object",
      "properties": {{"value": {}, "name": {{"type": "string"}}}},
      "required": ["value", "name"],
      "additionalProperties": false
    }},
)",
                     metric.name, type_of(metric));
}

/// Names in quotes with commas between, broken into lines.
std::string lines_of(const std::vector<std::string_view>& names) {
  std::string out = "   ";
  std::size_t line = out.size();
  for (const std::string_view name : names) {
    const std::string item = fmt::format(" \"{}\"{}", name, name == names.back() ? "" : ",");
    if (line + item.size() > kLongestLine) {
      out += "\n   ";
      line = 3;
    }
    out += item;
    line += item.size();
  }
  return out + "\n";
}

void replace(std::string& text, std::string_view what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
}

}  // namespace

std::string report_schema(std::span<const Metric> table) {
  std::string text(embedded::kReportSchema);
  std::string properties;
  std::vector<std::string_view> names = {"schema_version", "tool", "config", "time_unit"};
  for (const Metric& metric : table) {
    if (!metric.report) continue;
    properties += property_of(metric);
    if (!metric.sometimes) names.push_back(metric.name);
  }
  names.insert(names.end(), {"memory", "ranks"});
  replace(text, kProperties, properties);
  replace(text, kRequired, lines_of(names));
  return text;
}

std::vector<std::string> schema_names() {
  return {"config",       "report", "schedule", "suite",       "baseline",    "comparison", "grid",
          "sweep-result", "check",  "run",      "explanation", "calibration", "estimate",   "plan"};
}

std::string schema_text(std::string_view name) {
  if (name == "config") return io::config_schema();
  if (name == "report") return report_schema();
  if (name == "schedule") return std::string(embedded::kScheduleSchema);
  if (name == "suite") return std::string(embedded::kSuiteSchema);
  if (name == "baseline") return std::string(embedded::kBaselineSchema);
  if (name == "comparison") return std::string(embedded::kComparisonSchema);
  if (name == "grid") return std::string(embedded::kGridSchema);
  if (name == "sweep-result") return std::string(embedded::kSweepResultSchema);
  if (name == "check") return std::string(embedded::kCheckSchema);
  if (name == "run") return std::string(embedded::kRunSchema);
  if (name == "explanation") return std::string(embedded::kExplanationSchema);
  if (name == "estimate") return std::string(embedded::kEstimateSchema);
  if (name == "plan") return std::string(embedded::kPlanSchema);
  if (name == "calibration") return std::string(embedded::kCalibrationSchema);
  throw InputError::unknown_name({}, "schema", name, schema_names());
}

}  // namespace pipeloom::study
