// Causes of gaps, and ops and gaps by their names.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/chart/roots.hpp"
#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/text.hpp"

namespace pipeloom::gui {
namespace {

std::string time_of(const RunModel& run, Ticks ticks) {
  return duration_text(ticks, run.timeline.unit);
}

/// "2F0 of rank 2".
std::string op_of_rank(const RunModel& run, std::size_t position) {
  return fmt::format("{} of rank {}", to_text(op_at(run, position)), rank_at(run, position).value());
}

/// The op that ends last, of the first step.
std::size_t last_op(const RunModel& run) {
  std::size_t last = OpWalk::kNone;
  for (Rank rank{0}; rank < Rank(run.ranks()); ++rank) {
    if (run.schedule->queue(rank).empty()) continue;
    const std::size_t op = run.schedule->queue_end(rank) - 1;
    if (last == OpWalk::kNone || run.timeline.end[op] > run.timeline.end[last]) last = op;
  }
  return last;
}

/// "2/rest": the rank and the rest; the rank is -1 where there is none.
std::pair<int, std::string_view> split_rank(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {-1, text};
  const auto rank = count_in(text.substr(0, slash));
  return {rank ? *rank : -2, text.substr(slash + 1)};
}

[[noreturn]] void refuse(std::string_view text, const std::string& allowed) {
  throw InputError("found '" + shortened(text, 40) + "'; allowed is " + allowed);
}

/// Finds the most that the producer may be faster, and the op that holds it up then.
void find_room(GapCause& cause, const std::vector<Neighbour>& all, Ticks run_start) {
  Ticks next = run_start;
  for (const Neighbour& other : all) {
    if (other.position == cause.producer || other.arrival <= next) continue;
    next = other.arrival;
    cause.next_producer = other.link == DependencyKind::Queue ? OpWalk::kNone : other.position;
  }
  cause.room = std::max<Ticks>(0, cause.arrival - next);
}

std::string advice(const GapCause& cause, const RunModel& run) {
  if (cause.room == 0) return fmt::format(" Faster it does not help by itself.");
  std::string text = fmt::format(" {} would start up to {} sooner if that came sooner",
                                 to_text(op_at(run, cause.before)), time_of(run, cause.room));
  if (cause.next_producer != OpWalk::kNone)
    text += fmt::format("; then it waits for {}", op_of_rank(run, cause.next_producer));
  return text + ".";
}

}  // namespace

GapCause cause_of(const OpWalk& walk, const RunModel& run, const GapRef& gap) {
  GapCause cause;
  cause.rank = gap.rank;
  cause.span = run.idle[gap.rank.at()][gap.span];
  cause.before = first_op_from(run, gap.rank, cause.span.end);
  if (cause.before == OpWalk::kNone) return cause;
  const std::vector<Neighbour> all = walk.predecessors(run, cause.before);
  Ticks free_since = run.span().start;
  const Neighbour* last = nullptr;
  for (const Neighbour& neighbour : all) {
    if (neighbour.link == DependencyKind::Queue) {
      free_since = neighbour.arrival;
      continue;
    }
    const auto end_of = [&](const Neighbour& one) { return run.timeline.end[one.position]; };
    if (last == nullptr || neighbour.arrival > last->arrival ||
        (neighbour.arrival == last->arrival && end_of(neighbour) > end_of(*last)))
      last = &neighbour;
  }
  if (last == nullptr) return cause;
  cause.producer = last->position;
  cause.link = last->link;
  cause.produced = run.timeline.end[last->position];
  cause.arrival = last->arrival;
  cause.explains = cause.arrival > free_since;
  if (cause.explains) find_room(cause, all, run.span().start);
  return cause;
}

namespace {

/// Says what the rank's next op waits for, and which change would help.
std::string neighbour_text(const GapCause& cause, const RunModel& run) {
  const int rank = cause.rank.value();
  if (cause.before == OpWalk::kNone) {
    const std::size_t last = last_op(run);
    return last == OpWalk::kNone
               ? fmt::format("Rank {} has no ops.", rank)
               : fmt::format("Rank {} has nothing left to do; the step ends at {} with {}.", rank,
                             time_of(run, run.timeline.end[last]), op_of_rank(run, last));
  }
  if (cause.producer == OpWalk::kNone)
    return fmt::format("{} waits for no other op.", to_text(op_at(run, cause.before)));
  std::string text =
      fmt::format("{} of rank {} waits for {}, which ends at {}", to_text(op_at(run, cause.before)), rank,
                  op_of_rank(run, cause.producer), time_of(run, cause.produced));
  if (cause.arrival != cause.produced) text += fmt::format(" and arrives at {}", time_of(run, cause.arrival));
  if (!cause.explains)
    return text +
           ": before the gap, so it is not the reason. Messages that wait for others, or the rank "
           "itself, took the time.";
  return text + "." + advice(cause, run);
}

}  // namespace

std::string to_text(const GapCause& cause, const RunModel& run, std::span<const RootCause> roots) {
  const std::string reason = roots_text(run, roots);
  return neighbour_text(cause, run) + (reason.empty() ? "" : " " + reason);
}

std::optional<GapRef> longest_gap(const RunModel& run, const std::optional<GapRef>& after) {
  // Larger comes first: length up, rank and position down.
  using Order = std::tuple<Ticks, std::int64_t, std::int64_t>;
  const auto order = [&](std::size_t rank, std::size_t span) {
    const IdleSpan& gap = run.idle[rank][span];
    return Order{gap.end - gap.start, -static_cast<std::int64_t>(rank), -static_cast<std::int64_t>(span)};
  };
  std::optional<Order> limit;
  if (after) limit = order(after->rank.at(), after->span);
  std::optional<Order> best;
  for (std::size_t rank = 0; rank < run.idle.size(); ++rank)
    for (std::size_t span = 0; span < run.idle[rank].size(); ++span) {
      const Order here = order(rank, span);
      if ((!limit || here < *limit) && (!best || here > *best)) best = here;
    }
  if (!best) return std::nullopt;
  return GapRef{run.id, Rank(static_cast<std::int32_t>(-std::get<1>(*best))),
                static_cast<std::size_t>(-std::get<2>(*best))};
}

std::size_t find_op(const RunModel& run, std::string_view text) {
  const auto [number, name] = split_rank(text);
  const std::string allowed =
      fmt::format("an op such as 0F0 or 0/0F0, with a rank from 0 to {}", run.ranks() - 1);
  const std::vector<Op> entry = parse_entry(name);
  if (entry.empty() || number < -1 || number >= run.ranks()) refuse(text, allowed);
  const Schedule& schedule = *run.schedule;
  const std::size_t begin = number < 0 ? 0 : schedule.queue_begin(Rank(number));
  const std::size_t end = number < 0 ? schedule.num_ops() : schedule.queue_end(Rank(number));
  const auto ops = schedule.ops().subspan(begin, end - begin);
  const auto found = std::find(ops.begin(), ops.end(), entry.front());
  if (found == ops.end())
    throw InputError(fmt::format("no queue{} has {}; {}",
                                 number < 0 ? std::string() : fmt::format(" of rank {}", number),
                                 to_text(entry.front()), "look it up in the table of ops"));
  return begin + static_cast<std::size_t>(found - ops.begin());
}

GapRef find_gap(const RunModel& run, std::string_view text) {
  const auto [rank, name] = split_rank(text);
  const auto number = count_in(name);
  if (rank < 0 || rank >= run.ranks() || !number)
    refuse(text, fmt::format("RANK/N with a rank from 0 to {}", run.ranks() - 1));
  const std::size_t gaps = run.idle[static_cast<std::size_t>(rank)].size();
  const auto span = static_cast<std::size_t>(*number);
  if (span >= gaps)
    throw InputError(
        fmt::format("rank {} has {} gaps, counted from 0; there is no gap {}", rank, gaps, span));
  return {run.id, Rank(rank), span};
}

std::string op_name(const RunModel& run, std::size_t position) {
  return fmt::format("{}/{}", rank_at(run, position).value(), to_text(op_at(run, position)));
}

// OpWalks

const OpWalk* OpWalks::ready(std::uint64_t run) const {
  for (const auto& [id, walk] : made_)
    if (id == run) return walk.get();
  return nullptr;
}

void OpWalks::make(Session& session, const RunPtr& run) {
  if (run->schedule->num_ops() <= kWalkNow) {
    made_.emplace_back(run->id, std::make_shared<const OpWalk>(run->schedule));
    return;
  }
  if (under_way_ == run->id) return;
  under_way_ = run->id;
  session.jobs.submit("walk", [this, &session, run](const Cancelled&) -> Jobs::Finish {
    auto walk = std::make_shared<const OpWalk>(run->schedule);
    return [this, &session, run, walk] {
      made_.emplace_back(run->id, walk);
      under_way_ = 0;
      if (then_) std::exchange(then_, {})(session, *walk);
    };
  });
}

void OpWalks::with(Session& session, const RunPtr& run, std::function<void(Session&, const OpWalk&)> then) {
  if (ready(run->id) == nullptr) make(session, run);
  if (const OpWalk* walk = ready(run->id)) {
    then(session, *walk);
    return;
  }
  then_ = std::move(then);
}

const OpWalk* OpWalks::find(Session& session, const RunPtr& run) {
  if (ready(run->id) == nullptr) make(session, run);
  return ready(run->id);
}

bool OpWalks::update(Session& session) {
  std::erase_if(made_, [&](const auto& made) { return session.find_run(made.first) == nullptr; });
  if (under_way_ != 0 && session.find_run(under_way_) == nullptr) {
    session.jobs.cancel("walk");
    under_way_ = 0;
    then_ = {};
  }
  return false;
}

}  // namespace pipeloom::gui
