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
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/traces/json_scanner.hpp"
#include "sim/io/traces/kineto/event.hpp"
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

bool has_text(std::string_view event, std::string_view text) {
  return ::memmem(event.data(), event.size(), text.data(), text.size()) != nullptr;
}

/// True if an event says something here. Most are kernels and calls, which are passed without a closer look: torch.profiler writes phase, category
/// and name first. Of calls only passes and sends count, for gloo's own range of a send begins later.
bool may_matter(std::string_view event) {
  std::string_view rest = event;
  bool has_category = take_usual_head(rest);
  if (!has_category && take(rest, R"({"ph":")")) {
    if (!rest.starts_with('X'))
      return rest.starts_with('M') || rest.starts_with('B') || rest.starts_with('E');
    has_category = take(rest, R"(X","cat":")");
  }
  if (!has_category)
    return has_text(event, kHostRange) || has_text(event, R"("B")") || has_text(event, R"("E")");
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
  /// `by_time`: begins and ends are put in the order of their times first, which takes memory for all of them.
  KinetoFile(const std::string& path, const RangeNames& names, bool by_time = false)
      : names_(&names), by_time_(by_time) {
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
    if (is_out_of_order_ && !by_time_) return KinetoFile(out_.path, *names_, true).read();
    match_by_time();
    for (auto& [name, row] : out_.host) leave_pass_alone(row);
    return std::move(out_);
  }

 private:
  /// The begin or the end of a range.
  struct Edge {
    std::int64_t time = 0;
    bool is_begin = false;
    std::string name;
    std::string category;
    std::string external_id;
    std::optional<TraceMessage> asked;  ///< of a begin of gloo's: what it is for
  };
  /// Of one thread.
  struct Edges {
    std::deque<Edge> open;  ///< begun, not ended, the last ones
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    std::vector<Edge> kept;  ///< to be put in order
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
    const std::optional<KinetoEvent> event = events_.read(text);
    if (!event) {
      ++out_.num_damaged;
      return;
    }
    if (event->phase == "M") return read_name(*event);
    if (event->phase == "B" || event->phase == "E") return read_edge(*event, event->phase == "B");
    if (event->phase == "X" && is_of_ranges(event->category)) read_complete(*event);
  }

  /// True if events of the category may be ranges that say something.
  [[nodiscard]] bool is_of_ranges(std::string_view category) const {
    return !out_.has_header || category == kHostRange || category == kDeviceRange || category == kCall;
  }

  static KinetoRowName row_of(const KinetoEvent& event) {
    return {std::string(event.process), std::string(event.thread)};
  }

  /// Of a process or thread.
  void read_name(const KinetoEvent& event) {
    const KinetoRowName row = row_of(event);
    if (event.name == "process_name") out_.process_names[row.first] = event.called;
    if (event.name == "thread_name") out_.thread_names[row] = event.called;
  }

  void read_complete(const KinetoEvent& event) {
    const auto start = parse_fixed(event.time, kNanosecondsPerMicrosecond);
    const auto length = parse_fixed(event.length, kNanosecondsPerMicrosecond);
    std::optional<KinetoSpan> span;
    if (start && length) span = {start->value, start->value + length->value};
    take_range(row_of(event), event.category == kDeviceRange, event.name, span, event.external_id);
  }

  /// `span`: nothing where its times are none.
  void take_range(const KinetoRowName& row_name, bool on_device, std::string_view name,
                  const std::optional<KinetoSpan>& span, std::string_view external_id) {
    const bool is_receive = name == "gloo:recv";
    const bool is_message = is_receive || name == "gloo:send" || name == kSend;
    const bool has_no_meaning = is_message || name == kPass;
    auto meaning = has_no_meaning ? std::nullopt : names_->meaning(name);
    if (!meaning && !has_no_meaning) return keep_name(name);
    if (!span || span->end < span->start) {
      ++out_.num_damaged;
      return;
    }
    KinetoRow& row = (on_device ? out_.device : out_.host)[row_name];
    if (has_no_meaning)
      return (is_receive ? row.receives : is_message ? row.sends : row.passes).push_back(*span);
    row.num_ops += meaning->ops.size();
    row.ranges.push_back({std::move(*meaning), span->start, span->end, std::string(external_id)});
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

  void read_edge(const KinetoEvent& event, bool is_begin) {
    const auto time = parse_fixed(event.time, kNanosecondsPerMicrosecond);
    if (!time) {
      ++out_.num_damaged;
      return;
    }
    Edge edge{time->value,
              is_begin,
              std::string(event.name),
              std::string(event.category),
              std::string(event.external_id),
              {}};
    const KinetoRowName row = row_of(event);
    Edges& edges = edges_[row];
    is_out_of_order_ = is_out_of_order_ || edge.time < edges.last;
    edges.last = std::max(edges.last, edge.time);
    if (by_time_)
      edges.kept.push_back(std::move(edge));
    else if (!is_out_of_order_)  // else the file is read again
      match(row, edges, std::move(edge));
  }

  static bool is_of_gloo(const Edge& edge) { return edge.name.starts_with("gloo:"); }

  /// The message of a receive of gloo that begins now: the range of PyTorch around it names it.
  [[nodiscard]] std::optional<TraceMessage> asked_in(const std::deque<Edge>& open) const {
    for (auto at = open.rbegin(); at != open.rend(); ++at)
      if (const auto meaning = names_->meaning(at->name);
          meaning && meaning->message && meaning->message->is_receive)
        return meaning->message;
    return std::nullopt;
  }

  static bool is_for(const TraceMessage& message, const TraceOp& op) {
    const bool is_gradient = op.kind == OpKind::Backward || op.kind == OpKind::BackwardInput;
    return message.stage == op.stage && message.microbatch == op.microbatch &&
           message.is_gradient == is_gradient && (is_gradient || op.kind == OpKind::Forward);
  }

  /// The open range that ends: the last one with the name, or the last one if the end has none. Several of gloo's may be open at once: then the
  /// one for an op whose range is open too, else the first.
  [[nodiscard]] std::deque<Edge>::iterator begin_of(const Edge& end, std::deque<Edge>& open) const {
    const auto has_name = [&end](const Edge& one) { return end.name.empty() || one.name == end.name; };
    if (!is_of_gloo(end)) {
      const auto last = std::find_if(open.rbegin(), open.rend(), has_name);
      return last == open.rend() ? open.end() : std::prev(last.base());
    }
    for (const Edge& around : open) {
      const auto meaning = names_->meaning(around.name);
      for (const TraceOp& op : meaning ? meaning->ops : std::vector<TraceOp>()) {
        const auto found = std::ranges::find_if(
            open, [&](const Edge& one) { return has_name(one) && one.asked && is_for(*one.asked, op); });
        if (found != open.end()) return found;
      }
    }
    return std::ranges::find_if(open, has_name);
  }

  /// Ranges that never end would make the search for each end longer: the oldest of too many is given up.
  void open(Edges& edges, Edge begin) {
    constexpr std::size_t kMostOpen = 512;
    edges.open.push_back(std::move(begin));
    if (edges.open.size() <= kMostOpen) return;
    edges.open.pop_front();
    ++out_.num_damaged;
  }

  void match(const KinetoRowName& row, Edges& edges, Edge edge) {
    if (edge.is_begin) {
      if (is_of_gloo(edge)) edge.asked = asked_in(edges.open);
      return open(edges, std::move(edge));
    }
    if (edge.name.empty() && std::ranges::any_of(edges.open, is_of_gloo))
      throw InputError(
          Where{out_.path},
          "its ends (\"ph\": \"E\") have no names, but ranges of gloo begin in one range and end in "
          "another, so that nothing says which one ends; write complete events (\"X\"), or ends "
          "with their names");
    const auto begun = begin_of(edge, edges.open);
    if (begun == edges.open.end()) {
      ++out_.num_damaged;
      return;
    }
    const Edge begin = std::move(*begun);
    edges.open.erase(begun);
    if (is_of_ranges(begin.category))
      take_range(row, begin.category == kDeviceRange, begin.name, KinetoSpan{begin.time, edge.time},
                 begin.external_id);
  }

  void match_by_time() {
    for (auto& [row, edges] : edges_) {
      std::vector<Edge> kept = std::move(edges.kept);
      std::stable_sort(kept.begin(), kept.end(),
                       [](const Edge& a, const Edge& b) { return a.time < b.time; });
      for (Edge& edge : kept) match(row, edges, std::move(edge));
    }
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
  KinetoEvents events_;
  KinetoRecord out_;
  bool by_time_;
  bool is_out_of_order_ = false;
  std::map<KinetoRowName, Edges> edges_;
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
