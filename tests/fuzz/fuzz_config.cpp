// Any bytes as a configuration: read, and if they are one that is small, run it, and show the run in every way.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/run/build_run.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/messages.hpp"
#include "tests/fuzz/pages.hpp"
#include "tests/fuzz/window.hpp"

namespace {

using namespace pipeloom;

void show(Run run) {
  if (run.schedule->num_ops() > fuzz::kMostOps) {
    return;
  }
  fuzz::check_lowering(*run.schedule);
  fuzz::check_formats(run);
  fuzz::check_window(gui::build_run(std::move(run), "fuzz", RunSource::Configuration, ""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const io::Document document = io::Document::parse(text, "config.json");
    const io::Config config = io::read_run_config(document.root());
    Limits limits;
    limits.max_memory = 1 << 20;
    if (config.ranks > 64 || config.chunks.value_or(1) > 64) return 0;
    show(study::evaluate(config, limits));
  } catch (const InternalError&) {
    throw;  // a bug, whatever the input
  } catch (const study::MessageProblem& problem) {
    fuzz::require_one_line(problem.line());
    fuzz::require(!study::message_hang_page(problem, true).empty());
    const auto write = [&](io::JsonWriter& out) {
      out.object();
      study::write_message_hang(out, problem);
      out.close();
    };
    fuzz::require(io::read_json(io::written_json(io::kReportStyle, write)).has_value());
  } catch (const Error& error) {
    fuzz::require_one_line(error.line());
  }
  return 0;
}
