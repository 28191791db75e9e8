#include "gui/model/chart/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/chart/navigation.hpp"

namespace pipeloom::gui {
namespace {

/// The panel that tells of what is selected.
constexpr const char* kStory = "details";

void make_active(Session& session, std::uint64_t run) {
  for (std::size_t i = 0; i < session.runs.size(); ++i)
    if (session.runs[i].run->id == run) session.active = i;
}

Ticks middle_of_view(const Session& session) {
  return static_cast<Ticks>(std::llround((session.view.range.start + session.view.range.end) / 2));
}

void say_end(Session& session, std::string text) {
  session.say(std::move(text));
}

/// Runs `step` on the current op, or only selects that if none is yet.
template <class Step>
void step_from_op(Session& session, Step&& step) {
  const std::optional<OpRef> here = current_op(session);
  if (!here) return;
  if (!session.selection.op)
    select_op(session, *here, Reveal::Yes);
  else
    step(*here);
}

/// Likewise with the index of the op's run, when it is there.
template <class Step>
void walk_from_op(Session& session, Step step) {
  step_from_op(session, [&](const OpRef& here) {
    const RunPtr run = session.find_run(here.run)->run;
    session.part<OpWalks>().with(session, run, [run, here, step](Session& now, const OpWalk& walk) {
      if (now.selection.op == here) step(now, *run, walk, here);
    });
  });
}

}  // namespace

void select_op(Session& session, const OpRef& op, Reveal reveal) {
  const OpenRun* open = session.find_run(op.run);
  if (open == nullptr) return;  // closed since its picture was drawn
  const RunModel& run = *open->run;
  session.selection.op = op;
  session.selection.gap.reset();
  session.front_request = kStory;
  make_active(session, op.run);
  if (reveal == Reveal::Yes)
    bring_into_sight(session, {run.timeline.start[op.op], run.timeline.end[op.op]}, op.run,
                     rank_at(run, op.op));
}

void select_from_list(Session& session, const OpRef& op) {
  const std::string before = session.front_request;
  select_op(session, op, Reveal::Yes);
  session.front_request = before;
}

void select_waiting(Session& session, Op op) {
  const RunModel* run = session.active_run();
  if (run == nullptr || !run->hang) return;
  session.selection.clear();
  session.selection.waiting = WaitingRef{run->id, op};
  session.front_request = kStory;
}

void select_gap(Session& session, const GapRef& gap, Reveal reveal) {
  const OpenRun* open = session.find_run(gap.run);
  if (open == nullptr) return;  // closed since its picture was drawn
  const IdleSpan& span = open->run->idle[gap.rank.at()][gap.span];
  session.selection.gap = gap;
  session.selection.op.reset();
  session.front_request = kStory;
  make_active(session, gap.run);
  if (reveal == Reveal::Yes) bring_into_sight(session, {span.start, span.end}, gap.run, gap.rank);
}

RunPtr selected_run(const Session& session) {
  const Selection& selection = session.selection;
  const std::uint64_t id = selection.op ? selection.op->run : selection.gap ? selection.gap->run : 0;
  if (const OpenRun* open = session.find_run(id)) return open->run;
  return session.active < session.runs.size() ? session.runs[session.active].run : nullptr;
}

std::optional<Rank> selected_rank(const Session& session) {
  if (session.selection.gap) return session.selection.gap->rank;
  if (!session.selection.op) return std::nullopt;
  const OpenRun* open = session.find_run(session.selection.op->run);
  return open == nullptr ? std::nullopt : std::optional(rank_at(*open->run, session.selection.op->op));
}

std::optional<OpRef> current_op(const Session& session) {
  const RunPtr run = selected_run(session);
  if (run == nullptr || run->schedule->num_ops() == 0) return std::nullopt;
  if (session.selection.op) return session.selection.op;
  std::size_t op = OpWalk::kNone;
  if (session.selection.gap) {
    const GapRef& gap = *session.selection.gap;
    op = op_near(*run, gap.rank, run->idle[gap.rank.at()][gap.span].end);
  }
  session.view.order.for_each(run->ranks(), [&](int rank) {
    if (op == OpWalk::kNone && !session.view.hidden.contains(rank))
      op = op_near(*run, Rank(rank), middle_of_view(session));
  });
  if (op == OpWalk::kNone) return std::nullopt;
  return OpRef{run->id, op};
}

void step_in_queue(Session& session, bool forward) {
  step_from_op(session, [&](const OpRef& here) {
    const RunModel& run = *session.find_run(here.run)->run;
    const std::size_t next = forward ? next_in_queue(run, here.op) : previous_in_queue(run, here.op);
    if (next == OpWalk::kNone)
      say_end(session, fmt::format("{} is the {} op of rank {}", to_text(op_at(run, here.op)),
                                   forward ? "last" : "first", rank_at(run, here.op).value()));
    else
      select_op(session, {here.run, next}, Reveal::Yes);
  });
}

void step_along_dependency(Session& session, bool forward) {
  walk_from_op(session, [forward](Session& now, const RunModel& run, const OpWalk& walk, const OpRef& here) {
    const std::size_t next = forward ? walk.forward(run, here.op) : walk.back(run, here.op);
    if (next == OpWalk::kNone)
      say_end(now, forward ? "nothing waits for " + to_text(op_at(run, here.op))
                           : to_text(op_at(run, here.op)) + " waits for nothing");
    else
      select_op(now, {here.run, next}, Reveal::Yes);
  });
}

void step_in_microbatch(Session& session, bool forward) {
  walk_from_op(session, [forward](Session& now, const RunModel& run, const OpWalk& walk, const OpRef& here) {
    const Microbatch k = op_at(run, here.op).microbatch();
    const std::vector<std::size_t> all = walk.microbatch(run, k, step_at(run, here.op));
    const auto at = std::find(all.begin(), all.end(), here.op);
    if (at == all.end() || (forward ? at + 1 == all.end() : at == all.begin()))
      say_end(now, fmt::format("{} is the {} op of microbatch {}", to_text(op_at(run, here.op)),
                               forward ? "last" : "first", k.value()));
    else
      select_op(now, {here.run, forward ? *(at + 1) : *(at - 1)}, Reveal::Yes);
  });
}

void step_to_rank(Session& session, int by) {
  step_from_op(session, [&](const OpRef& here) {
    const RunModel& run = *session.find_run(here.run)->run;
    const Ticks middle =
        run.timeline.start[here.op] + (run.timeline.end[here.op] - run.timeline.start[here.op]) / 2;
    const std::vector<int> ranks = session.view.order.of(run.ranks());
    const auto end = static_cast<std::ptrdiff_t>(ranks.size());
    const auto start = std::ranges::find(ranks, rank_at(run, here.op).value()) - ranks.begin();
    for (std::ptrdiff_t place = start + by; place >= 0 && place < end; place += by) {
      const int rank = ranks[static_cast<std::size_t>(place)];
      if (session.view.hidden.contains(rank)) continue;
      const std::size_t op = op_near(run, Rank(rank), middle, step_at(run, here.op));
      if (op == OpWalk::kNone) continue;
      select_op(session, {here.run, op}, Reveal::Yes);
      return;
    }
    say_end(session, by > 0 ? "no rank below" : "no rank above");
  });
}

void step_to_gap(Session& session, bool forward) {
  const std::optional<OpRef> here = current_op(session);
  if (!here) return;
  const RunModel& run = *session.find_run(here->run)->run;
  const Rank rank = session.selection.gap ? session.selection.gap->rank : rank_at(run, here->op);
  const std::vector<IdleSpan>& spans = run.idle[rank.at()];
  std::size_t next = 0;
  if (session.selection.gap) {
    next = forward ? session.selection.gap->span + 1 : session.selection.gap->span - 1;
  } else {
    const Ticks start = run.timeline.start[here->op];
    next = static_cast<std::size_t>(
        std::partition_point(spans.begin(), spans.end(),
                             [&](const IdleSpan& span) { return span.start < start; }) -
        spans.begin());
    if (!forward) --next;
  }
  // Below the first it has wrapped around.
  if (next >= spans.size())
    say_end(session, fmt::format("rank {} has no {} gap", rank.value(), forward ? "later" : "earlier"));
  else
    select_gap(session, {run.id, rank, next}, Reveal::Yes);
}

void select_longest_gap(Session& session) {
  const RunPtr run = selected_run(session);
  if (run == nullptr) return;
  const std::optional<GapRef> gap = longest_gap(*run, session.selection.gap);
  if (gap)
    select_gap(session, *gap, Reveal::Yes);
  else
    say_end(session, session.selection.gap ? "no shorter gap" : "no gap: every rank is busy all the time");
}

}  // namespace pipeloom::gui
