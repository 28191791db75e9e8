#pragma once

// What an op takes whatever its chunk's size: launches and host time. One run cannot tell it from the layers' time; two runs of a model with chunks
// of different size on the same ranks can.
//
//   stages 1 .. S-2 of one rank, c of them with n layers in all, take t = a c + b n   (n, t, c of this run, N, T, C of the other)
//   a = (n T - N t) / (n C - N c), for each kind of op and each rank; the median of these counts
//
// The first and the last stage stand apart: embedding and head are on them.

#include <string>

#include <pipeloom/schedule.hpp>
#include "sim/cost/cost_spec.hpp"
#include "sim/cost/measured/measured_ops.hpp"
#include "study/calibrate/measurements.hpp"

namespace pipeloom::study::calibrate {

/// Costs of the other run, as `calibrate --layers` writes them.
struct OtherRun {
  std::string file;
  cost::CostSpec costs;
};

/// Throws InputError where the file is no costs file, or does not say its layers.
[[nodiscard]] OtherRun read_other_run(const std::string& file);

/// One number for each kind and rank that both have. Throws InputError where the runs are not of one model, or do not tell it.
/// REQUIRES: measured.layers are those of the placement.
[[nodiscard]] cost::DurationSample chunk_constant(const Measurements& measured, const Placement& placement,
                                                  const OtherRun& other);

/// Takes `constant` off every op and group, and off single ops that have a time of their own; it becomes measured.constant.
void take_off(Measurements& measured, Ticks constant);

}  // namespace pipeloom::study::calibrate
