#include "cli/sweep/sweep_dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "cli/numbers.hpp"
#include "cli/progress_line.hpp"
#include "schedules/generator.hpp"
#include "study/sweep/run/evaluator.hpp"

namespace pipeloom::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Grids up to this size are asked point by point, larger ones here and there.
constexpr std::uint64_t kAsked = 100'000;
constexpr std::uint64_t kTimed = 500;
constexpr std::chrono::seconds kTimeForTiming{1};

/// Why a point is refused; "" if it is not, as far as is known before it runs.
std::string refusal_of(const sweep::Grid& grid, const sweep::Combination& combination,
                       const pipeloom::Limits& limits) {
  try {
    const study::SchedulePlan plan = study::plan_schedule(grid.config(combination), limits);
    return plan.found.generator == nullptr ? "" : schedules::refusal(*plan.found.generator, plan.params);
  } catch (const Error& error) {
    return error.line();
  }
}

struct Legality {
  std::uint64_t asked = 0;
  std::uint64_t illegal = 0;
  std::string first;  ///< "ranks = 3: dualpipe needs ..."
};

std::string title_of(const sweep::Grid& grid, const sweep::Combination& combination) {
  std::string out;
  for (const sweep::Setting& setting : combination.settings)
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", grid.keys()[setting.key], setting.json);
  return out;
}

/// Calls fn(combination) for at most `most` combinations that hold, spread evenly, until it returns false.
template <class Fn>
void for_some(const sweep::Grid& grid, std::uint64_t most, Fn&& fn) {
  const std::uint64_t all = grid.combinations();
  const std::uint64_t step = std::max<std::uint64_t>(1, all / std::max<std::uint64_t>(1, most));
  sweep::Combination combination;
  for (std::uint64_t index = 0; index < all; index += step)
    if (grid.combination(index, combination) && !fn(combination)) return;
}

Legality ask(const sweep::Grid& grid, const pipeloom::Limits& limits) {
  Legality out;
  for_some(grid, kAsked, [&](const sweep::Combination& combination) {
    ++out.asked;
    const std::string why = refusal_of(grid, combination, limits);
    if (why.empty()) return true;
    if (out.illegal++ == 0) out.first = title_of(grid, combination) + ": " + why;
    return true;
  });
  return out;
}

/// Seconds that one point takes on one thread; `timed` is how many said so.
double seconds_per_point(const sweep::Grid& grid, const sweep::SweepOptions& options, std::uint64_t& timed) {
  sweep::Evaluator evaluator(sweep::metrics_of(grid, options.metrics), options.limits,
                             sweep::Evaluator::make_cache());
  sweep::Outcome outcome;
  const auto begin = Clock::now();
  for_some(grid, kTimed, [&](const sweep::Combination& combination) {
    ++timed;
    try {
      evaluator.evaluate(grid.config(combination), outcome);
    } catch (const InputError&) {  // NOLINT(bugprone-empty-catch): it is refused, which takes no time
    }
    return Clock::now() - begin < kTimeForTiming;
  });
  const std::chrono::duration<double> passed = Clock::now() - begin;
  return timed == 0 ? 0 : passed.count() / static_cast<double>(timed);
}

std::string time_text(double seconds) {
  return seconds < 1 ? "less than a second" : "about " + duration_text(seconds);
}

}  // namespace

std::string dry_run_page(const sweep::Grid& grid, const sweep::SweepOptions& options) {
  const int threads = options.threads > 0 ? options.threads : sweep::usable_processors();
  const std::uint64_t combinations = grid.combinations();
  const std::uint64_t points =
      sweep::Pieces(grid, sweep::piece_size(combinations, threads), threads).points();
  std::string out = fmt::format("points   {}", count_text(points));
  if (points < combinations) out += fmt::format(" of {} combinations", count_text(combinations));
  const Legality legality = ask(grid, options.limits);
  const bool all = legality.asked == points;
  out += fmt::format("\nillegal  {}", legality.illegal == 0 ? "none" : count_text(legality.illegal));
  if (!all) out += fmt::format(" of {} that were asked", count_text(legality.asked));
  if (legality.illegal > 0) out += "; the first: " + legality.first;
  std::uint64_t timed = 0;
  const double seconds = seconds_per_point(grid, options, timed) * static_cast<double>(points) / threads /
                         (options.shard ? options.shard->count : 1);
  return out + fmt::format("\ntime     {} on {}, from {} that were run{}\n", time_text(seconds),
                           count_text(static_cast<std::size_t>(threads), "thread"),
                           count_text(timed, "point"), options.shard ? ", for this shard" : "");
}

}  // namespace pipeloom::cli
