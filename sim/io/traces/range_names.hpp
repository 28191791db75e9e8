#pragma once

// What the names of a trace's ranges mean: PyTorch's, and those that a mapping file states for a stack of one's own.
//
//   {"chunks": "loop",
//    "ranges": [
//      {"match": "fwd chunk{chunk} mb{microbatch}", "kind": "F"},
//      {"match": "*/stage{stage}/{kind}/*", "kind": {"backward": "B", "forward": "F"}},
//      {"match": "train_step {step}", "kind": "step"}]}
//
// `match` is the whole name: `*` stands for anything, `?` for one character, {stage}, {chunk}, {microbatch}, {rank} and {step} for a number,
// {kind} for letters. A part that is the same in all ranges of a rule is a number next to `match`: {"match": "fwd", "kind": "F", "stage": 0}.
// The first rule that matches holds. `kind` is F, B, I, W, R or "step", or an object that says what the {kind} of a name stands for.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/traces/trace.hpp"

namespace pipeloom::io {

/// What one range says. Times are not set.
struct RangeMeaning {
  /// One op, or several that ran overlapped.
  std::vector<TraceOp> ops;
  std::optional<TraceMessage> message;
  /// The range holds the work of its op and no wait: `pipeloom.torch.ranges` records such.
  bool holds_no_wait = false;
  /// A mark around one step.
  std::optional<std::int32_t> step;
  std::int32_t rank = kUnknown;
};

/// The parts of a name as a pattern found them; `kind` points into the name.
struct NameParts {
  std::optional<std::int32_t> stage, chunk, microbatch, rank, step;
  std::string_view kind;
};
/// Nothing unless the pattern matches the whole name. O(length of the pattern times length of the name).
[[nodiscard]] std::optional<NameParts> match_name(std::string_view pattern, std::string_view name);

/// True if a file's text is meant as a mapping: an object with "ranges".
[[nodiscard]] bool looks_like_mapping(std::string_view text);

class RangeNames {
 public:
  /// "PP:0F3", "PP:(0F3;7B1)OVERLAP_F_B", "PP:0SEND_F3", "Forward 3", "Backward 3", "ProfilerStep#12": torch.distributed.pipelining under
  /// torch.profiler; "pipeloom:0F3": pipeloom.torch.ranges.
  RangeNames();
  /// Those of a mapping file instead. Throws InputError with line and column.
  explicit RangeNames(const std::string& path);
  RangeNames(RangeNames&&) noexcept;
  RangeNames& operator=(RangeNames&&) noexcept;
  ~RangeNames();

  [[nodiscard]] std::optional<RangeMeaning> meaning(std::string_view name) const;
  [[nodiscard]] ChunkOrder chunk_order() const { return chunk_order_; }
  /// Names come from a mapping file, and no others count.
  [[nodiscard]] bool is_mapped() const { return is_mapped_; }

 private:
  struct Rule;
  std::vector<Rule> rules_;
  bool is_mapped_ = false;
  ChunkOrder chunk_order_ = ChunkOrder::Loop;
};

}  // namespace pipeloom::io
