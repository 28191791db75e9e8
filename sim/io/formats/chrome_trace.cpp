#include "sim/io/formats/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/dependency.hpp"
#include "sim/io/json/text_writer.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "sim/tensor_index.hpp"
#include "sim/text.hpp"

namespace pipeloom::io {
namespace {

/// Viewers count in nanoseconds, and round the start and the length of an event each by itself. Both ends are rounded here, so that ends that
/// touch still touch.
constexpr Ticks kNanosecond = 1000;

Ticks nanoseconds(Ticks ticks) {
  const Ticks shifted = ticks + kNanosecond / 2;
  return shifted - ((shifted % kNanosecond) + kNanosecond) % kNanosecond;
}

/// Viewers take thread 0 of process n for thread n, and these ids are above all ranks.
constexpr std::int64_t kFirstThread = std::int64_t{2} * kMaxIndex;

/// An op as viewers see it.
struct ShownOp {
  Rank rank;
  int step = 0;
  std::size_t index = 0;
  std::size_t lane = 0;
  Ticks start = 0;  // whole nanoseconds
  Ticks end = 0;
};

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const Timeline& timeline, const MemoryModel& memory,
              const ChromeTraceOptions& options)
      : out_(out), timeline_(timeline), schedule_(*timeline.schedule), memory_(memory), tensors_(schedule_) {
    const bool small = timeline.start.size() <= kChromeExtrasLimit;
    flows_ = options.flows.value_or(small);
    counters_ = options.counters.value_or(small);
    find_chunks();
    for (Rank rank(0); rank.value() < schedule_.ranks(); ++rank)
      for_each_entry(schedule_, schedule_.queue_begin(rank), schedule_.queue_end(rank),
                     [&](std::size_t first, std::size_t last) { widest_ = std::max(widest_, last - first); });
  }

  void write() {
    out_ << "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"time_unit\":\"" << name_of(timeline_.unit) << '"';
    if (timeline_.unit == TimeUnit::Unit) out_ << ",\"note\":\"1 unit is shown as 1 ms\"";
    out_ << "},\"traceEvents\":[";
    for (Rank rank(0); rank.value() < schedule_.ranks(); ++rank) write_names(rank);
    if (flows_) write_instants();
    for (Rank rank(0); rank.value() < schedule_.ranks(); ++rank) write_rank(rank);
    out_ << "\n]}\n";
    out_.flush();
  }

 private:
  void find_chunks() {
    const Placement& placement = schedule_.placement();
    chunk_of_slot_.resize(static_cast<std::size_t>(placement.slots()));
    for (Rank rank(0); rank.value() < placement.ranks(); ++rank) {
      std::vector<int> next(static_cast<std::size_t>(placement.replicas()));
      for (const Slot slot : placement.slots_of(rank)) {
        chunk_of_slot_[slot.at()] = next[placement.replica_of(slot).at()]++;
      }
    }
  }

  // Lanes of a rank: op n of its entries, copies out, copies in, ops of no length. Two of the last kind that share an instant nest there; among
  // others they would take the arrows of the op that begins with them.
  [[nodiscard]] std::size_t copies_lane(OpKind kind) const {
    return widest_ + (kAwaitedCopies.has(kind) ? 1 : 0);
  }
  [[nodiscard]] std::size_t instants_lane() const { return widest_ + 2; }
  [[nodiscard]] std::size_t num_lanes() const { return widest_ + 3; }
  [[nodiscard]] std::string lane_name(std::size_t lane) const {
    if (lane == 0) return "ops";
    if (lane == 1 && widest_ > 1) return "overlapped";
    if (lane < widest_) return fmt::format("overlapped {}", lane);
    return lane == instants_lane() ? "no length" : lane == widest_ ? "copies out" : "copies in";
  }
  [[nodiscard]] std::int64_t thread_of(Rank rank, std::size_t lane) const {
    return kFirstThread + static_cast<std::int64_t>(rank.at() * num_lanes() + lane);
  }

  template <class Fn>
  void for_each_op(Rank rank, int step, Fn&& fn) const {
    for_each_entry(schedule_, schedule_.queue_begin(rank), schedule_.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     for (std::size_t op = first; op < last; ++op) fn(shown(rank, step, op, op - first));
                   });
  }
  [[nodiscard]] ShownOp shown(Rank rank, int step, std::size_t index, std::size_t part) const {
    ShownOp out{.rank = rank,
                .step = step,
                .index = index,
                .lane = part,
                .start = nanoseconds(timeline_.start_of(index, step)),
                .end = nanoseconds(timeline_.end_of(index, step))};
    const OpKind kind = schedule_.ops()[index].kind();
    if (is_copy(kind)) out.lane = copies_lane(kind);
    if (out.start == out.end) out.lane = instants_lane();
    return out;
  }

  void write_rank(Rank rank) {
    for (int step = 0; step < timeline_.steps; ++step) {
      for_each_op(rank, step, [&](const ShownOp& op) {
        if (!flows_ || op.lane != instants_lane()) write_op(op);
      });
      if (counters_) write_memory(rank, step);
    }
  }

  /// Ops of no length, each with its arrows after it, before all others: viewers take events of one instant in the order of the file, an arrow
  /// leaves and enters the op that was the last to begin, and its start must be known before its end.
  void write_instants() {
    std::vector<ShownOp> ops;
    for (Rank rank(0); rank.value() < schedule_.ranks(); ++rank)
      for (int step = 0; step < timeline_.steps; ++step)
        for_each_op(rank, step, [&](const ShownOp& op) {
          if (op.lane == instants_lane()) ops.push_back(op);
        });
    if (ops.empty()) return;
    std::stable_sort(ops.begin(), ops.end(),
                     [&](const ShownOp& a, const ShownOp& b) { return exact_start(a) < exact_start(b); });
    const DependencyMap needs(schedule_);
    for (std::size_t first = 0; first < ops.size();) {
      std::size_t last = first;
      while (last < ops.size() && exact_start(ops[last]) == exact_start(ops[first])) ++last;
      write_instant(std::span(ops).subspan(first, last - first), needs);
      first = last;
    }
  }

  /// Ops of one exact instant, in the order of their queues, each after those that it waits for.
  void write_instant(std::span<const ShownOp> ops, const DependencyMap& needs) {
    std::set<std::pair<int, std::size_t>> waiting;
    for (const ShownOp& op : ops) waiting.emplace(op.step, op.index);
    for (bool any = true; std::exchange(any, false);) {
      Rank blocked(-1);
      for (const ShownOp& op : ops) {
        if (op.rank == blocked || !waiting.contains({op.step, op.index})) continue;
        if (waiting.contains({op.step, needs.producer_of(op.index)})) {
          blocked = op.rank;
          continue;
        }
        write_op(op);
        waiting.erase({op.step, op.index});
        any = true;
      }
    }
    for (const ShownOp& op : ops)
      if (waiting.contains({op.step, op.index})) write_op(op);
  }

  [[nodiscard]] Ticks exact_start(const ShownOp& op) const { return timeline_.start_of(op.index, op.step); }

  void begin_event() {
    out_ << (first_event_ ? "\n" : ",\n");
    first_event_ = false;
  }

  void write_names(Rank rank) {
    // Names sort like numbers: "rank 07" comes before "rank 10".
    const auto digits = std::to_string(schedule_.ranks() - 1).size();
    begin_event();
    out_ << "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" << rank.value()
         << ",\"args\":{\"name\":\"rank " << fmt::format("{:0{}}", rank.value(), digits) << "\"}}";
    begin_event();
    out_ << "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":" << rank.value()
         << ",\"args\":{\"sort_index\":" << rank.value() << "}}";
    std::vector<bool> used(num_lanes());
    used[0] = true;
    for (int step = 0; step < timeline_.steps; ++step)
      for_each_op(rank, step, [&](const ShownOp& op) { used[op.lane] = true; });
    for (std::size_t lane = 0; lane < used.size(); ++lane) {
      if (!used[lane]) continue;
      begin_event();
      out_ << "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":" << rank.value()
           << ",\"tid\":" << thread_of(rank, lane) << ",\"args\":{\"name\":\"" << lane_name(lane) << "\"}}";
    }
  }

  void write_op(const ShownOp& at) {
    const Op op = schedule_.ops()[at.index];
    begin_event();
    out_ << "{\"name\":\"" << op << "\",\"cat\":\"" << letter_of(op.kind())
         << "\",\"ph\":\"X\",\"pid\":" << at.rank.value() << ",\"tid\":" << thread_of(at.rank, at.lane)
         << ",\"ts\":";
    microseconds(at.start) << ",\"dur\":";
    microseconds(at.end - at.start) << ",\"args\":{\"kind\":\"" << letter_of(op.kind())
                                    << "\",\"stage\":" << op.stage().value()
                                    << ",\"microbatch\":" << op.microbatch().value()
                                    << ",\"chunk\":" << chunk_of_slot_[schedule_.slot_of(op).at()]
                                    << ",\"step\":" << at.step << ",\"start\":\"";
    out_.ticks(timeline_.start_of(at.index, at.step), timeline_.unit) << "\",\"end\":\"";
    out_.ticks(timeline_.end_of(at.index, at.step), timeline_.unit) << "\"}}";
    if (flows_) write_flows(at, op);
  }

  /// Ticks as microseconds; an abstract unit has as many ticks as a millisecond, so it is shown as one.
  TextWriter& microseconds(Ticks ticks) { return out_.ticks(ticks, TimeUnit::Microsecond); }

  /// Both ends of an arrow carry the number of its tensor, so neither needs to know where the other one is. It leaves a nanosecond before its
  /// op's end: at the end it would leave the next op.
  void write_flows(const ShownOp& at, Op op) {
    if (crosses_ranks(op, at.rank, step_to_producer(op.kind())))
      write_flow('f', at, tensors_.input_of(op), at.start, op.kind());
    if (crosses_ranks(op, at.rank, step_to_consumer(op.kind())))
      write_flow('s', at, tensors_.output_of(op), std::max(at.start, at.end - kNanosecond), op.kind());
  }

  /// True if the stage `away` from the op's, in the same replica, exists and is on another rank.
  bool crosses_ranks(Op op, Rank rank, int away) const {
    const Stage other = op.stage() + away;
    if (other < Stage(0) || other.value() >= schedule_.stages()) return false;
    return schedule_.placement().rank_of(other, schedule_.replica_of(op.microbatch())) != rank;
  }

  void write_flow(char phase, const ShownOp& at, std::size_t tensor, Ticks time, OpKind kind) {
    begin_event();
    out_ << "{\"name\":\"" << (kind == OpKind::Forward ? "activation" : "gradient")
         << "\",\"cat\":\"transfer\",\"ph\":\"" << phase << "\",";
    if (phase == 'f') out_ << "\"bp\":\"e\",";
    out_ << "\"id\":" << static_cast<std::size_t>(at.step) * tensors_.size() + tensor
         << ",\"pid\":" << at.rank.value() << ",\"tid\":" << thread_of(at.rank, at.lane) << ",\"ts\":";
    microseconds(time) << '}';
  }

  void write_memory(Rank rank, int step) {
    for (const MemoryStep& change : memory_curve(timeline_, memory_, rank, step)) {
      begin_event();
      out_ << "{\"name\":\"memory\",\"ph\":\"C\",\"pid\":" << rank.value() << ",\"ts\":";
      microseconds(nanoseconds(change.time)) << ",\"args\":{\"bytes\":" << change.bytes << "}}";
    }
  }

  TextWriter out_;
  const Timeline& timeline_;
  const Schedule& schedule_;
  const MemoryModel& memory_;
  TensorIndex tensors_;
  std::vector<int> chunk_of_slot_;
  std::size_t widest_ = 1;  // ops of an entry
  bool flows_ = false;
  bool counters_ = false;
  bool first_event_ = true;
};

}  // namespace

void write_chrome_trace(std::ostream& out, const Timeline& timeline, const MemoryModel& memory,
                        const ChromeTraceOptions& options) {
  TraceWriter(out, timeline, memory, options).write();
}

}  // namespace pipeloom::io
