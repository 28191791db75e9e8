#pragma once

// What `pipeloom schedules NAME` shows.

#include <string>

#include "cli/console.hpp"
#include "schedules/generator.hpp"

namespace pipeloom::cli {

/// The parameters of a schedule's picture: p = 4, m = 8 and the default chunks where these are legal, else the nearest
/// more microbatches that are.
[[nodiscard]] schedules::Params example_params(const schedules::Generator& generator);

/// Name, source, requirements, the picture of the example, every closed form with its value and the simulated one, and
/// when to choose the schedule.
[[nodiscard]] std::string schedule_page(const schedules::Generator& generator, const Screen& screen);

}  // namespace pipeloom::cli
