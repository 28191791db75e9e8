#pragma once

// The configurations that a plan looks at, and what each comes to.

#include <memory>
#include <string>
#include <vector>

#include "study/plan/plan.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {

/// A configuration to be tried.
struct Variant {
  std::string name;
  io::Config config;
  /// What is the same for all variants between which an order may be carried over: recomputation, offloading, microbatches.
  std::string memory_of;
  bool now = false;  ///< it is the workload's own configuration
};

/// All of them: the given schedule, and each of the registry that the target can run, with every number of chunks, size of groups, recomputation
/// and microbatch that may vary; the workload's own schedule as it is comes before its others. `now`: its run, null where it has none. What cannot be tried goes to `rejected`.
[[nodiscard]] std::vector<Variant> variants_of(const Workload& workload, const Run* now,
                                               const PlanOptions& options,
                                               std::vector<PlanRejected>& rejected);

/// The variant whose search of its own ends after its first part: "v-adaptive (short search)". REQUIRES: its schedule has Effort::first_part_variant.
[[nodiscard]] Variant with_short_search(Variant variant);

/// True if a schedule takes these parameters. Unequal groups of more than 131,072 ops are not simulated for that: their run says whether they hang.
[[nodiscard]] bool is_worth_a_run(const schedules::Generator& generator, const Params& params);

/// Whether times and bytes follow from a model.
[[nodiscard]] bool has_model(const io::Config& config);

/// The configuration's run, without a critical path, and told by short runs where they tell it: all that a plan asks of published schedules. The order of
/// a file is evaluated whole. Throws as evaluate() does.
[[nodiscard]] Run totals_of(const io::Config& config, const Limits& limits, Depth depth = Depth::All);

/// Everything that a run says of a candidate but p95 and change.
[[nodiscard]] PlanCandidate candidate_of(const Variant& variant, Run run);

/// Sets gap and proven from the bound and the makespan.
void weigh_bound(PlanCandidate& candidate);

/// "92.4 GB on rank 0, 12.4 GB over its limit"; "" where all ranks keep theirs.
[[nodiscard]] std::string over_limit_text(const Run& run);

/// The makespan that 95 % of 400 scenarios under costs.noise stay within. Throws InputError where noise cannot be drawn for the run.
[[nodiscard]] Ticks p95_of(const Run& run, std::uint64_t seed);

/// Whether searches for orders know all that the run does: one copy of the model, whole sequences, the head on the last stage.
[[nodiscard]] bool is_searchable(const Schedule& schedule);

/// Whether a forward with a backward may be shorter than both one after the other.
[[nodiscard]] bool makes_pairs(const Costs& costs);

/// Whether the bound of such a run is one on all orders that a search could find on its ranks: its ops are theirs, each by itself.
[[nodiscard]] bool bounds_searched_orders(const Run& run);

/// "linear", "loop", "v", "wave", "two ways" or "free".
[[nodiscard]] std::string placement_name(const Placement& placement);

/// The configuration of an order that is in a file of its own.
[[nodiscard]] io::Config searched_config(const io::Config& kin, const PlanOptions& options);

}  // namespace pipeloom::study
