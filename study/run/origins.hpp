#pragma once

// Where the values of a run came from, for its effective configuration.

#include "sim/io/config/effective_config.hpp"
#include "sim/io/config/run_config.hpp"

namespace pipeloom::study {

/// Defaults of the input, then what schedule and costs added to them, in the order of the table of keys: replaces
/// effective.origins. Keys that the effective configuration does not show, because they do not hold, have no origin either.
void collect_origins(const io::RunConfig& config, io::EffectiveConfig& effective);

}  // namespace pipeloom::study
