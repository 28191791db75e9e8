#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include <pipeloom/study.hpp>
#include "python/bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pipeloom::python {
namespace {

/// Progress of the workers, and the wish to stop them. The workers write `done` and read `stop`; the calling thread reads `done` and writes
/// `stop`.
struct Watch {
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> all = 0;
  std::atomic<bool> stop = false;
};

/// Calls `progress` with the progress. Returns true if it raised, or returned a value that counts as false; None goes on.
bool tell(const nb::object& progress, const Watch& watch) {
  const nb::gil_scoped_acquire gil;
  if (progress.is_none() || watch.all == 0) return false;
  try {
    const nb::object answer = progress(watch.done.load(), watch.all.load());
    return !answer.is_none() && PyObject_IsTrue(answer.ptr()) == 0;
  } catch (nb::python_error& error) {
    error.restore();
    return true;
  }
}

/// Waits on the calling thread, the only one that gets signals, while others work.
Sweep sweep_watched(const std::string& grid, const std::string& path, Control control,
                    const nb::object& progress) {
  Watch watch;
  control.progress = [&watch](std::uint64_t done, std::uint64_t all) {
    watch.done = done;
    watch.all = all;
    return !watch.stop;
  };
  auto working = std::async(std::launch::async, [&] { return run_sweep(grid, path, control); });
  const nb::gil_scoped_release unlocked;
  while (working.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    if (!watch.stop && (signal_raised() || tell(progress, watch))) watch.stop = true;
  }
  // Nothing may be called in Python while an error waits to be raised there.
  if (!watch.stop) tell(progress, watch);
  return working.get();
}

nb::dict point_of(const SweepPoint& point) {
  nb::dict out;
  out["settings"] = point.settings;
  out["status"] = point.status;
  out["metrics"] = point.metrics;
  out["error"] = point.error;
  return out;
}

/// A Ctrl-C ends the work, not the answer: the points so far are returned with `interrupted`.
nb::dict sweep(const std::string& grid, const std::string& path, int threads,
               const std::pair<int, int>& shard, const nb::object& progress) {
  const Control control{.threads = threads, .part = shard.first, .parts = shard.second};
  const Sweep result = sweep_watched(grid, path, control, progress);
  const bool interrupted =
      PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
  if (interrupted) PyErr_Clear();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  nb::dict out;
  nb::list points;
  for (const SweepPoint& point : result.points) points.append(point_of(point));
  out["keys"] = result.keys;
  out["metrics"] = result.metrics;
  out["points"] = points;
  out["complete"] = result.complete;
  out["interrupted"] = interrupted;
  return out;
}

}  // namespace

void bind_study(nb::module_& module) {
  module.def(
      "sweep", &sweep, "grid"_a, "path"_a, "threads"_a, "shard"_a, "progress"_a.none(),
      nb::sig(
          "def sweep(grid: str, path: str, threads: int, shard: tuple[int, int], progress: object | None) "
          "-> dict[str, object]"));
}

}  // namespace pipeloom::python
