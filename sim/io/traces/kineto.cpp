// torch.profiler's traces (Kineto): one JSON per rank, {"schemaVersion", "distributedInfo": {"rank", "world_size"},
// "baseTimeNanoseconds", "traceEvents": [{"ph": "X", "cat", "name", "pid", "tid", "ts", "dur", "args": {"External id"}}, ...]}; ts and dur are
// microseconds with three decimals, ts from baseTimeNanoseconds.
//
// Ranges of record_function() stand there as "user_annotation", on the thread of the host that opened them, and as "gpu_user_annotation" on each
// stream of the device that ran their kernels.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/traces/json_scanner.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;
constexpr Ticks kTicksPerNanosecond = 1000;

/// A range with a meaning; times in nanoseconds of the file.
struct KinetoRange {
  RangeMeaning meaning;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::string external_id;
};

/// Ranges of one thread or stream.
struct KinetoRow {
  std::vector<KinetoRange> ranges;
  std::size_t num_ops = 0;
};

struct StepSpan {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int32_t step = 0;
};

/// What one file says.
class KinetoFile {
 public:
  KinetoFile(const std::string& path, const RangeNames& names, Trace& trace)
      : path_(path), names_(&names), trace_(&trace) {}

  void read() {
    ByteSource source(path_);
    JsonScanner json(source);
    if (json.enter('[')) {
      read_events(json);
    } else if (json.enter('{')) {
      read_members(json);
    } else {
      throw InputError(Where{path_},
                       "neither an object nor a list; torch.profiler writes an object with traceEvents");
    }
    is_truncated_ = json.is_truncated();
    finish();
  }

 private:
  using Rows = std::map<std::string, KinetoRow>;

  void read_members(JsonScanner& json) {
    std::string key;
    while (json.next_key(key)) {
      if (key == "traceEvents" && json.enter('[')) {
        read_events(json);
      } else if (key == "distributedInfo") {
        read_distributed(json.take_value());
      } else if (key == "baseTimeNanoseconds") {
        if (const auto base = parse_fixed(json.take_value(), 1)) base_ns_ = base->value;
      } else {
        json.skip_value();
      }
    }
  }

  void read_distributed(std::string_view text) {
    const auto info = read_json(text);
    if (!info) return;
    const auto number = [&info](std::string_view key) -> std::int32_t {
      const Value* value = info->find(key);
      const auto fixed = value != nullptr ? parse_fixed(value->text(), 1) : std::nullopt;
      return fixed && fixed->value >= 0 && fixed->value < kMaxIndex ? static_cast<std::int32_t>(fixed->value)
                                                                    : kUnknown;
    };
    rank_ = number("rank");
    world_size_ = number("world_size");
  }

  void read_events(JsonScanner& json) {
    constexpr std::string_view kWanted = "user_annotation";
    while (json.next_element()) {
      const std::string_view text = json.take_value();
      // A file cut off at a comma ends in an empty element, which has no memory to look at.
      if (text.empty()) continue;
      // Most events are kernels and calls: they are passed without a closer look.
      if (::memmem(text.data(), text.size(), kWanted.data(), kWanted.size()) != nullptr) read_event(text);
    }
  }

  void read_event(std::string_view text) {
    const auto event = read_json(text);
    if (!event) {
      ++num_damaged_;
      return;
    }
    const auto member = [&event](std::string_view key) -> std::string_view {
      const Value* value = event->find(key);
      return value != nullptr ? std::string_view(value->text()) : std::string_view();
    };
    const bool on_device = member("cat") == "gpu_user_annotation";
    if (member("ph") != "X" || (!on_device && member("cat") != "user_annotation")) return;
    auto meaning = names_->meaning(member("name"));
    if (!meaning) return;
    const auto start = parse_fixed(member("ts"), kNanosecondsPerMicrosecond);
    const auto length = parse_fixed(member("dur"), kNanosecondsPerMicrosecond);
    if (!start || !length || length->value < 0) {
      ++num_damaged_;
      return;
    }
    KinetoRange range{std::move(*meaning), start->value, start->value + length->value, {}};
    if (const Value* args = event->find("args"))
      if (const Value* id = args->find("External id")) range.external_id = id->text();
    KinetoRow& row = (on_device ? device_ : host_)[fmt::format("{}/{}", member("pid"), member("tid"))];
    row.num_ops += range.meaning.ops.size();
    row.ranges.push_back(std::move(range));
  }

  /// The row with most ops, null if none has any.
  static const KinetoRow* busiest(const Rows& rows) {
    const KinetoRow* found = nullptr;
    for (const auto& [name, row] : rows)
      if (row.num_ops > (found != nullptr ? found->num_ops : 0)) found = &row;
    return found;
  }

  void warn(const std::string& text) { trace_->warnings.push_back(Where{path_}.text() + ": " + text); }

  void finish() {
    const KinetoRow* ops = busiest(device_);
    const bool on_device = ops != nullptr;
    if (!on_device) ops = busiest(host_);
    if (ops == nullptr)
      throw InputError(
          Where{path_},
          "no range of a pipeline among its annotations; PyTorch names them PP:0F0 and so on, for "
          "others give --mapping FILE, which the window opens as any file (docs/traces.md)");
    find_steps();
    RankTrace& out = add_rank(*trace_, rank(*ops), path_);
    out.is_truncated = is_truncated_;
    out.origin_ns = base_ns_ + earliest(*ops);
    for (const auto& [name, row] : on_device ? device_ : host_)
      for (const KinetoRange& range : row.ranges) add(range, &row == ops, out);
    if (on_device) add_without_kernels(*ops, out);
    if (!on_device)
      warn(
          "times are the host's, which starts work on a device and does not wait for it; record "
          "ProfilerActivity.CUDA as well for those of the device");
    if (num_damaged_ > 0) warn(fmt::format("{} events are damaged and were left out", num_damaged_));
    if (num_elsewhere_ > 0)
      warn(fmt::format("{} ops on other {} than the one with most ops were left out", num_elsewhere_,
                       on_device ? "streams" : "threads"));
    trace_->expected_ranks = std::max(trace_->expected_ranks, world_size_);
  }

  static std::int64_t earliest(const KinetoRow& row) {
    return std::min_element(row.ranges.begin(), row.ranges.end(),
                            [](const KinetoRange& a, const KinetoRange& b) { return a.start < b.start; })
        ->start;
  }

  [[nodiscard]] std::int32_t rank(const KinetoRow& row) const {
    for (const KinetoRange& range : row.ranges)
      if (range.meaning.rank != kUnknown) return range.meaning.rank;
    if (rank_ != kUnknown) return rank_;
    if (const auto named = number_in_name(path_, "rank")) return *named;
    throw InputError(Where{path_},
                     "neither distributedInfo nor the name of the file says which rank this is; name it "
                     "rank0.json, rank1.json and so on");
  }

  /// Marks of steps on the host, by time; and when the host opened what the device ran.
  void find_steps() {
    for (const auto& [name, row] : host_)
      for (const KinetoRange& range : row.ranges) {
        if (range.meaning.step) steps_.push_back({range.start, range.end, *range.meaning.step});
        if (!range.external_id.empty()) opened_.emplace(range.external_id, range.start);
      }
    std::sort(steps_.begin(), steps_.end(),
              [](const StepSpan& a, const StepSpan& b) { return a.start < b.start; });
  }

  [[nodiscard]] std::int32_t step_of(const KinetoRange& range) const {
    const auto opened = opened_.find(range.external_id);
    const std::int64_t time = opened != opened_.end() ? opened->second : range.start;
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), time,
                         [](std::int64_t at, const StepSpan& span) { return at < span.start; });
    if (after == steps_.begin() || std::prev(after)->end < time) return kUnknown;
    return std::prev(after)->step;
  }

  void add(const KinetoRange& range, bool on_row, RankTrace& out) {
    const std::int64_t origin = out.origin_ns - base_ns_;
    const Ticks start = ticks(range.start - origin);
    const Ticks end = ticks(range.end - origin);
    const std::int32_t step = step_of(range);
    if (range.meaning.message) {
      TraceMessage& message = out.messages.emplace_back(*range.meaning.message);
      std::tie(message.start, message.end, message.step) = std::tie(start, end, step);
    }
    if (!on_row) num_elsewhere_ += range.meaning.ops.size();
    for (TraceOp op : range.meaning.ops) {
      if (!on_row) break;
      std::tie(op.start, op.end) = std::tie(start, end);
      if (op.step == kUnknown) op.step = step;
      out.ops.push_back(op);
    }
  }

  /// An op may start no kernel, such as the gradient of the first stage's input: it is on the host alone, and takes no time where the op
  /// before it ended. Behind the last op of the device the host is ahead of what was recorded.
  void add_without_kernels(const KinetoRow& device, RankTrace& out) {
    const KinetoRow* host = busiest(host_);
    if (host == nullptr) return;
    std::unordered_map<std::string, std::int64_t> ended;
    for (const KinetoRange& range : device.ranges)
      if (!range.external_id.empty()) ended.emplace(range.external_id, range.end);
    std::vector<KinetoRange> ranges = host->ranges;
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const KinetoRange& a, const KinetoRange& b) { return a.start < b.start; });
    std::vector<KinetoRange> waiting;
    std::optional<std::int64_t> before;
    for (KinetoRange& range : ranges) {
      if (range.meaning.ops.empty() || range.external_id.empty()) continue;
      const auto found = ended.find(range.external_id);
      if (found == ended.end()) {
        if (!before) continue;
        range.start = range.end = *before;
        waiting.push_back(std::move(range));
        continue;
      }
      for (const KinetoRange& one : waiting) add(one, true, out);
      waiting.clear();
      before = found->second;
    }
  }

  [[nodiscard]] Ticks ticks(std::int64_t ns) const {
    if (ns >= kMaxTicks / kTicksPerNanosecond / 2 || ns <= -kMaxTicks / kTicksPerNanosecond / 2)
      throw InputError(Where{path_}, "its ranges are more than 26 days apart, so they are of no single run");
    return ns * kTicksPerNanosecond;
  }

  const std::string& path_;
  const RangeNames* names_;
  Trace* trace_;
  std::int32_t rank_ = kUnknown;
  std::int32_t world_size_ = kUnknown;
  std::int64_t base_ns_ = 0;
  Rows host_;
  Rows device_;
  std::vector<StepSpan> steps_;
  std::unordered_map<std::string, std::int64_t> opened_;
  std::size_t num_damaged_ = 0;
  std::size_t num_elsewhere_ = 0;
  bool is_truncated_ = false;
};

}  // namespace

TraceFormat kineto_format() {
  return {.name = "kineto",
          .summary = "torch.profiler, a file per rank",
          .sniff =
              [](std::string_view text, std::string_view) {
                const auto has = [text](std::string_view word) {
                  return text.find(word) != std::string_view::npos;
                };
                return has("\"traceEvents\"") ? has("\"schemaVersion\"") || has("\"distributedInfo\"")
                                              : has("\"schemaVersion\"") && has("\"deviceProperties\"");
              },
          .read = [](const std::string& path, const RangeNames& names,
                     Trace& trace) { KinetoFile(path, names, trace).read(); },
          .holds = FileHolds::Rank,
          .takes_mapping = true};
}

}  // namespace pipeloom::io
