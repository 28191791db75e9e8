#include "sim/io/schemas.hpp"

#include "sim/base/error.hpp"
#include "sim/io/config/key.hpp"

namespace pipeloom::io {

// sim/io/schemas/schemas.cpp.in
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
}  // namespace embedded

std::vector<std::string> schema_names() {
  return {"config",     "report", "schedule",     "suite", "baseline",
          "comparison", "grid",   "sweep-result", "check", "run"};
}

std::string schema_text(std::string_view name) {
  if (name == "config") return config_schema();
  if (name == "report") return std::string(embedded::kReportSchema);
  if (name == "schedule") return std::string(embedded::kScheduleSchema);
  if (name == "suite") return std::string(embedded::kSuiteSchema);
  if (name == "baseline") return std::string(embedded::kBaselineSchema);
  if (name == "comparison") return std::string(embedded::kComparisonSchema);
  if (name == "grid") return std::string(embedded::kGridSchema);
  if (name == "sweep-result") return std::string(embedded::kSweepResultSchema);
  if (name == "check") return std::string(embedded::kCheckSchema);
  if (name == "run") return std::string(embedded::kRunSchema);
  throw InputError::unknown_name({}, "schema", name, schema_names());
}

}  // namespace pipeloom::io
