#pragma once

#include "cli/mpi/mail.hpp"
#include "cli/sweep/sweep_options.hpp"

namespace pipeloom::cli::mpi {

/// A rank that evaluates what rank 0 sends, until that says stop; then it ends the process. What is wrong with the sweep is for rank 0
/// to say. The exit status is 3 if rank 0 is gone, or silent for several times `patience`.
[[noreturn]] void run_worker(Mail& mail, const SweepArguments& arguments, Clock::duration patience);

}  // namespace pipeloom::cli::mpi
