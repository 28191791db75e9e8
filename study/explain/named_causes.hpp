#pragma once

// Findings as causes that people read: which ops, links and ranks, by how much.

#include <optional>
#include <string>
#include <vector>

#include <pipeloom/units.hpp>
#include "study/explain/explain.hpp"
#include "study/explain/ops/op_causes.hpp"
#include "study/explain/worlds.hpp"

namespace pipeloom::study::explain {

/// What a factor adds to each of its ops, where these are alike and no other factor of their cells makes it more.
[[nodiscard]] std::optional<Ticks> added_by_factor(const Wiring& wiring, const std::vector<OpCause>& all,
                                                   const OpCause& found);

/// "72.1 ms more each F, 60.2 ms more each B", "stage 1 by 15.0 %, stage 5 by 38.0 %": what causes that share the ops of a rank or stage come
/// to for each of its kinds or stages, as which they could be seen too. "" where one cause says all, or neither kinds nor stages do.
[[nodiscard]] std::string seen_apart(const Wiring& wiring, const std::vector<OpCause>& all,
                                     const OpCause& found, TimeUnit unit);

/// Without amount and text.
[[nodiscard]] Cause cause_of(const OpCause& found);
[[nodiscard]] Cause cause_of(const LinkCause& found);
[[nodiscard]] Cause cause_of(const Wiring& wiring, const Hiccup& found);
[[nodiscard]] Cause cause_of(const Pause& found);

// Causes in words.

/// "F of stage 3", "rank 5", "microbatch 7", "all ops".
[[nodiscard]] std::string text_of(const OpSet& ops);
/// "rank 5 is slower by 15.0 %", ...: without the amount.
[[nodiscard]] std::string text_of(const Cause& cause, TimeUnit unit);
/// "72.1 ms more each F"
[[nodiscard]] std::string more_each(Ticks ticks, OpKind kind, TimeUnit unit);
/// That clocks were aligned, and what that means for amounts.
[[nodiscard]] std::string clock_warning(Ticks uncertain, TimeUnit unit);

}  // namespace pipeloom::study::explain
