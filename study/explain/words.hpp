#pragma once

// An explanation in words and as JSON.

#include <string>

#include "study/explain/explain.hpp"
#include "study/explain/ops/op_causes.hpp"

namespace pipeloom::study::explain {

/// "F of stage 3", "rank 5", "microbatch 7", "all ops".
[[nodiscard]] std::string text_of(const OpSet& ops);
/// "rank 5 is slower by 15.0 %", ...: without the amount.
[[nodiscard]] std::string text_of(const Cause& cause, TimeUnit unit);
/// "72.1 ms more each F"
[[nodiscard]] std::string more_each(Ticks ticks, OpKind kind, TimeUnit unit);
/// That clocks were aligned, and what that means for amounts.
[[nodiscard]] std::string clock_warning(Ticks uncertain, TimeUnit unit);

}  // namespace pipeloom::study::explain
