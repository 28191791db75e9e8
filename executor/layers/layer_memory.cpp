#include "executor/layers/layer_memory.hpp"

namespace pipeloom::executor {
namespace {

/// Numbers per row.
struct Kept {
  Bytes forward = 0;
  Bytes input_done = 0;
};

Kept kept_by_block(const LayersConfig& config) {
  const Bytes w = config.width;
  const Bytes d = config.hidden;
  if (config.arithmetic == Arithmetic::Integer) return {w + 2 * d, 2 * w + 2 * d};
  const Kept linear = {2 * w + 1 + 2 * d, 4 * w + 2 * d};
  if (config.heads == 0) return linear;
  const Bytes probabilities = Bytes{config.heads} * config.rows;
  return {linear.forward + 6 * w + 1 + probabilities, linear.input_done + 8 * w};
}

}  // namespace

std::optional<MemoryModel> layer_memory(const LayersConfig& config, const Schedule& schedule) {
  if (config.heads > 0 && schedule.slices() > 1) return std::nullopt;
  if (schedule.has_copies() || schedule.is_forward_only()) return std::nullopt;
  const Bytes row = Bytes{sizeof(float)} * config.rows;
  const Kept block = kept_by_block(config);
  MemoryModel model = default_memory(schedule.placement());
  for (std::size_t slot = 0; slot < model.activation.size(); ++slot) {
    const int stage = static_cast<int>(slot) % schedule.stages();
    const Bytes error = stage + 1 == schedule.stages() ? config.width : 0;
    model.activation[slot] = row * (config.blocks * block.forward + error);
    model.released_at_input[slot] = row * (config.blocks * (block.forward - block.input_done) + error);
    model.stash[slot] = row * config.width;
  }
  if (schedule.slices() == 1) return model;
  model.slice_end.push_back(0);
  for (int slice = 0; slice < schedule.slices(); ++slice)
    model.slice_end.push_back(
        static_cast<std::int64_t>(rows_of_slice(config, slice, schedule.slices()).last));
  return model;
}

}  // namespace pipeloom::executor
