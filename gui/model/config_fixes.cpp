// What would make a refused configuration legal.

#include <fmt/format.h>

#include <algorithm>

#include "gui/model/config_model.hpp"
#include "study/evaluate.hpp"

namespace pipeloom::gui {
namespace {

constexpr int kFar = 16;            // how far from the given number values are tried
constexpr double kMaxPasses = 2e5;  // a try makes the schedule
constexpr std::size_t kPerKey = 2;
constexpr std::size_t kFixes = 4;

bool is_legal(const Assignments& assignments) {
  try {
    const io::RunConfig config = config_of(assignments);
    const double passes = static_cast<double>(config.ranks) * config.microbatches * config.chunks.value_or(2);
    if (passes > kMaxPasses) return false;
    io::EffectiveConfig effective;
    return study::make_schedule(config, study::Limits(), effective) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

/// 1, -1, 2, -2, ... away from `from`, nearest first: of two equally near the larger.
std::vector<int> around(int from, int far) {
  std::vector<int> values;
  for (int away = 1; away <= far; ++away)
    for (const int value : {from + away, from - away})
      if (value >= 1) values.push_back(value);
  return values;
}

void try_key(const Assignments& assignments, const std::string& path, int from, int far,
             std::vector<Fix>& fixes) {
  std::size_t found = 0;
  for (const int value : around(from, far)) {
    if (found == kPerKey || fixes.size() == kFixes) return;
    Assignments tried = assignments;
    tried[path] = std::to_string(value);
    if (!is_legal(tried)) continue;
    fixes.push_back({fmt::format("{} {}", path, value), path, std::to_string(value)});
    ++found;
  }
}

}  // namespace

std::vector<Fix> find_fixes(const Assignments& assignments) {
  std::vector<Fix> fixes;
  io::RunConfig config;
  try {
    config = config_of(assignments);
  } catch (const Error&) {
    return fixes;  // a text that is no value has no neighbours
  }
  if (static_cast<double>(config.ranks) * config.microbatches > kMaxPasses) return fixes;
  try_key(assignments, "microbatches", config.microbatches, std::max(kFar, 2 * config.ranks), fixes);
  try_key(assignments, "ranks", config.ranks, kFar, fixes);
  if (config.chunks) try_key(assignments, "chunks", *config.chunks, 4, fixes);
  return fixes;
}

}  // namespace pipeloom::gui
