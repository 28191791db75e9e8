// Times of Megatron-LM's pipeline as its timer for drawing writes them: event_times_PP4_VPP1_TPxCPxDP_rank_0_pp_rank_2_rank_2.json, one object of one
// step, {"forward-0-start": 1.5, "forward-0-end": 3.0, "backward-0-start": ...} in milliseconds; with chunks "forward-CHUNK-MICROBATCH-start".
//
// Ranks beside 0 of the other dimensions (TPxCPxDP) run the same; rank 0 stands for them.

#include <fmt/format.h>

#include <map>
#include <tuple>

#include <pipeloom/error.hpp>
#include "sim/base/text_cursor.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/traces/json_scanner.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

/// "forward-0-19-end" taken apart.
struct EventName {
  OpKind kind = OpKind::Forward;
  std::int32_t chunk = 0;
  std::int32_t microbatch = 0;
  bool is_end = false;
};

std::optional<EventName> event_named(const std::string& text) {
  const auto parts = split(text, '-');
  EventName name;
  if (parts.size() < 3 || parts.size() > 4 || (parts[0] != "forward" && parts[0] != "backward"))
    return std::nullopt;
  if (parts.back() != "start" && parts.back() != "end") return std::nullopt;
  name.kind = parts[0] == "forward" ? OpKind::Forward : OpKind::Backward;
  name.is_end = parts.back() == "end";
  const auto number = [](const std::string& digits) {
    const auto value = parse_fixed(digits, 1);
    return value && value->value >= 0 && value->value < kMaxIndex ? static_cast<std::int32_t>(value->value)
                                                                  : kUnknown;
  };
  name.microbatch = number(parts[parts.size() - 2]);
  if (parts.size() == 4) name.chunk = number(parts[1]);
  return name.microbatch == kUnknown || name.chunk == kUnknown ? std::nullopt : std::optional(name);
}

struct StartAndEnd {
  std::optional<Ticks> start;
  std::optional<Ticks> end;
};

void read_megatron(const std::string& path, const RangeNames&, Trace& trace) {
  const auto rank = number_in_name(path, "pp_rank");
  if (!rank)
    throw InputError(Where{path},
                     "the name does not say which rank this is; it ends in pp_rank_0_rank_0.json as "
                     "Megatron writes it");
  if (number_in_name(path, "TPxCPxDP_rank").value_or(0) != 0) {
    trace.warnings.push_back(path + ": left out; rank 0 of the other dimensions stands for all");
    return;
  }
  ByteSource source(path);
  JsonScanner json(source);
  if (!json.enter('{')) throw InputError(Where{path}, "no object of times; Megatron's timer writes one");
  std::map<std::tuple<OpKind, std::int32_t, std::int32_t>, StartAndEnd> times;
  std::string key;
  while (json.next_key(key)) {
    const auto name = event_named(key);
    const std::string_view value = json.take_value();
    if (!name || value.empty()) continue;
    StartAndEnd& op = times[{name->kind, name->chunk, name->microbatch}];
    (name->is_end ? op.end : op.start) = trace_time(value, TimeUnit::Millisecond, path);
  }
  RankTrace& out = add_rank(trace, *rank, path);
  out.is_truncated = json.is_truncated();
  std::size_t damaged = 0;
  for (const auto& [name, op] : times) {
    const auto [kind, chunk, microbatch] = name;
    if (op.start && op.end && *op.end >= *op.start)
      out.ops.push_back({.kind = kind,
                         .chunk = chunk,
                         .microbatch = microbatch,
                         .step = 0,
                         .start = *op.start,
                         .end = *op.end});
    else
      ++damaged;
  }
  if (damaged > 0)
    trace.warnings.push_back(
        fmt::format("{}: {} ops without a start and a later end were left out", path, damaged));
  if (const auto ranks = number_in_name(path, "event_times_PP"))
    trace.expected_ranks = std::max(trace.expected_ranks, *ranks);
}

}  // namespace

TraceFormat megatron_format() {
  return {.name = "megatron",
          .summary = "Megatron-LM's event_times_*.json, a file per rank",
          .sniff =
              [](std::string_view text, std::string_view) {
                return text.find("\"forward-") != std::string_view::npos &&
                       text.find("-start\"") != std::string_view::npos;
              },
          .read = read_megatron,
          .holds = FileHolds::Rank};
}

}  // namespace pipeloom::io
