// From the rows of a record to ranks: when ops began, what messages took.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/traces/kineto/parts.hpp"
#include "sim/io/traces/kineto/record.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

constexpr Ticks kTicksPerNanosecond = 1000;

struct StepSpan {
  KinetoSpan time;
  std::int32_t step = 0;
};

/// Which message an op waits for, as the op's rank names it.
using MessageName = std::tuple<std::int32_t, std::int32_t, bool>;  // stage, microbatch, is_gradient

std::optional<MessageName> message_for(const TraceOp& op) {
  const bool waits =
      op.kind == OpKind::Forward || op.kind == OpKind::Backward || op.kind == OpKind::BackwardInput;
  if (!waits || op.stage == kUnknown) return std::nullopt;
  return MessageName{op.stage, op.microbatch, op.kind != OpKind::Forward};
}

/// A range of a receive, and when what it asked for was there.
struct Receive {
  std::int64_t start = 0;
  std::int64_t there = 0;
  bool is_shown = false;
};

/// When messages were there, by what asked for them.
class Receives {
 public:
  Receives(const std::vector<const KinetoRow*>& rows, bool on_device) {
    for (const KinetoRow* row : rows) {
      std::vector<KinetoSpan> spans = row->receives;
      std::sort(spans.begin(), spans.end(), by_start);
      for (const KinetoRange& range : row->ranges) {
        if (!range.meaning.message || !range.meaning.message->is_receive) continue;
        const TraceMessage& of = *range.meaning.message;
        found_[{of.stage, of.microbatch, of.is_gradient}].push_back(receive_of(range, spans, on_device));
      }
    }
    for (auto& [name, receives] : found_) std::sort(receives.begin(), receives.end(), by_start);
  }

  /// The last that was asked for before this time.
  [[nodiscard]] const Receive* before(const MessageName& name, std::int64_t time) const {
    const auto found = found_.find(name);
    if (found == found_.end()) return nullptr;
    const auto after = std::partition_point(found->second.begin(), found->second.end(),
                                            [time](const Receive& one) { return one.start < time; });
    return after == found->second.begin() ? nullptr : &*std::prev(after);
  }

 private:
  static constexpr auto by_start = [](const auto& a, const auto& b) { return a.start < b.start; };

  /// What began inside the range and lasted until somebody went on with it; of a device the range itself.
  static Receive receive_of(const KinetoRange& range, const std::vector<KinetoSpan>& spans, bool on_device) {
    Receive out{range.start, range.end, on_device};
    auto span = std::partition_point(spans.begin(), spans.end(),
                                     [&range](const KinetoSpan& one) { return one.start < range.start; });
    for (; span != spans.end() && span->start <= range.end; ++span) {
      out.there = out.is_shown ? std::max(out.there, span->end) : span->end;
      out.is_shown = true;
    }
    return out;
  }

  std::map<MessageName, std::vector<Receive>> found_;
};

/// One rank of the record as a trace has it.
class KinetoRank {
 public:
  KinetoRank(const KinetoRecord& record, const KinetoPart& part, bool on_device, RankTrace& out)
      : record_(record), part_(part), on_device_(on_device), out_(out), receives_(part.rows, on_device) {
    out_.times_of = on_device ? TimesOf::Device : is_on_host_alone() ? TimesOf::Host : TimesOf::HostOfDevice;
    out_.is_truncated = record.is_truncated;
    origin_ = std::min_element(part.ops->ranges.begin(), part.ops->ranges.end(), by_start)->start;
    out_.origin_ns = record.base_ns + origin_;
    receives_inside_ = part.ops->receives;
    sends_inside_ = part.ops->sends;
    std::sort(receives_inside_.begin(), receives_inside_.end(), by_start);
    std::sort(sends_inside_.begin(), sends_inside_.end(), by_start);
    for (const KinetoRange& range : part.ops->ranges) {
      for (const TraceOp& op : range.meaning.ops) names_stages_ = names_stages_ || op.stage != kUnknown;
      if (range.meaning.holds_no_wait && range.meaning.ops.size() == 1)
        exact_[name_of(range.meaning.ops.front())].push_back({range.start, range.end});
    }
    for (auto& [name, spans] : exact_) std::sort(spans.begin(), spans.end(), by_start);
  }

  void add() {
    find_steps();
    for (const KinetoRow* row : part_.rows)
      for (const KinetoRange& range : row->ranges) add(range, row == part_.ops);
    if (on_device_) add_without_kernels();
    add_exact();
    if (!record_.is_mapped && out_.times_of == TimesOf::Host) out_.num_around = out_.ops.size() - num_exact_;
  }

  [[nodiscard]] std::size_t num_elsewhere() const { return num_elsewhere_; }

 private:
  using OpOfRow = std::tuple<OpKind, std::int32_t, std::int32_t, std::int32_t>;
  static constexpr auto by_start = [](const auto& a, const auto& b) { return a.start < b.start; };
  static OpOfRow name_of(const TraceOp& op) { return {op.kind, op.stage, op.chunk, op.microbatch}; }

  /// gloo's receives tell of a host that did the work itself.
  [[nodiscard]] bool is_on_host_alone() const {
    return !record_.names_device || !part_.ops->receives.empty();
  }

  /// Marks of steps on the host, by time; and when the host opened what the device ran.
  void find_steps() {
    for (const KinetoRow* row : part_.host)
      for (const KinetoRange& range : row->ranges) {
        if (range.meaning.step) steps_.push_back({{range.start, range.end}, *range.meaning.step});
        if (!range.external_id.empty()) opened_.emplace(range.external_id, range.start);
      }
    std::sort(steps_.begin(), steps_.end(),
              [](const StepSpan& a, const StepSpan& b) { return a.time.start < b.time.start; });
  }

  [[nodiscard]] std::int32_t step_of(const KinetoRange& range) const {
    const auto opened = opened_.find(range.external_id);
    const std::int64_t time = opened != opened_.end() ? opened->second : range.start;
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), time,
                         [](std::int64_t at, const StepSpan& span) { return at < span.time.start; });
    if (after == steps_.begin() || std::prev(after)->time.end < time) return kUnknown;
    return std::prev(after)->step;
  }

  void add(const KinetoRange& range, bool on_row) {
    const std::int32_t step = step_of(range);
    if (range.meaning.message) add_message(range, step);
    if (!on_row) num_elsewhere_ += range.meaning.ops.size();
    const bool is_exact = range.meaning.holds_no_wait && range.meaning.ops.size() == 1;
    if (!on_row || is_exact) return;
    if (range.meaning.ops.size() == 2 && add_pair(range, step)) return;
    for (const TraceOp& op : range.meaning.ops) {
      // A name without a stage says less than others of the same rank.
      if (names_stages_ && op.stage == kUnknown && !record_.is_mapped) continue;
      if (!take_exact(op, range, step, false)) put(op, clipped(op, range), step, wait_of(op, range.end));
    }
  }

  void add_message(const KinetoRange& range, std::int32_t step) {
    TraceMessage& message = out_.messages.emplace_back(*range.meaning.message);
    message.start = ticks(range.start);
    message.end = ticks(range.end);
    message.step = step;
    if (!message.is_receive) {
      // The range begins before the call that sends.
      const auto sent =
          std::partition_point(sends_inside_.begin(), sends_inside_.end(),
                               [&range](const KinetoSpan& one) { return one.start < range.start; });
      if (sent != sends_inside_.end() && sent->start <= range.end) message.start = ticks(sent->start);
      return;
    }
    const Receive* const receive =
        receives_.before({message.stage, message.microbatch, message.is_gradient}, range.start + 1);
    if (receive != nullptr && receive->start == range.start) message.end = ticks(receive->there);
  }

  void put(TraceOp op, const KinetoSpan& span, std::int32_t step, WaitInside wait, bool is_joined = false) {
    op.start = ticks(span.start);
    op.end = ticks(span.end);
    op.wait = wait;
    op.is_joined = is_joined;
    if (op.step == kUnknown) op.step = step;
    out_.ops.push_back(op);
  }

  /// The time of an op that a range without waits inside this one has. False if there is none.
  bool take_exact(const TraceOp& op, const KinetoRange& range, std::int32_t step, bool is_joined) {
    const KinetoSpan* const span = exact_inside(op, range);
    if (span == nullptr) return false;
    used_.insert({name_of(op), span->start});
    ++num_exact_;
    put(op, *span, step, WaitInside::None, is_joined);
    ++out_.num_waits_off;
    return true;
  }

  [[nodiscard]] const KinetoSpan* exact_inside(const TraceOp& op, const KinetoRange& range) const {
    const auto found = exact_.find(name_of(op));
    if (found == exact_.end()) return nullptr;
    const auto at = std::partition_point(found->second.begin(), found->second.end(),
                                         [&range](const KinetoSpan& one) { return one.start < range.start; });
    return at != found->second.end() && at->end <= range.end ? &*at : nullptr;
  }

  /// Two ops in one range that waits for each of them. False where it does not show where the first ends.
  bool add_pair(const KinetoRange& range, std::int32_t step) {
    const TraceOp& first = range.meaning.ops[0];
    const TraceOp& second = range.meaning.ops[1];
    if (exact_inside(first, range) != nullptr && exact_inside(second, range) != nullptr)
      return take_exact(first, range, step, false) && take_exact(second, range, step, true);
    const KinetoSpan whole = clipped(first, range);
    const Receive* const receive = receive_inside(second, whole);
    if (receive == nullptr) {
      for (const TraceOp& op : range.meaning.ops) put(op, whole, step, WaitInside::None);
      return true;
    }
    put(first, {whole.start, receive->there}, step, WaitInside::OfNext);
    put(second, {receive->there, whole.end}, step, WaitInside::None, true);
    return true;
  }

  /// The receive for an op that ended inside the span.
  [[nodiscard]] const Receive* receive_inside(const TraceOp& op, const KinetoSpan& span) const {
    const auto name = message_for(op);
    const Receive* const receive = name ? receives_.before(*name, span.end) : nullptr;
    const bool is_inside =
        receive != nullptr && receive->is_shown && receive->there > span.start && receive->there <= span.end;
    return is_inside ? receive : nullptr;
  }

  /// The op's range from when its message was there; without what it sends at its end.
  KinetoSpan clipped(const TraceOp& op, const KinetoRange& range) {
    KinetoSpan span{range.start, range.end};
    if (range.meaning.holds_no_wait) return span;
    if (const Receive* const receive = receive_inside(op, span))
      span.start = receive->there;
    else if (!on_device_)
      clip_inside(span);
    out_.num_waits_off += span.start > range.start ? 1U : 0U;
    return span;
  }

  /// Messages that the range itself sends and receives: those nearer to its begin are what it waits for.
  void clip_inside(KinetoSpan& span) const {
    const KinetoSpan whole = span;
    const auto each = [&whole](const std::vector<KinetoSpan>& messages, auto&& fn) {
      auto at = std::partition_point(messages.begin(), messages.end(),
                                     [&whole](const KinetoSpan& one) { return one.start < whole.start; });
      for (; at != messages.end() && at->start < whole.end; ++at) fn(*at);
    };
    each(receives_inside_, [&](const KinetoSpan& one) {
      if (one.end > whole.end) return;
      if (one.start - whole.start <= whole.end - one.end)
        span.start = std::max(span.start, one.end);
      else
        span.end = std::min(span.end, one.start);
    });
    each(sends_inside_, [&](const KinetoSpan& one) {
      if (one.start - span.start > whole.end - one.start) span.end = std::min(span.end, one.start);
    });
    span.end = std::max(span.end, span.start);
  }

  /// True if what is left of the range of an op may hold its wait.
  [[nodiscard]] WaitInside wait_of(const TraceOp& op, std::int64_t end) const {
    if (on_device_ || op.kind == OpKind::BackwardWeight) return WaitInside::None;
    if (out_.times_of == TimesOf::HostOfDevice) return WaitInside::Unknown;
    const auto name = message_for(op);
    const Receive* const receive = name ? receives_.before(*name, end) : nullptr;
    const bool is_shown = receive != nullptr ? receive->is_shown : !receives_inside_.empty();
    return is_shown ? WaitInside::None : WaitInside::Unknown;
  }

  /// Ranges without waits that stand in no other one.
  void add_exact() {
    for (const KinetoRange& range : part_.ops->ranges) {
      if (!range.meaning.holds_no_wait || range.meaning.ops.size() != 1) continue;
      const TraceOp& op = range.meaning.ops.front();
      if (used_.contains({name_of(op), range.start})) continue;
      ++out_.num_waits_off;
      ++num_exact_;
      put(op, {range.start, range.end}, step_of(range), WaitInside::None);
    }
  }

  /// An op may start no kernel, such as the gradient of the first stage's input: it is on the host alone, and takes no time where the op
  /// before it ended. Behind the last op of the device the host is ahead of what was recorded.
  void add_without_kernels() {
    const KinetoRow* host = busiest(part_.host);
    if (host == nullptr) return;
    std::unordered_map<std::string, std::int64_t> ended;
    for (const KinetoRange& range : part_.ops->ranges)
      if (!range.external_id.empty()) ended.emplace(range.external_id, range.end);
    std::vector<KinetoRange> ranges = host->ranges;
    std::stable_sort(ranges.begin(), ranges.end(), by_start);
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
      for (const KinetoRange& one : waiting) add(one, true);
      waiting.clear();
      before = found->second;
    }
  }

  [[nodiscard]] Ticks ticks(std::int64_t time) const {
    const std::int64_t ns = time - origin_;
    if (ns >= kMaxTicks / kTicksPerNanosecond / 2 || ns <= -kMaxTicks / kTicksPerNanosecond / 2)
      throw InputError(Where{record_.path},
                       "its ranges are more than 26 days apart, so they are of no single run");
    return ns * kTicksPerNanosecond;
  }

  const KinetoRecord& record_;
  const KinetoPart& part_;
  bool on_device_;
  RankTrace& out_;
  Receives receives_;
  std::int64_t origin_ = 0;
  bool names_stages_ = false;
  std::vector<KinetoSpan> receives_inside_;
  std::vector<KinetoSpan> sends_inside_;
  std::map<OpOfRow, std::vector<KinetoSpan>> exact_;
  std::set<std::pair<OpOfRow, std::int64_t>> used_;
  std::vector<StepSpan> steps_;
  std::unordered_map<std::string, std::int64_t> opened_;
  std::size_t num_elsewhere_ = 0;
  std::size_t num_exact_ = 0;
};

/// What a file without ops is, and what to do.
[[noreturn]] void fail_without_ops(const KinetoRecord& record) {
  if (record.is_mapped || !record.has_header) {
    const std::string names = record.other_names.empty() ? "no range has a name"
                                                         : fmt::format("its ranges are called {} and so on",
                                                                       fmt::join(record.other_names, ", "));
    throw InputError(
        Where{record.path},
        fmt::format("no range of a pipeline is in it: {}; say what names mean with --mapping FILE "
                    "(docs/measured-runs.md)",
                    names));
  }
  if (!record.has_work)
    throw InputError(
        Where{record.path},
        "no step was recorded in it: neither a call nor a kernel is there. torch.profiler.schedule() records "
        "again and again unless it says repeat=1, and export_chrome_trace() writes the cycle in which the "
        "run "
        "ended; give repeat=1, and train wait + warmup + active steps or more");
  throw InputError(
      Where{record.path},
      "no range of a pipeline is among its annotations: PyTorch's Schedule1F1B, torchtitan's default, "
      "records "
      "none, and there is nothing to map. Record again with pipeloom.torch.ranges(stage), which is two "
      "lines; or "
      "let pipeloom.torch.record run the schedule; or run the same order from a CSV, whose ops PyTorch names "
      "PP:0F0 and so on. Ranges with names of your own take --mapping FILE (docs/measured-runs.md)");
}

}  // namespace

void add_kineto_ranks(const KinetoRecord& record, Trace& trace) {
  const auto warn = [&](const std::string& text) {
    trace.warnings.push_back(Where{record.path}.text() + ": " + text);
  };
  const KinetoParts found = parts_of(record);
  const std::vector<KinetoPart>& parts = found.parts;
  if (parts.empty()) fail_without_ops(record);
  trace.is_of_torch = !record.is_mapped;
  std::size_t num_elsewhere = 0;
  for (const KinetoPart& part : parts) {
    KinetoRank rank(record, part, found.on_device, add_rank(trace, part.rank, record.path));
    rank.add();
    num_elsewhere += rank.num_elsewhere();
  }
  if (record.num_damaged > 0)
    warn(fmt::format("{} events are damaged and were left out", record.num_damaged));
  if (num_elsewhere > 0)
    warn(fmt::format("{} ops on other {} than the one with most ops were left out", num_elsewhere,
                     found.on_device ? "streams" : "threads"));
  if (parts.size() > 1 && record.has_header)
    warn(fmt::format("{} ranks are in this file; they were told apart by their processes", parts.size()));
  trace.expected_ranks = std::max({trace.expected_ranks, record.world_size,
                                   parts.size() > 1 ? static_cast<std::int32_t>(parts.size()) : kUnknown});
}

}  // namespace pipeloom::io
