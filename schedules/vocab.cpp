// Vocabulary parallelism in 1F1B: the output layer is spread over all ranks, each of which runs one S (logits of its share, with the sums that
// all ranks make of them) and one T (its gradients) per microbatch, so that the last rank has no more to do than the others.
//
// Source: Yeung et al., "Balancing Pipeline Parallelism with Vocabulary Parallelism" (MLSys 2025, arXiv 2411.05288), sections 4 and 5; the order of
// the authors' Megatron-LM branch. vocab-1 is their algorithm 1, with two barriers of all ranks between the last stage's F and its B: S, the sum over
// S, T, the sum over T. vocab-2 is algorithm 2, with one: S makes the input's gradient too, and T only the weights'.
//
// vocab-2, p = 4, m = 8; every op takes one column (two characters), B two:
//
//   rank 0  F0F1F2F3S0F4T0S1T1S2T2S3B0--F5T3S4B1--F6T4S5B2--F7T5S6B3--T6S7B4--T7B5--B6--B7--
//
// Requires: any p, m. F times at most those of B: where F takes longer, S waits (the authors refuse it).
//
// Closed forms: vocab-1, equal stages, no transfers, F <= B: makespan m (F + B + S + T) + (p - 1)(F + B). peak_live min(m, p - r + 2), of vocab-2
// min(m, p - r + 1).

#include <algorithm>
#include <numeric>

#include "schedules/closed_form.hpp"
#include "schedules/kind_order.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

/// Place of a rank's passes of the output layer in the steady phase, and how many come before that phase.
struct OutputPlace {
  bool behind_backward = true;  ///< B, output, F; else B, F, output
  int warmup = 0;
};

/// From the last rank upward, each offset against the one below: by F, or, where that would be more than B, in two steps of 0 and B - F.
std::vector<OutputPlace> output_places(int ranks, Ticks forward, Ticks backward) {
  std::vector<OutputPlace> places(1);
  Ticks offset = 0;
  while (static_cast<int>(places.size()) < ranks) {
    if (offset - forward >= -backward) {
      offset -= forward;
      places.push_back({true, places.back().warmup + 1});
      continue;
    }
    places.push_back({false, places.back().warmup + 1});
    offset += backward - forward;
    places.push_back({true, places.back().warmup});
  }
  places.resize(static_cast<std::size_t>(ranks));
  std::reverse(places.begin(), places.end());
  return places;
}

/// A rank's queue while it grows: passes of the output layer are S of a microbatch with T of the one before.
class VocabQueue {
 public:
  VocabQueue(int microbatches, std::vector<OpKind>& kinds) : microbatches_(microbatches), kinds_(kinds) {}

  void forward() {
    if (forwards_ == microbatches_) return;
    kinds_.push_back(OpKind::Forward);
    ++forwards_;
  }
  void output() {
    if (outputs_ > microbatches_) return;
    if (outputs_ > 0) kinds_.push_back(OpKind::OutputWeight);
    if (outputs_ < microbatches_) kinds_.push_back(OpKind::Output);
    ++outputs_;
  }
  void backward() { kinds_.push_back(OpKind::Backward); }

  [[nodiscard]] int forwards() const { return forwards_; }

 private:
  int microbatches_;
  std::vector<OpKind>& kinds_;
  int forwards_ = 0;
  int outputs_ = 0;
};

/// `barriers`: 1 or 2 between the last stage's F and its B.
void emit_rank(const Params& params, int rank, int barriers, const OutputPlace& place,
               std::vector<OpKind>& kinds) {
  const int m = params.microbatches;
  VocabQueue queue(m, kinds);
  // 1. F0 F1 ..                                          p - r forwards, as 1F1B has them
  for (int k = 0; k < params.ranks - rank; ++k) queue.forward();
  // 2. S0 F, again (T0 S1) F                             a forward more for every barrier
  for (int barrier = 0; barrier < barriers; ++barrier) {
    queue.output();
    queue.forward();
  }
  // 3. (T S) ..                                          until the last rank's first B is on its way
  for (int k = 0; k < place.warmup; ++k) queue.output();
  // 4. B (T S) F, or B F (T S)                           m - p + r - barriers
  const int steady = m - queue.forwards();
  for (int k = 0; k < steady; ++k) {
    queue.backward();
    if (place.behind_backward) queue.output();
    queue.forward();
    if (!place.behind_backward) queue.output();
  }
  // 5. B (T S) .., as long as there are any
  for (int k = steady; k < m; ++k) {
    queue.backward();
    queue.output();
  }
  for (int k = 0; k <= m; ++k) queue.output();
}

Ticks sum_of(const std::vector<Ticks>& durations) {
  return std::accumulate(durations.begin(), durations.end(), Ticks{0});
}

Schedule emit_vocab(const Params& params, const Terms& terms, Emission& emission, int barriers) {
  // The rule compares means over the ranks; their sums do as well.
  const Ticks forward = sum_of(terms.costs.duration[index_of(OpKind::Forward)]);
  const Ticks backward = sum_of(terms.costs.duration[index_of(OpKind::Backward)]);
  if (backward < forward)
    emission.warnings.emplace_back(
        "the output layer's place in the order supposes that B takes no less time than F");
  std::vector<OpKind> kinds;
  const std::vector<OutputPlace> places = output_places(params.ranks, forward, backward);
  for (int r = 0; r < params.ranks; ++r)
    emit_rank(params, r, barriers, places[static_cast<std::size_t>(r)], kinds);
  return schedule_of_kinds(kinds, params);
}

Schedule emit_two(const Params& params, const Terms& terms, Emission& emission) {
  return emit_vocab(params, terms, emission, 2);
}
Schedule emit_one(const Params& params, const Terms& terms, Emission& emission) {
  return emit_vocab(params, terms, emission, 1);
}

ClosedForm live_form(int barriers) {
  return order_form("peak_live", barriers == 2 ? "min(m, p - r + 2)" : "min(m, p - r + 1)", "",
                    [barriers](const Params& params, Rank rank) -> Value {
                      return std::min(params.microbatches, params.ranks - rank.value() + barriers);
                    });
}

}  // namespace

Generator vocab_1() {
  return {
      .name = "vocab-1",
      .aliases = {},
      .summary = "1f1b with the output layer spread over all ranks, two barriers a microbatch",
      .source = "Yeung et al. 2025, vocabulary parallelism, arXiv 2411.05288, algorithm 1",
      .when_to_use =
          "The vocabulary makes the last stage the slowest. Needs two microbatches more in flight than 1f1b, "
          "and F "
          "at least as long as a collective of all ranks.",
      .requirements = {.shares_output = true, .needs_terms = true, .text = "any ranks, any microbatches"},
      .closed_forms = {time_form("makespan", "m (F + B + S + T) + (p - 1)(F + B)",
                                 "equal stages, no transfers, F <= B",
                                 [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                                   if (costs.backward < costs.forward) return std::nullopt;
                                   const Ticks pair = costs.forward + costs.backward;
                                   return params.microbatches * (pair + 2 * costs.forward) +
                                          (params.ranks - 1) * pair;
                                 }),
                       live_form(2)},
      .placement = linear_placement,
      .emit = emit_two,
  };
}

Generator vocab_2() {
  return {
      .name = "vocab-2",
      .aliases = {},
      .summary = "1f1b with the output layer spread over all ranks, one barrier a microbatch",
      .source = "Yeung et al. 2025, vocabulary parallelism, arXiv 2411.05288, algorithm 2",
      .when_to_use =
          "As vocab-1, with one microbatch less in flight, for a few more operations in S: the first choice "
          "of the two.",
      .requirements = {.shares_output = true,
                       .output_makes_gradient = true,
                       .needs_terms = true,
                       .text = "any ranks, any microbatches"},
      .closed_forms = {live_form(1)},
      .placement = linear_placement,
      .emit = emit_one,
  };
}

}  // namespace pipeloom::schedules
