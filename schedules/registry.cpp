#include "schedules/registry.hpp"

#include <algorithm>
#include <set>

#include "sim/base/text_tools.hpp"

namespace pipeloom::schedules {
namespace {

/// Case ignored. Nothing is allocated: sweeps look names up once per point.
bool same_spelling(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

/// Lower case without '-' and '_'.
std::string squashed(std::string_view name) {
  std::string text;
  for (const char c : lower(name))
    if (c != '-' && c != '_') text += c;
  return text;
}

bool same_squashed(std::string_view a, std::string_view b) {
  return squashed(a) == squashed(b);
}

/// The names that are the `same` as `name`: own names before aliases.
std::vector<Found> matches(std::string_view name, bool (*same)(std::string_view, std::string_view)) {
  std::vector<Found> found;
  for (const Generator& generator : all())
    if (same(generator.name, name)) found.push_back({&generator, nullptr});
  for (const Generator& generator : all())
    for (const Alias& alias : generator.aliases)
      if (same(alias.name, name)) found.push_back({&generator, &alias});
  return found;
}

/// True if all of them mean the same: one schedule, and no defaults to choose between.
bool unanimous(const std::vector<Found>& found) {
  for (const Found& one : found) {
    if (one.generator != found.front().generator) return false;
    if (found.size() > 1 && one.alias != nullptr && one.alias->defaults) return false;
  }
  return !found.empty();
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Generator& generator : all()) names.push_back(generator.name);
  std::set<std::string> seen(names.begin(), names.end());
  for (const Generator& generator : all())
    for (const Alias& alias : generator.aliases)
      if (seen.insert(lower(alias.name)).second) names.push_back(alias.name);
  return names;
}

/// Words of other stacks for schedules that have no name here, and the nearest schedule that has.
struct OtherName {
  std::string_view name;
  std::string_view text;
};
constexpr OtherName kOtherNames[] = {
    {"InterleavedGPipe",
     "jaxpp's InterleavedGPipe lists one backward over and over and cannot run; interleaved-1f1b with "
     "options.variant = all-forwards "
     "is the order it means"},
    {"seqpipe", "no order of MindSpore's seqpipe is recorded; seq-1f1b is 1F1B over slices of sequences"},
    {"seqvpp",
     "no order of MindSpore's seqvpp is recorded; seq-1f1b has its slices of sequences and interleaved-1f1b "
     "its chunks"},
    {"seqsmartvpp",
     "no order of MindSpore's seqsmartvpp is recorded; seq-1f1b has its slices of sequences and "
     "interleaved-1f1b its chunks"},
    {"1f1b_plus",
     "no order of nnScaler's 1f1b_plus is recorded; vocab-interlaced is its interlaced pipeline"},
    {"chimera_direct",
     "nnScaler's chimera_direct is for fixed sizes; chimera with options.variant = direct is the published "
     "order"},
};

}  // namespace

const std::vector<Generator>& all() {
  static const std::vector<Generator> generators = {
#define PIPELOOM_SCHEDULE(function) function(),
#include "schedules/registry.def"
#undef PIPELOOM_SCHEDULE
  };
  return generators;
}

Found find(std::string_view name, const Where& where) {
  for (const Generator& generator : all())
    if (generator.name == name) return {&generator, nullptr};
  const auto as_spelt = matches(name, same_spelling);
  if (!as_spelt.empty()) return as_spelt.front();
  const auto alike = matches(name, same_squashed);
  if (unanimous(alike)) return alike.front();
  for (const OtherName& other : kOtherNames)
    if (same_squashed(other.name, name)) throw InputError(where, std::string(other.text));
  throw InputError::unknown_name(where, "schedule", name, all_names());
}

Schedule make(const Generator& generator, const Params& params, const Terms& terms, Emission& emission,
              const Where& where) {
  const std::string reason = refusal(generator, params);
  if (!reason.empty()) throw ScheduleError(where, reason);
  try {
    Schedule schedule = generator.emit(params, terms, emission);
    return params.options.forward_only ? pipeloom::forward_only(schedule) : schedule;
  } catch (const ScheduleError& error) {
    throw ScheduleError(where, error.what());
  }
}

Schedule make(const Generator& generator, const Params& params, const Where& where) {
  Terms terms;
  const bool legal = generator.requirements.needs_terms && takes(generator, params);
  if (legal) {
    const Placement placement = generator.placement(params);
    terms = {default_costs(placement), default_memory(placement)};
  }
  Emission unused;
  return make(generator, params, terms, unused, where);
}

}  // namespace pipeloom::schedules
