// What holds for the reader of every format: files as the tool writes them come back to the run that they are of, and files that are damaged
// give no run without a word about it.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "support/catch.hpp"
#include "support/trace_files.hpp"

namespace trace_formats_test {

using namespace pipeloom;
using test::TraceFolder;

namespace {

/// 1F1B of 2 ranks, 3 microbatches.
const std::string kOrders = "0F0 0F1 0B0 0F2 0B1 0B2 | 1F0 1B0 1F1 1B1 1F2 1B2";

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const io::TraceFormatName& format : io::trace_format_list()) names.push_back(format.name);
  return names;
}

int steps_of(const std::string& format) {
  return format == "megatron" ? 1 : 3;  // a file holds one step
}

/// Steps from their own start on: some formats have a clock for each.
void require_same_steps(const Timeline& read, const Timeline& written) {
  REQUIRE(*read.schedule == *written.schedule);
  REQUIRE(read.steps == written.steps);
  for (int step = 0; step < read.steps; ++step) {
    const Ticks read_from = span_of(read, step).start;
    const Ticks written_from = span_of(written, step).start;
    for (std::size_t i = 0; i < read.schedule->num_ops(); ++i) {
      CHECK(read.start_of(i, step) - read_from == written.start_of(i, step) - written_from);
      CHECK(read.end_of(i, step) - read_from == written.end_of(i, step) - written_from);
    }
  }
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void overwrite(const std::string& file, std::string_view text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

std::string packed(const std::string& text, const std::string& by_way_of) {
  gzFile file = ::gzopen(by_way_of.c_str(), "wb");
  REQUIRE(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  ::gzclose(file);
  std::string bytes = text_of(by_way_of);
  std::filesystem::remove(by_way_of);
  return bytes;
}

/// The last file of the trace itself, not of what stands beside it.
std::string last_file(const TraceFolder& folder) {
  const auto files = folder.files();
  const auto file = std::find_if(files.rbegin(), files.rend(), [](const std::string& path) {
    return path.find("config.json") == std::string::npos;
  });
  return *file;
}

/// A damaged folder is refused in one line, read with a warning, or read as if nothing had happened.
void require_marked(const TraceFolder& folder, const std::string& format, const Timeline& whole) {
  try {
    const io::TraceRun run = io::assemble(io::read_trace({folder.path()}, {.from = format}));
    const bool is_marked = std::any_of(
        run.warnings.begin(), run.warnings.end(),
        [](const std::string& warning) { return warning.find("times are the host's") == std::string::npos; });
    if (!is_marked) require_same_steps(run.timeline, whole);
  } catch (const InputError& error) {
    CHECK(error.line().find('\n') == std::string::npos);
    CHECK_FALSE(error.line().empty());
  }
}

/// How much more memory reading the folder took than this process had; -1 if it failed. In a process of its own, whose peak is its own.
long peak_growth(const std::string& folder) {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto peak = [] {
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      return usage.ru_maxrss * 1024;
    };
    long grown = -1;
    try {
      const long before = peak();
      const io::TraceRun run = io::assemble(io::read_trace({folder}));
      if (run.timeline.schedule->ranks() == 2) grown = peak() - before;
    } catch (const InputError&) {
      grown = -1;
    }
    const bool is_told = ::write(ends[1], &grown, sizeof grown) == sizeof grown;
    ::_exit(is_told ? 0 : 1);
  }
  REQUIRE(child > 0);
  ::close(ends[1]);
  long grown = -1;
  const bool is_told = ::read(ends[0], &grown, sizeof grown) == sizeof grown;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return is_told && status == 0 ? grown : -1;
}

/// Forwards and backwards of m microbatches in turn, on two ranks.
std::string long_orders(int m) {
  std::vector<std::string> ranks[2];
  for (int k = 0; k < m; ++k)
    for (int r = 0; r < 2; ++r)
      for (const char kind : {'F', 'B'}) ranks[r].push_back(fmt::format("{}{}{}", r, kind, k));
  return fmt::format("{} | {}", fmt::join(ranks[0], " "), fmt::join(ranks[1], " "));
}

struct Length {
  int microbatches = 50;
  int steps = 3;
  int noise = 220;
};
/// Of two ranks' files that have 10 MB together.
Length length_of(const std::string& format) {
  if (format == "chrome") return {.microbatches = 2000, .steps = 4, .noise = 1};
  if (format == "megatron") return {.steps = 1, .noise = 700};
  if (format == "primus") return {.steps = 50, .noise = 160};
  return {.noise = 330};
}

}  // namespace

TEST_CASE("files of every format are the run that they were written from", "[traces]") {
  for (const std::string& format : format_names()) {
    DYNAMIC_SECTION(format) {
      const bool is_reversed = GENERATE(false, true);
      const Timeline times = test::regular_times(kOrders, steps_of(format));
      const TraceFolder folder("trace_formats_test");
      test::write_trace(format, folder, times, {.noise = 2, .is_reversed = is_reversed});
      REQUIRE(io::is_trace(folder.path()));
      const io::Trace trace = io::read_trace({folder.path()});
      CHECK(trace.format == format);
      require_same_steps(io::assemble(trace).timeline, times);
    }
  }
}

TEST_CASE("files of every format that end early give nothing without a word", "[traces]") {
  for (const std::string& format : format_names()) {
    DYNAMIC_SECTION(format) {
      const bool is_packed = GENERATE(false, true);
      const Timeline times = test::regular_times(kOrders, steps_of(format));
      const TraceFolder folder("trace_formats_test");
      test::write_trace(format, folder, times);
      const std::string file = last_file(folder);
      const std::string whole = is_packed ? packed(text_of(file), folder.file("packed.gz")) : text_of(file);
      constexpr std::size_t kCuts = 40;
      for (std::size_t cut = 0; cut < kCuts; ++cut) {
        overwrite(file, std::string_view(whole).substr(0, whole.size() * cut / kCuts));
        require_marked(folder, format, times);
      }
    }
  }
}

TEST_CASE("files of every format without one of their rows give nothing without a word", "[traces]") {
  // A profiler that was stopped: the text is whole, ops are not there.
  for (const char* format : {"kineto", "megatron", "straggler", "chrome"}) {
    DYNAMIC_SECTION(format) {
      const Timeline times = test::regular_times(kOrders, 1);
      const TraceFolder folder("trace_formats_test");
      test::write_trace(format, folder, times);
      const std::string file = last_file(folder);
      const std::string whole = text_of(file);
      // Of the last backward nothing is left.
      std::string less = whole;
      const std::string name = format == std::string("megatron")    ? "backward-2"
                               : format == std::string("straggler") ? "backward-compute,1.000053"
                                                                    : "1B2";
      for (std::size_t at = less.find(name); at != std::string::npos; at = less.find(name)) less[at] = 'x';
      REQUIRE(less != whole);
      overwrite(file, less);
      CHECK_THROWS_AS(io::assemble(io::read_trace({folder.path()}, {.from = format})), InputError);
    }
  }
}

TEST_CASE("a file of one format is refused by the readers of all others", "[traces]") {
  const Timeline times = test::regular_times(kOrders, 1);
  for (const std::string& format : format_names()) {
    const TraceFolder folder("trace_formats_test");
    test::write_trace(format, folder, times);
    const std::string file = last_file(folder);
    for (const std::string& other : format_names()) {
      if (other == format) continue;
      INFO(format << " read as " << other);
      CHECK_THROWS_AS(io::assemble(io::read_trace({file}, {.from = other})), InputError);
    }
  }
}

TEST_CASE("ten megabytes of every format take less memory than they are long", "[traces]") {
  constexpr std::uintmax_t kWritten = 10'000'000;
  constexpr long kMost = 8L << 20;
  for (const std::string& format : format_names()) {
    DYNAMIC_SECTION(format) {
      // What a profiler writes beside each op makes files long; of our own format the ops themselves do.
      const Length length = length_of(format);
      const Timeline times = test::regular_times(long_orders(length.microbatches), length.steps);
      const TraceFolder folder("trace_formats_test");
      test::write_trace(format, folder, times, {.noise = length.noise});
      std::uintmax_t written = 0;
      for (const std::string& file : folder.files()) written += std::filesystem::file_size(file);
      CHECK(written >= kWritten);
      const long grown = peak_growth(folder.path());
      CHECK(grown >= 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      CHECK(grown < kMost);
#else
      static_cast<void>(kMost);
#endif
    }
  }
}

TEST_CASE("a Chrome trace of ours is every schedule that wrote it", "[traces]") {
  const std::string orders =
      GENERATE(as<std::string>(),
               "0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2 | 1F0 1B0 1F1 1B1 1F2 1B2",  // an overlapped pair
               "0F0.0 0F0.1 0B0.1 0B0.0 | 1F0.0 1F0.1 1B0.1 1B0.0",               // slices
               "0F0 3F0 3I0 0I0 3W0 0W0 | 1F0 2F0 2I0 1I0 2W0 1W0",               // a V
               "0F0 0O0 0F1 0L0 0B0 0B1 | 1F0 1R0 1B0 1F1 1R1 1B1");              // copies, recomputation
  const Timeline times = test::simulated_times(orders, 2);
  const TraceFolder folder("trace_formats_test");
  test::write_trace("chrome", folder, times, {.noise = 1});
  const io::TraceRun run = io::assemble(io::read_trace({folder.path()}));
  CHECK(*run.timeline.schedule == *times.schedule);
  CHECK(run.timeline.start == times.start);
  CHECK(run.timeline.end == times.end);
  CHECK(run.timeline.unit == times.unit);
  CHECK(run.warnings.empty());
}

}  // namespace trace_formats_test
