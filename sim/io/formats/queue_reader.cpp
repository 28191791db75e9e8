#include "sim/io/formats/queue_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pipeloom::io {
namespace {

// Below this many (stage, microbatch) pairs even an almost empty file is read, so that validate() can list the missing ops.
constexpr std::int64_t kAlwaysAllowedPairs = 1 << 14;
constexpr std::int64_t kMaxPairsPerOp = 4;
// Overlapped groups are pairs in every known schedule.
constexpr std::size_t kMaxGroup = 64;

}  // namespace

void QueueReader::begin_rank() {
  if (queues_.size() == static_cast<std::size_t>(kMaxIndex))
    throw InputError(
        where_, fmt::format("more than {} ranks; at most that many are allowed: leave some out", kMaxIndex));
  queues_.emplace_back();
}

void QueueReader::add(std::span<const Op> ops, const Where& where) {
  if (ops.size() > kMaxGroup)
    throw InputError(
        where, fmt::format("a group of {} ops; at most {} may overlap: split it", ops.size(), kMaxGroup));
  for (std::size_t i = 0; i < ops.size(); ++i) {
    stages_ = std::max(stages_, ops[i].stage().value() + 1);
    microbatches_ = std::max(microbatches_, ops[i].microbatch().value() + 1);
    slices_ = std::max(slices_, ops[i].slice() + 1);
    (ops[i].is_sliced() ? has_sliced_ : has_whole_) = true;
    // The joined mark keeps the grouping: the engine's own form.
    queues_.back().push_back(ops[i].with_joined(i + 1 < ops.size()));
    if (std::find(ops.begin() + static_cast<std::ptrdiff_t>(i) + 1, ops.end(), ops[i]) != ops.end())
      throw InputError(
          where, fmt::format("the group has {} twice; each op of a group stands once", to_text(ops[i])));
  }
  num_ops_ += ops.size();
}

int QueueReader::slices_for(int microbatches) const {
  if (has_sliced_ && has_whole_)
    throw InputError(
        where_,
        "some ops name a sequence slice (0F0.1) and others do not (0F0); name it everywhere or nowhere");
  if (static_cast<std::int64_t>(microbatches) * slices_ > kMaxIndex)
    throw InputError(
        where_, fmt::format("{} microbatches of {} slices are more than the {} units allowed; take fewer",
                            microbatches, slices_, kMaxIndex));
  return slices_;
}

void QueueReader::require_dense(int stages, std::int64_t microbatches) const {
  const std::int64_t pairs = stages * microbatches;
  if (pairs > std::max(kAlwaysAllowedPairs, kMaxPairsPerOp * static_cast<std::int64_t>(num_ops_)))
    throw InputError(
        where_,
        fmt::format("{} stages and {} microbatches need an op for each of {} pairs, but there are only {} "
                    "ops; the file is incomplete or a number in it is wrong",
                    stages, microbatches, pairs, num_ops_));
}

InferredPlacement QueueReader::infer() const {
  require_dense(stages_, microbatches_);
  try {
    return infer_placement(queues_);
  } catch (const InputError& error) {
    throw InputError(where_, error.what());
  }
}

Schedule QueueReader::build(InferredPlacement placement) const {
  placement.slices = slices_for(placement.microbatches);
  require_dense(placement.placement.stages(),
                static_cast<std::int64_t>(placement.microbatches) * placement.slices);
  if (placement.placement.replicas() > 1)
    placement.replica_of_microbatch.resize(static_cast<std::size_t>(placement.microbatches), 0);
  ScheduleBuilder out(std::move(placement.placement), placement.microbatches,
                      std::move(placement.replica_of_microbatch), placement.slices);
  out.reserve(num_ops_);
  for (std::size_t r = 0; r < queues_.size(); ++r) {
    out.begin_rank(Rank(static_cast<std::int32_t>(r)));
    const auto& queue = queues_[r];
    for (std::size_t first = 0; first < queue.size();) {
      std::size_t last = first + 1;
      while (queue[last - 1].joined()) ++last;
      out.add_group(std::span<const Op>(queue).subspan(first, last - first));
      first = last;
    }
  }
  return std::move(out).build();
}

}  // namespace pipeloom::io
