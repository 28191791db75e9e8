#include "study/report/report.hpp"

#include <pipeloom/metrics.hpp>
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/text_writer.hpp"
#include "sim/memory.hpp"
#include "sim/text.hpp"
#include "study/report/run_roots.hpp"
#include "study/run/messages.hpp"
#include "study/run/repeated/repeated_run.hpp"
#include "version.hpp"

namespace pipeloom::study {
namespace {

/// Writes one report.
class ReportWriter {
 public:
  ReportWriter(std::ostream& stream, const Run& run, std::span<const Metric> table)
      : out_(stream), run_(run), table_(table), schedule_(*run.schedule), unit_(run.timeline.unit) {}

  void write(const ReportParts& parts) {
    out_ << "{\n  \"schema_version\": 1,\n  \"tool\": {\"name\": \"pipeloom\", \"version\": ";
    out_.quoted(kVersion) << "},\n  \"config\": "
                          << std::string_view(io::effective_config_text(*run_.effective));
    key("time_unit").quoted(name_of(unit_));
    write_metrics();
    write_memory();
    write_ranks();
    write_root_causes();
    write_messages();
    if (parts.scenarios != nullptr) write_scenarios(*parts.scenarios);
    if (parts.critical_path) write_critical_path();
    if (parts.orders) write_orders();
    if (parts.timeline) write_timeline();
    out_ << "\n}\n";
    out_.flush();
  }

 private:
  io::TextWriter& key(std::string_view name) { return out_ << ",\n  \"" << name << "\": "; }
  /// Whole bytes, but where an activation without a size is more than one pass.
  [[nodiscard]] std::string bytes(Bytes units) const { return bytes_number(*run_.memory, units); }

  void write_metrics() {
    const RunNumbers numbers = numbers_of(run_);
    for (const Metric& metric : table_) {
      const auto value = metric.report ? metric.get(numbers) : std::nullopt;
      if (!value) continue;
      const std::string text = json_text(metric, *value, numbers, unit_);
      key(metric.name);
      if (metric.which == nullptr) {
        out_ << std::string_view(text);
        continue;
      }
      out_ << "{\"value\": " << std::string_view(text) << ", \"name\": ";
      out_.quoted(metric.which(numbers)) << '}';
    }
  }

  void write_memory() {
    const Metrics& m = *run_.metrics;
    key("memory") << "{\"peak_bytes\": " << bytes(m.ranks[m.peak_rank.at()].memory.peak_bytes)
                  << ", \"peak_rank\": " << m.peak_rank.value();
    if (const auto& over = run_.over_limit) {
      out_ << ", \"over_limit\": {\"rank\": " << over->rank.value() << ", \"op\": \"" << over->op
           << "\", \"bytes\": " << bytes(over->bytes) << ", \"limit\": " << bytes(over->limit) << '}';
    }
    out_ << '}';
  }

  void write_ranks() {
    key("ranks") << '[';
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
      out_ << (rank == Rank(0) ? "\n    " : ",\n    ");
      write_rank(rank);
    }
    out_ << "\n  ]";
  }

  void write_rank(Rank rank) {
    const RankMetrics& m = run_.metrics->ranks[rank.at()];
    out_ << "{\"rank\": " << rank.value() << ", \"stages\": [";
    const auto stages = schedule_.placement().stages_of(rank);
    for (std::size_t i = 0; i < stages.size(); ++i) (i > 0 ? out_ << ", " : out_) << stages[i].value();
    (out_ << "], \"busy\": ").ticks(m.busy, unit_);
    (out_ << ", \"idle\": ").ticks(m.idle, unit_);
    (out_ << ", \"first_start\": ").ticks(m.first_start, unit_);
    (out_ << ", \"last_end\": ").ticks(m.last_end, unit_);
    out_ << ", \"peak_live\": " << m.memory.peak_live
         << ", \"peak_activation_bytes\": " << bytes(m.memory.peak_activation_bytes);
    if (schedule_.has_copies()) out_ << ", \"peak_host_bytes\": " << bytes(m.memory.peak_host_bytes);
    out_ << ", \"idle_causes\": {";
    for (std::size_t i = 0; i < kIdleCauses; ++i) {
      const auto cause = static_cast<IdleCause>(i);
      out_ << (i > 0 ? ", \"" : "\"") << name_of(cause) << "\": ";
      out_.ticks(m.idle_causes.of(cause), unit_);
    }
    out_ << "}}";
  }

  void write_root_causes() {
    const std::vector<RootCause> roots = roots_of(run_);
    if (roots.empty()) return;
    key("roots");
    io::JsonWriter json(out_);
    write_roots(json, schedule_, roots, unit_);
  }

  void write_messages() {
    const auto& messages = run_.messages;
    if (!messages) return;
    const MessageTotals& totals = messages->totals;
    (key("messages") << "{\"plan\": ").quoted(messages->plan) << ", \"count\": " << totals.count;
    const auto time_of = [&](const char* name, TickSum ticks) {
      out_ << ", \"" << name << "\": " << format_ticks(ticks, unit_);
    };
    time_of("transfer", totals.transfer);
    time_of("queued", totals.queued);
    time_of("head_of_line", totals.head_of_line);
    time_of("exposed", totals.exposed);
    time_of("lost_to_queues", messages->lost_to_queues);
    out_ << '}';
  }

  void write_scenarios(const ScenarioSummary& scenarios) {
    const auto quantiles = [&](const char* name, const auto& of, const auto& write) {
      out_ << ", \"" << name << "\": {\"mean\": ";
      write(of.mean);
      out_ << ", \"p50\": ";
      write(of.p50);
      out_ << ", \"p95\": ";
      write(of.p95);
      out_ << ", \"p99\": ";
      write(of.p99);
      out_ << '}';
    };
    key("scenarios") << "{\"count\": " << scenarios.count << ", \"seed\": " << scenarios.seed;
    quantiles("makespan", scenarios.makespan, [this](Ticks ticks) { out_.ticks(ticks, unit_); });
    quantiles("bubble_ratio", scenarios.bubble, [this](double ratio) { out_ << ratio; });
    out_ << ", \"sensitivities\": [";
    for (std::size_t i = 0; i < scenarios.sensitivities.size(); ++i) {
      out_ << (i > 0 ? ",\n    " : "\n    ");
      write_sensitivity(scenarios.sensitivities[i]);
    }
    out_ << "]}";
  }

  void write_sensitivity(const Sensitivity& one) {
    switch (one.what) {
      case Sensitivity::What::Stage:
        out_ << "{\"kind\": \"stage\", \"stage\": " << one.index;
        break;
      case Sensitivity::What::Rank:
        out_ << "{\"kind\": \"rank\", \"rank\": " << one.index;
        break;
      case Sensitivity::What::OpKind:
        out_ << "{\"kind\": \"op_kind\", \"op_kind\": \"" << std::string_view(name_of(one)) << '"';
        break;
      case Sensitivity::What::Link:
        out_ << "{\"kind\": \"link\", \"link\": [" << one.index << ", " << one.to << ']';
        break;
    }
    out_ << ", \"derivative\": " << one.derivative << '}';
  }

  void write_critical_path() {
    const auto& path = run_.critical_path;
    if (!path) {
      write_path_length();
      return;
    }
    (key("critical_path") << "{\"length\": ").ticks(path->length, unit_) << ", \"ops\": [";
    const std::span<const Op> ops = path_ops(run_);
    for (std::size_t i = 0; i < path->entries.size(); ++i) {
      if (i > 0) out_ << ", ";
      std::size_t last = path->entries[i] + 1;
      while (ops[last - 1].joined()) ++last;
      write_entry(ops.subspan(path->entries[i], last - path->entries[i]));
    }
    out_ << "]}";
  }

  /// Of a path that is too long to be listed.
  void write_path_length() {
    if (!run_.repeated || run_.repeated->path_entries == 0) return;
    (key("critical_path") << "{\"length\": ").ticks(run_.metrics->makespan, unit_);
    out_ << ", \"entries\": " << run_.repeated->path_entries << '}';
  }

  /// The entry's text, in quotes.
  void write_entry(std::span<const Op> entry) {
    if (entry.size() == 1)
      out_ << '"' << entry.front() << '"';
    else
      out_ << '"' << std::string_view(entry_text(entry)) << '"';
  }

  void write_orders() {
    key("orders") << '[';
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
      out_ << (rank == Rank(0) ? "\n    [" : ",\n    [");
      const std::size_t begin = schedule_.queue_begin(rank);
      for_each_written_entry(schedule_, begin, schedule_.queue_end(rank),
                             [&](std::size_t first, std::size_t last) {
                               if (first > begin) out_ << ", ";
                               write_entry(schedule_.ops().subspan(first, last - first));
                             });
      out_ << ']';
    }
    out_ << "\n  ]";
  }

  void write_timeline() {
    const Timeline& timeline = run_.timeline;
    key("timeline") << '[';
    bool first_row = true;
    for (int step = 0; step < timeline.steps; ++step)
      for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank)
        for (std::size_t i = schedule_.queue_begin(rank); i < schedule_.queue_end(rank); ++i) {
          out_ << (first_row ? "\n    {" : ",\n    {");
          first_row = false;
          if (timeline.steps > 1) out_ << "\"step\": " << step << ", ";
          out_ << "\"rank\": " << rank.value() << ", \"op\": \"" << schedule_.ops()[i] << "\", \"start\": ";
          out_.ticks(timeline.start_of(i, step), unit_) << ", \"end\": ";
          out_.ticks(timeline.end_of(i, step), unit_) << '}';
        }
    out_ << "\n  ]";
  }

  io::TextWriter out_;
  const Run& run_;
  std::span<const Metric> table_;
  const Schedule& schedule_;
  TimeUnit unit_;
};

}  // namespace

void write_report(std::ostream& out, const Run& run, const ReportParts& parts,
                  std::span<const Metric> table) {
  ReportWriter(out, run, table).write(parts);
}

}  // namespace pipeloom::study
