#pragma once

// The parameters beyond p, m and v that a schedule takes, for tests that go over every schedule.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

inline std::string describe(const Generator& generator, const Params& params) {
  return fmt::format("{} {} p = {}, m = {}, v = {}, N = {}, {} slices, {} waves, {} updates", generator.name,
                     params.options.variant, params.ranks, params.microbatches, params.chunks,
                     params.options.group_size ? params.options.group_size->text() : "default",
                     params.slices(), params.options.waves.value_or(1), params.updates());
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

/// Of these group sizes those for a variant: all for the first, the ends of the list for others.
inline std::vector<int> group_sizes_for(const Generator& generator, const std::string& variant,
                                        const std::vector<int>& group_sizes) {
  const Requirements& needs = generator.requirements;
  if (!needs.takes.has(Option::GroupSize)) return {0};
  if (needs.variants.empty() || variant == needs.variants.front() || group_sizes.size() < 3)
    return group_sizes;
  return {group_sizes.front(), group_sizes.back()};
}

/// p, m and v with every variant and, where the schedule takes them, with groups of these sizes (0: the default), 1 to 3
/// slices, 1 and 3 updates. Waves are what v asks for.
inline std::vector<Params> flavours(const Generator& generator, const Params& plain,
                                    const std::vector<int>& group_sizes) {
  const Requirements& needs = generator.requirements;
  std::vector<Params> all;
  for (const std::string& variant : variants_of(generator))
    for (const int n : group_sizes_for(generator, variant, group_sizes))
      for (const int slices : needs.takes.has(Option::Slices) ? std::vector{1, 2, 3} : std::vector{1})
        for (const int updates : needs.takes.has(Option::Updates) ? std::vector{1, 3} : std::vector{1}) {
          Params params = plain;
          params.options.variant = variant;
          if (n > 0) params.options.group_size = n;
          params.options.slices = equal_slices(slices);
          params.options.updates = updates;
          if (needs.takes.has(Option::Waves) && params.chunks >= 2) params.options.waves = params.chunks / 2;
          all.push_back(params);
        }
  return all;
}

/// The schedules that programs of messages between two ranks can run: all but those whose ops wait for all ranks.
inline const std::vector<Generator>& runnable() {
  static const std::vector<Generator> kRunnable = [] {
    std::vector<Generator> out;
    for (const Generator& generator : all())
      if (!generator.requirements.shares_output) out.push_back(generator);
    return out;
  }();
  return kRunnable;
}

/// The legal ones on p ranks for each of these m and for one chunk and two, as far as the schedule takes them.
inline std::vector<Params> small_flavours(const Generator& generator, int p,
                                          const std::vector<int>& microbatches) {
  const Requirements& needs = generator.requirements;
  std::vector<Params> legal;
  for (const int m : microbatches)
    for (int v = needs.min_chunks; v <= std::min(needs.max_chunks, 2); ++v)
      for (const Params& params : flavours(generator, {.ranks = p, .microbatches = m, .chunks = v}, {0}))
        if (refusal(generator, params).empty()) legal.push_back(params);
  return legal;
}

}  // namespace pipeloom::schedules
