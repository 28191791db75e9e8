#include "study/gate/benchmark_json.hpp"

#include "sim/io/json/json_text.hpp"

namespace pipeloom::study::gate {
namespace {

std::string unit_of(const Metric& metric, const CaseResult& row) {
  return metric.unit == Unit::Time ? row.time_unit : std::string(name_of(metric.unit));
}

}  // namespace

std::string benchmark_json(const CheckResult& result) {
  std::string out = "[";
  for (const CaseResult& row : result.results)
    for (const auto& [name, value] : row.metrics) {
      const Metric& metric = find_metric(name);
      if (metric.better != Better::Lower) continue;
      out += out.size() == 1 ? "\n  " : ",\n  ";
      out += "{\"name\": ";
      io::append_json_string(out, row.name + "/" + name);
      out += ", \"unit\": ";
      io::append_json_string(out, unit_of(metric, row));
      out += ", \"value\": " + value + "}";
    }
  return out + (out.size() == 1 ? "]\n" : "\n]\n");
}

}  // namespace pipeloom::study::gate
