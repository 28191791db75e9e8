#include "sim/io/traces/trace_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/traces/byte_source.hpp"
#include "sim/io/traces/range_names.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

/// By which a format is known: what profilers write about a run before its events can be long.
constexpr std::size_t kBeginning = std::size_t{1} << 16;
constexpr std::int64_t kTicksPerOriginNanosecond = 1000;

std::vector<std::string> trace_format_names() {
  std::vector<std::string> names;
  for (const TraceFormat& format : trace_formats()) names.push_back(format.name);
  return names;
}

const TraceFormat* format_of_file(const std::string& path) {
  const std::string beginning = first_bytes(path, kBeginning);
  const std::string name = std::filesystem::path(path).filename().string();
  for (const TraceFormat& format : trace_formats())
    if (format.sniff(beginning, name)) return &format;
  return nullptr;
}

const TraceFormat& trace_format_named(const std::string& name) {
  for (const TraceFormat& format : trace_formats())
    if (format.name == name) return format;
  throw InputError::unknown_name(Where{"--from"}, "format of traces", name, trace_format_names());
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(folder, error); !error && at != std::filesystem::end(at);
       at.increment(error))
    if (std::filesystem::is_regular_file(at->path(), error)) files.push_back(at->path().string());
  if (error) throw InputError::cannot_read(folder, error.message());
  std::sort(files.begin(), files.end());
  return files;
}

/// The files to read, and their format.
struct TraceFiles {
  std::vector<std::string> files;
  const TraceFormat* format = nullptr;

  void add(const std::string& path, const TraceFormat* found) {
    if (format != nullptr && found != format)
      throw InputError(Where{path},
                       fmt::format("a trace of {}, but those before it are of {}; give the files of one run",
                                   found->name, format->name));
    format = found;
    files.push_back(path);
  }
};

/// Of a folder what is no trace is passed over: configurations and pictures stand beside traces.
void add_folder(const std::string& folder, TraceFiles& out) {
  const std::size_t before = out.files.size();
  for (const std::string& file : files_in(folder))
    if (const TraceFormat* found = format_of_file(file))
      if (out.format == nullptr || out.files.size() == before || found == out.format) out.add(file, found);
  if (out.files.size() == before)
    throw InputError(Where{folder},
                     fmt::format("the folder holds no trace of {}; name the one with the files of all ranks",
                                 fmt::join(trace_format_names(), ", ")));
}

TraceFiles files_of(const std::vector<std::string>& paths, const TraceOptions& options) {
  TraceFiles out;
  const TraceFormat* const named = options.from ? &trace_format_named(*options.from) : nullptr;
  for (const std::string& path : paths) {
    if (is_folder(path)) {
      add_folder(path, out);
    } else if (const TraceFormat* found = named != nullptr ? named : format_of_file(path)) {
      out.add(path, found);
    } else {
      throw InputError(Where{path}, fmt::format("no trace that is known; --from says which of {} it is",
                                                fmt::join(trace_format_names(), ", ")));
    }
  }
  if (named != nullptr && out.format != named)
    throw InputError(Where{"--from"}, fmt::format("the files are traces of {}, not of {}; leave --from out",
                                                  out.format->name, named->name));
  return out;
}

/// Puts all ranks on one clock, from the earliest origin on.
void align_origins(Trace& trace) {
  std::int64_t first = trace.ranks.front().origin_ns;
  for (const RankTrace& rank : trace.ranks) first = std::min(first, rank.origin_ns);
  for (RankTrace& rank : trace.ranks) {
    const std::int64_t behind = rank.origin_ns - first;
    if (behind < 0 || behind >= kMaxTicks / kTicksPerOriginNanosecond / 2)
      throw InputError(Where{rank.file},
                       "it starts weeks after the other ranks, so the files are of no single run");
    for (TraceOp& op : rank.ops) {
      op.start += behind * kTicksPerOriginNanosecond;
      op.end += behind * kTicksPerOriginNanosecond;
    }
    for (TraceMessage& message : rank.messages) {
      message.start += behind * kTicksPerOriginNanosecond;
      message.end += behind * kTicksPerOriginNanosecond;
    }
    rank.origin_ns = first;
  }
}

}  // namespace

std::vector<TraceFormatName> trace_format_list() {
  std::vector<TraceFormatName> list;
  for (const TraceFormat& format : trace_formats()) list.push_back({format.name, format.summary});
  return list;
}

bool is_trace_format(std::string_view name) {
  const auto& formats = trace_formats();
  return std::any_of(formats.begin(), formats.end(),
                     [name](const TraceFormat& one) { return one.name == name; });
}

bool is_trace(const std::string& path) {
  if (path == "-" || path.empty()) return false;
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(path, error);
  if (!is_file && !is_folder(path)) return false;
  try {
    if (is_file) return format_of_file(path) != nullptr;
    const auto files = files_in(path);
    return std::any_of(files.begin(), files.end(),
                       [](const std::string& file) { return format_of_file(file) != nullptr; });
  } catch (const InputError&) {
    return false;  // whoever reads the file says what is wrong with it
  }
}

Trace read_trace(const std::vector<std::string>& paths, const TraceOptions& options) {
  const TraceFiles files = files_of(paths, options);
  if (options.mapping && !files.format->takes_mapping)
    throw InputError(Where{"--mapping"},
                     fmt::format("{} has no names of ranges; leave the mapping out", files.format->name));
  const RangeNames names = options.mapping ? RangeNames(*options.mapping) : RangeNames();
  Trace trace;
  trace.format = files.format->name;
  trace.chunk_order = names.chunk_order();
  for (const std::string& file : files.files) files.format->read(file, names, trace);
  if (trace.ranks.empty())
    throw InputError(Where{paths.front()}, "no rank is left of this trace; give files of rank 0 too");
  align_origins(trace);
  std::sort(trace.ranks.begin(), trace.ranks.end(),
            [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  for (const RankTrace& rank : trace.ranks)
    if (rank.is_truncated)
      trace.warnings.push_back(rank.file + ": the file ends before its text does; what is there was read");
  return trace;
}

}  // namespace pipeloom::io
