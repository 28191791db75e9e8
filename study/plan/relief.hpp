#pragma once

// What single stages can do so that a schedule that does not fit does: recompute, or copy activations to the host.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/plan/candidates.hpp"

namespace pipeloom::study {

/// One means.
struct Relief {
  Vary vary;
  bool needs_model;
  const char* key;           ///< of the configuration
  std::string_view words;    ///< for people
  std::string_view modules;  ///< that run again, of options.recompute; "": all of a pass
};
[[nodiscard]] const std::vector<Relief>& reliefs();

/// Lets these stages use it. REQUIRES: one at least, in order.
void use(const Relief& relief, const std::vector<int>& stages, io::Config& config);
/// Lets no stage use it.
void forget(const Relief& relief, io::Config& config);

/// ", recompute full on stages 0-2"
[[nodiscard]] std::string relief_words(const Relief& relief, const std::vector<int>& stages);

/// A run, and the configuration that it is of.
struct Tried {
  io::Config config;
  Run run;
};

/// The configuration with its reloads issued so many entries ahead of their use. REQUIRES: it offloads.
[[nodiscard]] io::Config with_prefetch(io::Config config, int entries);

/// The run of the configuration. Where that offloads, and offloading may vary, of several distances between the issue of a reload and its use
/// (options.offload.prefetch) the one that is fastest among those that fit: too near, and backwards wait; too far, and reloads take memory.
[[nodiscard]] Tried with_best_prefetch(const io::Config& config, const PlanOptions& options,
                                       const std::function<Run(const io::Config&)>& run_of);

/// A candidate that fits, and what is the same for all between which orders may be carried over (Variant::memory_of).
struct Relieved {
  PlanCandidate candidate;
  std::string memory_of;
};

/// `over`, which does not fit, once for each means that may vary and that it does not use yet, on so few stages that it fits: while a rank holds
/// too much, the first of its stages that does not take part yet is added. Nothing where that takes all stages, which is a variant of its own.
/// A means that cannot be had is added to `rejected`.
[[nodiscard]] std::vector<Relieved> relieved(const PlanCandidate& over, const std::string& memory_of,
                                             const PlanOptions& options, const Limits& limits,
                                             std::vector<PlanRejected>& rejected);

/// `over`, which does not fit and has a model, with so few layers of each stage running again that it fits: the first k, one by one
/// (RecomputeMethod::Block). Where all of them one by one are not enough, all in the smallest groups that are. Nothing where neither fits, where that takes all
/// one by one (a variant of its own), where the workload recomputes already, or where the target cannot be told a number of layers.
[[nodiscard]] std::optional<Relieved> with_layers_again(const PlanCandidate& over,
                                                        const std::string& memory_of,
                                                        const PlanOptions& options, const Limits& limits,
                                                        std::vector<PlanRejected>& rejected);

/// "0-4", "0, 2, 5-7". REQUIRES: in order, each once.
[[nodiscard]] std::string stage_ranges_text(const std::vector<int>& stages);

}  // namespace pipeloom::study
