#include "executor/measure/measured_transfers.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/messages/program.hpp"

namespace pipeloom::executor {
namespace {

using cost::MeasuredTransfers;

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

/// The lower middle one. REQUIRES: not empty.
std::size_t median_size(std::vector<std::size_t> sizes) {
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

/// Bytes of a microbatch's messages over one hop: the median, or what those of its slices have together. REQUIRES: not empty.
std::size_t microbatch_size(std::vector<std::size_t> sizes, std::size_t slices) {
  if (slices == 1) return median_size(std::move(sizes));
  const std::size_t sum = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  return (sum * slices + sizes.size() / 2) / sizes.size();
}

/// The link of the messages for which `counts(message, info)` is true. Returns nullopt if there are none.
template <class Counts>
std::optional<MeasuredTransfers::Link> link_of(const RunResult& run, const MessageTable& table,
                                               Counts&& counts) {
  const auto slices = static_cast<std::size_t>(run.timeline.schedule->slices());
  std::vector<cost::TransferPoint> points;
  std::vector<Ticks> overheads;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < run.messages.size(); ++i) {
    const MeasuredMessage& message = run.messages[i];
    if (!is_known(message) || !counts(message, table[static_cast<MessageId>(i % table.size())])) continue;
    const std::size_t bytes = run.message_bytes.empty() ? 0 : run.message_bytes[i % run.message_bytes.size()];
    points.push_back({bytes, message.done - message.started});
    overheads.push_back(message.started - std::max(message.sent, message.received));
    sizes.push_back(bytes);
  }
  if (points.empty()) return std::nullopt;
  // Clocks of two machines are never quite the same: a difference may come out below 0.
  return MeasuredTransfers::Link{cost::fit_link(points),
                                 std::max<Ticks>(cost::sample_of(std::move(overheads)).median, 0),
                                 microbatch_size(std::move(sizes), slices)};
}

}  // namespace

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
  for (MeasuredTransfers::Pair& pair : out.pairs)
    pair.link = link_of(run, table, [&](const MeasuredMessage& message, const MessageInfo& info) {
      return message.waited && info.from_rank == pair.from && info.to_rank == pair.to;
    });
  out.link =
      link_of(run, table, [](const MeasuredMessage& message, const MessageInfo&) { return message.waited; });
  if (!out.link)
    out.link = link_of(run, table, [](const MeasuredMessage&, const MessageInfo&) { return true; });
  return out;
}

}  // namespace pipeloom::executor
