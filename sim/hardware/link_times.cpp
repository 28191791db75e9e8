#include <algorithm>
#include <cmath>

#include "sim/hardware/hardware.hpp"

namespace pipeloom::hardware {
namespace {

double rate_of_link(const Link& link) {
  return link.bytes_per_second * link.efficiency;
}

Timed in_one_node(const Hardware& hardware, model::CollectiveKind kind, double bytes, int ranks) {
  if (const auto found = hardware.collectives.find(kind, bytes, ranks)) {
    const Basis basis = found->measured ? Basis::Measured : found->hit ? Basis::Table : Basis::Nearest;
    return {found->value * hardware.collective_factor, basis};
  }
  const double seconds =
      hardware.nvlink.latency + bytes * sent_share(kind, ranks) / rate_of_link(hardware.nvlink);
  return {seconds * hardware.collective_factor, Basis::Default};
}

}  // namespace

Timed time_of(const Hardware& hardware, model::CollectiveKind kind, double bytes, int ranks, int per_node) {
  if (ranks <= 1 || bytes <= 0) return {};
  const int neighbours = std::clamp(per_node, 1, std::min(ranks, hardware.devices_per_node));
  if (neighbours == ranks) return in_one_node(hardware, kind, bytes, ranks);
  const double nodes = static_cast<double>(ranks) / neighbours;
  const double latency = hardware.network.latency * std::ceil(std::log2(nodes));
  if (kind == model::CollectiveKind::AllToAll)
    return {latency + bytes * (nodes - 1) / nodes / rate_of_link(hardware.network), Basis::Default};
  double rate = rate_of_link(hardware.network) * neighbours;
  if (neighbours > 1) rate = std::min(rate, rate_of_link(hardware.nvlink));
  const double rounds = kind == model::CollectiveKind::AllReduce ? 2 : 1;
  return {rounds * latency + bytes * sent_share(kind, ranks) / rate, Basis::Default};
}

const Link& message_link(const Hardware& hardware, bool across_nodes) {
  if (across_nodes) return hardware.network;
  return hardware.send.bytes_per_second > 0 ? hardware.send : hardware.nvlink;
}

Timed message(const Hardware& hardware, double bytes, bool across_nodes) {
  const Link& link = message_link(hardware, across_nodes);
  return {link.latency + bytes / rate_of_link(link), Basis::Default};
}

Timed reduction(const Hardware& hardware, double gradient_bytes, double weight_bytes, int ranks, int per_node,
                bool shared_out) {
  using enum model::CollectiveKind;
  if (!shared_out) return time_of(hardware, AllReduce, gradient_bytes, ranks, per_node);
  const Timed scatter = time_of(hardware, ReduceScatter, gradient_bytes, ranks, per_node);
  const Timed gather = time_of(hardware, AllGather, weight_bytes, ranks, per_node);
  return {scatter.seconds + gather.seconds, std::max(scatter.basis, gather.basis)};
}

}  // namespace pipeloom::hardware
