#include "sim/io/formats/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/io/json/text_writer.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "sim/tensor_index.hpp"
#include "sim/text.hpp"

namespace pipeloom::io {
namespace {

/// An arrow starts this long before its op's end, because viewers attach it to the event that is open at its time and they
/// count in nanoseconds.
constexpr Ticks kNanosecond = 1000;

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const Timeline& timeline, const MemoryModel& memory,
              const ChromeTraceOptions& options)
      : out_(out), timeline_(timeline), schedule_(*timeline.schedule), memory_(memory), tensors_(schedule_) {
    const bool small = timeline.start.size() <= kChromeExtrasLimit;
    flows_ = options.flows.value_or(small);
    counters_ = options.counters.value_or(small);
    find_chunks();
  }

  void write() {
    out_ << "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"time_unit\":\"" << name_of(timeline_.unit) << '"';
    if (timeline_.unit == TimeUnit::Unit) out_ << ",\"note\":\"1 unit is shown as 1 ms\"";
    out_ << "},\"traceEvents\":[";
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

  void write_rank(Rank rank) {
    write_names(rank);
    for (int step = 0; step < timeline_.steps; ++step) {
      for_each_entry(schedule_, schedule_.queue_begin(rank), schedule_.queue_end(rank),
                     [&](std::size_t first, std::size_t last) {
                       for (std::size_t op = first; op < last; ++op) write_op(rank, step, op, op - first);
                     });
      if (counters_) write_memory(rank, step);
    }
  }

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
    std::size_t threads = 1;
    for_each_entry(schedule_, schedule_.queue_begin(rank), schedule_.queue_end(rank),
                   [&](std::size_t first, std::size_t last) { threads = std::max(threads, last - first); });
    for (std::size_t thread = 0; thread < threads; ++thread) {
      begin_event();
      out_ << "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":" << rank.value() << ",\"tid\":" << thread
           << ",\"args\":{\"name\":\"" << (thread == 0 ? "ops" : "overlapped");
      if (thread > 1) out_ << ' ' << thread;
      out_ << "\"}}";
    }
  }

  void write_op(Rank rank, int step, std::size_t index, std::size_t thread) {
    const Op op = schedule_.ops()[index];
    const Ticks start = timeline_.start_of(index, step);
    const Ticks end = timeline_.end_of(index, step);
    begin_event();
    out_ << "{\"name\":\"" << op << "\",\"cat\":\"" << letter_of(op.kind())
         << "\",\"ph\":\"X\",\"pid\":" << rank.value() << ",\"tid\":" << thread << ",\"ts\":";
    microseconds(start) << ",\"dur\":";
    microseconds(end - start) << ",\"args\":{\"kind\":\"" << letter_of(op.kind())
                              << "\",\"stage\":" << op.stage().value()
                              << ",\"microbatch\":" << op.microbatch().value()
                              << ",\"chunk\":" << chunk_of_slot_[schedule_.slot_of(op).at()]
                              << ",\"step\":" << step << ",\"start\":\"";
    out_.ticks(start, timeline_.unit) << "\",\"end\":\"";
    out_.ticks(end, timeline_.unit) << "\"}}";
    if (flows_) write_flows(rank, step, op, start, end, thread);
  }

  /// Ticks as microseconds; an abstract unit has as many ticks as a millisecond, so it is shown as one.
  TextWriter& microseconds(Ticks ticks) { return out_.ticks(ticks, TimeUnit::Microsecond); }

  /// Both ends of an arrow carry the number of its tensor, so neither needs to know where the other one is.
  void write_flows(Rank rank, int step, Op op, Ticks start, Ticks end, std::size_t thread) {
    if (crosses_ranks(op, rank, step_to_producer(op.kind()))) {
      write_flow('f', rank, step, tensors_.input_of(op), start, thread, op.kind());
    }
    if (crosses_ranks(op, rank, step_to_consumer(op.kind()))) {
      write_flow('s', rank, step, tensors_.output_of(op), std::max(start, end - kNanosecond), thread,
                 op.kind());
    }
  }

  /// Whether the stage `away` from the op's, in the same replica, exists and is on another rank.
  bool crosses_ranks(Op op, Rank rank, int away) const {
    const Stage other = op.stage() + away;
    if (other < Stage(0) || other.value() >= schedule_.stages()) return false;
    return schedule_.placement().rank_of(other, schedule_.replica_of(op.microbatch())) != rank;
  }

  void write_flow(char phase, Rank rank, int step, std::size_t tensor, Ticks time, std::size_t thread,
                  OpKind kind) {
    begin_event();
    out_ << "{\"name\":\"" << (kind == OpKind::Forward ? "activation" : "gradient")
         << "\",\"cat\":\"transfer\",\"ph\":\"" << phase << "\",";
    if (phase == 'f') out_ << "\"bp\":\"e\",";
    out_ << "\"id\":" << static_cast<std::size_t>(step) * tensors_.size() + tensor
         << ",\"pid\":" << rank.value() << ",\"tid\":" << thread << ",\"ts\":";
    microseconds(time) << '}';
  }

  void write_memory(Rank rank, int step) {
    for (const MemoryStep& change : memory_curve(timeline_, memory_, rank, step)) {
      begin_event();
      out_ << "{\"name\":\"memory\",\"ph\":\"C\",\"pid\":" << rank.value() << ",\"ts\":";
      microseconds(change.time) << ",\"args\":{\"bytes\":" << change.bytes << "}}";
    }
  }

  TextWriter out_;
  const Timeline& timeline_;
  const Schedule& schedule_;
  const MemoryModel& memory_;
  TensorIndex tensors_;
  std::vector<int> chunk_of_slot_;
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
