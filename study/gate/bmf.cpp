#include "study/gate/bmf.hpp"

#include "sim/io/json/json_text.hpp"

namespace pipeloom::study::gate {

std::string bmf(const CheckResult& result) {
  std::string out = "{";
  for (const CaseResult& row : result.results) {
    if (row.metrics.empty()) continue;
    out += out.size() == 1 ? "\n  " : ",\n  ";
    io::append_json_string(out, row.name);
    out += ": {";
    for (const auto& [name, value] : row.metrics) {
      out += &name == &row.metrics.front().first ? "\n    " : ",\n    ";
      io::append_json_string(out, name);
      out += ": {\"value\": " + value + "}";
    }
    out += "\n  }";
  }
  return out + (out.size() == 1 ? "}\n" : "\n}\n");
}

}  // namespace pipeloom::study::gate
