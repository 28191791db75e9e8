#pragma once

// Single ops that took far longer than their repeats, and single pauses before them.

#include <string>
#include <vector>

#include "study/explain/worlds.hpp"

namespace pipeloom::study::explain {

/// One cause per rank. `findings` has everything but the hiccups; a rank with gaps everywhere has none, and a warning says so.
[[nodiscard]] std::vector<Hiccup> find_hiccups(const Wiring& wiring, const Times& predicted,
                                               const Residuals& base, const std::vector<MeasuredStep>& steps,
                                               const Findings& findings, std::vector<std::string>& warnings);

}  // namespace pipeloom::study::explain
