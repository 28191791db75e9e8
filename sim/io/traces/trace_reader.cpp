#include "sim/io/traces/trace_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/traces/byte_source.hpp"
#include "sim/io/traces/range_names.hpp"
#include "sim/io/traces/rank_steps.hpp"
#include "sim/io/traces/trace_readers.hpp"
#include "sim/kinds.hpp"

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

/// The same for files that may be anything: what cannot be read is of no format, and whoever reads it says what is wrong with it.
const TraceFormat* known_format_of(const std::string& path) {
  try {
    return format_of_file(path);
  } catch (const InputError&) {
    return nullptr;
  }
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

/// A file's name with "0" for each of its numbers: "rank0.json" for the files of all ranks.
std::string shape_of_name(const std::string& path) {
  std::string shape;
  for (const char c : std::filesystem::path(path).filename().string()) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit)
      shape += c;
    else if (shape.empty() || shape.back() != '0')
      shape += '0';
  }
  return shape;
}

/// A file that is called as those of other ranks, and holds nothing that is known, is a rank that would be missing without a word.
void require_no_damaged_rank(const std::vector<std::string>& passed_over, const TraceFiles& traces) {
  for (const std::string& file : passed_over)
    for (const std::string& rank : traces.files)
      if (shape_of_name(file) == shape_of_name(rank))
        throw InputError(
            Where{file},
            fmt::format("called as {} is, but no trace of {}: it is damaged; copy it again, or "
                        "take it out of the folder",
                        shortened(std::filesystem::path(rank).filename().string(), 80), traces.format->name));
}

/// Of a folder without a trace.
std::string what_is_there(const std::vector<std::string>& files) {
  if (files.empty()) return "holds no files";
  const std::string first = shortened(std::filesystem::path(files.front()).filename().string(), 80);
  return files.size() == 1
             ? fmt::format("holds {}, which is no trace", first)
             : fmt::format("holds {} files, {} among them, and none is a trace", files.size(), first);
}

/// Of a folder what is no trace is passed over: configurations and pictures stand beside traces.
void add_folder(const std::string& folder, TraceFiles& out) {
  const std::size_t before = out.files.size();
  std::vector<std::string> passed_over;
  for (const std::string& file : files_in(folder)) {
    const TraceFormat* const found = format_of_file(file);
    if (found == nullptr)
      passed_over.push_back(file);
    else if (out.format == nullptr || out.files.size() == before || found == out.format)
      out.add(file, found);
  }
  if (out.files.size() == before)
    throw InputError(
        Where{folder},
        fmt::format("this folder {}; a folder is read as a run, from its ranks' traces of {}: name "
                    "the one that holds them, or a file",
                    what_is_there(passed_over), fmt::join(trace_format_names(), ", ")));
  require_no_damaged_rank(passed_over, out);
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

/// Ranks that no file numbers, by their first stages, around those that have numbers.
void number_ranks(Trace& trace) {
  std::set<std::int32_t> taken;
  std::vector<std::pair<std::int32_t, RankTrace*>> open;
  for (RankTrace& rank : trace.ranks) {
    taken.insert(rank.rank);
    if (rank.rank != kUnknown) continue;
    const auto first = std::min_element(rank.ops.begin(), rank.ops.end(),
                                        [](const TraceOp& a, const TraceOp& b) { return a.stage < b.stage; });
    open.emplace_back(first == rank.ops.end() ? kUnknown : first->stage, &rank);
  }
  std::stable_sort(open.begin(), open.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::int32_t next = 0;
  for (const auto& [stage, rank] : open) {
    while (taken.contains(next)) ++next;
    rank->rank = next++;
  }
}

/// "ranks 0, 3 and 5 more".
std::string text_of_ranks(const std::vector<const RankTrace*>& ranks) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i)
    texts.push_back(std::to_string(ranks[i]->rank));
  std::string out = fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(texts, ", "));
  if (ranks.size() > kShown) out += fmt::format(" and {} more", ranks.size() - kShown);
  return out;
}

/// Times of a device and of a host that does not wait for it never stand side by side. Says whose times these are where they are no device's.
void settle_whose_times(Trace& trace, const std::string& device_option) {
  std::vector<const RankTrace*> of_host;
  std::vector<const RankTrace*> of_device;
  std::size_t waits_off = 0;
  bool starts_work = false;
  for (const RankTrace& rank : trace.ranks) {
    (rank.times_of == TimesOf::Device ? of_device : of_host).push_back(&rank);
    waits_off += rank.times_of == TimesOf::Host ? rank.num_waits_off : 0;
    starts_work = starts_work || rank.times_of == TimesOf::HostOfDevice;
  }
  if (of_host.empty()) return;
  if (!of_device.empty())
    throw InputError(
        Where{of_host.front()->file},
        fmt::format(
            "{} {} ranges of the host alone{}, beside times of the device of {}: the two are no one clock, "
            "and a host does not wait for its device; copy the file again, or record {} on every rank",
            text_of_ranks(of_host), of_host.size() == 1 ? "has" : "have",
            of_host.front()->is_truncated ? " (the file ends before its device's part)" : "",
            text_of_ranks(of_device), device_option));
  if (starts_work)
    trace.warnings.push_back(fmt::format(
        "times are the host's, which starts work on a device and does not wait for it; record {} as "
        "well for those of the device",
        device_option));
  else
    trace.warnings.push_back(fmt::format(
        "times are the host's, of a run without a device{}",
        waits_off == 0 ? "" : fmt::format("; {} ops begin when their message was there", waits_off)));
}

/// The shortest median of a kind of pass on a stage.
struct ShortPass {
  OpKind kind = OpKind::Forward;
  std::int32_t stage = kUnknown;
  std::int32_t rank = kUnknown;
  Ticks median = kMaxTicks;
};

/// Of ops as long as PyTorch's ranges. I of stage 0 does nothing.
ShortPass shortest_pass(const Trace& trace) {
  ShortPass shortest;
  for (const RankTrace& rank : trace.ranks) {
    if (rank.num_around == 0) continue;
    std::map<std::pair<OpKind, std::int32_t>, std::vector<Ticks>> lengths;
    for (const TraceOp& op : rank.ops)
      if (op.kind != OpKind::BackwardInput || op.stage != 0)
        lengths[{op.kind, op.stage}].push_back(op.end - op.start);
    for (auto& [cell, all_of] : lengths) {
      const auto middle = all_of.begin() + static_cast<std::ptrdiff_t>(all_of.size() / 2);
      std::nth_element(all_of.begin(), middle, all_of.end());
      if (*middle < shortest.median) shortest = {cell.first, cell.second, rank.rank, *middle};
    }
  }
  return shortest;
}

/// PyTorch's ranges hold what its runtime does before and after the pass: much of a short one. Not subtracted, for the file shows neither where the
/// pass begins in its range nor how busy the machine was.
void warn_of_short_passes(Trace& trace) {
  constexpr Ticks kMicrosecond = 1'000'000;
  constexpr Ticks kShort = 500 * kMicrosecond;
  constexpr Ticks kAround = 20 * kMicrosecond;  // measured: 20 to 30 us of torch 2.15.0 on a quiet machine
  const ShortPass found = shortest_pass(trace);
  if (found.median >= kShort) return;
  const Ticks pass = std::max(found.median - kAround, kMicrosecond);
  trace.warnings.push_back(
      fmt::format("passes are short: {} of {} {} takes {:.2g} ms in the median, and a range of PyTorch holds "
                  "some 20 us of "
                  "its runtime around the pass (100 us on a busy machine), so that {} or more is too much; "
                  "pipeloom.torch.ranges(schedule) records the pass alone",
                  letter_of(found.kind), found.stage != kUnknown ? "stage" : "rank",
                  found.stage != kUnknown ? found.stage : found.rank, static_cast<double>(found.median) / 1e9,
                  percent_text(static_cast<double>(kAround) / static_cast<double>(pass))));
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
  return is_folder(path) ||
         (std::filesystem::is_regular_file(path, error) && known_format_of(path) != nullptr);
}

std::string format_of_rank_file(const std::string& path, const std::optional<std::string>& from) {
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error)) return {};
  if (from && !is_trace_format(*from)) return {};
  const TraceFormat* const format = from ? &trace_format_named(*from) : known_format_of(path);
  if (format == nullptr || format->holds == FileHolds::Run) return {};
  const bool is_rank = format->holds == FileHolds::Rank || number_in_name(path, "rank");
  return is_rank ? format->name : std::string();
}

std::string whole_trace_of(const std::string& path) {
  const std::string format = format_of_rank_file(path);
  if (format.empty()) return path;
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  const auto files = files_in(folder);
  const auto ranks = std::count_if(files.begin(), files.end(), [&format](const std::string& file) {
    return format_of_rank_file(file) == format;
  });
  return ranks > 1 ? folder : path;
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
  number_ranks(trace);
  align_origins(trace);
  std::sort(trace.ranks.begin(), trace.ranks.end(),
            [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  std::vector<std::string> broken;  // the first thing to know
  for (const RankTrace& rank : trace.ranks)
    if (rank.is_truncated)
      broken.push_back(fmt::format(
          "{}: the file ends before its text does{}; what is there was read", rank.file,
          rank.ops.empty() ? std::string()
                           : fmt::format(", behind {}, on rank {}", text_of_last(rank), rank.rank)));
  settle_whose_times(trace, files.format->device_option);
  warn_of_short_passes(trace);
  trace.warnings.insert(trace.warnings.begin(), broken.begin(), broken.end());
  return trace;
}

}  // namespace pipeloom::io
