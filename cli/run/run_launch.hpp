#pragma once

// Where the ranks of `pipeloom run` run: threads of this process, or processes that a launcher or this one starts.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/console.hpp"
#include "cli/option_list.hpp"
#include "executor/net/world.hpp"

namespace pipeloom::cli {

struct LaunchArguments {
  std::string launch = "auto";
};
/// --launch.
void add_launch_options(OptionList& list, LaunchArguments& arguments);

struct Launch {
  enum class Where {
    Threads,    ///< all ranks in this process
    Local,      ///< this process starts one for each rank, here
    Elsewhere,  ///< this process is one rank: `world` says which
  };
  Where where = Where::Threads;
  std::optional<executor::net::World> world;

  /// True if this process prints and writes the results.
  [[nodiscard]] bool reports() const { return !world || world->rank == 0; }
};

/// The launch that --launch asks for: "auto" is a rank where a launcher says that there are several, else threads. Throws InputError for other
/// words, for "env" without a launcher, and as executor::net::world_of().
[[nodiscard]] Launch launch_of(const LaunchArguments& arguments,
                               const executor::net::Environment& environment);

/// In a process that launch_locally() started: ends it when its launcher is gone, or at once if it already is.
void end_with_launcher();
/// In such a process, once the ranks have met: from now on rank 0 reports what happens to the others. REQUIRES: called once.
void tell_launcher_that_all_met();

/// Starts this program again, with the same arguments, as `ranks` processes that know their rank by RANK, WORLD_SIZE, LOCAL_RANK and
/// MASTER_ADDR, and waits until all have ended. Interrupting this one interrupts them. The exit code: that of rank 0, or if that is Ok the
/// first other one. Throws SystemError if they cannot be started, or if a signal ends one of them before all have met: it is named, and
/// the others are ended.
[[nodiscard]] ExitCode launch_locally(int ranks);

// How far `pipeloom run` is, on standard error.

/// A line on a terminal while it lives: "step 3 of 6, 4 s left".
class RunProgress {
 public:
  explicit RunProgress(bool wanted) : line_(wanted) {}

  /// For executor::RunOptions::progress; empty if nothing is shown.
  [[nodiscard]] std::function<void(int, int)> callback();

 private:
  ProgressLine line_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace pipeloom::cli
