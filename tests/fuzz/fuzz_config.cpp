// Any bytes as a configuration: read, and if they are one that is small, run it.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "sim/io/json_value.hpp"
#include "sim/io/report.hpp"
#include "sim/io/run_config.hpp"
#include "study/evaluate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeloom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const io::Document document = io::Document::parse(text, "config.json");
    const io::RunConfig config = io::read_run_config(document.root());
    study::Limits limits;
    limits.max_memory = 1 << 20;
    if (config.ranks > 64 || config.chunks.value_or(1) > 64) return 0;
    const study::Evaluation run = study::evaluate(config, limits);
    std::ostringstream report;
    io::write_report(report, run.report(), {true, true});
  } catch (const InternalError&) {
    throw;  // a bug, whatever the input
  } catch (const Error& error) {
    if (error.line().find('\n') != std::string::npos) __builtin_trap();
  }
  return 0;
}
