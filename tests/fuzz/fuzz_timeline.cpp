// Any bytes as a timeline: read, and if that works, written and read again to the same, drawn and opened in the window.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <pipeloom/costs.hpp>
#include <pipeloom/error.hpp>
#include "gui/model/run/build_run.hpp"
#include "sim/io/formats/timeline_jsonl.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "tests/fuzz/pages.hpp"
#include "tests/fuzz/window.hpp"

namespace {

std::string written(const pipeloom::Timeline& timeline) {
  std::ostringstream out;
  pipeloom::io::write_timeline_jsonl(out, timeline);
  return out.str();
}

/// As `convert` and the window have it.
void show(pipeloom::Timeline timeline) {
  using namespace pipeloom;
  if (timeline.start.size() > fuzz::kMostOps) return;
  const MemoryModel memory = default_memory(timeline.schedule->placement());
  io::Exported exported;
  exported.schedule = timeline.schedule.get();
  exported.timeline = &timeline;
  exported.memory = &memory;
  fuzz::check_formats(exported);
  fuzz::check_window(gui::build_timed_run(std::move(timeline), "fuzz", ""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeloom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)io::looks_like_timeline(text);
  try {
    Timeline timeline = io::read_timeline(text, "timeline.jsonl").timeline;
    const std::string first = written(timeline);
    fuzz::require(written(io::read_timeline(first, "again", timeline.unit).timeline) == first);
    show(std::move(timeline));
  } catch (const InputError& error) {
    fuzz::require_one_line(error.line());
  }
  return 0;
}
