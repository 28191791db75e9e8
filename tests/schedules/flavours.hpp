#pragma once

// The parameters beyond p, m and v that a schedule takes, for tests that go over every schedule.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

inline std::string describe(const Generator& generator, const Params& params) {
  return fmt::format("{} {} p = {}, m = {}, v = {}, N = {}, {} slices, {} waves, {} updates", generator.name,
                     params.variant, params.ranks, params.microbatches, params.chunks,
                     params.group_size ? std::to_string(*params.group_size) : "default", params.slices,
                     params.waves, params.updates);
}

/// Whether the search for an order would take more of a grid's time than it tells.
inline bool is_slow(const Generator& generator, const Params& params) {
  return generator.requirements.slow_search && params.ranks * params.microbatches > 24;
}

/// Every variant; of a schedule that plays its rules in several ways only the default, which is the best of them all.
inline std::vector<std::string> variants_of(const Generator& generator) {
  const Requirements& needs = generator.requirements;
  if (needs.variants.empty()) return {""};
  return needs.needs_terms ? std::vector<std::string>{needs.variants.front()} : needs.variants;
}

/// p, m and v with every variant and, where the schedule takes them, with groups of these sizes (0: the default), 1 to 3
/// slices, 1 and 3 updates. Waves are what v asks for.
inline std::vector<Params> flavours(const Generator& generator, const Params& plain,
                                    const std::vector<int>& group_sizes) {
  const Requirements& needs = generator.requirements;
  std::vector<Params> all;
  for (const std::string& variant : variants_of(generator))
    for (const int n : needs.takes_group_size ? group_sizes : std::vector{0})
      for (const int slices : needs.takes_slices ? std::vector{1, 2, 3} : std::vector{1})
        for (const int updates : needs.takes_updates ? std::vector{1, 3} : std::vector{1}) {
          Params params = plain;
          params.variant = variant;
          if (n > 0) params.group_size = n;
          params.slices = slices;
          params.updates = updates;
          if (needs.takes_waves && params.chunks >= 2) params.waves = params.chunks / 2;
          all.push_back(params);
        }
  return all;
}

}  // namespace pipeloom::schedules
