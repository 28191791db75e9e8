#pragma once

// A layout as people and programs read it.

#include <string>

#include "cli/console.hpp"
#include "cli/pages/layout_plan.hpp"

namespace pipeloom::cli {

/// Title, the stages, the sums of the ranks, where the last stage is, the layout string, advice. Modules are shown as ranges;
/// more than 64 stages are shown from both ends unless `everything`.
[[nodiscard]] std::string layout_page(const LayoutRequest& request, const LayoutPlan& plan,
                                      const Screen& screen, bool everything);

/// The same as JSON, modules one by one.
[[nodiscard]] std::string layout_json(const LayoutRequest& request, const LayoutPlan& plan);

/// [["tok_embeddings", "layers.0"], ["layers.1", ..], ..]: the modules by stage, as torchtitan's module_fqns_per_model_part takes
/// them.
[[nodiscard]] std::string modules_json(const LayoutRequest& request, const LayoutPlan& plan);

/// What a layer costs, for a table of costs by stage.
struct LayerCosts {
  TimeUnit unit = TimeUnit::Unit;
  Ticks forward = 0;  ///< of one decoder or MTP layer
  Ticks backward = 0;
  std::int64_t embedding = 0;  ///< work of the embedding in layers, times 1e9
  std::int64_t head = 0;       ///< of the head
};

/// The "costs" object of a configuration whose forward and backward have an entry per stage: layers times the times of a layer.
/// Throws InputError if a time does not fit 2^62 ticks.
[[nodiscard]] std::string costs_json(const LayoutPlan& plan, const LayerCosts& costs);

}  // namespace pipeloom::cli
