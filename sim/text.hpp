#pragma once

// The text form of ops and schedules: PyTorch's, `<stage><kind><microbatch>`, with `.j` after it for slice j of a sliced sequence.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <pipeloom/schedule.hpp>

namespace pipeloom {

/// Writes to_text(op) at `out`; returns one past the end. REQUIRES: room for kMaxOpText characters.
char* write_op(char* out, Op op);
inline constexpr int kMaxOpText = 32;
/// The op's last part alone: microbatch, and slice where there are any ("7", "7.3").
char* write_op_number(char* out, Op op);

/// The op whose last part, to the end of `text`, write_op_number() wrote. Returns nullopt for other text.
[[nodiscard]] std::optional<Op> parse_op_number(OpKind kind, Stage stage, std::string_view text);
/// Takes a number below kMaxIndex, without leading zeros, off the front of `text`. Returns nullopt if there is none.
[[nodiscard]] std::optional<std::int32_t> take_index(std::string_view& text);

/// "3I7", or "(0F7;7B3)OVERLAP_F_B" for the entry of op indices [first, last). A group that is not one
/// forward and one full backward is written with the suffix OVERLAP.
[[nodiscard]] std::string entry_text(const Schedule& schedule, std::size_t first, std::size_t last);
/// The same of the entry's ops.
[[nodiscard]] std::string entry_text(std::span<const Op> ops);

/// Reads one entry: an op, or ops in parentheses separated by `;` with a suffix OVERLAP_F_B or OVERLAP.
/// Empty when the text is neither.
[[nodiscard]] std::vector<Op> parse_entry(std::string_view text);

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
/// The schedule of the same queues, whose joined ops are groups. Throws as infer_placement().
[[nodiscard]] Schedule build_schedule(const std::vector<std::vector<Op>>& queues);

}  // namespace pipeloom
