#include "sim/cost/transfers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <pipeloom/error.hpp>
#include "sim/cost/scaled.hpp"

namespace pipeloom::cost {
namespace {

/// A hop over one kind of link: all of its delay, and the part that keeps the link busy.
struct Hop {
  Ticks delay = 0;
  Ticks sending = 0;
};
/// Times of a hop, by all that is known of its link.
struct Wire {
  LinkSpec link;
  Bytes bytes = 0;

  /// Overrides what is known by the values of `other`.
  void take(const LinkSpec& other) {
    if (other.latency) link.latency = other.latency;
    if (other.bits_per_second) link.bits_per_second = other.bits_per_second;
  }

  [[nodiscard]] Hop hop(const Where& where) const {
    const Ticks latency = link.latency.value_or(0);
    if (!link.bits_per_second || bytes == 0) return {latency, 0};
    // Bytes to picoseconds: 8 bits each, 1e12 ticks a second.
    const auto sending = scaled(Wide{bytes} * 8, Wide{1'000'000'000'000}, *link.bits_per_second);
    if (!sending || *sending + latency >= kMaxTicks)
      throw InputError(
          where, "costs.transfer: latency + bytes / bandwidth overflows; use fewer bytes or more bandwidth");
    return {latency + *sending, static_cast<Ticks>(*sending)};
  }
};

/// The link between two ranks: values of all links, of those of their nodes, of the matrix and of the link itself, each overriding those before.
Wire wire_between(const TransferSpec& spec, Rank from, Rank to) {
  Wire wire{spec.link, spec.bytes};
  if (spec.ranks_per_node)
    wire.take(from.value() / *spec.ranks_per_node == to.value() / *spec.ranks_per_node ? spec.intra
                                                                                       : spec.inter);
  const LinkMatrix& matrix = spec.matrix;
  if (!matrix.latency.empty()) wire.link.latency = matrix.latency[from.at()][to.at()];
  if (!matrix.bits_per_second.empty()) wire.link.bits_per_second = matrix.bits_per_second[from.at()][to.at()];
  for (const LinkException& one : spec.links) {
    const bool named = (one.from == from.value() && one.to == to.value()) ||
                       (!one.oneway && one.from == to.value() && one.to == from.value());
    if (!named) continue;
    wire.take(one.link);
    wire.bytes = one.bytes.value_or(wire.bytes);
  }
  return wire;
}

/// Checks that links between ranks fit the ranks that there are.
void require_links_fit(const TransferSpec& spec, int ranks) {
  for (const LinkException& one : spec.links)
    for (const std::int32_t rank : {one.from, one.to})
      if (rank >= ranks)
        throw InputError(one.where,
                         fmt::format("costs.transfer.links names rank {}, but the schedule's ranks are "
                                     "0 to {}; change it, or leave the link out",
                                     rank, ranks - 1));
  const auto size = static_cast<std::size_t>(ranks);
  const auto require_square = [&](const auto& rows, const char* name) {
    if (rows.empty()) return;
    const bool square = rows.size() == size && std::all_of(rows.begin(), rows.end(), [size](const auto& row) {
                          return row.size() == size;
                        });
    if (!square)
      throw InputError(spec.matrix.where, fmt::format("costs.transfer.links.{0} must have {1} rows of {1} "
                                                      "entries, one for each of the schedule's ranks",
                                                      name, ranks));
  };
  require_square(spec.matrix.latency, "latency");
  require_square(spec.matrix.bits_per_second, "bandwidth_gbps");
}

Hop hop_over(const Links& links, Rank from, Rank to, int ranks) {
  const std::size_t pair = from.at() * static_cast<std::size_t>(ranks) + to.at();
  return {links.delay[pair], links.sending.empty() ? 0 : links.sending[pair]};
}

}  // namespace

void resolve_transfers(const CostSpec& spec, const Links* links, const Placement& placement, Costs& costs) {
  const TransferSpec& transfer = spec.transfer;
  require_links_fit(transfer, placement.ranks());
  const bool all_alike = placement.ranks() > 1 && links == nullptr && !transfer.ranks_per_node &&
                         transfer.matrix.latency.empty() && transfer.matrix.bits_per_second.empty() &&
                         transfer.links.empty();
  const Hop any = all_alike ? Wire{transfer.link, transfer.bytes}.hop(spec.where) : Hop{};
  const auto hop = [&](Rank from, Rank to) -> Hop {
    if (from == to) return {};
    if (all_alike) return any;
    if (links != nullptr) return hop_over(*links, from, to, placement.ranks());
    return wire_between(transfer, from, to).hop(spec.where);
  };
  const auto slots = static_cast<std::size_t>(placement.slots());
  costs.forward_delay.assign(slots, 0);
  costs.backward_delay.assign(slots, 0);
  costs.forward_sending.assign(slots, 0);
  costs.backward_sending.assign(slots, 0);
  const auto set = [](const Hop& of, Ticks& delay, Ticks& sending) {
    delay = of.delay;
    sending = of.sending;
  };
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    const Stage stage = placement.stage_of(slot);
    if (stage > Stage(0))
      set(hop(placement.rank_of(slot - 1), placement.rank_of(slot)), costs.forward_delay[slot.at()],
          costs.forward_sending[slot.at()]);
    if (stage < Stage(placement.stages() - 1))
      set(hop(placement.rank_of(slot + 1), placement.rank_of(slot)), costs.backward_delay[slot.at()],
          costs.backward_sending[slot.at()]);
  }
}

void warn_about_transfer(const TransferSpec& spec, std::vector<std::string>& warnings) {
  const auto any_link = [&](auto&& has) { return std::any_of(spec.links.begin(), spec.links.end(), has); };
  const bool has_bandwidth =
      spec.link.bits_per_second || spec.intra.bits_per_second || spec.inter.bits_per_second ||
      !spec.matrix.bits_per_second.empty() ||
      any_link([](const LinkException& one) { return one.link.bits_per_second.has_value(); });
  const bool has_bytes =
      spec.bytes > 0 || any_link([](const LinkException& one) { return one.bytes.value_or(0) > 0; });
  if (spec.bytes > 0 && !has_bandwidth)
    warnings.emplace_back("costs.transfer.bytes has no effect without costs.transfer.bandwidth_gbps");
  if (!has_bytes && has_bandwidth)
    warnings.emplace_back("costs.transfer.bandwidth_gbps has no effect without costs.transfer.bytes");
}

}  // namespace pipeloom::cost
