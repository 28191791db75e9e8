#pragma once

// Options of `pipeloom run`.

#include <optional>
#include <string>

#include "cli/options.hpp"
#include "cli/run/run_launch.hpp"
#include "cli/run/run_work.hpp"
#include "executor/run/run.hpp"
#include "sim/cost/cost_spec.hpp"

namespace pipeloom::cli {

/// As the command line gives it: texts, checked by the functions below.
struct RunArguments {
  InputOptions input;
  OutputOptions output;
  std::string backend = "cpu";
  std::string steps = "5";
  std::string warmup = "1";
  std::string timeout = "30";
  std::optional<std::string> unit_ms;
  WorkArguments work;
  LaunchArguments launch;
  bool no_handshake = false;
  std::optional<std::string> timeline_file;
  std::optional<std::string> costs_file;
  std::optional<std::string> layers;  ///< of each stage, for the costs
  bool compare = false;
  bool checksums = false;
  bool force = false;
  PrintOptions print;

  [[nodiscard]] bool on_gpus() const { return backend == "cuda"; }
};

void add_run_arguments(OptionList& list, RunArguments& arguments);

/// The input with all times on a real clock. Throws InputError.
[[nodiscard]] Input read_timed_input(const RunArguments& arguments);
/// Steps, timeout and the content of messages. Throws InputError.
[[nodiscard]] executor::RunOptions run_options(const RunArguments& arguments);
/// How messages wait for each other.
[[nodiscard]] QueueDiscipline queue_of(const cost::TransferSpec& transfer);

}  // namespace pipeloom::cli
