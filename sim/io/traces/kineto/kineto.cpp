// torch.profiler's traces (Kineto): one JSON per rank, {"schemaVersion", "distributedInfo": {"rank", "world_size"},
// "baseTimeNanoseconds", "traceEvents": [{"ph": "X", "cat", "name", "pid", "tid", "ts", "dur", "args": {"External id"}}, ...]}; ts and dur are
// microseconds with three decimals, ts from baseTimeNanoseconds.
//
// Ranges of record_function() stand there as "user_annotation", on the thread of the host that opened them, and as "gpu_user_annotation" on each
// stream of the device that ran their kernels. gloo's messages are ranges of the host as well: "gloo:recv" lasts until the thread that waits for it
// goes on. Inside a range of pipeloom.torch a call "pipeloom:pass" is the pass alone, without what opening and closing the range takes of the host.
//
// Chrome traces of other writers, without torch.profiler's header, are read too: events of any category, complete ("X") or as begin and end
// ("B", "E"), of one rank or of several.

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/traces/json_scanner.hpp"
#include "sim/io/traces/kineto/record.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;
constexpr std::string_view kHostRange = "user_annotation";
constexpr std::string_view kCall = "cpu_op";
constexpr std::string_view kDeviceRange = "gpu_user_annotation";

/// Takes a text without blanks off one that may have some between its characters. False where another text is there.
bool take(std::string_view& event, std::string_view text) {
  std::size_t at = 0;
  for (const char c : text) {
    while (at < event.size() &&
           (event[at] == ' ' || event[at] == '\n' || event[at] == '\r' || event[at] == '\t'))
      ++at;
    if (at == event.size() || event[at] != c) return false;
    ++at;
  }
  event.remove_prefix(at);
  return true;
}

/// The blanks that torch.profiler writes: up to the category of a complete event, and from that of a call to its name.
constexpr std::string_view kUsualHead = R"("ph": "X", "cat": ")";
constexpr std::string_view kUsualCall = R"(cpu_op", "name": ")";
constexpr std::string_view kSend = "c10d::send";
constexpr std::string_view kPass = "pipeloom:pass";

/// Takes what comes before the category off an event as torch.profiler writes them: most of a file. False for others.
bool take_usual_head(std::string_view& event) {
  std::size_t at = 1;
  while (at < event.size() && (event[at] == ' ' || event[at] == '\n')) ++at;
  if (at >= event.size() || !event.substr(at).starts_with(kUsualHead)) return false;
  event.remove_prefix(at + kUsualHead.size());
  return true;
}

/// True if an event says something here. Most are kernels and calls, which are passed without a closer look: torch.profiler writes phase, category
/// and name first. Of calls only passes and sends count, for gloo's own range of a send begins later.
bool may_matter(std::string_view event) {
  std::string_view rest = event;
  bool has_category = take_usual_head(rest);
  if (!has_category && take(rest, R"({"ph":")")) {
    if (rest.starts_with('M')) return true;
    has_category = take(rest, R"(X","cat":")");
  }
  if (!has_category)
    return ::memmem(event.data(), event.size(), kHostRange.data(), kHostRange.size()) != nullptr;
  if (rest.starts_with(kUsualCall))
    rest.remove_prefix(kUsualCall.size());
  else if (!take(rest, R"(cpu_op","name":")"))
    return rest.starts_with(kHostRange) || rest.starts_with(kDeviceRange);
  return rest.starts_with(kSend) || rest.starts_with(kPass);
}

/// A call, a kernel or a range other than the profiler's own of a step: of a profile that recorded no step there is none.
bool is_work(std::string_view event) {
  std::string_view rest = event;
  const bool has_category = take_usual_head(rest) || take(rest, R"({"ph":"X","cat":")");
  const auto is_of = [&](std::string_view category) {
    return has_category ? rest.starts_with(category) : event.find(category) != std::string_view::npos;
  };
  if (is_of(kHostRange)) return event.find("ProfilerStep#") == std::string_view::npos;
  return is_of(kCall) || is_of("kernel");
}

std::string_view member_of(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value != nullptr ? std::string_view(value->text()) : std::string_view();
}

/// Reads one file.
class KinetoFile {
 public:
  KinetoFile(const std::string& path, const RangeNames& names) : names_(&names) {
    out_.path = path;
    out_.is_mapped = names.is_mapped();
  }

  KinetoRecord read() {
    ByteSource source(out_.path);
    JsonScanner json(source);
    if (json.enter('[')) {
      read_events(json);
    } else if (json.enter('{')) {
      read_members(json);
    } else {
      throw InputError(Where{out_.path},
                       "neither an object nor a list; torch.profiler writes an object with traceEvents");
    }
    out_.is_truncated = json.is_truncated();
    for (auto& [name, row] : out_.host) leave_pass_alone(row);
    return std::move(out_);
  }

 private:
  /// A range that has begun.
  struct Open {
    std::string name;
    std::int64_t start = 0;
  };

  void read_members(JsonScanner& json) {
    std::string key;
    while (json.next_key(key)) {
      out_.has_header = out_.has_header || key == "schemaVersion" || key == "distributedInfo";
      if (key == "traceEvents" && json.enter('[')) {
        read_events(json);
      } else if (key == "distributedInfo") {
        read_distributed(json.take_value());
      } else if (key == "deviceProperties") {
        out_.names_device = out_.names_device || json.take_value().find('{') != std::string_view::npos;
      } else if (key == "baseTimeNanoseconds") {
        if (const auto base = parse_fixed(json.take_value(), 1)) out_.base_ns = base->value;
      } else {
        json.skip_value();
      }
    }
  }

  void read_distributed(std::string_view text) {
    const auto info = read_json(text);
    if (!info) return;
    const auto number = [&info](std::string_view key) -> std::int32_t {
      const auto fixed = parse_fixed(member_of(*info, key), 1);
      return fixed && fixed->value >= 0 && fixed->value < kMaxIndex ? static_cast<std::int32_t>(fixed->value)
                                                                    : kUnknown;
    };
    out_.rank = number("rank");
    out_.world_size = number("world_size");
    out_.names_device =
        out_.names_device || member_of(*info, "backend").find("nccl") != std::string_view::npos;
  }

  void read_events(JsonScanner& json) {
    while (json.next_element()) {
      const std::string_view text = json.take_value();
      // A file cut off at a comma ends in an empty element, which has no memory to look at.
      if (text.empty()) continue;
      out_.has_work = out_.has_work || is_work(text);
      if (!out_.has_header || may_matter(text)) read_event(text);
    }
  }

  void read_event(std::string_view text) {
    const auto event = read_json(text);
    if (!event) {
      ++out_.num_damaged;
      return;
    }
    const std::string_view category = member_of(*event, "cat");
    const bool on_device = category == kDeviceRange;
    const std::string_view phase = member_of(*event, "ph");
    if (phase == "M") return read_name(*event);
    const bool is_call = category == kCall;
    if (out_.has_header && !on_device && !is_call && category != kHostRange) return;
    if (phase == "X")
      read_complete(*event, on_device);
    else if (phase == "B" || phase == "E")
      read_edge(*event, phase == "B");
  }

  static KinetoRowName row_of(const Value& event) {
    return {std::string(member_of(event, "pid")), std::string(member_of(event, "tid"))};
  }

  /// Of a process or thread.
  void read_name(const Value& event) {
    const Value* const args = event.find("args");
    if (args == nullptr) return;
    const std::string_view what = member_of(event, "name");
    const KinetoRowName row = row_of(event);
    if (what == "process_name") out_.process_names[row.first] = member_of(*args, "name");
    if (what == "thread_name") out_.thread_names[row] = member_of(*args, "name");
  }

  void read_complete(const Value& event, bool on_device) {
    const std::string_view name = member_of(event, "name");
    const bool is_receive = name == "gloo:recv";
    const bool is_message = is_receive || name == "gloo:send" || name == kSend;
    const bool has_no_meaning = is_message || name == kPass;
    auto meaning = has_no_meaning ? std::nullopt : names_->meaning(name);
    if (!meaning && !has_no_meaning) return keep_name(name);
    const auto start = parse_fixed(member_of(event, "ts"), kNanosecondsPerMicrosecond);
    const auto length = parse_fixed(member_of(event, "dur"), kNanosecondsPerMicrosecond);
    if (!start || !length || length->value < 0) {
      ++out_.num_damaged;
      return;
    }
    KinetoRow& row = (on_device ? out_.device : out_.host)[row_of(event)];
    const std::int64_t end = start->value + length->value;
    if (has_no_meaning) {
      (is_receive ? row.receives : is_message ? row.sends : row.passes).push_back({start->value, end});
      return;
    }
    KinetoRange range{std::move(*meaning), start->value, end, {}};
    if (const Value* args = event.find("args")) range.external_id = member_of(*args, "External id");
    add(row, std::move(range));
  }

  /// Each range of pipeloom.torch becomes as long as the pass in it.
  static void leave_pass_alone(KinetoRow& row) {
    std::sort(row.passes.begin(), row.passes.end(),
              [](const KinetoSpan& a, const KinetoSpan& b) { return a.start < b.start; });
    for (KinetoRange& range : row.ranges) {
      if (!range.meaning.holds_no_wait) continue;
      const auto pass =
          std::partition_point(row.passes.begin(), row.passes.end(),
                               [&range](const KinetoSpan& one) { return one.start < range.start; });
      if (pass == row.passes.end() || pass->end > range.end) continue;
      range.start = pass->start;
      range.end = pass->end;
    }
  }

  void read_edge(const Value& event, bool is_begin) {
    const auto time = parse_fixed(member_of(event, "ts"), kNanosecondsPerMicrosecond);
    std::vector<Open>& open = open_[row_of(event)];
    if (!time || (!is_begin && open.empty())) {
      ++out_.num_damaged;
      return;
    }
    if (is_begin) {
      open.push_back({std::string(member_of(event, "name")), time->value});
      return;
    }
    const Open begun = std::move(open.back());
    open.pop_back();
    auto meaning = names_->meaning(begun.name);
    if (!meaning) return keep_name(begun.name);
    if (time->value < begun.start)
      ++out_.num_damaged;
    else
      add(out_.host[row_of(event)], {std::move(*meaning), begun.start, time->value, {}});
  }

  static void add(KinetoRow& row, KinetoRange range) {
    row.num_ops += range.meaning.ops.size();
    row.ranges.push_back(std::move(range));
  }

  void keep_name(std::string_view name) {
    constexpr std::size_t kMost = 3;
    constexpr std::size_t kLongestShown = 60;
    std::vector<std::string>& names = out_.other_names;
    if (names.size() >= kMost || name.empty()) return;
    std::string text = shortened(name, kLongestShown);
    if (std::find(names.begin(), names.end(), text) == names.end()) names.push_back(std::move(text));
  }

  const RangeNames* names_;
  KinetoRecord out_;
  std::map<KinetoRowName, std::vector<Open>> open_;
};

bool looks_like_kineto(std::string_view text, std::string_view) {
  const auto has = [text](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (has("\"schemaVersion\"") && (has("\"traceEvents\"") || has("\"deviceProperties\""))) return true;
  // What convert has written says its unit.
  const bool is_own = has("\"otherData\"") && has("\"time_unit\"");
  const bool is_list = text.substr(0, text.find_first_not_of("[ \t\r\n")).find('[') != std::string_view::npos;
  return !is_own && (has("\"traceEvents\"") || is_list) && has("\"ph\"") && has("\"ts\"");
}

}  // namespace

TraceFormat kineto_format() {
  return {.name = "kineto",
          .summary = "torch.profiler, a file per rank or one of all; other Chrome traces by --mapping",
          .sniff = looks_like_kineto,
          .read = [](const std::string& path, const RangeNames& names,
                     Trace& trace) { add_kineto_ranks(KinetoFile(path, names).read(), trace); },
          .holds = FileHolds::Rank,
          .takes_mapping = true,
          .device_option = "ProfilerActivity.CUDA"};
}

}  // namespace pipeloom::io
