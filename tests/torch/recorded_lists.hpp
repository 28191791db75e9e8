#pragma once

// Action lists that PyTorch's own passes made, as the tests of sim/torch read them.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/actions.hpp"

namespace pipeloom::recorded {

/// One schedule of tests/golden/torch_lowered/index.json.
struct TorchSchedule {
  std::string id;
  std::string name;  ///< PyTorch's class
  int ranks = 0;
  int stages = 0;
  int microbatches = 0;
  std::vector<int> rank_of_stage;
  std::vector<std::string> kinds;  ///< of recorded lists
  int dry_run_steps = 0;           ///< 0 where there is no `sim`
  std::vector<std::int32_t> peak_stage_microbatch;
  std::vector<std::int32_t> peak_microbatch;
  /// Of the kind `runtime`: [rank][i] is a batch of messages, actions [first, second) of the row.
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> batches;

  [[nodiscard]] bool has(const std::string& kind) const;
  /// The recorded rows; the test fails if there are none.
  [[nodiscard]] ActionLists lists(const std::string& kind) const;
};
const std::vector<TorchSchedule>& torch_schedules();

/// The parts of a file of tests/golden/torch_lowered/ by name, "<shape>.<kind>". `file` is without its extension.
std::map<std::string, ActionLists> lists_of_file(const std::string& file);

/// A file of tests/golden/torch_lowered/custom/ and what PyTorch does with it.
struct CustomFile {
  std::string name;
  bool lowered = false;  ///< compute_comms
  int ranks = 0;
  int stages = 0;
  int microbatches = 0;
  bool ok = false;
  std::vector<int> rank_of_stage;  ///< if ok
  std::string phase;               ///< unless ok
  std::string exception;
  std::string dry_run;    ///< "completes", "deadlock" or ""
  int dry_run_steps = 0;  ///< 0 if not recorded

  [[nodiscard]] std::string text() const;
};
std::vector<CustomFile> custom_files();

/// Parameters that the constructor of a PyTorch class refuses.
struct RefusedRun {
  std::string name;
  int ranks = 0;
  int chunks = 0;
  int microbatches = 0;
};
std::vector<RefusedRun> refused_runs();

/// Rows of cells as text, one line per rank: what a failing comparison shows.
std::string rows_text(const ActionLists& lists);

}  // namespace pipeloom::recorded
