#pragma once

// Measured steps of layouts, and the terms of the forecast that follow from them.

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/config/config.hpp"
#include "sim/model/model.hpp"
#include "study/layouts/layout.hpp"

namespace pipeloom::study {

/// A layout that was run.
struct MeasuredLayout {
  ParallelLayout layout;
  std::vector<int> layers = {};  ///< of each stage; empty: as they are dealt out where nothing is said
  double seconds = 0;            ///< of a step
  Where where = {};              ///< its place in the file
};

/// The numbers of a layout that a measured run need not say.
struct MeasuredOf {
  int devices = 1;
  int global_batch = 1;
  DeviceOrder order = DeviceOrder::PipelineLast;
};

/// Reads a file: an object, or an array of up to 64, each with a step (`"step": "15.9s"`, or `"trace": FILE or FILES` of two steps or more) and the layout, by the
/// keys that plans have: tp, cp, ep, etp (1), pp, dp, zero, shards, micro_batch, microbatches, chunks, schedule, recompute, order, layers. What is missing is 1 (zero: 1), dp: so that it
/// fills the devices, microbatches: so that they make up the global batch, schedule: 1f1b, or interleaved-1f1b with chunks, recompute: none, order: the given one. Throws InputError for unknown keys,
/// numbers out of range, layouts that do not fit, and traces that cannot be read.
[[nodiscard]] std::vector<MeasuredLayout> read_measured(const std::string& file, const MeasuredOf& of);

/// Terms of a forecast that measured steps say.
struct FittedTerms {
  std::array<double, model::kGroups> hidden =
      {};              ///< [model::Group]: share of the exchanges that products hide; of Data as it was
  double compute = 1;  ///< factor of everything in the passes but exchanges
};

/// Kinds of exchanges whose hidden share measured steps may say, as plans name them.
inline constexpr std::array<std::pair<std::string_view, model::Group>, 3> kExchangeNames = {
    {{"tp", model::Group::Tensor}, {"cp", model::Group::Context}, {"ep", model::Group::Expert}}};

/// The forecast of a measured step, in seconds.
struct FittedRun {
  MeasuredLayout run;
  double before = 0;
  double after = 0;
};

struct FittedForecast {
  FittedTerms terms;
  std::vector<model::Group> told = {};  ///< whose exchanges some run has; of the others none counts as hidden
  std::vector<FittedRun> runs;
};

/// The terms under which forecasts come nearest to the steps, by the sum of squares of log(forecast / step). Of one run the hidden share of all exchanges,
/// and the factor where none or all of them hidden is not enough; of more both. Each kind of exchange has a share of its own where there are more runs than
/// kinds. Shares to 0.01. Throws InputError at the run where its forecast cannot be made, and where a factor between 1/4 and 4 is not enough. REQUIRES: a run;
/// `base` names a model and its device, without a hidden share.
/// `go_on`: asked before each forecast; false ends it with Stopped. May be empty.
[[nodiscard]] FittedForecast fit_forecast(const io::Config& base, const std::vector<MeasuredLayout>& runs,
                                          const std::function<bool()>& go_on = {});

/// The configuration under these terms.
[[nodiscard]] io::Config with_terms(io::Config base, const FittedTerms& terms);

}  // namespace pipeloom::study
