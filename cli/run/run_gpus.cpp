#include "cli/run/run_gpus.hpp"

#include <fmt/format.h>

#include <pipeloom/error.hpp>
#include "cli/sibling.hpp"

namespace pipeloom::cli {
namespace {

const GpuBackend* backend_of_program = nullptr;

}  // namespace

void set_gpus(const GpuBackend& backend) {
  backend_of_program = &backend;
}

const GpuBackend* gpus() {
  return backend_of_program;
}

void require_gpus() {
  if (gpus() != nullptr) return gpus()->require_device();
  const auto program = find_sibling(kGpuProgram, "cli");
  if (!program)
    throw SystemError(fmt::format(
        "--backend cuda: {0} is neither next to this program nor on PATH; build it where nvcc and NCCL are "
        "(`cmake --preset cuda && cmake --build build/cuda --target {0}`), or use --backend cpu",
        kGpuProgram));
  auto words = own_words("--backend cuda");
  words.erase(words.begin());
  become(*program, words);
}

}  // namespace pipeloom::cli
