#include "gui/model/answer/cursor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"
#include "sim/tracks/track.hpp"

namespace pipeloom::gui {
namespace {

/// Ops of a queue that are shown, and looked at, at a moment.
constexpr std::size_t kShownNext = 4;
constexpr std::size_t kLookedAhead = 64;
/// A map of dependencies takes memory that follows the ops.
constexpr std::size_t kMostDependencies = 2'000'000;

std::shared_ptr<const MemoryModel> memory_of(const RunModel& run) {
  return run.memory ? run.memory
                    : std::make_shared<const MemoryModel>(default_memory(run.schedule->placement()));
}

/// The span that is played: the measured range, else all of the run.
Span played_span(const Session& session, const RunModel& run) {
  const Span all = run.span();
  if (!session.range) return all;
  const Span range{std::max(session.range->start, all.start), std::min(session.range->end, all.end)};
  return range.end > range.start ? range : all;
}

}  // namespace

InFlight::InFlight(RunPtr run)
    : run_(std::move(run)),
      memory_(memory_of(*run_)),
      effects_(*run_->schedule, *memory_),
      steady_(find_steady(*run_)) {
  const Schedule& schedule = *run_->schedule;
  if (!run_->hang && schedule.num_ops() <= kMostDependencies) dependencies_.emplace(schedule);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    std::vector<std::uint32_t>& work = work_.emplace_back();
    std::vector<Sums>& sums = sums_.emplace_back();
    Sums now;
    for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
      const Op op = schedule.ops()[i];
      if (is_copy(op.kind())) continue;
      if (work.size() % kEvery == 0) sums.push_back(now);
      work.push_back(static_cast<std::uint32_t>(i));
      const QueueEffect effect = effects_.of(op);
      now.taken += effect.live_taken;
      now.given += effect.live_given;
    }
    sums.push_back(now);
  }
}

/// Work ops of the rank that started, or ended, by then: a front part of its queue.
std::size_t InFlight::count(std::size_t rank, Ticks time, bool starts) const {
  const std::vector<Ticks>& times = starts ? run_->timeline.start : run_->timeline.end;
  const auto later =
      std::ranges::upper_bound(work_[rank], time, {}, [&](std::uint32_t op) { return times[op]; });
  return static_cast<std::size_t>(later - work_[rank].begin());
}

InFlight::Sums InFlight::before(std::size_t rank, std::size_t position) const {
  Sums out = sums_[rank][position / kEvery];
  for (std::size_t i = position / kEvery * kEvery; i < position; ++i) {
    const QueueEffect effect = effects_.of(run_->schedule->ops()[work_[rank][i]]);
    out.taken += effect.live_taken;
    out.given += effect.live_given;
  }
  return out;
}

int InFlight::at(Rank rank, Ticks time) const {
  return before(rank.at(), count(rank.at(), time, true)).taken -
         before(rank.at(), count(rank.at(), time, false)).given;
}

/// True if an op's input came from another rank, and is there.
bool InFlight::has_received(std::size_t op, Ticks time) const {
  const Schedule& schedule = *run_->schedule;
  const std::uint32_t producer = dependencies_->producer_of(op);
  if (producer == DependencyMap::kNone || schedule.rank_of_op(producer) == schedule.rank_of_op(op))
    return false;
  const Op consumer = schedule.ops()[op];
  const Ticks delay =
      run_->costs ? arrival_delay(*run_->costs, consumer.kind(), schedule.slot_of(consumer)) : 0;
  return run_->timeline.end_of(producer) + delay <= time;
}

QueueMoment InFlight::queue_at(Rank rank, Ticks time) const {
  const std::vector<std::uint32_t>& work = work_[rank.at()];
  const auto ops = run_->schedule->ops();
  const std::size_t started = count(rank.at(), time, true);
  QueueMoment out;
  for (std::size_t i = count(rank.at(), time, false); i < started; ++i) out.now.push_back(ops[work[i]]);
  for (std::size_t i = started; i < std::min(work.size(), started + kShownNext); ++i)
    out.next.push_back(ops[work[i]]);
  const std::size_t looked = std::min(work.size(), started + kLookedAhead);
  for (std::size_t i = started; dependencies_ && i < looked && out.received.size() < kShownNext; ++i)
    if (has_received(work[i], time)) out.received.push_back(ops[work[i]]);
  return out;
}

std::optional<Ticks> InFlight::next_start(Ticks time) const {
  std::optional<Ticks> next;
  for (std::size_t rank = 0; rank < work_.size(); ++rank) {
    const std::size_t at = count(rank, time, true);
    if (at == work_[rank].size()) continue;
    const Ticks start = run_->timeline.start[work_[rank][at]];
    if (!next || start < *next) next = start;
  }
  return next;
}

std::optional<Ticks> InFlight::start_before(Ticks time) const {
  std::optional<Ticks> before;
  for (std::size_t rank = 0; rank < work_.size(); ++rank) {
    const std::size_t at = count(rank, time - 1, true);
    if (at == 0) continue;
    const Ticks start = run_->timeline.start[work_[rank][at - 1]];
    if (!before || start > *before) before = start;
  }
  return before;
}

std::optional<Ticks> Cursor::time(Session& session) const {
  if (!time_ || session.active_run() == nullptr) return std::nullopt;
  return nearest_tick(*time_);
}

void Cursor::put(Session& session, std::optional<double> time) {
  const RunModel* run = session.active_run();
  if (run != nullptr && time)
    time_ = std::clamp(*time, static_cast<double>(run->span().start), static_cast<double>(run->span().end));
  else
    time_.reset();
  playing_ = playing_ && time_.has_value();
  session.part<ChartPart>().cursor = time_;
}

void Cursor::step(Session& session, bool forward) {
  const RunModel* run = session.active_run();
  if (run == nullptr) return;
  playing_ = false;
  if (!time_) return put(session, static_cast<double>(run->span().start));
  if (!in_flight_) return;
  const Ticks now = nearest_tick(*time_);
  const auto to = forward ? in_flight_->next_start(now) : in_flight_->start_before(now);
  if (to) put(session, static_cast<double>(*to));
}

void Cursor::play(Session& session, bool on) {
  playing_ = on && session.active_run() != nullptr;
  if (playing_ && !time_)
    put(session, static_cast<double>(played_span(session, *session.active_run()).start));
}

void Cursor::play_steady(Session& session) {
  const RunModel* const run = session.active_run();
  if (run == nullptr) return;
  if (!time_) put(session, static_cast<double>(run->span().start));
  steady_wanted_ = true;
}

/// Starts the playing that play_steady() asked for, once the steady state is known.
void Cursor::start_steady(Session& session) {
  if (!steady_wanted_ || !in_flight_ || asked_ != session.active_run()->id) return;
  steady_wanted_ = false;
  const std::optional<Steady>& steady = in_flight_->steady();
  if (!steady) return session.say("nothing repeats: the step has no steady state of two equal periods");
  const Ticks end = steady->start + steady->period;
  session.range = MeasuredRange{steady->start, end};
  // A period that would be a sliver is brought into sight.
  constexpr double kMostPeriods = 20;
  const auto start = static_cast<double>(steady->start);
  const auto period = static_cast<double>(steady->period);
  if (session.view.range.length() > kMostPeriods * period)
    show_range(session, {start - period, start + 2 * period});
  put(session, start);
  play(session, true);
  session.say(fmt::format("{} repeats every {}",
                          steady->microbatches == 1
                              ? std::string("one microbatch")
                              : fmt::format("a cycle of {} microbatches", steady->microbatches),
                          duration_text(steady->period, session.active_run()->timeline.unit)));
}

std::optional<Bytes> Cursor::held(const RunModel& run, Rank rank, Ticks time) {
  if (!run.memory_track) return std::nullopt;
  tracks::Extent extent;
  const auto at = static_cast<double>(time);
  run.memory_track->extents(rank.at(), {at, at + 1}, {&extent, 1});
  return extent.most;
}

/// Starts the job that finds the microbatches in flight, while the picture is drawn.
void Cursor::ask(Session& session) {
  const RunModel* now = session.active_run();
  if (now == nullptr || !time_ || asked_ == now->id) return;
  asked_ = now->id;
  in_flight_.reset();
  session.jobs.submit("cursor",
                      [&session, run = session.runs[session.active].run](const Cancelled&) -> Jobs::Finish {
                        return [&session, id = run->id, found = std::make_shared<const InFlight>(run)] {
                          auto& cursor = session.part<Cursor>();
                          if (cursor.asked_ == id) cursor.in_flight_ = found;
                        };
                      });
}

bool Cursor::update(Session& session) {
  auto& chart = session.part<ChartPart>();
  // The pointer may have moved it.
  const bool moved = chart.cursor != time_;
  if (moved) put(session, chart.cursor);
  if (session.part<PointerPart>().drag == PointerPart::Drag::Cursor) playing_ = false;
  ask(session);
  const RunModel* run = session.active_run();
  if (run != nullptr) start_steady(session);
  if (moved) return true;
  if (!playing_ || run == nullptr || !time_) return false;
  const Span span = played_span(session, *run);
  const double length = static_cast<double>(span.length());
  const double from = static_cast<double>(span.start);
  const double next = *time_ - from + length * session.frame_seconds / kPlaySeconds;
  // At the end it goes on from the start; also where it is outside of the range.
  put(session, next < 0 || next > length ? from : from + next);
  return true;
}

namespace {

void write_ops(std::span<const Op> ops, io::JsonWriter& out) {
  out.array();
  for (const Op op : ops) out.text(to_text(op.with_joined(false)));
  out.close();
}

void write_queues(const InFlight& in_flight, int ranks, Ticks now, io::JsonWriter& out) {
  out.array();
  for (Rank rank{0}; rank < Rank(ranks); ++rank) {
    const QueueMoment moment = in_flight.queue_at(rank, now);
    out.object();
    write_ops(moment.now, out.key("now"));
    write_ops(moment.next, out.key("next"));
    write_ops(moment.received, out.key("received"));
    out.close();
  }
  out.close();
}

}  // namespace

void Cursor::write_state(const Session& session, io::JsonWriter& out) const {
  const RunModel* run = session.active_run();
  if (!time_ || run == nullptr || !in_flight_ || asked_ != run->id) {
    out.null();
    return;
  }
  const Ticks now = nearest_tick(*time_);
  out.object().member("time", to_double(now, run->timeline.unit)).member("playing", playing_);
  out.key("in_flight").array();
  for (Rank rank{0}; rank < Rank(run->ranks()); ++rank) out.number(in_flight_->at(rank, now));
  out.close().key("memory_bytes").array();
  for (Rank rank{0}; rank < Rank(run->ranks()); ++rank)
    if (const auto bytes = held(*run, rank, now)) out.number(run->memory->in_bytes(*bytes));
  out.close();
  write_queues(*in_flight_, run->ranks(), now, out.key("queues"));
  out.key("steady");
  if (const std::optional<Steady>& steady = in_flight_->steady())
    out.object()
        .member("start", to_double(steady->start, run->timeline.unit))
        .member("period", to_double(steady->period, run->timeline.unit))
        .member("microbatches", steady->microbatches)
        .close();
  else
    out.null();
  out.close();
}

}  // namespace pipeloom::gui
