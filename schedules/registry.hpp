#pragma once

// One declaration per line of registry.def: the function that each schedule's file defines.

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

#define PIPELOOM_SCHEDULE(function) [[nodiscard]] Generator function();
#include "schedules/registry.def"
#undef PIPELOOM_SCHEDULE

}  // namespace pipeloom::schedules
