#include "executor/layers/stage_keys.hpp"

namespace pipeloom::executor {

bool may_go_forward(const StageKeys& keys, int slice) {
  return slice == 0 || !keys.front()[static_cast<std::size_t>(slice) - 1].keys.empty();
}

bool may_go_backward(const StageKeys& keys, int slice) {
  const std::vector<SliceKeys>& slices = keys.front();
  const auto own = static_cast<std::size_t>(slice);
  return own + 1 == slices.size() || (slices[own + 1].keys.empty() && !slices[own].key_gradient.empty());
}

std::size_t bytes_up_to(const StageKeys& keys, int slice) {
  std::size_t bytes = 0;
  for (const std::vector<SliceKeys>& block : keys)
    for (std::size_t i = 0; i <= static_cast<std::size_t>(slice); ++i)
      for_each_key_tensor(block[i], [&](const Tensor& tensor) { bytes += tensor.size() * sizeof(float); });
  return bytes;
}

void discard_all(StageKeys& keys) {
  for (std::vector<SliceKeys>& block : keys)
    for (SliceKeys& slice : block) for_each_key_tensor(slice, discard);
}

}  // namespace pipeloom::executor
