#include "cli/run/run_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/numbers.hpp"
#include "sim/kinds.hpp"
#include "study/calibrate/costs_file.hpp"

namespace pipeloom::cli {
namespace {

using cost::DurationSample;
using cost::StageNumbers;

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

std::string rounded(Ticks time) {
  return fmt::format("{:.3f}", to_double(time, TimeUnit::Millisecond));
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

std::string op_times_page(const cost::MeasuredOps& costs, bool colour) {
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
  for (const std::string& line : study::calibrate::unmeasured(costs)) text += line + "\n";
  return text;
}

std::string transfers_page(const cost::MeasuredTransfers& transfers, bool pairs, bool colour) {
  if (!transfers.link) return "";
  std::vector<Column> columns = {{"from"}, {"to"}, {"messages", Align::Right}};
  for (const char* title : {"waiting", "overhead", "transfer"}) {
    columns.push_back({title, Align::Right});
    columns.push_back({"spread", Align::Right});
  }
  Table table(std::move(columns));
  const auto add = [&](std::string from, std::string to, const cost::MeasuredTransfers::Samples& samples) {
    std::vector<std::string> row = {std::move(from), std::move(to), std::to_string(samples.transfer.count)};
    for (const DurationSample& sample : {samples.waiting, samples.overhead, samples.transfer}) {
      row.push_back(rounded(sample.median));
      row.push_back(rounded(sample.spread));
    }
    table.add_row(std::move(row));
  };
  add("all", "all", transfers.all);
  if (pairs)
    for (const cost::MeasuredTransfers::Pair& pair : transfers.pairs)
      add(std::to_string(pair.from.value()), std::to_string(pair.to.value()), pair.samples);
  const cost::MeasuredTransfers::Link& link = *transfers.link;
  std::string seen =
      fmt::format("a rank that stands waiting sees a latency of {} ms", rounded(link.latency()));
  if (link.fit.bits_per_second)
    seen += fmt::format(" and {} Gbit/s", fmt::format("{:.3g}", *link.fit.bits_per_second / 1e9));
  return table.text(colour) + fmt::format("{}; messages have {} bytes\n", seen, link.bytes);
}

}  // namespace pipeloom::cli
