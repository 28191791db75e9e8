#pragma once

// The formats of traces, a row each, and what their readers share.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/traces/range_names.hpp"
#include "sim/io/traces/trace.hpp"

namespace pipeloom::io {

enum class FileHolds : std::uint8_t {
  Run,          ///< all ranks
  Rank,         ///< one rank
  RankIfNamed,  ///< one rank where the file's name has its number, else all ranks
};

struct TraceFormat {
  std::string name;     ///< "kineto", as --from spells it
  std::string summary;  ///< one line
  /// True if a file that begins like this, and is called so, is of this format. Contents decide; a name alone never does.
  std::function<bool(std::string_view beginning, std::string_view file_name)> sniff;
  /// Adds what the file says to the trace. Throws InputError.
  std::function<void(const std::string& path, const RangeNames& names, Trace& trace)> read;
  /// What one file holds.
  FileHolds holds = FileHolds::Run;
  /// True if ranges with names are in it, so that a mapping may say what they mean.
  bool takes_mapping = false;
  /// What has its profiler record the device, where files may lack it; "" where none does.
  std::string device_option = {};
};

/// As trace_formats.def has them.
[[nodiscard]] const std::vector<TraceFormat>& trace_formats();

/// A time in decimal text as ticks. Throws InputError at the file.
[[nodiscard]] Ticks trace_time(std::string_view text, TimeUnit unit, const std::string& path);

/// The number behind the last `word` in the file's name: 3 for "rank" in "run/pp_rank_3.json" and "rank3.json".
[[nodiscard]] std::optional<std::int32_t> number_in_name(std::string_view path, std::string_view word);

/// The rank's part of the trace, added if it is not there. Throws InputError if another file had it; of a rank kUnknown there may be several.
RankTrace& add_rank(Trace& trace, std::int32_t rank, const std::string& path);

// The readers. Each is defined in the file of its name.
[[nodiscard]] TraceFormat kineto_format();
[[nodiscard]] TraceFormat megatron_format();
[[nodiscard]] TraceFormat primus_format();
[[nodiscard]] TraceFormat nsys_format();
/// The reader of nsys_format(), apart from its row: builds without SQLite have another (sim/io/without).
void read_nsys(const std::string& path, const RangeNames& names, Trace& trace);
[[nodiscard]] TraceFormat straggler_format();
[[nodiscard]] TraceFormat chrome_trace_format();

}  // namespace pipeloom::io
