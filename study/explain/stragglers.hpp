#pragma once

// Who makes a step slower than even work would be: the replays behind M_W and M_S (study/explain/explain.hpp has what they are).

#include <optional>
#include <vector>

#include "study/explain/explain.hpp"
#include "study/explain/waits.hpp"

namespace pipeloom::study::explain {

/// `steps` aligned. Sums over all steps. Nothing where even work would save less than 0.3 % of the step. O(ranks * entries).
[[nodiscard]] std::optional<Stragglers> find_stragglers(const Wiring& wiring,
                                                        const std::vector<MeasuredStep>& steps,
                                                        const WaitFindings& waits);

}  // namespace pipeloom::study::explain
