#pragma once

// Queues as a file reader collects them, and the schedule that they make.

#include <cstdint>
#include <span>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/text.hpp"

namespace pipeloom::io {

/// Collects entries rank by rank. Sizes are bounded by the text that was read, never by numbers in it.
class QueueReader {
 public:
  /// `where` is the place that errors about the whole point at.
  explicit QueueReader(Where where) : where_(std::move(where)) {}

  /// Throws InputError beyond kMaxIndex ranks.
  void begin_rank();
  /// One entry of the current rank. REQUIRES: ops is not empty.
  void add(std::span<const Op> ops, const Where& where);

  [[nodiscard]] int ranks() const { return static_cast<int>(queues_.size()); }
  /// One more than the highest stage and microbatch seen.
  [[nodiscard]] int stages() const { return stages_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }

  /// infer_placement(), its errors at `where`.
  [[nodiscard]] InferredPlacement infer() const;
  /// Throws InputError if the ops are far too few for their numbers: a few bytes naming microbatch 999999 must not make
  /// tables for a million of them.
  [[nodiscard]] Schedule build(InferredPlacement placement) const;

 private:
  void require_dense(int stages, std::int64_t microbatches) const;
  /// Throws InputError if only some ops name a slice, or if there would be too many units.
  [[nodiscard]] int slices_for(int microbatches) const;

  Where where_;
  std::vector<std::vector<Op>> queues_;
  std::size_t num_ops_ = 0;
  int stages_ = 0;
  int microbatches_ = 0;
  int slices_ = 1;
  bool has_sliced_ = false;
  bool has_whole_ = false;
};

}  // namespace pipeloom::io
