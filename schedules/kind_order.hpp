#pragma once

// Orders said as kinds: on a linear placement each rank has one stage, and where every kind takes its microbatches in turn the kinds say
// all.

#include <array>
#include <span>
#include <utility>

#include "schedules/placements.hpp"

namespace pipeloom::schedules {

/// The schedule of `queues`, whose parts of equal length are the kinds of the ranks' entries; the k-th op of a kind on a rank belongs to
/// microbatch k. REQUIRES: queues.size() is a multiple of the ranks, and no rank has a kind more often than there are microbatches.
[[nodiscard]] inline Schedule schedule_of_kinds(std::span<const OpKind> queues, const Params& params) {
  ScheduleBuilder out(linear_placement(params), params.microbatches);
  out.reserve(queues.size());
  const std::size_t length = queues.size() / static_cast<std::size_t>(params.ranks);
  for (int r = 0; r < params.ranks; ++r) {
    out.begin_rank(Rank(r));
    std::array<int, kOpKinds> next = {};
    for (const OpKind kind : queues.subspan(static_cast<std::size_t>(r) * length, length))
      out.add({kind, Stage(r), Microbatch(next[index_of(kind)]++)});
  }
  return std::move(out).build();
}

}  // namespace pipeloom::schedules
