// The program `pipeloom-cuda`: all commands of pipeloom, and `run --backend cuda`. A program of its own, so that pipeloom starts where there
// are no CUDA libraries.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/cuda/gpus.hpp"
#include "sim/io/json/process.hpp"

int main(int argc, char** argv) {
  pipeloom::io::prepare_process();
  // As in cli/main.cpp.
  std::signal(SIGPIPE, SIG_DFL);
  static const pipeloom::cli::cuda::Gpus gpus;
  pipeloom::cli::set_gpus(gpus);
  const int status =
      pipeloom::cli::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  // Not by way of CUDA's own goodbye, which would wait for a device that hangs.
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(status);
}
