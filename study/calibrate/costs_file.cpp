#include "study/calibrate/costs_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <string_view>
#include <utility>

#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::study::calibrate {
namespace {

using cost::DurationSample;
using Source = cost::OpEstimate::Source;
using cost::was_seen;

/// Of a usual entry: links whose latencies differ by less are alike.
constexpr double kSmallLatency = 0.002;
/// Noise below this is none.
constexpr double kLeastSigma = 1e-4;

/// Whether the run had such ops, alone or in groups.
bool has_kind(const cost::MeasuredOps& measured, OpKind kind) {
  return was_seen(measured.op[index_of(kind)]) || was_seen(measured.share[index_of(kind)]);
}

Ticks time_of(const cost::MeasuredOps& measured, OpKind kind, std::size_t stage) {
  return estimate_of(measured, kind, stage).time;
}

/// The part of I in I and W, the median over all stages but the first; a half where no other stage has both.
double input_share(const cost::MeasuredOps& measured) {
  std::vector<double> shares;
  for (std::size_t s = 1; s < measured.op[0].size(); ++s) {
    const auto input = static_cast<double>(time_of(measured, OpKind::BackwardInput, s));
    const auto weight = static_cast<double>(time_of(measured, OpKind::BackwardWeight, s));
    if (input > 0 && weight > 0) shares.push_back(input / (input + weight));
  }
  if (shares.empty()) return 0.5;
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>((shares.size() - 1) / 2);
  std::nth_element(shares.begin(), middle, shares.end());
  return *middle;
}

/// [stage], whatever is known of them. PyTorch does all of stage 0 in W: I and W are parted as on the other stages, and `first_stage` puts them together.
std::vector<Ticks> stage_times(const Measurements& measured, OpKind kind) {
  std::vector<Ticks> out;
  for (std::size_t s = 0; s < measured.op[0].size(); ++s) out.push_back(time_of(measured, kind, s));
  const bool is_half = kind == OpKind::BackwardInput || kind == OpKind::BackwardWeight;
  if (!measured.is_of_torch || !is_half || out.empty()) return out;
  const Ticks whole =
      time_of(measured, OpKind::BackwardInput, 0) + time_of(measured, OpKind::BackwardWeight, 0);
  const auto input = static_cast<Ticks>(std::llround(input_share(measured) * static_cast<double>(whole)));
  out.front() = kind == OpKind::BackwardInput ? input : whole - input;
  return out;
}

std::vector<std::size_t> stages_from(const cost::MeasuredOps& measured, OpKind kind, Source source) {
  std::vector<std::size_t> out;
  for (std::size_t s = 0; s < measured.op[0].size(); ++s)
    if (estimate_of(measured, kind, s).source == source) out.push_back(s);
  return out;
}

/// F and the longest backward one after another: what is said of a pair that never ran.
Ticks in_turn(const cost::MeasuredOps& measured, std::size_t forward, std::size_t backward) {
  return time_of(measured, OpKind::Forward, forward) +
         std::max(time_of(measured, OpKind::Backward, backward),
                  time_of(measured, OpKind::BackwardInput, backward));
}

/// Of stages whose forwards were in no group: as of a pair of their own.
std::vector<Ticks> group_medians(const cost::MeasuredOps& measured) {
  std::vector<Ticks> out;
  for (const DurationSample& sample : measured.group) out.push_back(sample.median);
  for (std::size_t s = 0; s < out.size(); ++s)
    if (measured.group[s].count == 0) out[s] = in_turn(measured, s, s);
  return out;
}

/// Whether some forwards ran with backwards of several stages.
bool has_pairs(const cost::MeasuredOps& measured) {
  const auto same_forward = [](const auto& a, const auto& b) { return a.first.first == b.first.first; };
  return std::adjacent_find(measured.pairs.begin(), measured.pairs.end(), same_forward) !=
         measured.pairs.end();
}

/// [stage of the forward][stage of the backward].
std::vector<std::vector<Ticks>> pair_medians(const cost::MeasuredOps& measured) {
  const std::size_t stages = measured.group.size();
  std::vector<std::vector<Ticks>> out(stages, std::vector<Ticks>(stages));
  for (std::size_t f = 0; f < stages; ++f)
    for (std::size_t b = 0; b < stages; ++b) {
      const auto seen = measured.pairs.find({f, b});
      out[f][b] = seen != measured.pairs.end() ? seen->second.median : in_turn(measured, f, b);
    }
  return out;
}

cost::StageNumbers array_of(std::vector<Ticks> times, std::string key) {
  cost::StageNumbers out;
  out.form = cost::StageNumbers::Form::Array;
  out.array = std::move(times);
  out.key = std::move(key);
  return out;
}

bool is_sequential(const cost::CostSpec& costs) {
  return costs.overlap && costs.overlap->rule == OverlapRule::Sequential;
}

/// PyTorch runs the parts of a pair one after the other, as no group that ran says otherwise.
bool runs_in_turn(const Measurements& measured) {
  return measured.in_turn || (measured.is_of_torch && !was_seen(measured.group));
}

/// Latencies by link, as whoever sent the messages knows them, else as gaps say.
std::vector<LinkLatency> latencies_of(const Measurements& measured) {
  if (!measured.transfers.link) return measured.waits.links;
  std::vector<LinkLatency> links;
  for (const cost::MeasuredTransfers::Pair& pair : measured.transfers.pairs)
    if (pair.link)
      links.push_back({.from = pair.from,
                       .to = pair.to,
                       .latency = {pair.samples.transfer.count, pair.link->latency(),
                                   pair.samples.transfer.spread + pair.samples.overhead.spread},
                       .most = pair.link->latency()});
  return links;
}

/// The rows of links that differ, one for both ways where these agree.
std::vector<cost::LinkException> rows_of(const std::vector<LinkLatency>& links, Ticks between, Ticks small) {
  std::vector<cost::LinkException> rows;
  for (const LinkLatency& link : links) {
    const Ticks latency = std::max<Ticks>(0, link.latency.median - between);
    const auto back = std::find_if(rows.begin(), rows.end(), [&](const cost::LinkException& row) {
      return row.from == link.to.value() && row.to == link.from.value() &&
             std::abs(*row.link.latency - latency) <= small;
    });
    if (back != rows.end()) {
      back->oneway = false;
      back->link.latency = (*back->link.latency + latency) / 2;
      continue;
    }
    cost::LinkException& row = rows.emplace_back();
    row.from = link.from.value();
    row.to = link.to.value();
    row.oneway = true;
    row.link.latency = latency;
  }
  return rows;
}

/// As configurations have it: without a bandwidth messages have no size either. What lies between all entries is no part of a latency.
cost::TransferSpec transfer_of(const Measurements& measured, const cost::TransferSpec& rules) {
  cost::TransferSpec transfer;
  transfer.model = rules.model;
  transfer.plan = rules.plan;
  transfer.ahead = rules.ahead;
  transfer.queue = rules.queue;
  transfer.rank_time = measured.waits.rank_time;
  const auto& link = measured.transfers.link;
  const std::vector<LinkLatency> links = latencies_of(measured);
  const std::optional<Ticks> usual = link ? std::optional(link->latency()) : usual_latency(links);
  if (!usual) return transfer;
  // Of measured gaps this is off already.
  const Ticks between = link ? measured.waits.between : 0;
  const auto small = static_cast<Ticks>(kSmallLatency * static_cast<double>(measured.usual_entry));
  transfer.link.latency = std::max<Ticks>(0, *usual - between);
  transfer.links = rows_of(unusual_links(links, *usual, small), between, small);
  if (!link || !link->fit.bits_per_second) return transfer;
  transfer.link.bits_per_second = std::llround(*link->fit.bits_per_second);
  transfer.bytes = static_cast<Bytes>(link->bytes);
  // A latency of one link holds its bytes; with a bandwidth beside it they would count twice.
  transfer.links.clear();
  return transfer;
}

std::optional<Noise> noise_of(const Measurements& measured) {
  if (measured.single.sigma < kLeastSigma) return std::nullopt;
  return Noise{.model = NoiseModel::Lognormal,
               .sigma = std::min(kUnitScale, static_cast<Scale>(std::llround(
                                                 measured.single.sigma * static_cast<double>(kUnitScale))))};
}

void write_times(io::JsonWriter& out, const std::vector<Ticks>& times, TimeUnit unit) {
  out.array();
  for (const Ticks time : times) out.ticks(time, unit);
  out.close();
}

/// An array of one per stage; a table without the stages of which only shares are known, which then have to be given.
void write_numbers(io::JsonWriter& out, const Measurements& measured, OpKind kind) {
  const std::vector<Ticks> times = stage_times(measured, kind);
  const auto unknown = stages_from(measured, kind, Source::Share);
  if (unknown.empty()) return write_times(out, times, measured.unit);
  out.object().key("stages").object();
  for (std::size_t s = 0; s < times.size(); ++s)
    if (std::find(unknown.begin(), unknown.end(), s) == unknown.end())
      out.key(std::to_string(s)).ticks(times[s], measured.unit);
  out.close().close();
}

void write_sample(io::JsonWriter& out, const DurationSample& sample, TimeUnit unit) {
  out.object().key("median").ticks(sample.median, unit);
  out.key("spread").ticks(sample.spread, unit).close();
}

void write_messages(io::JsonWriter& out, const cost::MeasuredTransfers& transfers, TimeUnit unit) {
  const cost::MeasuredTransfers::Samples& all = transfers.all;
  out.object().member("count", all.transfer.count).member("bytes", transfers.link->bytes);
  write_sample(out.line(6).key("waiting"), all.waiting, unit);
  write_sample(out.line(6).key("overhead"), all.overhead, unit);
  write_sample(out.line(6).key("transfer"), all.transfer, unit);
  out.close();
}

void write_links(io::JsonWriter& out, const std::vector<LinkLatency>& links, TimeUnit unit) {
  out.array();
  for (const LinkLatency& link : links) {
    if (link.latency.count == 0) continue;
    out.line(6).object().member("from", link.from.value()).member("to", link.to.value());
    out.member("count", link.latency.count).key("median").ticks(link.latency.median, unit);
    out.key("spread").ticks(link.latency.spread, unit).close();
  }
  out.close();
}

void write_gaps(io::JsonWriter& out, const std::vector<BackToBack>& gaps, TimeUnit unit) {
  out.array();
  for (const BackToBack& one : gaps) {
    out.line(6).object().member("before", std::string(1, letter_of(one.before)));
    out.member("after", std::string(1, letter_of(one.after))).member("messages", one.messages);
    out.member("count", one.gap.count).key("median").ticks(one.gap.median, unit);
    out.key("spread").ticks(one.gap.spread, unit).close();
  }
  out.close();
}

/// What no simulation reads: how far the measurements lie apart, and what messages did with their time.
void write_measured(io::JsonWriter& out, const Measurements& measured) {
  const auto add = [&](std::string_view key, const std::vector<DurationSample>& samples) {
    if (!was_seen(samples)) return;
    std::vector<Ticks> spreads;
    for (const DurationSample& sample : samples) spreads.push_back(sample.spread);
    write_times(out.key(key), spreads, measured.unit);
  };
  out.object().line(4);
  if (measured.ranks > 0)
    out.member("ranks", measured.ranks).member("microbatches", measured.microbatches).line(4);
  out.key("spread").object();
  for (const OpKind kind : kAllOpKinds) add(name_of(kind), measured.op[index_of(kind)]);
  add("overlapped", measured.group);
  out.close();
  const Waits& waits = measured.waits;
  if (measured.transfers.link)
    write_messages(out.line(4).key("messages"), measured.transfers, measured.unit);
  else if (usual_latency(waits.links))
    write_links(out.line(4).key("latencies"), waits.links, measured.unit);
  if (!waits.back_to_back.empty())
    write_gaps(out.line(4).key("back_to_back"), waits.back_to_back, measured.unit);
  out.line(2).close();
}

}  // namespace

cost::CostSpec costs_of(const Measurements& measured, const cost::CostSpec& rules) {
  cost::CostSpec spec;
  spec.unit = measured.unit;
  spec.layers.counts = measured.layers;
  spec.stage_ranks.counts = measured.stage_ranks;
  for (const OpKind kind : kAllOpKinds)
    if (has_kind(measured, kind))
      spec.duration[index_of(kind)] =
          array_of(stage_times(measured, kind), std::string(row_of(kind).cost_key));
  spec.first_stage = measured.is_of_torch ? cost::FirstStage::Torch : cost::FirstStage::Full;
  if (runs_in_turn(measured)) {
    spec.overlap.emplace();
    spec.overlap->rule = OverlapRule::Sequential;
  } else if (was_seen(measured.group)) {
    spec.overlap.emplace();
    spec.overlap->rule = OverlapRule::Explicit;
    if (has_pairs(measured))
      spec.overlap->pairs = pair_medians(measured);
    else
      spec.overlap->duration = array_of(group_medians(measured), "costs.overlapped");
  } else if (is_sequential(rules)) {
    spec.overlap = rules.overlap;
  }
  if (!measured.single.rows.empty())
    spec.exceptions = std::make_shared<const std::vector<cost::CostRow>>(measured.single.rows);
  spec.entry = measured.waits.between + measured.constant;
  spec.noise = noise_of(measured);
  spec.transfer = transfer_of(measured, rules.transfer);
  return spec;
}

void write_costs(std::ostream& stream, const Measurements& measured, const cost::CostSpec& rules) {
  write_made_costs(stream, measured, costs_of(measured, rules));
}

void write_made_costs(std::ostream& stream, const Measurements& measured, const cost::CostSpec& costs) {
  io::Config config;
  config.costs = costs;
  io::TextWriter text(stream);
  io::JsonWriter out(text);
  out.object().line(2).member("time_unit", name_of(measured.unit));
  const auto add = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
      if (const std::string json = io::changed_text(fmt::format("costs.{}", name), config); !json.empty())
        out.line(2).key(name).raw(json);
  };
  add({"layers", "stage_ranks", "first_stage"});
  for (const OpKind kind : kAllOpKinds)
    if (has_kind(measured, kind)) write_numbers(out.line(2).key(name_of(kind)), measured, kind);
  if (!runs_in_turn(measured) && was_seen(measured.group) && !has_pairs(measured))
    write_times(out.line(2).key("overlapped"), group_medians(measured), measured.unit);
  else if (config.costs.overlap)
    out.line(2).key("overlapped").raw(io::changed_text("costs.overlapped", config));
  add({"exceptions", "entry", "noise", "transfer"});
  write_measured(out.line(2).key("measured"), measured);
  out.close(0);
  text << '\n';
  text.flush();
}

std::vector<std::string> unmeasured(const cost::MeasuredOps& measured) {
  std::vector<std::string> lines;
  const auto say = [&](OpKind kind, Source source, std::string_view what) {
    const auto stages = stages_from(measured, kind, source);
    if (!stages.empty())
      lines.push_back(fmt::format("{} of stage{} {} ran in groups only: {}", letter_of(kind),
                                  stages.size() == 1 ? "" : "s", fmt::join(stages, ", "), what));
  };
  for (const OpKind kind : kAllOpKinds) {
    say(kind, Source::Sum, "costs take I + W for it");
    say(kind, Source::Share, "a costs file leaves it out");
    const auto& least = measured.least[index_of(kind)];
    if (!least.empty())
      lines.push_back(
          fmt::format("{} of stage{} {} may hold the wait for its message each time: the least counts",
                      letter_of(kind), least.size() == 1 ? "" : "s", fmt::join(least, ", ")));
  }
  return lines;
}

}  // namespace pipeloom::study::calibrate
