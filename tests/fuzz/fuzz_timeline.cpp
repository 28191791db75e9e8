// Any bytes as a timeline: read, and if that works, written and read again to the same.

#include "sim/io/timeline_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "sim/error.hpp"
#include "sim/io/timeline_jsonl.hpp"

namespace {

std::string written(const pipeloom::Timeline& timeline) {
  std::ostringstream out;
  pipeloom::io::write_timeline_jsonl(out, timeline);
  return out.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeloom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)io::looks_like_timeline(text);
  try {
    const Timeline timeline = io::read_timeline(text, "timeline.jsonl").timeline;
    const std::string first = written(timeline);
    if (written(io::read_timeline(first, "again", timeline.unit).timeline) != first) std::abort();
  } catch (const InputError&) {
    // refused with a place
  }
  return 0;
}
