#pragma once

// What `pipeloom schedules NAME` shows.

#include <string>

#include "cli/console.hpp"
#include "schedules/generator.hpp"

namespace pipeloom::cli {

/// Name, other names, requirements, options with their legal values, source, when to choose the schedule, the picture of
/// the example with what it costs against 1f1b, every closed form with its value and the simulated one, the variants side by
/// side, and the command that makes the picture.
[[nodiscard]] std::string schedule_page(const schedules::Generator& generator, const Screen& screen);

/// The same as a JSON object, without the picture.
[[nodiscard]] std::string schedule_json(const schedules::Generator& generator);

}  // namespace pipeloom::cli
