#include "sim/io/json/json_writer.hpp"
#include "study/gate/outputs.hpp"

namespace pipeloom::study::gate {
namespace {

std::string unit_of(const Metric& metric, const CaseResult& row) {
  return metric.unit == Unit::Time ? row.time_unit : std::string(name_of(metric.unit));
}

void write_rows(io::JsonWriter& out, const CheckResult& result) {
  out.array();
  for (const CaseResult& row : result.results)
    for (const auto& [name, value] : row.metrics) {
      const Metric& metric = find_metric(name);
      if (metric.better != Better::Lower) continue;
      out.line(2).object().member("name", row.name + "/" + name).member("unit", unit_of(metric, row));
      out.key("value").raw(value).close();
    }
  out.close(0);
}

}  // namespace

std::string benchmark_json(const CheckResult& result) {
  return io::written_json(io::kReportStyle, [&](io::JsonWriter& out) { write_rows(out, result); }) + "\n";
}

}  // namespace pipeloom::study::gate
