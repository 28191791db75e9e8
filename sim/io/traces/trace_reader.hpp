#pragma once

// Files of a real run to a Trace, whatever profiler or timer wrote them. Formats: trace_formats.def, docs/measured-runs.md.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/traces/trace.hpp"

namespace pipeloom::io {

struct TraceOptions {
  std::optional<std::string> from = {};     ///< name of the format; found by content if left out
  std::optional<std::string> mapping = {};  ///< file that says what the names of ranges mean
};

/// True if --from names a format of traces.
[[nodiscard]] bool is_trace_format(std::string_view name);
/// For lists of what --from takes.
struct TraceFormatName {
  std::string name;     ///< "kineto"
  std::string summary;  ///< one line
};
[[nodiscard]] std::vector<TraceFormatName> trace_format_list();

/// True if a path that a user gave is a trace: a file that begins like one of the formats, packed or not, or a folder: nothing else is read from one, and read_trace() says what is
/// wrong with it. False for "-" and what cannot be read.
[[nodiscard]] bool is_trace(const std::string& path);

/// The format of a file that holds one rank of a run whose other ranks have files of their own, "kineto"; empty for any other. `from` names the
/// format; without it content decides.
[[nodiscard]] std::string format_of_rank_file(const std::string& path,
                                              const std::optional<std::string>& from = {});
/// The folder of such a file, where other files of that format stand in it; else the path itself.
[[nodiscard]] std::string whole_trace_of(const std::string& path);

/// Reads one trace from files, or from all files of folders that are one. Throws InputError for what is no trace, for files of different
/// formats, and for whatever cannot be read. Memory holds the ops and messages, not the files.
[[nodiscard]] Trace read_trace(const std::vector<std::string>& paths, const TraceOptions& options = {});

}  // namespace pipeloom::io
