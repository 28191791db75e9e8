#pragma once

// What a target can make of the registry's schedules, before any order is made.

#include <string>
#include <string_view>

#include "study/targets/target.hpp"

namespace pipeloom::study {

/// "" where the target may run the registry's schedule (or "custom", an order of its own), at sizes that verdict_of() judges; else why not.
[[nodiscard]] std::string target_refusal(const Target& target, std::string_view schedule);
/// What the target calls a schedule; "" where it has no word for it.
[[nodiscard]] std::string target_word(const Target& target, std::string_view schedule);

}  // namespace pipeloom::study
