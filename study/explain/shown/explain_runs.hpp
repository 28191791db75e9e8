#pragma once

// Explanations of runs, for whoever compares them.

#include <cstddef>
#include <optional>
#include <string_view>

#include <pipeloom/run.hpp>
#include "study/explain/explain.hpp"

namespace pipeloom::study::explain {

/// What explain() says of the two, and asks `goes_on`. Throws as it does, and InputError where one has abstract times and the other has not.
[[nodiscard]] Explanation explain_runs(const Run& predicted, const Run& measured, const GoesOn& goes_on = {});

/// The same where there is something to explain: the first was simulated, the times of the second were read, they are of the same ops, and
/// have at most kMostComparedTimes. Nothing otherwise, nor where the times cannot have been.
[[nodiscard]] std::optional<Explanation> explanation_between(const Run& predicted, const Run& measured);

/// The transfer model that the run was simulated under, "" where its times were read.
[[nodiscard]] std::string_view transfer_model_of(const Run& run);

/// Ops times steps that a comparison explains unasked; `pipeloom explain` takes any number.
inline constexpr std::size_t kMostComparedTimes = std::size_t{1} << 15;

}  // namespace pipeloom::study::explain
