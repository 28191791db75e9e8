#include "sim/torch/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "sim/torch/send_waits.hpp"

namespace pipeloom::torch {
namespace {

constexpr std::int32_t kNoRank = -1;

std::size_t count_of_cells(std::span<const Action> row) {
  return static_cast<std::size_t>(
      std::count_if(row.begin(), row.end(), [](Action action) { return !action.joined(); }));
}

/// What a stage has run so far, over all rows read.
struct StageSets {
  std::int64_t forwards = 0;
  std::int64_t inputs = 0;
  std::int64_t weights = 0;
  std::int64_t backwards = 0;
};

/// The loader's first checks, cell by cell.
class Loader {
 public:
  Loader(const ActionLists& lists, const LoadingRun& run)
      : lists_(lists),
        run_(run),
        stages_(static_cast<std::size_t>(run.stages)),
        rank_of_stage_(static_cast<std::size_t>(run.stages), Rank(kNoRank)) {
    done_.reserve(lists.num_actions());
  }

  Verdict load() {
    check_rows();
    for (Rank rank{0}; rank < Rank(lists_.ranks()) && verdict_.ok(); ++rank) check_row(rank);
    if (verdict_.ok()) check_counts();
    if (verdict_.ok()) check_form();
    if (verdict_.ok() && run_.target == Target::V215) check_waits();
    if (verdict_.ok()) verdict_.rank_of_stage = rank_of_stage_;
    return std::move(verdict_);
  }

 private:
  void refuse(std::string phase, std::string exception, std::string message) {
    verdict_.phase = std::move(phase);
    verdict_.exception = std::move(exception);
    verdict_.message = std::move(message);
  }

  void refuse_cell(Rank rank, std::size_t step, std::string exception, const std::string& why) {
    refuse("validate", std::move(exception), fmt::format("rank {}, step {}: {}", rank.value(), step, why));
    verdict_.place = Verdict::Place{rank, step};
  }

  /// The failing step is shown in a grid, and making the grid fails where there are fewer steps than ranks.
  void refuse_in_grid(Rank rank, std::size_t step, const std::string& why) {
    std::size_t steps = 0;
    for (Rank r{0}; r < Rank(lists_.ranks()); ++r) steps = std::max(steps, count_of_cells(lists_.row(r)));
    const bool drawn = steps >= static_cast<std::size_t>(lists_.ranks());
    refuse_cell(rank, step, drawn ? "AssertionError" : "IndexError", why);
  }

  void check_rows() {
    if (lists_.ranks() != run_.ranks)
      refuse("validate", "AssertionError",
             fmt::format("the file has {} rows, but the run has {} ranks; an empty line counts as a row",
                         lists_.ranks(), run_.ranks));
  }

  void check_row(Rank rank) {
    std::size_t step = 0;
    for (const Action action : lists_.row(rank)) {
      if (!action.is_idle() && !check(action, rank, step)) return;
      if (!action.joined()) ++step;
    }
  }

  /// Whether the action passes.
  bool check(Action action, Rank rank, std::size_t step) {
    const ActionKind kind = action.kind();
    const bool computes = kind <= ActionKind::BackwardWeight;
    const std::size_t stage = action.stage().at();
    if (computes && stage >= stages_.size()) {
      refuse_cell(
          rank, step, "KeyError",
          fmt::format("{} is of stage {}, but the run has {} stages", to_text(action), stage, run_.stages));
      return false;
    }
    if (computes && !check_order(action, rank, step)) return false;
    if (computes) count(action);
    if (stage >= stages_.size()) return true;
    Rank& home = rank_of_stage_[stage];
    if (home == Rank(kNoRank)) home = rank;
    if (home == rank) return true;
    refuse_cell(rank, step, "AssertionError",
                fmt::format("{}: stage {} is already on rank {}", to_text(action), stage, home.value()));
    return false;
  }

  bool check_order(Action action, Rank rank, std::size_t step) {
    if (action.kind() == ActionKind::Forward) return true;
    const bool weight = action.kind() == ActionKind::BackwardWeight;
    const Action needed = action.as(weight ? ActionKind::BackwardInput : ActionKind::Forward, action.stage());
    if (done_.contains(needed.key())) return true;
    refuse_in_grid(rank, step,
                   fmt::format("{} stands before {} of its stage and microbatch", to_text(action),
                               weight ? "the I" : "the forward"));
    return false;
  }

  void count(Action action) {
    if (!done_.insert(action.key()).second) return;
    StageSets& stage = stages_[action.stage().at()];
    switch (action.kind()) {
      case ActionKind::Forward:
        ++stage.forwards;
        break;
      case ActionKind::BackwardInput:
        ++stage.inputs;
        break;
      case ActionKind::BackwardWeight:
        ++stage.weights;
        break;
      default:
        ++stage.backwards;
    }
  }

  void check_counts() {
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const StageSets& stage = stages_[s];
      std::string why;
      if (stage.forwards != run_.microbatches)
        why = fmt::format("{} forwards", stage.forwards);
      else if (stage.inputs != stage.weights)
        why = fmt::format("{} I but {} W", stage.inputs, stage.weights);
      else if (stage.backwards + (stage.inputs + stage.weights) / 2 != run_.microbatches)
        why = fmt::format("{} backwards", stage.backwards + stage.inputs);
      if (why.empty()) continue;
      return refuse("validate", "AssertionError",
                    fmt::format("stage {} has {} for {} microbatches (distinct ones counted)", s, why,
                                run_.microbatches));
    }
  }

  /// What a form may not hold.
  void check_form() {
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank) {
      std::size_t step = 0;
      for (const Action action : lists_.row(rank)) {
        const bool alone = !action.joined() && (step == 0 || !in_group_);
        in_group_ = action.joined();
        if (run_.form == Form::ComputeComms && action.is_idle())
          return refuse_form(rank, step, "AssertionError", "a blank cell, and compute_comms has none");
        if (run_.form == Form::ComputeOnly && alone && !action.is_idle() &&
            action.kind() > ActionKind::BackwardWeight)
          return refuse_form(
              rank, step, "ValueError",
              fmt::format("{} is no computation, and compute_only has nothing else", to_text(action)));
        if (!action.joined()) ++step;
      }
    }
  }

  /// What 2.15 asks of the waits of a lowered file, and of groups that it lowers itself.
  void check_waits() {
    if (run_.form == Form::ComputeOnly) return check_groups();
    const auto problem = wait_problem(lists_);
    if (problem) refuse_form(problem->rank, problem->step, "ValueError", problem->message);
  }

  void check_groups() {
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank) {
      const auto row = lists_.row(rank);
      std::size_t step = 0;
      for_each_cell(row, [&](std::size_t first, std::size_t last) {
        const auto cell = row.subspan(first, last - first);
        if (verdict_.ok() && stages_of(cell) > kMaxActiveStages)
          refuse_form(rank, step, "ValueError",
                      fmt::format("{} is of {} stages, more than the {} that are resident at once",
                                  cell_text(cell), stages_of(cell), kMaxActiveStages));
        ++step;
      });
    }
  }

  void refuse_form(Rank rank, std::size_t step, std::string exception, const std::string& why) {
    refuse("lower", std::move(exception), fmt::format("rank {}, step {}: {}", rank.value(), step, why));
    verdict_.place = Verdict::Place{rank, step};
  }

  const ActionLists& lists_;
  const LoadingRun& run_;
  Verdict verdict_;
  std::vector<StageSets> stages_;
  std::vector<Rank> rank_of_stage_;
  std::unordered_set<std::uint64_t> done_;  // keys of the computations seen
  bool in_group_ = false;
};

}  // namespace

Verdict load(const ActionLists& lists, const LoadingRun& run) {
  return Loader(lists, run).load();
}

}  // namespace pipeloom::torch
