#include "gui/model/chart/roots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

/// The run's costs; those of measured times have no hops, so that the time on the way is the message's.
Costs known_costs(const RunModel& run) {
  return run.costs ? *run.costs : default_costs(run.schedule->placement());
}

std::shared_ptr<const RunRoots> find_roots(const RunPtr& run, const Cancelled& cancelled) {
  auto roots = std::make_shared<RunRoots>(run);
  roots->causes = root_causes(roots->finder, run->idle, [&](double share) {
    cancelled.report(share);
    return !cancelled;
  });
  return roots;
}

}  // namespace

RunRoots::RunRoots(RunPtr of) : run(std::move(of)), finder(run->timeline, known_costs(*run)) {}

bool has_roots(const RunModel& run) {
  const std::size_t ops = run.schedule->num_ops();
  return !run.hang && run.analysed && ops > 0 && ops <= kMostRootOps;
}

std::variant<OpRef, GapRef> place_of(const RunModel& run, const RootCause& root) {
  if (root.op != RootCause::kNoOp) return OpRef{run.id, root.op};
  return GapRef{run.id, root.at, root.span};
}

std::string roots_text(const RunModel& run, std::span<const RootCause> parts) {
  const Schedule& schedule = *run.schedule;
  if (parts.empty()) return "";
  if (parts.size() == 1) return fmt::format("Root cause: {}.", long_text(parts.front(), schedule));
  const auto length = [&](TickSum amount) { return duration_text(amount, run.timeline.unit); };
  std::string text;
  TickSum rest;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i >= kMostRootsListed) {
      rest += parts[i].amount;
      continue;
    }
    text += fmt::format("{}{} ({})", i == 0 ? "Root causes: " : "; ", long_text(parts[i], schedule),
                        length(parts[i].amount));
  }
  return text + (rest > 0 ? fmt::format("; others ({}).", length(rest)) : ".");
}

const RunRoots* Roots::ready(std::uint64_t run) const {
  for (const auto& roots : found_)
    if (roots->run->id == run) return roots.get();
  return nullptr;
}

const RunRoots* Roots::find(Session& session, const RunPtr& run) {
  const RunRoots* const roots = ready(run->id);
  if (roots != nullptr || under_way_ != 0 || !has_roots(*run)) return roots;
  under_way_ = run->id;
  session.jobs.submit(kLane, [this, run](const Cancelled& cancelled) -> Jobs::Finish {
    return [this, roots = find_roots(run, cancelled)] {
      found_.push_back(roots);
      under_way_ = 0;
    };
  });
  return nullptr;
}

bool Roots::update(Session& session) {
  std::erase_if(found_, [&](const auto& roots) {
    const OpenRun* const open = session.find_run(roots->run->id);
    return open == nullptr || open->run != roots->run;
  });
  if (under_way_ == 0) return false;
  if (session.find_run(under_way_) == nullptr) session.jobs.cancel(kLane);
  // An edit may have cancelled the job, and been refused: then they are still to be found.
  if (session.find_run(under_way_) == nullptr || session.jobs.idle()) under_way_ = 0;
  return false;
}

void select_root(Session& session, std::string_view number) {
  const Where where{"select-cause"};
  const RunModel* const run = session.active_run();
  if (run == nullptr) throw InputError(where, "nothing is open");
  const RunRoots* const roots = session.part<Roots>().ready(run->id);
  if (roots == nullptr)
    throw InputError(where, has_roots(*run)
                                ? "causes are still being found; try again in a moment"
                                : "the causes of this run are not known: it hangs, or is too large");
  if (roots->causes.empty()) throw InputError(where, "no rank idles: there is nothing to go to");
  const auto n = number.empty() ? std::optional(0) : count_in(number);
  if (!n || static_cast<std::size_t>(*n) >= roots->causes.size())
    throw InputError(where, fmt::format("found '{}'; allowed is a number from 0 to {}", shortened(number, 40),
                                        roots->causes.size() - 1));
  const auto place = place_of(*run, roots->causes[static_cast<std::size_t>(*n)]);
  if (const auto* op = std::get_if<OpRef>(&place))
    select_op(session, *op, Reveal::Yes);
  else
    select_gap(session, std::get<GapRef>(place), Reveal::Yes);
}

}  // namespace pipeloom::gui
