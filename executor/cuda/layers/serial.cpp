#include "executor/cuda/layers/serial.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include <pipeloom/schedule.hpp>

namespace pipeloom::executor::cuda {

Schedule serial_schedule(const PipelineSizes& sizes) {
  std::string queue;
  const auto add = [&](char letter, int stage, int microbatch, int slice) {
    queue += fmt::format("{}{}{}", stage, letter, microbatch);
    queue += sizes.slices > 1 ? fmt::format(".{} ", slice) : " ";
  };
  for (int k = 0; k < sizes.microbatches; ++k)
    for (int slice = 0; slice < sizes.slices; ++slice) {
      for (int stage = 0; stage < sizes.stages; ++stage) add('F', stage, k, slice);
      for (int stage = sizes.stages; stage-- > 0;) add('B', stage, k, slice);
    }
  return parse_schedule(queue);
}

Reference with_gradients(Reference reference, Gradients serial) {
  reference.gradients = std::move(serial);
  return reference;
}

}  // namespace pipeloom::executor::cuda
