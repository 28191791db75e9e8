#pragma once

// The order of a run's dimensions over its devices.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipeloom {

/// How the devices of a run are numbered: the dimension of the nearest neighbours first. Experts are shared out over ranks of tensor, context and data.
enum class DeviceOrder : std::uint8_t {
  PipelineLast,   ///< "tp-cp-ep-dp-pp", as Megatron-LM and torchtitan do
  DataLast,       ///< "tp-cp-ep-pp-dp", Megatron-LM's --use-tp-pp-dp-mapping
  PipelineFirst,  ///< "pp-tp-cp-ep-dp": a pipeline within a node
};
inline constexpr std::string_view kDeviceOrders[] = {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "pp-tp-cp-ep-dp"};
/// Its word of kDeviceOrders.
[[nodiscard]] constexpr std::string_view name_of(DeviceOrder order) {
  return kDeviceOrders[static_cast<std::size_t>(order)];
}

}  // namespace pipeloom
