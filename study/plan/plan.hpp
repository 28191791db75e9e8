#pragma once

// Which schedule for this workload: every one that can run it is simulated, orders of its own are searched for, and what fits under the memory
// limit is ranked.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/run.hpp>
#include "study/plan/headroom.hpp"
#include "study/plan/targets.hpp"
#include "study/run/workload.hpp"
#include "study/targets/verdict.hpp"

namespace pipeloom::study {

/// What is made small, or, of tokens per second, large.
enum class PlanObjective : std::uint8_t { StepTime, Makespan, MaxWindow, TokensPerS, PeakBytes, P95 };
inline constexpr std::array kPlanObjectives = {PlanObjective::StepTime,  PlanObjective::Makespan,
                                               PlanObjective::MaxWindow, PlanObjective::TokensPerS,
                                               PlanObjective::PeakBytes, PlanObjective::P95};
/// As --objective and the JSON spell it.
[[nodiscard]] std::string_view name_of(PlanObjective objective);
[[nodiscard]] std::optional<PlanObjective> objective_named(std::string_view name);

/// What may differ from the given configuration.
enum class Vary : std::uint8_t {
  Schedule,
  Chunks,
  Layers,
  Placement,
  Recompute,
  Offload,
  Microbatches,
  Order
};
inline constexpr int kVaries = 8;
/// "schedule", "chunks", "layers", "placement", "recompute", "offload", "microbatches", "order".
[[nodiscard]] std::string_view name_of(Vary vary);
[[nodiscard]] std::optional<Vary> vary_named(std::string_view name);

class VarySet {
 public:
  constexpr void add(Vary vary) { bits_ |= 1U << static_cast<unsigned>(vary); }
  constexpr void drop(Vary vary) { bits_ &= ~(1U << static_cast<unsigned>(vary)); }
  [[nodiscard]] constexpr bool has(Vary vary) const {
    return (bits_ >> static_cast<unsigned>(vary) & 1U) != 0;
  }

 private:
  unsigned bits_ = 0;
};

struct PlanOptions {
  PlanObjective objective = PlanObjective::StepTime;
  VarySet vary = {};
  const Target* target = nullptr;  ///< what must be able to run the answer; null: nothing in particular
  double seconds = 2;              ///< how long the searches may take, about: work is counted, not time
  /// Whether the clock ends what takes much longer than its work was estimated to. Without it equal inputs give equal plans on any machine, however slow.
  bool ends_by_clock = true;
  std::uint64_t seed = 1;
  int threads = 1;
  std::optional<double> headroom = {};  ///< share of the device that stays free; nothing: kDefaultHeadroom
  bool runs_now =
      true;  ///< whether the workload's schedule is what runs now; false: nobody said one, and it is only where to begin
  std::string schedule_file = {};  ///< where the winner's order will be, for configurations that name it
  /// Told what is being done and the best so far, "" before there is one; false ends the plan with what it has. May be empty.
  std::function<bool(const std::string& doing, const std::string& best)> progress = {};
};

struct PlanCandidate {
  std::string name;  ///< "zbv", "zbv, recompute selective", "searched v v=2"; of no two candidates the same
  std::string schedule;  ///< of the registry, or "custom" for an order that was found
  int chunks = 1;
  std::vector<int> layers = {};  ///< [stage], of models
  std::string placement = {};    ///< "linear", "loop", "v", "wave", "two ways", "free"
  Ticks step_time = 0;
  Ticks makespan = 0;
  Ticks window = 0;  ///< the largest of a rank
  std::optional<Ticks> p95 = {};
  std::optional<double> tokens_per_s = {};
  std::optional<double> change =
      {};  ///< of the step against compared_with(), -0.18 for 18 % shorter; of its own updates where it has several
  double bubble_ratio = 0;
  std::vector<Bytes> peaks = {};  ///< [rank], in the run's units (MemoryModel::parts)
  double peak = 0;                ///< of the fullest rank, in bytes: comparable between candidates
  LowerBound bound = {};          ///< on `makespan`
  double gap = 0;                 ///< makespan / bound - 1
  bool proven = false;            ///< no order of these ops on these ranks within the limit is shorter
  bool judged = false;            ///< the target runs it as it is here
  io::Config config = {};
  bool now = false;  ///< it is what runs now
  Run run = {};      ///< Run::repeated is set where two short runs say all that a plan asks first
  /// What a file holds that is to stand for the schedule, where that is not all of it: without the ops that the configuration's options add. Else
  /// null.
  std::shared_ptr<const Schedule> order = {};

  /// A number of `peaks`, or of the run's limits, in the measure of `peak`.
  [[nodiscard]] double said(Bytes units) const { return run.memory->in_bytes(units); }
  /// The schedule of all microbatches, made again where the run is told by short ones.
  [[nodiscard]] std::shared_ptr<const Schedule> schedule_of_all() const;
  /// What a file holds that is to stand for the candidate's schedule.
  [[nodiscard]] std::shared_ptr<const Schedule> queues() const;
  /// The run with every op's times. Throws as evaluate() does.
  [[nodiscard]] Run run_of_all() const;
  [[nodiscard]] bool searched() const { return schedule == "custom"; }
};

/// Why something is no candidate.
enum class Refusal : std::uint8_t {
  OverLimit,  ///< it runs and holds too much
  Target,     ///< the target cannot run it
  LeftOut,  ///< --vary leaves it out, or every plan does: it changes the training, or what it costs is not known
  CannotRun,  ///< it refuses the workload
  NotTried    ///< the plan was over before
};
inline constexpr std::array kRefusals = {Refusal::OverLimit, Refusal::Target, Refusal::LeftOut,
                                         Refusal::CannotRun, Refusal::NotTried};
/// "over_limit", "target", "left_out", "cannot_run", "not_tried".
[[nodiscard]] std::string_view name_of(Refusal refusal);

struct PlanRejected {
  std::string name;
  std::string why;
  Refusal refusal = Refusal::CannotRun;
};
struct PlanAdvice {
  std::string text;
  double saves = 0;  ///< share of the winner's step
  Run run = {};      ///< the simulation that says so
};

struct Plan {
  PlanObjective objective = PlanObjective::StepTime;
  double seconds = 0;
  std::uint64_t seed = 0;
  io::Config workload = {};  ///< as planned: with the limit that leaves the headroom
  Room room = {};
  /// The given configuration, whether it fits or not; nothing where its schedule refuses it, and where nobody said what runs now.
  std::optional<PlanCandidate> baseline = {};
  std::optional<std::size_t> baseline_among = {};  ///< which of the candidates is the baseline
  bool baseline_fits = false;
  /// Where sizes are relative: an activation of a stage of the workload, in the measure of PlanCandidate::peak; people read peaks in it. Else 0.
  double activation = 0;
  std::vector<PlanCandidate> candidates = {};  ///< those that fit, best first
  std::vector<PlanCandidate> over = {};  ///< those that run and do not fit: they are among `rejected`, too
  std::vector<PlanRejected> rejected = {};
  std::vector<std::size_t> pareto =
      {};  ///< candidates that no other beats in both step time and peak, fastest first
  std::vector<PlanAdvice> advice = {};
  std::vector<TargetVerdict> to_run = {};  ///< how the winner is told to the target, or to each
  std::vector<NotTaken> not_taken =
      {};  ///< candidates that the target does not run; without one, targets that do not run the winner
  std::vector<std::string> warnings = {};
};

/// Throws InputError where the workload cannot be read, names an objective without what it needs (tokens_per_s a model, p95 costs.noise), or is
/// forward only.
[[nodiscard]] Plan make_plan(const io::Config& workload, const PlanOptions& options, const Limits& limits);

}  // namespace pipeloom::study
