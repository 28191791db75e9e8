#pragma once

// Time of one layer's passes on a rank.

#include <array>

#include "sim/estimate/estimate.hpp"

namespace pipeloom::estimate {

struct LayerTime {
  std::array<PassTime, model::kPasses> pass = {};
  PassTime recomputed = {};  ///< its forward, run again
  Exchanged exchanged = {};
  Found found = {};
};

/// Time of a layer from the model's profile where it has one, else from the work on the hardware.
[[nodiscard]] LayerTime layer_time(const Setting& setting, const model::Layer& layer);
[[nodiscard]] LayerTime embedding_time(const Setting& setting);
/// Time of the last stage in addition to its layers: the final norm, and head and loss unless all stages share them.
[[nodiscard]] LayerTime last_stage_time(const Setting& setting);
/// A stage's share of head and loss, that of MTP layers' heads with it.
[[nodiscard]] LayerTime shared_head_time(const Setting& setting);
/// Time of an MTP layer in addition to its layer: the projection that joins a token with the next one, and, unless all stages share them, a head and
/// loss of its own.
[[nodiscard]] LayerTime mtp_time(const Setting& setting);

}  // namespace pipeloom::estimate
