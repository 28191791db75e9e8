// Cyclic 1F1B: the order is made cycle by cycle; in each, a rank runs one backward and one forward of the ops that were ready when the
// cycle began, as its memory allows. For microbatches of unequal length: no rank waits for its neighbours' op of the same cycle.
//
// Source: Jiang et al., "DynaPipe: Optimizing Multi-task Training through Dynamic Pipelines" (2024, arXiv 2311.10418), memory-aware adaptive
// scheduling; the authors' cyclic scheduler, whose order its wait-free one runs as early as it can. A cycle counts for the order only: the
// order depends on the bytes of ops, not on their times.
//
// p = 4, m = 8; F takes one column (two characters), B two:
//
//   rank 0  F0F1F2F3F4F5F6      B0--F7B1--  B2--  B3--  B4--  B5--  B6--  B7--
//   rank 1    F0F1F2F3F4    B0--F5B1--F6B2--F7B3--  B4--  B5--  B6--  B7--
//   rank 2      F0F1F2  B0--F3B1--F4B2--F5B3--F6B4--F7B5--  B6--  B7--
//   rank 3        F0B0--F1B1--F2B2--F3B3--F4B4--F5B5--F6B6--F7B7--
//
// With v chunks a cycle has one backward and one forward of each: they take turns, a backward first, of the earliest chunk among
// backwards and of the last one among forwards.
//
// Requires: any p, m, v, and room for one microbatch on every rank; a limit only with v = 1.
//
// Without a limit and with one chunk it is eager-1f1b: a message takes a cycle, so rank r has its first gradient in cycle 2p - 1 - r, after
// 2(p - r) - 1 forwards. Closed forms: those of eager-1f1b.

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "schedules/activation_limit.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

/// A stage while its rank's queue grows. Microbatches pass in order: how many may, and how many did.
struct CyclicStage {
  Bytes held = 0;  ///< by one microbatch
  int forwards_ready = 0;
  int forwards = 0;
  int backwards_ready = 0;
  int backwards = 0;
};

struct CyclicRank {
  Bytes room = std::numeric_limits<Bytes>::max();
  bool awake = false;  ///< in the list of the next cycle
  std::vector<Op> queue = {};
};

class CyclicPlayer {
 public:
  /// `limit`: most bytes of activations by rank; empty: no limit. REQUIRES: a limit comes with one stage a rank, and room for one microbatch.
  CyclicPlayer(const Params& params, const MemoryModel& memory, const std::vector<Bytes>& limit);
  Schedule play(const Params& params);

 private:
  void run_cycle(int rank);
  void run_backward(int stage);
  void run_forward(int stage);
  void deliver(Op done);
  void wake(int stage);
  [[nodiscard]] CyclicStage& at(int stage) { return stages_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] CyclicRank& rank_of(int stage) {
    return ranks_[static_cast<std::size_t>(stage) % ranks_.size()];
  }
  [[nodiscard]] bool has_forward(int stage) { return at(stage).forwards < at(stage).forwards_ready; }
  [[nodiscard]] bool has_backward(int stage) { return at(stage).backwards < at(stage).backwards_ready; }

  std::vector<CyclicStage> stages_;
  std::vector<CyclicRank> ranks_;
  std::vector<int> awake_;  // ranks that may have something to run in the next cycle
  std::vector<Op> done_;    // in this cycle
  std::vector<int> forwards_;
  std::vector<int> backwards_;
};

CyclicPlayer::CyclicPlayer(const Params& params, const MemoryModel& memory, const std::vector<Bytes>& limit)
    : stages_(op_count(params.ranks, params.chunks, 1)), ranks_(static_cast<std::size_t>(params.ranks)) {
  for (CyclicRank& rank : ranks_) rank.queue.reserve(op_count(params.chunks, params.microbatches, 2));
  for (std::size_t r = 0; r < limit.size(); ++r) {
    stages_[r].held = memory.activation[r];
    ranks_[r].room = limit[r];
  }
  stages_.front().forwards_ready = params.microbatches;
}

Schedule CyclicPlayer::play(const Params& params) {
  std::vector<int> now;
  wake(0);
  while (!awake_.empty()) {
    now.swap(awake_);
    awake_.clear();
    done_.clear();
    for (const int rank : now) ranks_[static_cast<std::size_t>(rank)].awake = false;
    for (const int rank : now) run_cycle(rank);
    for (const Op op : done_) deliver(op);
    for (const int rank : now)
      for (int stage = rank; stage < static_cast<int>(stages_.size()); stage += params.ranks)
        if (has_backward(stage) || (has_forward(stage) && at(stage).held <= rank_of(stage).room)) wake(stage);
  }
  ScheduleBuilder out(loop_placement(params), params.microbatches);
  out.reserve(op_count(params.ranks * params.chunks, params.microbatches, 2));
  for (Rank rank{0}; rank < Rank(params.ranks); ++rank) {
    out.begin_rank(rank);
    for (const Op op : ranks_[rank.at()].queue) out.add(op);
  }
  return std::move(out).build();
}

/// One backward and one forward of each chunk, of the ops that are ready and fit: in turn, the op nearest to its end first.
void CyclicPlayer::run_cycle(int rank) {
  backwards_.clear();
  forwards_.clear();
  for (int stage = rank; stage < static_cast<int>(stages_.size()); stage += static_cast<int>(ranks_.size())) {
    if (has_backward(stage)) backwards_.push_back(stage);
    if (has_forward(stage)) forwards_.push_back(stage);
  }
  std::ranges::reverse(forwards_);
  for (std::size_t i = 0; i < std::max(backwards_.size(), forwards_.size()); ++i) {
    if (i < backwards_.size()) run_backward(backwards_[i]);
    if (i < forwards_.size() && at(forwards_[i]).held <= rank_of(rank).room) run_forward(forwards_[i]);
  }
}

void CyclicPlayer::run_backward(int stage) {
  done_.push_back(backward(Stage(stage), Microbatch(at(stage).backwards++)));
  rank_of(stage).queue.push_back(done_.back());
  rank_of(stage).room += at(stage).held;
}

void CyclicPlayer::run_forward(int stage) {
  done_.push_back(forward(Stage(stage), Microbatch(at(stage).forwards++)));
  rank_of(stage).queue.push_back(done_.back());
  rank_of(stage).room -= at(stage).held;
}

/// For the stages that take it in the next cycle.
void CyclicPlayer::deliver(Op done) {
  const int stage = done.stage().value();
  const bool is_last = stage + 1 == static_cast<int>(stages_.size());
  if (done.kind() == OpKind::Forward) {
    ++(is_last ? at(stage).backwards_ready : at(stage + 1).forwards_ready);
    wake(is_last ? stage : stage + 1);
  } else if (stage > 0) {
    ++at(stage - 1).backwards_ready;
    wake(stage - 1);
  }
}

void CyclicPlayer::wake(int stage) {
  CyclicRank& rank = rank_of(stage);
  if (!rank.awake) awake_.push_back(stage % static_cast<int>(ranks_.size()));
  rank.awake = true;
}

Schedule emit(const Params& params, const Terms& terms, Emission& emission) {
  std::vector<Bytes> bytes;
  emission.limit = params.chunks == 1 ? "no limit" : "no limit: only one chunk a rank keeps one";
  const bool limited = params.options.memory_limit.given() || !terms.memory.limit.empty();
  if (limited && params.chunks == 1) {
    const ActivationLimit limit = activation_limit(params, linear_placement(params), terms.memory);
    for (Rank rank{0}; rank < Rank(params.ranks); ++rank)
      if (const Bytes held = terms.memory.activation[rank.at()]; held > limit.bytes[rank.at()])
        throw without_room("cyclic-1f1b", limit, terms.memory, rank, held);
    emission.limit = limit.text;
    bytes = limit.bytes;
  }
  return CyclicPlayer(params, terms.memory, bytes).play(params);
}

bool accepts(const Params& params) {
  return params.chunks == 1 || !params.options.memory_limit.given();
}

/// Closed forms of eager-1f1b, for one chunk without a limit.
std::vector<ClosedForm> closed_forms() {
  std::vector<ClosedForm> forms = eager_1f1b().closed_forms;
  for (ClosedForm& form : forms) {
    form.condition += form.condition.empty() ? "no limit, one chunk" : ", no limit, one chunk";
    form.value = [plain = form.value](const Params& params, const UniformCosts& costs, Rank rank) -> Value {
      if (params.options.memory_limit.given() || params.chunks > 1) return std::nullopt;
      return plain(params, costs, rank);
    };
  }
  return forms;
}

}  // namespace

Generator cyclic_1f1b() {
  return {
      .name = "cyclic-1f1b",
      .aliases = {{.name = "dynapipe", .dialect = "DynaPipe"},
                  {.name = "wait-free-cyclic", .dialect = "DynaPipe"}},
      .summary =
          "1f1b made cycle by cycle within a memory limit, ahead enough for microbatches of unequal length",
      .source =
          "Jiang et al. 2024, DynaPipe, arXiv 2311.10418: memory-aware adaptive scheduling, its cyclic "
          "scheduler",
      .when_to_use =
          "Microbatches differ in length (costs.microbatch_scale) and memory allows more than 1f1b's p "
          "microbatches: a rank has work in store while a neighbour runs a long one. It runs ahead as far as "
          "the limit (options.memory_limit, memory.limit_bytes) allows, and as eager-1f1b without one.",
      .requirements = {.max_chunks = kMaxIndex,
                       .takes = {Option::MemoryLimit},
                       .default_memory_limit = "no limit",
                       .needs_terms = true,
                       .text = "any ranks, any microbatches, any chunks; a memory limit with one chunk"},
      .closed_forms = closed_forms(),
      .placement = loop_placement,
      .emit = emit,
      .predicate = [](const Params& params) -> std::string {
        return accepts(params) ? "" : "keeps a memory limit with one chunk only";
      },
      .accepts = accepts,
  };
}

}  // namespace pipeloom::schedules
