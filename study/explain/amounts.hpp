#pragma once

// What each cause did to the step time, and what chance could have made of it.

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <pipeloom/units.hpp>
#include "study/explain/explain.hpp"
#include "study/explain/model.hpp"
#include "study/explain/worlds.hpp"

namespace pipeloom::study::explain {

/// Shapley's values of `players` causes: value[set] is the step time with the causes of that set on, bit i cause i. They are whole ticks
/// and sum to value[all] - value[none] exactly; what rounding leaves goes to the largest remainders. REQUIRES: at most 12 players, a value
/// for each set.
[[nodiscard]] std::vector<Ticks> shapley(int players, const std::vector<Ticks>& value);

/// sums / count in whole ticks whose sum is total(sums) / count rounded towards zero: each rounded down, then the largest remainders up.
[[nodiscard]] std::vector<Ticks> divide_exactly(const std::vector<Ticks>& sums, std::int64_t count);

/// Of mean 0 and variance 1. The standard's own distributions differ from library to library.
[[nodiscard]] double normal_draw(std::mt19937_64& random);

/// The findings with the sizes of all causes off by chance, as they were fitted together: a cell errs once for all causes of its ops. What
/// a cause is too large by, the costs of its cells are too small by.
[[nodiscard]] Findings draw_findings(const Wiring& wiring, const Findings& findings, std::mt19937_64& random);

// Which transfer model a run went by: under another one than was predicted, messages and gaps make differences that nothing explains.

/// What another model could explain: amounts of links, of the time of messages and of pauses, and what is left.
[[nodiscard]] Ticks waiting_of(const Explanation& explanation);
/// Whether there is enough of it to try others.
[[nodiscard]] bool may_be_of_other_model(const Explanation& explanation);

}  // namespace pipeloom::study::explain
