#pragma once

// Many runs at once.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/run.hpp>

namespace pipeloom {

/// Threads, progress, limits and part of a long computation.
struct Control {
  int threads = 0;  ///< 0: as many as the process may use
  /// Called now and then with the number of points that are done and of all points, from one thread at a time; false ends it. May be empty.
  std::function<bool(std::uint64_t done, std::uint64_t all)> progress = {};
  Limits limits = {};
  /// Part `part` of `parts`, from 1, as `pipeloom sweep --shard` deals points out: those of other parts are passed over.
  int part = 1;
  int parts = 1;
};

struct SweepPoint {
  std::vector<std::string> settings;  ///< [key]: JSON text of the value
  std::string status;  ///< "ok", "illegal", "deadlock", "over_memory", "failed"; "" if it was not evaluated
  std::vector<std::optional<double>> metrics;  ///< [metric]; times in the run's unit; nullopt unless it ran
  std::string error;                           ///< one line where it did not, or is over its memory
};
struct Sweep {
  std::vector<std::string> keys;     ///< the keys that vary: "schedule", "costs.forward"
  std::vector<std::string> metrics;  ///< as asked for
  std::vector<SweepPoint> points;    ///< in the grid's order
  bool complete = true;              ///< false if Control::progress ended it
};

/// Runs every point of a grid, which is JSON text (docs/sweeps.md); errors name it `path`, and relative names of files
/// start from its folder. Throws InputError if the grid or the part is wrong; a fault of a point is that point's status.
[[nodiscard]] Sweep run_sweep(std::string_view grid, const std::string& path = "grid",
                              const Control& control = {});

}  // namespace pipeloom
