// Ranks as threads of this process.

#include <memory>
#include <utility>

#include "executor/run/mailboxes.hpp"
#include "executor/run/rank_threads.hpp"
#include "executor/run/run.hpp"
#include "executor/run/run_outcome.hpp"

namespace pipeloom::executor {

RunResult run_on_cpu(const Program& program, Work& work, const RunOptions& options) {
  const auto plan = make_plan(program, work, options);
  std::vector<Rank> ranks;
  for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank) ranks.push_back(rank);
  // Shared: a rank that cannot be stopped keeps what it uses.
  const auto state = std::make_shared<RunState>(plan, work, ranks, std::make_unique<Mailboxes>(plan),
                                                std::make_unique<ThreadBarrier>(program.schedule().ranks()));
  run_threads(state, ranks);
  std::vector<RankRecord> records;
  for (const Rank rank : ranks) records.push_back(state->record_of(rank));
  if (const auto failure = state->failure()) throw failure_of(*plan, records, *failure);
  return result_of(*plan, std::move(records));
}

}  // namespace pipeloom::executor
