#include "schedules/v_passes.hpp"

#include <algorithm>
#include <utility>

#include "schedules/queue_builder.hpp"

namespace pipeloom::schedules {
namespace {

OpKind kind_of(Pass pass) {
  if (takes_memory(pass)) return OpKind::Forward;
  return is_weight(pass) ? OpKind::BackwardWeight : OpKind::BackwardInput;
}

bool of_chunk_0(Pass pass) {
  return pass == Pass::Forward0 || pass == Pass::Input0 || pass == Pass::Weight0;
}

Pass pass_of(Op op, int ranks) {
  const bool down = op.stage().value() < ranks;
  if (op.kind() == OpKind::Forward) return down ? Pass::Forward0 : Pass::Forward1;
  if (op.kind() == OpKind::BackwardInput) return down ? Pass::Input0 : Pass::Input1;
  return down ? Pass::Weight0 : Pass::Weight1;
}

RankTerms terms_of(const Terms& terms, int ranks, Rank rank) {
  RankTerms out;
  for (std::size_t i = 0; i < kPassKinds; ++i) {
    const auto pass = static_cast<Pass>(i);
    const Op op = op_of(pass, ranks, rank, Microbatch(0));
    const std::size_t slot = op.stage().at();
    out.duration[i] = terms.costs.duration[pipeloom::index_of(op.kind())][slot];
    const Bytes activation = terms.memory.activation[slot];
    const Bytes released = terms.memory.released_at_input[slot];
    switch (op.kind()) {
      case OpKind::Forward:
        out.delay[i] = terms.costs.forward_delay[slot];
        out.taken[i] = activation - std::min<Bytes>(released, 0);
        break;
      case OpKind::BackwardInput:
        out.delay[i] = terms.costs.backward_delay[slot];
        out.given[i] = std::max<Bytes>(released, 0);
        break;
      default:
        out.given[i] = activation - released;
    }
  }
  return out;
}

}  // namespace

Op op_of(Pass pass, int ranks, Rank rank, Microbatch microbatch) {
  const Stage stage(of_chunk_0(pass) ? rank.value() : 2 * ranks - 1 - rank.value());
  return {kind_of(pass), stage, microbatch};
}

VProblem::VProblem(const Terms& terms, int ranks, std::span<const Bytes> limit) : costs_(&terms.costs) {
  for (Rank rank{0}; rank < Rank(ranks); ++rank) {
    ranks_.push_back(terms_of(terms, ranks, rank));
    ranks_.back().limit = limit[rank.at()];
  }
}

Bytes least_bytes(const RankTerms& terms) {
  return terms.taken[index_of(Pass::Forward0)] + terms.taken[index_of(Pass::Forward1)];
}

int rank_before(Pass pass, int rank, int ranks) {
  if (is_weight(pass)) return -1;
  const bool goes_up = pass == Pass::Forward0 || pass == Pass::Input1;
  const int from = goes_up ? rank - 1 : rank + 1;
  if (from >= 0 && from < ranks) return from;
  return pass == Pass::Forward0 ? -1 : rank;
}

Receiver receiver(Pass pass, int rank, int ranks) {
  const bool goes_up = pass == Pass::Forward0 || pass == Pass::Input1;
  const int to = goes_up ? rank + 1 : rank - 1;
  if (to >= 0 && to < ranks) return {to, pass};
  return {rank, static_cast<Pass>(index_of(pass) + 1)};
}

bool fits(const VProblem& problem, const PassOrders& orders, bool weights_at_once) {
  for (std::size_t rank = 0; rank < orders.size(); ++rank) {
    const RankTerms& terms = problem.at(static_cast<int>(rank));
    Bytes held = 0;
    for (const Pass pass : orders[rank]) {
      held += terms.taken[index_of(pass)];
      if (held > terms.limit) return false;
      if (weights_at_once && is_weight(pass)) continue;
      held -= terms.given[index_of(pass)];
      if (weights_at_once && !takes_memory(pass)) held -= terms.given[index_of(weight_of(pass))];
    }
  }
  return true;
}

PassOrders without_weights(const PassOrders& orders) {
  PassOrders out = orders;
  for (auto& order : out) order.erase(std::remove_if(order.begin(), order.end(), is_weight), order.end());
  return out;
}

PassOrders orders_of(const Schedule& schedule) {
  PassOrders out;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    auto& order = out.emplace_back();
    for (const Op op : schedule.queue(rank)) order.push_back(pass_of(op, schedule.ranks()));
  }
  return out;
}

Schedule schedule_of(const PassOrders& orders, int microbatches) {
  const int p = static_cast<int>(orders.size());
  ScheduleBuilder out(Placement::wave(p, 2), microbatches);
  out.reserve(op_count(2 * p, microbatches, 3));
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    out.begin_rank(rank);
    std::array<int, kPassKinds> done = {};
    for (const Pass pass : orders[rank.at()])
      out.add(op_of(pass, p, rank, Microbatch(done[index_of(pass)]++)));
  }
  return std::move(out).build();
}

}  // namespace pipeloom::schedules
