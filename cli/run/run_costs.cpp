#include "cli/run/run_costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/numbers.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::cli {
namespace {

using cost::DurationSample;
using cost::StageNumbers;
using executor::MeasuredCosts;
using Source = cost::OpEstimate::Source;

Ticks longer(Ticks time, Ticks unit) {
  const Ticks one = ticks_per(TimeUnit::Unit);
  if (static_cast<double>(time) * (static_cast<double>(unit) / static_cast<double>(one)) >=
      static_cast<double>(kMaxTicks))
    throw InputError(Where{"--unit-ms"}, fmt::format("{} of these units are too long to measure; give less",
                                                     format_ticks(time, TimeUnit::Unit)));
  return multiply_divide(time, unit, one);
}

void lengthen(StageNumbers& numbers, Ticks unit) {
  numbers.scalar = longer(numbers.scalar, unit);
  for (auto& time : numbers.array) time = longer(time, unit);
  if (numbers.fallback) numbers.fallback = longer(*numbers.fallback, unit);
  for (StageNumbers::Exception& exception : numbers.exceptions)
    exception.number = longer(exception.number, unit);
}

bool was_seen(const std::vector<DurationSample>& samples) {
  return std::any_of(samples.begin(), samples.end(), [](const DurationSample& one) { return one.count > 0; });
}

std::string rounded(Ticks time) {
  return fmt::format("{:.3f}", to_double(time, TimeUnit::Millisecond));
}

void write_times(io::JsonWriter& out, const std::vector<Ticks>& times) {
  out.array();
  for (const Ticks time : times) out.ticks(time, TimeUnit::Millisecond);
  out.close();
}

std::vector<Ticks> spreads(const std::vector<DurationSample>& samples) {
  std::vector<Ticks> out;
  for (const DurationSample& sample : samples) out.push_back(sample.spread);
  return out;
}

/// Whether the run had such ops, alone or in groups.
bool has_kind(const MeasuredCosts& costs, OpKind kind) {
  return was_seen(costs.op[index_of(kind)]) || was_seen(costs.share[index_of(kind)]);
}

Ticks time_of(const MeasuredCosts& costs, OpKind kind, std::size_t stage) {
  return estimate_of(costs, kind, stage).time;
}

/// [stage], whatever is known of them.
std::vector<Ticks> times_of(const MeasuredCosts& costs, OpKind kind) {
  std::vector<Ticks> out;
  for (std::size_t s = 0; s < costs.op[0].size(); ++s) out.push_back(time_of(costs, kind, s));
  return out;
}

std::vector<std::size_t> stages_from(const MeasuredCosts& costs, OpKind kind, Source source) {
  std::vector<std::size_t> out;
  for (std::size_t s = 0; s < costs.op[0].size(); ++s)
    if (estimate_of(costs, kind, s).source == source) out.push_back(s);
  return out;
}

/// An array of one per stage; a table without the stages of which only shares are known, which then have to be given.
void write_numbers(io::JsonWriter& out, const MeasuredCosts& costs, OpKind kind) {
  const std::vector<Ticks> times = times_of(costs, kind);
  const auto unknown = stages_from(costs, kind, Source::Share);
  if (unknown.empty()) return write_times(out, times);
  out.object().key("stages").object();
  for (std::size_t s = 0; s < times.size(); ++s)
    if (std::find(unknown.begin(), unknown.end(), s) == unknown.end())
      out.key(std::to_string(s)).ticks(times[s], TimeUnit::Millisecond);
  out.close().close();
}

/// Of stages whose forwards were in no group: their F and longest backward one after another.
std::vector<Ticks> group_medians(const MeasuredCosts& costs) {
  std::vector<Ticks> out;
  for (const DurationSample& sample : costs.group) out.push_back(sample.median);
  for (std::size_t s = 0; s < out.size(); ++s)
    if (costs.group[s].count == 0)
      out[s] = time_of(costs, OpKind::Forward, s) +
               std::max(time_of(costs, OpKind::Backward, s), time_of(costs, OpKind::BackwardInput, s));
  return out;
}

/// As configurations have it: without a bandwidth messages have no size either.
cost::TransferSpec link_of(const MeasuredCosts& costs, cost::TransferSpec transfer) {
  transfer.link = {};
  transfer.intra = {};
  transfer.inter = {};
  transfer.bytes = 0;
  transfer.ranks_per_node.reset();
  if (!costs.transfers.link) return transfer;
  const executor::MeasuredTransfers::Link& link = *costs.transfers.link;
  transfer.link.latency = link.latency();
  if (!link.fit.bits_per_second) return transfer;
  transfer.link.bits_per_second = std::llround(*link.fit.bits_per_second);
  transfer.bytes = static_cast<Bytes>(link.bytes);
  return transfer;
}

bool is_sequential(const cost::CostSpec& costs) {
  return costs.overlap && costs.overlap->rule == OverlapRule::Sequential;
}

/// The keys that are not at their defaults.
void write_transfer(io::JsonWriter& out, const cost::TransferSpec& transfer) {
  const cost::TransferSpec defaults;
  out.object();
  if (transfer.model != defaults.model) out.member("model", name_of(transfer.model));
  if (transfer.plan != defaults.plan) out.member("plan", transfer.plan);
  if (transfer.ahead != defaults.ahead) out.member("ahead", transfer.ahead);
  if (transfer.queue != defaults.queue) out.member("queue", transfer.queue);
  if (transfer.link.latency) out.key("latency").ticks(*transfer.link.latency, TimeUnit::Millisecond);
  if (transfer.bytes > 0) out.member("bytes", transfer.bytes);
  // Decimals in units of 1e9 are written like times of the abstract unit.
  if (transfer.link.bits_per_second)
    out.key("bandwidth_gbps").ticks(*transfer.link.bits_per_second, TimeUnit::Unit);
  out.close();
}

void write_sample(io::JsonWriter& out, const DurationSample& sample) {
  out.object().key("median").ticks(sample.median, TimeUnit::Millisecond);
  out.key("spread").ticks(sample.spread, TimeUnit::Millisecond).close();
}

/// What no simulation reads: how far the measurements lie apart, and what messages did with their time.
void write_measured(io::JsonWriter& out, const MeasuredCosts& costs) {
  const auto add = [&](std::string_view key, const std::vector<DurationSample>& samples) {
    if (was_seen(samples)) write_times(out.key(key), spreads(samples));
  };
  out.object().line(4).key("spread").object();
  for (const OpKind kind : kAllOpKinds) add(name_of(kind), costs.op[index_of(kind)]);
  add("overlapped", costs.group);
  out.close();
  if (const auto& link = costs.transfers.link) {
    const executor::MeasuredTransfers::Samples& all = costs.transfers.all;
    out.line(4).key("messages").object().member("count", all.transfer.count).member("bytes", link->bytes);
    write_sample(out.line(6).key("waiting"), all.waiting);
    write_sample(out.line(6).key("overhead"), all.overhead);
    write_sample(out.line(6).key("transfer"), all.transfer);
    out.close();
  }
  out.line(2).close();
}

}  // namespace

void put_on_clock(io::Config& config, Ticks unit) {
  cost::CostSpec& costs = config.costs;
  const bool none = std::none_of(costs.duration.begin(), costs.duration.end(),
                                 [](const auto& numbers) { return numbers.has_value(); });
  const auto set_if_none = [&](OpKind kind, Ticks units) {
    if (none)
      costs.duration[index_of(kind)] =
          StageNumbers::all(units * ticks_per(TimeUnit::Unit), std::string(row_of(kind).cost_key));
  };
  if (none) costs.per = cost::Per::Stage;
  set_if_none(OpKind::Forward, 1);
  set_if_none(OpKind::Backward, 2);
  set_if_none(OpKind::BackwardInput, 1);
  set_if_none(OpKind::BackwardWeight, 1);
  for (auto& numbers : costs.duration)
    if (numbers) lengthen(*numbers, unit);
  if (costs.overlap) {
    lengthen(costs.overlap->duration, unit);
    costs.overlap->saving = longer(costs.overlap->saving, unit);
  }
  for (cost::LinkSpec* link : {&costs.transfer.link, &costs.transfer.intra, &costs.transfer.inter})
    if (link->latency) link->latency = longer(*link->latency, unit);
  config.step.optimizer = longer(config.step.optimizer, unit);
  costs.unit = TimeUnit::Millisecond;
}

void take_costs(io::Config& config, const MeasuredCosts& costs) {
  const auto numbers = [](std::vector<Ticks> times, std::string key) {
    StageNumbers out;
    out.form = StageNumbers::Form::Array;
    out.array = std::move(times);
    out.key = std::move(key);
    return out;
  };
  cost::CostSpec& spec = config.costs;
  const cost::CostSpec rules = std::move(spec);
  spec = {};
  spec.unit = TimeUnit::Millisecond;
  for (const OpKind kind : kAllOpKinds)
    if (has_kind(costs, kind))
      spec.duration[index_of(kind)] = numbers(times_of(costs, kind), std::string(row_of(kind).cost_key));
  if (was_seen(costs.group)) {
    spec.overlap.emplace();
    spec.overlap->rule = OverlapRule::Explicit;
    spec.overlap->duration = numbers(group_medians(costs), "costs.overlapped");
  } else if (is_sequential(rules)) {
    spec.overlap = rules.overlap;
  }
  spec.transfer = link_of(costs, rules.transfer);
}

void write_costs(std::ostream& stream, const MeasuredCosts& costs, const cost::CostSpec& rules) {
  io::TextWriter text(stream);
  io::JsonWriter out(text);
  out.object().line(2).member("time_unit", "ms");
  for (const OpKind kind : kAllOpKinds)
    if (has_kind(costs, kind)) write_numbers(out.line(2).key(name_of(kind)), costs, kind);
  if (was_seen(costs.group))
    write_times(out.line(2).key("overlapped"), group_medians(costs));
  else if (is_sequential(rules))
    out.line(2).member("overlapped", "sequential");
  const std::string transfer = io::written_json(
      io::kReportStyle, [&](io::JsonWriter& keys) { write_transfer(keys, link_of(costs, rules.transfer)); });
  if (transfer != "{}") out.line(2).key("transfer").raw(transfer);
  write_measured(out.line(2).key("measured"), costs);
  out.close(0);
  text << '\n';
  text.flush();
}

std::string op_times_page(const MeasuredCosts& costs, bool colour) {
  std::vector<Column> columns = {{"stage", Align::Right}};
  std::vector<const std::vector<DurationSample>*> shown;
  const auto show = [&](std::string title, const std::vector<DurationSample>& samples) {
    if (!was_seen(samples)) return;
    columns.push_back({std::move(title), Align::Right});
    columns.push_back({"spread", Align::Right});
    shown.push_back(&samples);
  };
  for (const OpKind kind : kAllOpKinds) show(std::string(1, letter_of(kind)), costs.op[index_of(kind)]);
  show("group", costs.group);
  Table table(std::move(columns));
  for (std::size_t s = 0; s < costs.op[0].size(); ++s) {
    std::vector<std::string> row = {std::to_string(s)};
    for (const auto* samples : shown) {
      const bool seen = (*samples)[s].count > 0;
      row.push_back(seen ? rounded((*samples)[s].median) : "-");
      row.push_back(seen ? rounded((*samples)[s].spread) : "-");
    }
    table.add_row(std::move(row));
  }
  std::string text = table.text(colour);
  for (const std::string& line : unmeasured(costs)) text += line + "\n";
  return text;
}

std::vector<std::string> unmeasured(const MeasuredCosts& costs) {
  std::vector<std::string> lines;
  const auto say = [&](OpKind kind, Source source, std::string_view what) {
    const auto stages = stages_from(costs, kind, source);
    if (!stages.empty())
      lines.push_back(fmt::format("{} of stage{} {} ran in groups only: {}", letter_of(kind),
                                  stages.size() == 1 ? "" : "s", fmt::join(stages, ", "), what));
  };
  for (const OpKind kind : kAllOpKinds) {
    say(kind, Source::Sum, "costs take I + W for it");
    say(kind, Source::Share, "a costs file leaves it out");
  }
  return lines;
}

std::string transfers_page(const executor::MeasuredTransfers& transfers, bool pairs, bool colour) {
  if (!transfers.link) return "";
  std::vector<Column> columns = {{"from"}, {"to"}, {"messages", Align::Right}};
  for (const char* title : {"waiting", "overhead", "transfer"}) {
    columns.push_back({title, Align::Right});
    columns.push_back({"spread", Align::Right});
  }
  Table table(std::move(columns));
  const auto add = [&](std::string from, std::string to,
                       const executor::MeasuredTransfers::Samples& samples) {
    std::vector<std::string> row = {std::move(from), std::move(to), std::to_string(samples.transfer.count)};
    for (const DurationSample& sample : {samples.waiting, samples.overhead, samples.transfer}) {
      row.push_back(rounded(sample.median));
      row.push_back(rounded(sample.spread));
    }
    table.add_row(std::move(row));
  };
  add("all", "all", transfers.all);
  if (pairs)
    for (const auto& [from, to, samples] : transfers.pairs)
      add(std::to_string(from.value()), std::to_string(to.value()), samples);
  const executor::MeasuredTransfers::Link& link = *transfers.link;
  std::string seen =
      fmt::format("a rank that stands waiting sees a latency of {} ms", rounded(link.latency()));
  if (link.fit.bits_per_second)
    seen += fmt::format(" and {} Gbit/s", fmt::format("{:.3g}", *link.fit.bits_per_second / 1e9));
  return table.text(colour) + fmt::format("{}; messages have {} bytes\n", seen, link.bytes);
}

}  // namespace pipeloom::cli
