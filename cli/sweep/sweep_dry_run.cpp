#include "cli/sweep/sweep_dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <system_error>

#include "cli/console.hpp"
#include "cli/numbers.hpp"
#include "schedules/generator.hpp"
#include "sim/io/json/file.hpp"
#include "sim/kinds.hpp"
#include "study/sweep/emit/emit.hpp"
#include "study/sweep/run/evaluator.hpp"
#include "version.hpp"

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
                             sweep::Evaluator::make_cache(), grid.scenarios());
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

namespace {

/// This program, as jobs are to start it.
std::string own_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "pipeloom" : path.string();
}

/// The command line's words that decide what is computed.
std::vector<std::string> words_of(const SweepArguments& sweep) {
  std::vector<std::string> out;
  const auto add = [&out](const char* option, const std::optional<std::string>& value) {
    if (value) out.insert(out.end(), {option, *value});
  };
  if (sweep.input.file) out.push_back(*sweep.input.file);
  for (const std::string& axis : sweep.axes) add("--axis", axis);
  add("--schedule", sweep.input.schedule);
  add("--ranks", sweep.input.ranks);
  add("--microbatches", sweep.input.microbatches);
  add("--chunks", sweep.input.chunks);
  for (const std::string& assignment : sweep.input.set) add("--set", assignment);
  if (!sweep.metrics.empty()) add("--metrics", fmt::format("{}", fmt::join(sweep.metrics, ",")));
  add("--scenarios", sweep.scenarios.scenarios);
  add("--seed", sweep.scenarios.seed);
  add("--format", sweep.format);
  add("--max-points", sweep.max_points);
  add("--max-memory", sweep.input.max_memory);
  return out;
}

/// Checks for errors that only this command line shows.
void require_possible(const SweepArguments& sweep) {
  if (sweep.shard)
    throw InputError(Where{"--shard"}, "--emit writes a job for every shard; leave --shard out");
  if (sweep.input.file && *sweep.input.file == "-")
    throw InputError(Where{"--emit"}, "a job has no standard input; put the grid into a file");
}

sweep::JobDescription describe(const SweepArguments& sweep, const EmitArguments& arguments) {
  if (!arguments.shards)
    throw InputError(Where{"--emit"}, "the number of shards is missing; give it by --shards N");
  sweep::JobDescription job;
  job.version = kVersion;
  job.folder = std::filesystem::current_path().string();
  job.arguments = words_of(sweep);
  job.out = sweep.out;
  job.shards = parse_count("--shards", *arguments.shards, 1, sweep::kMaxShards);
  if (arguments.at_once) job.at_once = parse_count("--at-once", *arguments.at_once, 1, sweep::kMaxShards);
  job.threads = std::max(1, read_sweep_options(sweep).threads);
  job.directives = arguments.directives;
  return job;
}

void require_enough_points(const sweep::Grid& grid, int shards) {
  if (grid.combinations() < static_cast<std::uint64_t>(shards))
    throw InputError(Where{"--shards"}, fmt::format("found {}; the grid has {}, so use fewer shards", shards,
                                                    count_text(grid.combinations(), "point")));
}

}  // namespace

void add_emit_options(OptionList& list, EmitArguments& arguments) {
  list.option("--emit", arguments.scheduler, "slurm|k8s",
              "Run nothing: write job files for a cluster beside the output, and print how to submit them");
  list.option("--shards", arguments.shards, "N", "With --emit: into how many jobs the sweep is split");
  list.option("--at-once", arguments.at_once, "K",
              fmt::format("With --emit: how many of them run at the same time; default at most {}",
                          sweep::kDefaultAtOnce));
  list.option("--directive", arguments.directives, "TEXT",
              "With --emit, repeatable. slurm: an option of sbatch, such as --partition=short; k8s: " +
                  fmt::format("KEY=VALUE with one of {}", fmt::join(sweep::kubernetes_keys(), ", ")))
      .repeatable();
}

bool wants_jobs(const EmitArguments& arguments) {
  if (arguments.scheduler) return true;
  const char* alone = arguments.shards                ? "--shards"
                      : arguments.at_once             ? "--at-once"
                      : !arguments.directives.empty() ? "--directive"
                                                      : nullptr;
  if (alone != nullptr)
    throw InputError(
        Where{alone},
        "this is for job files; say which by --emit slurm|k8s, or run one part of a sweep by --shard I/N");
  return false;
}

ExitCode emit_jobs(const SweepArguments& sweep, const EmitArguments& arguments) {
  require_choice("--emit", *arguments.scheduler, {"slurm", "k8s"});
  require_possible(sweep);
  sweep::JobDescription job = describe(sweep, arguments);
  const bool is_slurm = *arguments.scheduler == "slurm";
  job.program = is_slurm ? own_path() : "pipeloom";
  const sweep::Jobs jobs = is_slurm ? sweep::emit_slurm(job) : sweep::emit_kubernetes(job);
  require_enough_points(read_grid(sweep), job.shards);
  for (const std::string& path : {job.out, jobs.shards.path, jobs.merge.path})
    require_free(path, sweep.force);
  for (const sweep::JobFile* file : {&jobs.shards, &jobs.merge})
    io::write_file(file->path, overwrite_if(sweep.force), [&](std::ostream& out) { out << file->text; });
  if (!sweep.output.quiet)
    say(fmt::format("{} and {} written; submit them with\n", jobs.shards.path, jobs.merge.path));
  print(jobs.commands);
  return ExitCode::Ok;
}

}  // namespace pipeloom::cli
