#pragma once

// What causes make of the time of an entry, whose parts (the ops of a group) they may cover alone. Sizes are natural logs of factors.

#include <cstddef>
#include <span>

#include "study/explain/model.hpp"
#include "study/explain/ops/op_candidates.hpp"
#include "study/explain/ops/op_causes.hpp"

namespace pipeloom::study::explain {

/// Of an entry's time, whatever causes make faster.
inline constexpr double kLeastLeft = 0.01;

/// log of the entry's time under `causes` over its predicted time. REQUIRES: that is not 0.
[[nodiscard]] double log_factor_of(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes);

/// How much log_factor_of changes with the size of `of`.
[[nodiscard]] double slope_of(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes,
                              const OpCause& of);

/// The part of an entry's time under `causes` that `ops` covers; `cover` is that of its predicted time.
[[nodiscard]] double part_now(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes,
                              const Cover& cover, const OpSet& ops);

/// What microbatches' causes add to an entry on top of its cell's.
[[nodiscard]] double microbatch_log(const Wiring& wiring, std::size_t e, std::span<const OpCause> of_cells,
                                    std::span<const OpCause> of_microbatches);

/// The log factor of a part that makes log of the whole `log_whole`, and back.
[[nodiscard]] double of_part(double log_whole, double part);
[[nodiscard]] double of_whole(double log_factor, double part);

}  // namespace pipeloom::study::explain
