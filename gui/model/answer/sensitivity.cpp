#include "gui/model/answer/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gui/model/chart/op_walk.hpp"
#include "gui/model/chart/select.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/dependency.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

constexpr Scale kOnePercentFaster = kUnitScale / 100 * 99;

bool is_link(const Faster& what) {
  return what.to.has_value();
}

bool names(const Faster& what, const Schedule& schedule, OpKind kind, Slot slot) {
  const Placement& placement = schedule.placement();
  return (!what.kind || *what.kind == kind) && (!what.stage || *what.stage == placement.stage_of(slot)) &&
         (!what.rank || *what.rank == placement.rank_of(slot));
}

bool is_between(const Faster& what, Rank a, Rank b) {
  return (a == *what.rank && b == *what.to) || (a == *what.to && b == *what.rank);
}

void quicken(Ticks& ticks) {
  ticks = multiply_divide(ticks, kOnePercentFaster, kUnitScale);
}

void quicken_ops(const Faster& what, const Schedule& schedule, Costs& costs) {
  for (const OpKind kind : kAllOpKinds) {
    auto& by_slot = costs.duration[index_of(kind)];
    for (std::size_t slot = 0; slot < by_slot.size(); ++slot)
      if (names(what, schedule, kind, Slot(static_cast<std::int32_t>(slot)))) quicken(by_slot[slot]);
  }
  for (std::size_t i = 0; i < costs.per_op.size(); ++i) {
    const Op op = schedule.ops()[i];
    if (!names(what, schedule, op.kind(), schedule.slot_of(op))) continue;
    Ticks alone = costs.per_op[i] - costs.entry;
    quicken(alone);
    costs.per_op[i] = alone + costs.entry;
  }
}

void quicken_link(const Faster& what, const Schedule& schedule, Costs& costs) {
  const Placement& placement = schedule.placement();
  const int stages = placement.stages();
  for (std::int32_t at = 0; at < placement.slots(); ++at) {
    const Slot slot(at);
    const int stage = placement.stage_of(slot).value();
    const Rank rank = placement.rank_of(slot);
    if (stage > 0 && is_between(what, rank, placement.rank_of(Slot(at - 1))))
      quicken(costs.forward_delay[slot.at()]);
    if (stage + 1 < stages && is_between(what, rank, placement.rank_of(Slot(at + 1))))
      quicken(costs.backward_delay[slot.at()]);
  }
}

bool can_simulate(const RunModel& run) {
  return run.simulated() && run.costs && run.memory && run.metrics && !run.messages && !run.hang &&
         run.costs->overlap.rule != OverlapRule::Explicit && run.schedule->num_ops() <= kMostSensitive;
}

Ticks step_under(const RunModel& run, const Costs& costs) {
  const Steps once{run.effective->step.rule, run.effective->step.optimizer, 1};
  const Timeline timeline = simulate(run.schedule, costs, once);
  const Metrics metrics = measure_times(timeline, costs, *run.memory, once);
  return metrics.step_time > 0 ? metrics.step_time : metrics.makespan;
}

/// `from` and `to`: the ranks of the message in question, if there is one.
std::vector<Faster> asked_of(const RunModel& run, std::size_t position, Rank from, Rank to) {
  const Op op = op_at(run, position);
  const Rank rank = rank_at(run, position);
  std::vector<Faster> all;
  all.push_back({op.kind(), op.stage(), {}, {}});
  all.push_back({{}, op.stage(), {}, {}});
  if (run.schedule->placement().slots_of(rank).size() > 1) all.push_back({{}, {}, rank, {}});
  all.push_back({op.kind(), {}, {}, {}});
  if (from != to) all.push_back({{}, {}, from, to});
  return all;
}

/// The questions about the selection; none for a run whose path is not known.
std::vector<Faster> asked_of(Session& session, const RunPtr& run) {
  const Selection& selection = session.selection;
  if ((!selection.op && !selection.gap) || !run || !run->simulated()) return {};
  const OpWalk* walk = session.part<OpWalks>().find(session, run);
  if (walk == nullptr) return {};
  if (selection.op) {
    const Rank rank = rank_at(*run, selection.op->op);
    const std::size_t producer = walk->back(*run, selection.op->op);
    return asked_of(*run, selection.op->op, producer == OpWalk::kNone ? rank : rank_at(*run, producer), rank);
  }
  const GapCause cause = cause_of(*walk, *run, *selection.gap);
  if (cause.producer == OpWalk::kNone) return {};
  return asked_of(*run, cause.producer, rank_at(*run, cause.producer), selection.gap->rank);
}

}  // namespace

std::string name_of(const Faster& what) {
  if (is_link(what))
    return fmt::format("the link of ranks {} and {}", std::min(what.rank->value(), what.to->value()),
                       std::max(what.rank->value(), what.to->value()));
  if (what.rank) return fmt::format("rank {}", what.rank->value());
  if (what.kind && what.stage)
    return fmt::format("{} of stage {}", letter_of(*what.kind), what.stage->value());
  if (what.stage) return fmt::format("stage {}", what.stage->value());
  return what.kind ? fmt::format("every {}", letter_of(*what.kind)) : "everything";
}

std::optional<double> gain_of(const RunModel& run, const Faster& what) {
  if (!can_simulate(run)) {
    const auto share = path_share(run, what);
    return share ? std::optional(*share / 100) : std::nullopt;
  }
  const Ticks now = step_under(run, *run.costs);
  if (now <= 0) return std::nullopt;
  Costs faster = *run.costs;
  is_link(what) ? quicken_link(what, *run.schedule, faster) : quicken_ops(what, *run.schedule, faster);
  return 1 - static_cast<double>(step_under(run, faster)) / static_cast<double>(now);
}

std::optional<double> path_share(const RunModel& run, const Faster& what) {
  if (run.critical().empty() || is_link(what)) return std::nullopt;
  const Schedule& schedule = *run.schedule;
  Ticks sum = 0;
  for (const std::size_t first : run.critical()) {
    const auto [begin, end] = entry_at(run, first);
    const Op op = schedule.ops()[begin];
    if (names(what, schedule, op.kind(), schedule.slot_of(op)))
      sum += run.timeline.end[end - 1] - run.timeline.start[begin];
  }
  const Ticks length = run.critical_path->length;
  return length > 0 ? std::optional(static_cast<double>(sum) / static_cast<double>(length)) : std::nullopt;
}

bool SensitivityModel::update(Session& session) {
  const RunPtr run = selected_run(session);
  Asked asked{run && run->analysed ? run->edition() : 0, {}};
  if (asked.edition != 0) asked.of = asked_of(session, run);
  if (asked == asked_) return false;
  asked_ = asked;
  session.jobs.cancel("sensitivity");
  found_.clear();
  if (asked.of.empty()) return true;
  session.jobs.submit("sensitivity", [this, run, asked](const Cancelled& cancelled) -> Jobs::Finish {
    std::vector<Sensitivity> found;
    for (const Faster& what : asked.of) {
      if (cancelled) return {};
      if (const auto gain = gain_of(*run, what)) found.push_back({what, std::max(0.0, *gain)});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Sensitivity& a, const Sensitivity& b) { return a.gain > b.gain; });
    return [this, asked, found = std::move(found)] {
      if (asked == asked_) found_ = found;
    };
  });
  return true;
}

void SensitivityModel::write_state(const Session&, io::JsonWriter& out) const {
  out.object();
  for (const Sensitivity& one : found_) out.member(name_of(one.what), 100 * one.gain);
  out.close();
}

}  // namespace pipeloom::gui
