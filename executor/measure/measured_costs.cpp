#include "executor/measure/measured_costs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/messages/program.hpp"

namespace pipeloom::executor {
namespace {

constexpr double kTicksPerSecond = 1e12;
constexpr double kBits = 8;
/// A slope that would need a faster link is none: no clock tells it from level.
constexpr double kFastest = 1e15;

/// The lower middle one. REQUIRES: not empty.
template <class Number>
Number median_of(std::vector<Number> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

struct SizeMedian {
  double bytes = 0;
  double transfer = 0;
};

std::vector<SizeMedian> medians_by_size(std::span<const TransferPoint> points) {
  std::map<std::size_t, std::vector<Ticks>> by_size;
  for (const TransferPoint& point : points) by_size[point.bytes].push_back(point.transfer);
  std::vector<SizeMedian> out;
  for (auto& [bytes, transfers] : by_size)
    out.push_back({static_cast<double>(bytes), static_cast<double>(median_of(std::move(transfers)))});
  return out;
}

/// Ticks per byte.
double slope_of(const std::vector<SizeMedian>& medians) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < medians.size(); ++i)
    for (std::size_t j = i + 1; j < medians.size(); ++j)
      slopes.push_back((medians[j].transfer - medians[i].transfer) / (medians[j].bytes - medians[i].bytes));
  return median_of(std::move(slopes));
}

template <class Fn>
double median_over(const std::vector<SizeMedian>& medians, Fn&& fn) {
  std::vector<double> values;
  for (const SizeMedian& median : medians) values.push_back(fn(median));
  return median_of(std::move(values));
}

/// Durations before they are summed up.
struct CollectedMessages {
  std::vector<Ticks> waiting;
  std::vector<Ticks> overhead;
  std::vector<Ticks> transfer;

  void add(const MeasuredMessage& message) {
    waiting.push_back(message.started - std::min(message.sent, message.received));
    overhead.push_back(message.started - std::max(message.sent, message.received));
    transfer.push_back(message.done - message.started);
  }
  [[nodiscard]] MeasuredTransfers::Samples samples() && {
    return {cost::sample_of(std::move(waiting)), cost::sample_of(std::move(overhead)),
            cost::sample_of(std::move(transfer))};
  }
};

bool is_known(const MeasuredMessage& message) {
  const Ticks times[] = {message.sent, message.received, message.started, message.done};
  return std::none_of(std::begin(times), std::end(times),
                      [](Ticks time) { return time == MeasuredMessage::kNever; });
}

/// From the messages that `counts` names. Nothing if it names none.
template <class Counts>
std::optional<MeasuredTransfers::Link> link_of(const RunResult& run, Counts&& counts) {
  std::vector<TransferPoint> points;
  std::vector<Ticks> overheads;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < run.messages.size(); ++i) {
    const MeasuredMessage& message = run.messages[i];
    if (!is_known(message) || !counts(message)) continue;
    const std::size_t bytes = run.message_bytes.empty() ? 0 : run.message_bytes[i % run.message_bytes.size()];
    points.push_back({bytes, message.done - message.started});
    overheads.push_back(message.started - std::max(message.sent, message.received));
    sizes.push_back(bytes);
  }
  if (points.empty()) return std::nullopt;
  // Clocks of two machines are never quite the same: a difference may come out below 0.
  return MeasuredTransfers::Link{fit_link(points), std::max<Ticks>(median_of(std::move(overheads)), 0),
                                 median_of(std::move(sizes))};
}

}  // namespace

LinkFit fit_link(std::span<const TransferPoint> points) {
  const auto medians = medians_by_size(points);
  double slope = medians.size() < 2 ? 0 : slope_of(medians);
  LinkFit out;
  if (slope <= kBits * kTicksPerSecond / kFastest) {
    std::vector<Ticks> transfers;
    for (const TransferPoint& point : points) transfers.push_back(point.transfer);
    out.latency = std::max<Ticks>(median_of(std::move(transfers)), 0);
    return out;
  }
  const double latency =
      median_over(medians, [&](const SizeMedian& one) { return one.transfer - slope * one.bytes; });
  if (latency < 0)
    slope = median_over(medians, [](const SizeMedian& one) { return one.transfer / one.bytes; });
  out.latency = std::max<Ticks>(std::llround(latency), 0);
  out.bits_per_second = kBits * kTicksPerSecond / slope;
  return out;
}

MeasuredTransfers measured_transfers(const RunResult& run) {
  const MessageTable table(*run.timeline.schedule);
  CollectedMessages all;
  std::map<std::pair<Rank, Rank>, CollectedMessages> pairs;
  for (std::size_t i = 0; i < run.messages.size(); ++i) {
    if (!is_known(run.messages[i])) continue;
    const MessageInfo& info = table[static_cast<MessageId>(i % table.size())];
    all.add(run.messages[i]);
    pairs[{info.from_rank, info.to_rank}].add(run.messages[i]);
  }
  MeasuredTransfers out;
  out.all = std::move(all).samples();
  for (auto& [ranks, collected] : pairs)
    out.pairs.push_back({ranks.first, ranks.second, std::move(collected).samples()});
  out.link = link_of(run, [](const MeasuredMessage& message) { return message.waited; });
  if (!out.link) out.link = link_of(run, [](const MeasuredMessage&) { return true; });
  return out;
}

MeasuredCosts measured_costs(const RunResult& run) {
  return {cost::measured_ops(run.timeline), measured_transfers(run)};
}

}  // namespace pipeloom::executor
