#pragma once

#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"

namespace pipeloom::executor::cuda {

/// Calls fn(schedule, description) for every registered schedule: the smallest legal m at p = 2 and 4 ranks, v up to 2, with every
/// variant, 1 to 3 slices.
template <class Fn>
void for_each_small(Fn&& fn) {
  for (const schedules::Generator& generator : schedules::runnable())
    for (const int p : {2, 4})
      for (int v = 1; v <= 2; ++v) {
        bool found = false;
        for (int m = 2; m <= 2 * p + 6 && !found; ++m)
          for (const Params& params :
               schedules::flavours(generator, {.ranks = p, .microbatches = m, .chunks = v}, {0})) {
            if (!schedules::refusal(generator, params).empty()) continue;
            fn(schedules::make(generator, params), schedules::describe(generator, params));
            found = true;
          }
      }
}

inline Schedule moved_and_made_again(const Schedule& schedule) {
  return schedules::with_offload(schedules::with_recompute(schedule, {.keep = 1}),
                                 {.chunks = {}, .min_gap = 1});
}

}  // namespace pipeloom::executor::cuda
