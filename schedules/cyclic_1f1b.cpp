// Cyclic 1F1B: the order is made cycle by cycle; in each, a rank runs one backward and one forward, of what was ready when the cycle began,
// as its memory allows. For microbatches of unequal length: nobody waits for the neighbours' op of the same cycle.
//
// Source: Jiang et al., "DynaPipe: Optimizing Multi-task Training through Dynamic Pipelines" (2024, arXiv 2311.10418), memory-aware adaptive
// scheduling; the authors' cyclic scheduler, whose order its wait-free one runs as early as it can. A cycle counts for the order only: how
// long ops take does not enter it, what they hold does.
//
// p = 4, m = 8; F takes one column (two characters), B two:
//
//   rank 0  F0F1F2F3F4F5F6      B0--F7B1--  B2--  B3--  B4--  B5--  B6--  B7--
//   rank 1    F0F1F2F3F4    B0--F5B1--F6B2--F7B3--  B4--  B5--  B6--  B7--
//   rank 2      F0F1F2  B0--F3B1--F4B2--F5B3--F6B4--F7B5--  B6--  B7--
//   rank 3        F0B0--F1B1--F2B2--F3B3--F4B4--F5B5--F6B6--F7B7--
//
// Requires: any p, m, and room for one microbatch on every rank.
//
// Without a limit it is eager-1f1b: a message takes a cycle, so rank r has its first gradient in cycle 2p - 1 - r, behind 2(p - r) - 1
// forwards. Closed forms: those.

#include <algorithm>
#include <limits>

#include "schedules/activation_limit.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/kind_order.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

/// A rank while its queue grows. Microbatches pass in order: how many may, and how many did.
struct CyclicRank {
  Bytes held = 0;  ///< by one microbatch
  Bytes room = std::numeric_limits<Bytes>::max();
  int forwards_ready = 0;
  int forwards = 0;
  int backwards_ready = 0;
  int backwards = 0;
  bool awake = false;  ///< in the list of the next cycle

  [[nodiscard]] bool runs_forward() const { return forwards < forwards_ready && held <= room; }
  [[nodiscard]] bool runs_backward() const { return backwards < backwards_ready; }
};

/// What a cycle finished, for the ranks that take it in the next.
struct CycleDone {
  std::size_t rank = 0;
  bool forward = false;
  bool backward = false;
};

class CyclicPlayer {
 public:
  /// `limit`: most bytes of activations by rank; empty: no limit. REQUIRES: room for one microbatch on every rank.
  CyclicPlayer(const Params& params, const MemoryModel& memory, const std::vector<Bytes>& limit);
  std::vector<OpKind> play();

 private:
  void put(std::size_t rank, OpKind kind);
  CycleDone run_cycle(std::size_t rank);
  void deliver(const CycleDone& done);
  void wake(std::size_t rank);

  std::size_t length_;  // of a queue
  std::vector<CyclicRank> ranks_;
  std::vector<std::size_t> awake_;  // ranks that may have something to run in the next cycle
  std::vector<OpKind> queues_;
};

CyclicPlayer::CyclicPlayer(const Params& params, const MemoryModel& memory, const std::vector<Bytes>& limit)
    : length_(2 * static_cast<std::size_t>(params.microbatches)),
      ranks_(static_cast<std::size_t>(params.ranks)),
      queues_(length_ * ranks_.size()) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (limit.empty()) continue;
    ranks_[r].held = memory.activation[r];
    ranks_[r].room = limit[r];
  }
  ranks_.front().forwards_ready = params.microbatches;
}

std::vector<OpKind> CyclicPlayer::play() {
  std::vector<std::size_t> now;
  std::vector<CycleDone> done;
  wake(0);
  while (!awake_.empty()) {
    now.swap(awake_);
    awake_.clear();
    done.clear();
    for (const std::size_t rank : now) ranks_[rank].awake = false;
    for (const std::size_t rank : now) done.push_back(run_cycle(rank));
    for (const CycleDone& one : done) deliver(one);
  }
  return std::move(queues_);
}

/// One backward and one forward, those that are ready and fit.
CycleDone CyclicPlayer::run_cycle(std::size_t rank) {
  CyclicRank& own = ranks_[rank];
  CycleDone done{.rank = rank};
  if (own.runs_backward()) {
    put(rank, OpKind::Backward);
    ++own.backwards;
    own.room += own.held;
    done.backward = true;
  }
  if (own.runs_forward()) {
    put(rank, OpKind::Forward);
    ++own.forwards;
    own.room -= own.held;
    done.forward = true;
  }
  return done;
}

void CyclicPlayer::deliver(const CycleDone& done) {
  if (done.forward && done.rank + 1 < ranks_.size()) {
    ++ranks_[done.rank + 1].forwards_ready;
    wake(done.rank + 1);
  } else if (done.forward) {
    ++ranks_[done.rank].backwards_ready;
  }
  if (done.backward && done.rank > 0) {
    ++ranks_[done.rank - 1].backwards_ready;
    wake(done.rank - 1);
  }
  if (ranks_[done.rank].runs_backward() || ranks_[done.rank].runs_forward()) wake(done.rank);
}

void CyclicPlayer::put(std::size_t rank, OpKind kind) {
  const CyclicRank& own = ranks_[rank];
  queues_[rank * length_ + static_cast<std::size_t>(own.forwards + own.backwards)] = kind;
}

void CyclicPlayer::wake(std::size_t rank) {
  if (!ranks_[rank].awake) awake_.push_back(rank);
  ranks_[rank].awake = true;
}

Schedule emit(const Params& params, const Terms& terms, Emission& emission) {
  std::vector<Bytes> bytes;
  emission.limit = "no limit";
  if (params.options.memory_limit.given() || !terms.memory.limit.empty()) {
    const ActivationLimit limit = activation_limit(params, linear_placement(params), terms.memory);
    for (Rank rank{0}; rank < Rank(params.ranks); ++rank)
      if (const Bytes held = terms.memory.activation[rank.at()]; held > limit.bytes[rank.at()])
        throw without_room("cyclic-1f1b", limit, terms.memory, rank, held);
    emission.limit = limit.text;
    bytes = limit.bytes;
  }
  return schedule_of_kinds(CyclicPlayer(params, terms.memory, bytes).play(), params);
}

/// Those of eager-1f1b where nothing limits the order.
std::vector<ClosedForm> closed_forms() {
  std::vector<ClosedForm> forms = eager_1f1b().closed_forms;
  for (ClosedForm& form : forms) {
    form.condition += form.condition.empty() ? "no limit" : ", no limit";
    form.value = [plain = form.value](const Params& params, const UniformCosts& costs, Rank rank) -> Value {
      return params.options.memory_limit.given() ? std::nullopt : plain(params, costs, rank);
    };
  }
  return forms;
}

}  // namespace

Generator cyclic_1f1b() {
  return {
      .name = "cyclic-1f1b",
      .aliases = {{.name = "dynapipe", .dialect = "DynaPipe"}},
      .summary =
          "1f1b made cycle by cycle within a memory limit, ahead enough for microbatches of unequal length",
      .source =
          "Jiang et al. 2024, DynaPipe, arXiv 2311.10418: memory-aware adaptive scheduling, its cyclic "
          "scheduler",
      .when_to_use =
          "Microbatches differ in length (costs.microbatch_scale) and memory allows more than 1f1b's p "
          "microbatches: a rank has work in store while a neighbour runs a long one. It runs ahead as far as "
          "the limit (options.memory_limit, memory.limit_bytes) allows, and as eager-1f1b without one.",
      .requirements = {.takes = {Option::MemoryLimit},
                       .default_memory_limit = "no limit",
                       .needs_terms = true,
                       .text = "any ranks, any microbatches"},
      .closed_forms = closed_forms(),
      .placement = linear_placement,
      .emit = emit,
  };
}

}  // namespace pipeloom::schedules
