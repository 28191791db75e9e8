#pragma once

// The text form of ops and schedules: PyTorch's, `<stage><kind><microbatch>`, `.j` behind it for slice j of a sliced sequence.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sim/schedule.hpp"

namespace pipeloom {

/// "3I7".
[[nodiscard]] std::string to_text(Op op);
/// Writes to_text(op) at `out`; returns one past the end. REQUIRES: room for kMaxOpText characters.
char* write_op(char* out, Op op);
inline constexpr int kMaxOpText = 32;

/// "3I7", or "(0F7;7B3)OVERLAP_F_B" for the entry of op indices [first, last). A group that is not one
/// forward and one full backward is written with the suffix OVERLAP.
[[nodiscard]] std::string entry_text(const Schedule& schedule, std::size_t first, std::size_t last);
/// The entries of a rank's queue, separated by one space.
[[nodiscard]] std::string queue_text(const Schedule& schedule, Rank rank);

/// Reads "3I7" or "3I7.2" exactly: no spaces, no leading zeros beyond a single 0, nothing after it. Numbers at
/// or above kMaxIndex do not parse.
[[nodiscard]] std::optional<Op> parse_op(std::string_view text);
/// Reads one entry: an op, or ops in parentheses separated by `;` with a suffix OVERLAP_F_B or OVERLAP.
/// Empty when the text is neither.
[[nodiscard]] std::vector<Op> parse_entry(std::string_view text);

/// Reads a whole schedule: entries separated by spaces, ranks by `|`. Stages and microbatches are
/// as many as the text names. The placement is where each stage's ops stand; a stage found on two ranks
/// makes replicas, told apart by the microbatches that share the same ranks.
/// Throws InputError naming the word that does not parse.
[[nodiscard]] Schedule parse_schedule(std::string_view text);

/// The placement and the microbatch -> replica map that a set of queues implies. Shared by every
/// schedule reader. queues[r] holds the ops of rank r. Throws InputError if more than 255 replicas would be
/// needed, a stage below the highest one appears nowhere, or only some ops name a slice.
struct InferredPlacement {
  Placement placement;
  std::vector<std::uint8_t> replica_of_microbatch;
  int microbatches = 0;
  int slices = 1;
};
[[nodiscard]] InferredPlacement infer_placement(const std::vector<std::vector<Op>>& queues);

}  // namespace pipeloom
