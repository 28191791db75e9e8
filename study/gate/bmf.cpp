#include "sim/io/json/json_writer.hpp"
#include "study/gate/outputs.hpp"

namespace pipeloom::study::gate {

std::string bmf(const CheckResult& result) {
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) {
                            out.object();
                            for (const CaseResult& row : result.results) {
                              if (row.metrics.empty()) continue;
                              out.line(2).key(row.name).object();
                              for (const auto& [name, value] : row.metrics)
                                out.line(4).key(name).object().key("value").raw(value).close();
                              out.close(2);
                            }
                            out.close(0);
                          }) +
         "\n";
}

}  // namespace pipeloom::study::gate
