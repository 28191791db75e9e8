#pragma once

// Checks that a framework's own order is the planned one. A framework is told a word and makes the order by rules of its own, so that the word
// is usable only if that order is the planned one, op by op.

#include <optional>
#include <string>
#include <vector>

#include "schedules/generator.hpp"
#include "study/targets/deployment.hpp"
#include "study/targets/target.hpp"

namespace pipeloom::study {

/// An own order that is the planned one.
struct RunsAs {
  const OwnOrder* order = nullptr;
  int group_size = 0;  ///< N of Megatron-LM's interleaved orders, else 0
};

/// Orders of generators that were compared with one planned order: targets share many, and each is made once.
class ComparedOrders {
 public:
  /// `planned` must outlive it.
  explicit ComparedOrders(const Schedule& planned) : planned_(&planned) {}
  /// True if the generator's order is the planned one, apart from ops that options add. REQUIRES: schedules::takes(generator, params).
  [[nodiscard]] bool is_planned(const schedules::Generator& generator, const Params& params);

 private:
  struct Compared {
    const schedules::Generator* generator = nullptr;
    Params params;
    bool is_planned = false;
  };
  const Schedule* planned_;
  std::vector<Compared> compared_;
};

/// The target's own order that is the deployment's, apart from ops that options add (R, O, L); nullopt if none is. O(ops) for each
/// own order that takes its number of chunks and was not compared before. `compared`: with deployment.order.
[[nodiscard]] std::optional<RunsAs> own_order_of(const Target& target, const Deployment& deployment,
                                                 ComparedOrders& compared);

/// Why there is none: the size that the target's order of this schedule refuses, or that it makes another one.
[[nodiscard]] std::string own_order_refusal(const Target& target, const Deployment& deployment);

}  // namespace pipeloom::study
