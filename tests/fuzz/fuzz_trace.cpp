// Any bytes as a file of a trace: the first byte chooses the format that is asked for, the rest is the file. What is read becomes a timeline
// that is written and read again to the same, or is refused in one line.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <pipeloom/error.hpp>
#include "sim/io/formats/timeline_jsonl.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "sim/io/traces/trace_readers.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace pipeloom;

/// A file of this process, in the folder for temporary ones; its name says a rank, as names of traces do.
std::string trace_file() {
  return (std::filesystem::temp_directory_path() /
          ("pipeloom_fuzz_" + std::to_string(::getpid()) + "_pp_rank_0.json"))
      .string();
}

std::string written(const Timeline& timeline) {
  std::ostringstream out;
  io::write_timeline_jsonl(out, timeline);
  return out.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const std::string path = trace_file();
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data + 1), static_cast<std::streamsize>(size - 1));
  (void)io::is_trace(path);
  const auto& formats = io::trace_formats();
  io::TraceOptions options;
  // One value more than there are formats: none is asked for, and the content decides.
  if (const std::size_t chosen = data[0] % (formats.size() + 1); chosen < formats.size())
    options.from = formats[chosen].name;
  try {
    const Timeline timeline = io::assemble(io::read_trace({path}, options)).timeline;
    const std::string first = written(timeline);
    fuzz::require(written(io::read_timeline(first, "again", timeline.unit).timeline) == first);
  } catch (const InputError& error) {
    fuzz::require_one_line(error.line());
  }
  std::filesystem::remove(path);
  return 0;
}
