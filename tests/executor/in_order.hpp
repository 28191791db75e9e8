#pragma once

// Runs a schedule's ops one after another on one thread, in an order that its dependency graph allows, handing every tensor over
// by hand: what ops compute is tested without a back end.

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "executor/run/work.hpp"
#include "sim/kinds.hpp"
#include "sim/tensor_index.hpp"
#include "tests/support/dag_paths.hpp"

namespace pipeloom::executor {

using Ranks = std::vector<std::unique_ptr<RankWork>>;

inline Ranks make_ranks(Work& work, const Schedule& schedule) {
  Ranks ranks;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) ranks.push_back(work.rank_work(schedule, rank));
  return ranks;
}

inline std::vector<RankGradients> gradients_of(const Ranks& ranks) {
  std::vector<RankGradients> gradients;
  for (const auto& rank : ranks) gradients.push_back(rank->gradients());
  return gradients;
}

inline void run_step_in_order(const Schedule& schedule, Ranks& ranks, int step) {
  const Dag dag(schedule);
  const TensorIndex tensors(schedule);
  std::map<std::size_t, Payload> there;
  for (const Vertex entry : test::topological_order(dag)) {
    for (std::size_t i = dag.first_op(entry); i < dag.last_op(entry); ++i) {
      const Op op = schedule.ops()[i];
      const bool is_given = op.kind() == OpKind::Forward || carries_gradient(op.kind());
      Payload input = is_given ? std::exchange(there[tensors.input_of(op)], {}) : Payload{};
      Payload output = ranks[schedule.home_of(op).at()]->run(op, step, std::move(input));
      if (!output.values.empty()) there[tensors.output_of(op)] = std::move(output);
    }
  }
  for (auto& rank : ranks) rank->end_step(step);
}

}  // namespace pipeloom::executor
