#pragma once

// Words of a plan's table and what they mean, and what is no row of it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "study/plan/plan.hpp"
#include "study/plan/shown/plan_shown.hpp"

namespace pipeloom::study {

inline constexpr std::string_view kOptimal = "optimal";
inline constexpr std::string_view kFront = "front";
inline constexpr std::string_view kNow = "now";
inline constexpr std::string_view kReference = "reference";
inline constexpr std::string_view kOver = "over the limit";
inline constexpr std::string_view kSearched = "searched";

/// What those of the words mean that need saying, each once; "" where none does.
[[nodiscard]] std::string legend(const std::vector<std::string>& words);

/// Below "Not taken": how many for which reason, with the first names; under PlanStyle::everything each with its own words, and where nothing fits the
/// ones that come nearest. Empty where all was taken.
[[nodiscard]] page::List refusals_list(const Plan& plan, bool everything);

}  // namespace pipeloom::study
