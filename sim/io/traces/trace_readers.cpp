#include "sim/io/traces/trace_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"

namespace pipeloom::io {

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> formats = {
#define PIPELOOM_TRACE_FORMAT(function) function(),
#include "sim/io/traces/trace_formats.def"
#undef PIPELOOM_TRACE_FORMAT
  };
  return formats;
}

TraceFormat nsys_format() {
  return {.name = "nsys",
          .summary = "NVTX ranges of an Nsight Systems profile, exported as SQLite",
          .sniff = [](std::string_view beginning,
                      std::string_view) { return beginning.starts_with("SQLite format 3"); },
          .read = read_nsys,
          .holds = FileHolds::RankIfNamed,
          .takes_mapping = true,
          .device_option = "--trace=cuda"};
}

Ticks trace_time(std::string_view text, TimeUnit unit, const std::string& path) {
  const auto ticks = parse_ticks(text, unit);
  if (!ticks)
    throw InputError(Where{path}, fmt::format("'{}' is no time in {} that can be read; the file is damaged",
                                              shortened(text, 40), name_of(unit)));
  return ticks->value;
}

std::optional<std::int32_t> number_in_name(std::string_view path, std::string_view word) {
  path.remove_prefix(std::min(path.find_last_of('/') + 1, path.size()));
  for (std::size_t at = path.rfind(word); at != std::string_view::npos; at = path.rfind(word, at - 1)) {
    std::string_view digits = path.substr(at + word.size());
    if (digits.starts_with('_') || digits.starts_with('-')) digits.remove_prefix(1);
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && value >= 0 && value < kMaxIndex) return value;
    if (at == 0) break;
  }
  return std::nullopt;
}

RankTrace& add_rank(Trace& trace, std::int32_t rank, const std::string& path) {
  for (const RankTrace& other : trace.ranks)
    if (rank != kUnknown && other.rank == rank)
      throw InputError(Where{path}, fmt::format("rank {} is in {} already; give one file for each rank", rank,
                                                shortened(other.file, 200)));
  RankTrace& added = trace.ranks.emplace_back();
  added.rank = rank;
  added.file = path;
  return added;
}

}  // namespace pipeloom::io
