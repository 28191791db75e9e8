#pragma once

// Tables of a hardware file: rows of shapes with a time in microseconds or a share of the peak.

#include "sim/hardware/hardware.hpp"
#include "sim/io/hardware/section.hpp"

namespace pipeloom::io {

// Each reads "tables", which replaces the tables of `out`, and "measured", which goes before everything else. REQUIRES: `hardware` has its rates, to
// which times are set in relation. Throws InputError.
void read_gemm_tables(const Section& section, hardware::Hardware& hardware);
void read_attention_tables(const Section& section, hardware::Hardware& hardware);
void read_collective_tables(const Section& section, hardware::Hardware& hardware);

}  // namespace pipeloom::io
