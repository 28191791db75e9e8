#pragma once

// A way to spread a model over devices: the sizes of its groups, the batch's parts, the order of the passes, and what runs again.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/device_order.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/io/config/config.hpp"
#include "sim/options.hpp"

namespace pipeloom::study {

/// A part that runs again in a backward: modules of every layer, or whole layers.
struct RecomputeChoice {
  std::string_view word;     ///< as --recompute takes it
  std::string_view modules;  ///< separated by commas
  bool whole = false;        ///< whole layers
};
/// Those of recipes that Megatron-Bridge publishes (067f987), the least first.
inline constexpr std::array<RecomputeChoice, 7> kRecomputeChoices = {
    {{"none", ""},
     {"selective", kSelectiveModules},
     {"mla_up_proj", "mla_up_proj"},
     {"layernorm,moe_act", "layernorm,moe_act"},
     {"mlp", "mlp"},
     {"mla_up_proj,mlp", "mla_up_proj,mlp"},
     {"full", "", true}}};

/// Devices: tensor x context x data x pipeline; experts are shared out over neighbours of tensor, context and data.
struct ParallelLayout {
  int tensor = 1;
  int context = 1;
  int expert = 1;  ///< divides tensor x context x data; experts are not cut by tensor ranks (etp is 1)
  int pipeline = 1;
  int data = 1;
  int zero = 1;
  int shards = 0;              ///< of the data ranks, as model::Split has it
  int micro_batch = 1;         ///< samples
  int microbatches = 1;        ///< of a pipeline and step
  int chunks = 1;              ///< stages of a rank
  std::uint8_t recompute = 0;  ///< of kRecomputeChoices
  int layers_again = 0;        ///< of each stage's layers, where whole ones run again; 0: all
  DeviceOrder devices = DeviceOrder::PipelineLast;
  std::string_view order;  ///< a name of the schedule that schedules::find() knows, with static storage

  friend bool operator==(const ParallelLayout&, const ParallelLayout&) = default;
};

/// The sizes that rows of an answer differ in: tensor, context, expert, pipeline. Data follows from the devices.
using SplitKey = std::array<int, 4>;
[[nodiscard]] SplitKey split_key(const ParallelLayout& layout);
/// "tp4 pp4 cp2 ep8", without those that are 1; "dp" where all are.
[[nodiscard]] std::string split_text(const ParallelLayout& layout);

[[nodiscard]] inline const RecomputeChoice& recompute_of(const ParallelLayout& layout) {
  return kRecomputeChoices[layout.recompute];
}
/// "none", "selective", "mlp", "full", "2 layers".
[[nodiscard]] std::string recompute_text(const ParallelLayout& layout);
/// The registry's name of its order.
[[nodiscard]] const std::string& order_name(const ParallelLayout& layout);

/// The configuration of the layout's run. `layers`: decoder layers of each stage; empty: as they are dealt out where nothing is said. REQUIRES: `base` names
/// a model, and its schedule takes one stage a rank.
[[nodiscard]] io::Config config_of(const io::Config& base, const ParallelLayout& layout,
                                   const std::vector<int>& layers = {});
/// `base`, the split of any layout of the same model, with this one's sizes.
[[nodiscard]] model::Split split_of(model::Split base, const ParallelLayout& layout);
/// The setting of the layout's times and bytes: `base`, of any layout of the same model, with this one's numbers.
[[nodiscard]] estimate::Setting setting_of(estimate::Setting base, const ParallelLayout& layout);

}  // namespace pipeloom::study
