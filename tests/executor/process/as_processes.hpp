#pragma once

// The processes of a run as threads of the test: each has its own clock, sockets and loop, as if it were alone.

#include <functional>
#include <string>
#include <vector>

#include "executor/process/process_run.hpp"

namespace pipeloom::executor {

/// How one process came back.
struct Outcome {
  ProcessResult result;
  std::string error;  ///< "" if it ended well
  bool is_run_failed = false;
  bool is_told = false;
  std::vector<std::string> last_actions;
  Timeline partial;
};

/// What may differ from process to process.
struct ProcessSetup {
  Program program;
  RunOptions options;
  std::vector<net::Agreement> agreements;
  int world_size = 0;
  /// What the process does; empty: run_as_process().
  std::function<ProcessResult(const ProcessSetup&, const net::World&)> run = {};
};

/// Runs a schedule's ranks; [rank]. `change` is called for each before it starts.
[[nodiscard]] std::vector<Outcome> run_as_processes(
    const Program& program, Work& work, const RunOptions& options,
    const std::function<void(Rank, ProcessSetup&)>& change = [](Rank, ProcessSetup&) {});

}  // namespace pipeloom::executor
