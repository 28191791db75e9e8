#pragma once

// Instances of launch.hpp's templates for every function of kernels.hpp. For the one file of a program that has their bodies: kernels.cu, or
// the file that takes its place in tests.

#include "executor/cuda/kernels/kernels.hpp"
#include "executor/cuda/kernels/launch.hpp"

namespace pipeloom::executor::cuda {

#define PIPELOOM_CELLS(...) \
  template void launch_cells(const __VA_ARGS__&, std::size_t, std::size_t, cudaStream_t)
#define PIPELOOM_ROWS(...) template void launch_rows(const __VA_ARGS__&, std::size_t, cudaStream_t)
#define PIPELOOM_OF(T)                   \
  PIPELOOM_CELLS(AddBias<T>);            \
  PIPELOOM_CELLS(BiasActivation<T>);     \
  PIPELOOM_CELLS(ActivationGradient<T>); \
  PIPELOOM_CELLS(ColumnPart<T>);         \
  PIPELOOM_ROWS(NormForward<T>);         \
  PIPELOOM_ROWS(NormBackward<T>);        \
  PIPELOOM_ROWS(SquaredError<T>)

PIPELOOM_OF(float);
PIPELOOM_OF(Bf16);
PIPELOOM_CELLS(AddTo);
PIPELOOM_CELLS(ColumnTotal);
PIPELOOM_ROWS(Total);

#undef PIPELOOM_OF
#undef PIPELOOM_ROWS
#undef PIPELOOM_CELLS

}  // namespace pipeloom::executor::cuda
