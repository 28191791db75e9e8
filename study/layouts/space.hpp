#pragma once

// All layouts of a model on a number of devices, and which of them no target runs.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hardware/hardware.hpp"
#include "sim/model/model.hpp"
#include "study/layouts/layout.hpp"
#include "study/targets/target.hpp"

namespace pipeloom::study {

/// Why a layout is not simulated, or not shown.
enum class Excluded : std::uint8_t {
  Model,       ///< the model's heads, widths, experts or tokens cannot be shared out so
  Batch,       ///< the global batch is no multiple of its replicas' microbatches
  FastDomain,  ///< tensor ranks would not be in one node
  Target,      ///< no target runs it, or can be told it
  Order,       ///< the schedule refuses the number of ranks, chunks or microbatches
  Memory,      ///< a rank would hold too much
  Slower,      ///< a bound on its step is above what is there
  NotTried     ///< the search was ended before
};
inline constexpr std::array kExcluded = {Excluded::Model,  Excluded::Batch,   Excluded::FastDomain,
                                         Excluded::Target, Excluded::Order,   Excluded::Memory,
                                         Excluded::Slower, Excluded::NotTried};
/// "model", "batch", "fast_domain", "target", "order", "memory", "slower", "not_tried".
[[nodiscard]] std::string_view name_of(Excluded excluded);

/// Numbers of layouts by why they are left out.
class ExclusionCounts {
 public:
  void add(Excluded excluded, std::int64_t count = 1) {
    counts_[static_cast<std::size_t>(excluded)] += count;
  }
  [[nodiscard]] std::int64_t of(Excluded excluded) const {
    return counts_[static_cast<std::size_t>(excluded)];
  }

 private:
  std::array<std::int64_t, kExcluded.size()> counts_ = {};
};

/// Sizes that every layout has: "tp", "cp", "ep", "pp", "dp", "micro_batch", "chunks", "zero", "shards" with a number.
using Fixed = std::map<std::string, int, std::less<>>;
/// The keys of Fixed.
inline constexpr std::array<std::string_view, 9> kFixable = {"tp",          "cp",     "ep",   "pp",    "dp",
                                                             "micro_batch", "chunks", "zero", "shards"};

/// The model, devices and batch that layouts are of.
struct SpaceOf {
  const model::Model* model = nullptr;
  const hardware::Hardware* hardware = nullptr;
  model::Split split = {};  ///< its sequence and what else no layout changes
  int devices = 1;
  int global_batch = 1;
  int max_context = 8;
  Fixed fixed = {};
  std::optional<DeviceOrder> order = {};  ///< of all layouts; no value: those that the targets can be told
  const Target* target = nullptr;         ///< null: any of targets()
};

struct Space {
  std::vector<ParallelLayout> layouts = {};
  std::int64_t points = 0;  ///< with those that are left out
  ExclusionCounts excluded = {};
};

/// Each divisor of the devices for each dimension, microbatches of 1 to 16 samples, each of kRecomputeChoices that the model has (of whole layers 1, 2, 4, .. of a stage too), and each order that the target makes itself
/// with numbers of chunks up to one layer a stage: of those whose largest stages have as many layers, the smallest. Orders that hold all microbatches
/// are not among them. ZeRO 1, without a pipeline 3 as well, over all data ranks or over those of a node, or the level and the shards that are fixed. Devices are
/// numbered with the pipeline last, and with data last where that brings stages into a node.
[[nodiscard]] Space space_of(const SpaceOf& of);

/// The target's word for the order `order` of a layout's generator; "" where it makes none.
[[nodiscard]] std::string_view own_alias(const Target& target, std::string_view order);

}  // namespace pipeloom::study
