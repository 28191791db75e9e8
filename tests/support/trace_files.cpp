#include "support/trace_files.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/dependency.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/formats/chrome_trace.hpp"
#include "support/temporary.hpp"

namespace pipeloom::test {
namespace {

constexpr Ticks kNano = 1000;
constexpr Ticks kMicro = 1000 * kNano;
/// When the run began, by the clocks of its ranks.
constexpr Ticks kBegin = 1'000'000 * kMicro;

/// What one rank did, in the order of its steps and its queue.
struct RankEvent {
  Op op;
  int step = 0;
  Ticks start = 0;
  Ticks end = 0;
  bool sends = false;
  bool receives = false;
  Ticks free = 0;  ///< since when the rank waited for this op's message
};

std::vector<RankEvent> events_of(const Timeline& times, Rank rank, const TraceStyle& style) {
  const Schedule& schedule = *times.schedule;
  const DependencyMap dependencies(schedule);
  std::vector<char> is_sent(schedule.num_ops(), 0);
  const auto producer_elsewhere = [&](std::size_t i) {
    const std::uint32_t producer = dependencies.producer_of(i);
    return producer != DependencyMap::kNone && schedule.rank_of_op(producer) != schedule.rank_of_op(i);
  };
  for (std::size_t i = 0; i < schedule.num_ops(); ++i)
    if (producer_elsewhere(i)) is_sent[dependencies.producer_of(i)] = 1;
  const Ticks ahead = kBegin + (style.ahead.empty() ? 0 : style.ahead[rank.at()]);
  std::vector<RankEvent> events;
  for (int step = 0; step < times.steps; ++step)
    for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
      const bool first = events.empty() || events.back().step != step;
      const Ticks start = times.start_of(i, step) + ahead;
      events.push_back({schedule.ops()[i], step, start, times.end_of(i, step) + ahead, is_sent[i] != 0,
                        producer_elsewhere(i), first ? start - 2 * kTraceLatency : events.back().end});
    }
  return events;
}

std::string microseconds(Ticks time) {
  return fmt::format("{}.{:03d}", time / kMicro, time % kMicro / kNano);
}

/// Rows to a file, in this order or the opposite one.
void put(const std::string& file, const std::string& head, std::vector<std::string> rows,
         const std::string& between, const std::string& tail, bool is_reversed) {
  if (is_reversed) std::reverse(rows.begin(), rows.end());
  std::ofstream out(file, std::ios::binary);
  out << head;
  for (std::size_t i = 0; i < rows.size(); ++i) out << (i == 0 ? "" : between) << rows[i];
  out << tail;
}

// Clocks of profilers count from 1970: 1.6e15 us.
std::string kineto_event(std::string_view category, const std::string& name, Ticks start, Ticks end, int id,
                         int row) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": {}, "ts": 16{:013d}.{:03d}, "dur": {}, "args": {{"External id": {}, "device": 0, "stream": {}, "note": "a \"quoted\" }} \\"}}}})",
      category, name, row, start / kMicro, start % kMicro / kNano, microseconds(end - start), id, row);
}

std::string message_name(const RankEvent& event, bool is_receive) {
  // A forward sends its activation and wants one; a backward sends a gradient and wants one.
  const char side = event.op.kind() == OpKind::Forward ? 'F' : 'B';
  return fmt::format("PP:{}{}_{}{}", event.op.stage().value(), is_receive ? "RECV" : "SEND", side,
                     event.op.microbatch().value());
}

void write_kineto(const TraceFolder& folder, const Timeline& times, Rank rank, const TraceStyle& style) {
  constexpr int kHostRow = 1;
  constexpr int kStream = 7;
  constexpr int kMessageStream = 20;
  std::vector<std::string> rows;
  int id = 0;
  const auto mark = [&](int step, Ticks start, Ticks end) {
    rows.push_back(kineto_event("user_annotation", fmt::format("ProfilerStep#{}", step + 5), start - kMicro,
                                end + kMicro, ++id, kHostRow));
  };
  const auto events = events_of(times, rank, style);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const RankEvent& event = events[i];
    if (i == 0 || events[i - 1].step != event.step) {
      const auto last = std::find_if(events.rbegin(), events.rend(),
                                     [&event](const RankEvent& e) { return e.step == event.step; });
      mark(event.step, event.start, last->end);
    }
    const std::string name = "PP:" + to_text(event.op);
    rows.push_back(kineto_event("user_annotation", name, event.start, event.start + kNano, ++id, kHostRow));
    rows.push_back(kineto_event("gpu_user_annotation", name, event.start, event.end, id, kStream));
    for (int k = 0; k < style.noise; ++k)
      rows.push_back(kineto_event("kernel", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_nn",
                                  event.start, event.end, id, kStream));
    if (style.has_messages && event.sends)
      rows.push_back(kineto_event("gpu_user_annotation", message_name(event, false), event.end,
                                  event.end + kTraceLatency, ++id, kMessageStream));
    if (style.has_messages && event.receives)
      rows.push_back(kineto_event("gpu_user_annotation", message_name(event, true), event.free, event.start,
                                  ++id, kMessageStream));
  }
  put(folder.file(fmt::format("rank{}.json", rank.value())),
      fmt::format(
          R"({{"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}}, "traceEvents": [)",
          rank.value(), times.schedule->ranks()),
      std::move(rows), ",\n", "], \"traceName\": \"t\"}\n", style.is_reversed);
}

void write_megatron(const TraceFolder& folder, const Timeline& times, Rank rank, const TraceStyle& style) {
  std::vector<std::string> rows;
  for (const RankEvent& event : events_of(times, rank, style)) {
    const std::string name = fmt::format("{}-{}", event.op.kind() == OpKind::Forward ? "forward" : "backward",
                                         event.op.microbatch().value());
    rows.push_back(fmt::format(R"("{}-start": {})", name, format_ticks(event.start, TimeUnit::Millisecond)));
    rows.push_back(fmt::format(R"("{}-end": {})", name, format_ticks(event.end, TimeUnit::Millisecond)));
    for (int k = 0; k < style.noise; ++k)
      rows.push_back(fmt::format(R"("{}-kernel-{}-of-the-fused-attention-of-this-layer": {})", name, k,
                                 format_ticks(event.start, TimeUnit::Millisecond)));
  }
  put(folder.file(fmt::format("event_times_PP{0}_VPP1_TPxCPxDP_rank_0_pp_rank_{1}_rank_{1}.json",
                              times.schedule->ranks(), rank.value())),
      "{", std::move(rows), ", ", "}\n", style.is_reversed);
}

void write_primus(const TraceFolder& folder, const Timeline& times, Rank rank, const TraceStyle& style) {
  const auto events = events_of(times, rank, style);
  std::vector<std::string> rows;
  for (int step = 0; step < times.steps; ++step) {
    std::map<std::string, std::vector<std::string>> lists;
    // Each step's clock starts at the call of the schedule.
    const Ticks begin = kBegin + span_of(times, step).start;
    for (const RankEvent& event : events) {
      if (event.step != step) continue;
      const std::string name = event.op.kind() == OpKind::Forward ? "fwd" : "bwd";
      lists[name + "_start"].push_back(format_ticks(event.start - begin, TimeUnit::Millisecond));
      lists[name + "_end"].push_back(format_ticks(event.end - begin, TimeUnit::Millisecond));
      lists[name + "_minibatch"].push_back(fmt::format("{}", event.op.microbatch().value()));
      for (int k = 0; k < style.noise; ++k)
        lists["send_recv_events_of_the_batched_calls"].push_back(
            format_ticks(event.start - begin, TimeUnit::Millisecond));
    }
    std::string row = fmt::format(R"("{}": {{"total": 1.5, "memory": 2.5)", step + 1);
    for (const auto& [name, values] : lists)
      row += fmt::format(R"(, "{}": [{}])", name, fmt::join(values, ", "));
    rows.push_back(row + "}");
  }
  put(folder.file(fmt::format("pp_rank_{}.json", rank.value())), "{", std::move(rows), ", ", "}\n",
      style.is_reversed);
  std::ofstream(folder.file("config.json"))
      << fmt::format(R"({{"pp_size": {}, "vp_size": 1}})", times.schedule->ranks());
}

void write_nsys(const TraceFolder& folder, const Timeline& times, Rank rank, const TraceStyle& style) {
  static constexpr std::int64_t kThread = (std::int64_t{5} << 24) + 9;
  std::vector<std::string> rows;
  const auto add = [&rows](const std::string& name, Ticks start, Ticks end) {
    rows.push_back(fmt::format("INSERT INTO NVTX_EVENTS VALUES ({},{},59,'{}',{},NULL);", start / kNano,
                               end / kNano, name, kThread));
  };
  const auto events = events_of(times, rank, style);
  for (int step = 0; step < times.steps; ++step) {
    const Span span = span_of(times, rank, step);
    const Ticks ahead = kBegin + (style.ahead.empty() ? 0 : style.ahead[rank.at()]);
    add(fmt::format("ProfilerStep#{}", step + 5), span.start + ahead - kMicro, span.end + ahead + kMicro);
  }
  for (const RankEvent& event : events) {
    add("PP:" + to_text(event.op), event.start, event.end);
    for (int k = 0; k < style.noise; ++k)
      add("transformer.layer.attention.core.softmax.dropout.bmm", event.start, event.end);
  }
  if (style.is_reversed) std::reverse(rows.begin(), rows.end());
  sqlite3* database = nullptr;
  const auto run = [&database](const std::string& text) {
    if (sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(database));
  };
  if (sqlite3_open(folder.file(fmt::format("rank{}.sqlite", rank.value())).c_str(), &database) != SQLITE_OK)
    throw std::runtime_error("no database");
  run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
      "CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT NOT NULL, text TEXT, globalTid "
      "INT, textId INT);");
  for (const std::string& row : rows) run(row);
  run("COMMIT;");
  sqlite3_close(database);
}

void write_straggler(const TraceFolder& folder, const Timeline& times, const TraceStyle& style) {
  std::vector<std::string> rows;
  for (Rank rank{0}; rank < Rank(times.schedule->ranks()); ++rank)
    for (const RankEvent& event : events_of(times, rank, style)) {
      const auto add = [&](const std::string& type, Ticks start, Ticks end) {
        rows.push_back(fmt::format("0,{0},{0},{1},{2},{3},{4},{5},0,{6},{5}\n", rank.value(), event.step + 3,
                                   type, format_ticks(start, TimeUnit::Second),
                                   format_ticks(end - start, TimeUnit::Second), event.op.microbatch().value(),
                                   event.op.stage().value()));
      };
      const std::string side = event.op.kind() == OpKind::Forward ? "forward" : "backward";
      add(side + "-compute", event.start, event.end);
      if (style.has_messages && event.sends) add(side + "-send", event.end, event.end + kTraceLatency);
      if (style.has_messages && event.receives) add(side + "-recv", event.free, event.start);
      for (int k = 0; k < style.noise; ++k) add("grads-reduce-scatter", event.start, event.end);
    }
  put(folder.file("trace.csv"), "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,gmc,mb_id\n",
      std::move(rows), "", "", style.is_reversed);
}

void write_chrome(const TraceFolder& folder, const Timeline& times, const TraceStyle& style) {
  const bool extras = style.noise > 0;
  std::ofstream out(folder.file("run.trace.json"), std::ios::binary);
  io::write_chrome_trace(out, times, default_memory(times.schedule->placement()),
                         {.flows = extras, .counters = extras});
}

}  // namespace

TraceFolder::TraceFolder(const std::string& name) : path_(temporary_path(name)) {
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

TraceFolder::~TraceFolder() {
  std::filesystem::remove_all(path_);
}

std::vector<std::string> TraceFolder::files() const {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

void write_trace(const std::string& format, const TraceFolder& folder, const Timeline& times,
                 const TraceStyle& style) {
  using RankWriter = void (*)(const TraceFolder&, const Timeline&, Rank, const TraceStyle&);
  static const std::map<std::string, RankWriter> kRankWriters = {
      {"kineto", write_kineto}, {"megatron", write_megatron}, {"primus", write_primus}, {"nsys", write_nsys}};
  if (format == "straggler") return write_straggler(folder, times, style);
  if (format == "chrome") return write_chrome(folder, times, style);
  for (Rank rank{0}; rank < Rank(times.schedule->ranks()); ++rank)
    kRankWriters.at(format)(folder, times, rank, style);
}

Timeline regular_times(const std::string& orders, int steps) {
  Timeline times;
  times.schedule = std::make_shared<const Schedule>(parse_schedule(orders));
  times.steps = steps;
  times.unit = TimeUnit::Millisecond;
  const Schedule& schedule = *times.schedule;
  Ticks length = 0;
  for (Rank rank(0); rank.value() < schedule.ranks(); ++rank)
    length = std::max(length, static_cast<Ticks>(schedule.queue_end(rank) - schedule.queue_begin(rank)) * 10 +
                                  rank.value() * 3 + 100);
  for (int step = 0; step < steps; ++step)
    for (Rank rank(0); rank.value() < schedule.ranks(); ++rank)
      for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
        const auto q = static_cast<Ticks>(i - schedule.queue_begin(rank));
        times.start.push_back((step * length + q * 10 + rank.value() * 3) * kMicro);
        times.end.push_back(times.start.back() + 7 * kMicro + kMicro / 8);
      }
  return times;
}

Timeline simulated_times(const std::string& orders, int steps) {
  const auto schedule = std::make_shared<const Schedule>(parse_schedule(orders));
  Costs costs = default_costs(schedule->placement());
  for (const OpKind kind : kAllOpKinds)
    std::fill(costs.duration[index_of(kind)].begin(), costs.duration[index_of(kind)].end(),
              (kind == OpKind::Forward ? 10 : 20) * kMicro);
  const Placement& placement = schedule->placement();
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    const Stage stage = placement.stage_of(slot);
    costs.forward_delay[slot.at()] = stage == Stage(0) ? 0 : kTraceLatency;
    costs.backward_delay[slot.at()] = stage.value() + 1 == placement.stages() ? 0 : kTraceLatency;
  }
  costs.unit = TimeUnit::Millisecond;
  return simulate(schedule, costs, {.optimizer = 100 * kMicro, .count = steps});
}

}  // namespace pipeloom::test
