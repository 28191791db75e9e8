#include "gui/model/run/build_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/hang.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/dependency.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/messages/program_engine.hpp"
#include "sim/tracks/cause_track.hpp"
#include "sim/tracks/memory_track.hpp"
#include "sim/tracks/op_track.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/input.hpp"

namespace pipeloom::gui {
namespace {

void sort_bars(std::vector<MessageBar>& bars) {
  std::sort(bars.begin(), bars.end(), [](const MessageBar& a, const MessageBar& b) {
    return std::pair(a.start, a.consumer) < std::pair(b.start, b.consumer);
  });
}

/// Under the `latency` model a message is under way from its producer's end for as long as the hop takes.
std::vector<MessageBar> latency_bars(const Timeline& timeline, const Costs& costs) {
  const auto takes_time = [](const std::vector<Ticks>& delays) {
    return std::any_of(delays.begin(), delays.end(), [](Ticks delay) { return delay > 0; });
  };
  std::vector<MessageBar> bars;
  if (!takes_time(costs.forward_delay) && !takes_time(costs.backward_delay)) return bars;
  const Schedule& schedule = *timeline.schedule;
  const DependencyMap dependencies(schedule);
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
    const Op op = schedule.ops()[i];
    const std::uint32_t producer = dependencies.producer_of(i);
    if (producer == DependencyMap::kNone) continue;
    const Ticks delay = arrival_delay(costs, op.kind(), schedule.slot_of(op));
    if (delay == 0) continue;
    if (bars.size() == kMaxMessageBars) return {};
    const Ticks start = timeline.end_of(producer);
    bars.push_back({start, start + delay, schedule.rank_of_op(producer), schedule.rank_of_op(i), producer, i,
                    op.kind() != OpKind::Forward});
  }
  sort_bars(bars);
  return bars;
}

std::vector<MessageBar> program_bars(const ProgramRun& run, const Program& program) {
  std::vector<MessageBar> bars;
  const MessageTable& table = program.messages();
  if (table.size() > kMaxMessageBars) return bars;
  for (MessageId id = 0; id < table.size(); ++id) {
    const MessageInfo& info = table[id];
    const MessageTimes& times = run.messages[id];
    if (times.end > times.start)
      bars.push_back({times.start, times.end, info.from_rank, info.to_rank, info.producer_op,
                      info.consumer_op, !info.is_forward()});
  }
  sort_bars(bars);
  return bars;
}

std::vector<MessageBar> traced_bars(const std::vector<io::TracedMessage>& messages) {
  std::vector<MessageBar> bars;
  for (const io::TracedMessage& message : messages) {
    const Span span = message.under_way();
    if (message.step != 0 || span.length() <= 0) continue;
    if (bars.size() == kMaxMessageBars) return {};
    bars.push_back({span.start, span.end, message.from, message.to, message.producer, message.consumer,
                    message.is_gradient});
  }
  sort_bars(bars);
  return bars;
}

/// Costs of a run whose times are given: no hop takes time, so that a gap has no cause but its phase.
Costs no_hops(const Schedule& schedule) {
  return default_costs(schedule.placement());
}

std::shared_ptr<RunModel> new_run(std::string title, RunSource source, std::string file) {
  auto run = std::make_shared<RunModel>();
  run->id = next_run_id();
  run->title = std::move(title);
  run->source = source;
  run->file = std::move(file);
  return run;
}

/// The entries that ran, as a schedule and its times. Op index i ran if end[i] is not negative.
Timeline executed_part(const Schedule& schedule, const std::vector<Ticks>& start,
                       const std::vector<Ticks>& end, TimeUnit unit) {
  ScheduleBuilder builder = builder_like(schedule);
  Timeline timeline;
  timeline.unit = unit;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    builder.begin_rank(rank);
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     if (end[first] < 0) return;
                     builder.add_group(schedule.ops().subspan(first, last - first));
                     for (std::size_t i = first; i < last; ++i) {
                       timeline.start.push_back(start[i]);
                       timeline.end.push_back(end[i]);
                     }
                   });
  }
  timeline.schedule = std::make_shared<const Schedule>(std::move(builder).build());
  return timeline;
}

std::vector<std::string> remedies_of(const Schedule& schedule) {
  constexpr std::size_t kBudget = 20'000'000;  // a fraction of a second: the user waits for the picture
  std::vector<std::string> lines;
  const auto moves = find_unblocking_moves(schedule, kBudget);
  if (!moves) return lines;
  Schedule changed = schedule;
  for (const Move& move : *moves) {
    lines.push_back(describe(move, changed));
    changed = with_move(changed, move);
  }
  return lines;
}

}  // namespace

const std::vector<std::size_t>& RunModel::critical() const {
  static const std::vector<std::size_t> kNone;
  return critical_path ? critical_path->entries : kNone;
}

std::uint64_t next_run_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void require_shown(int ranks, double ops, const std::string& what) {
  if (ranks <= kMostShownRanks && ops <= kMostShownOps) return;
  throw InputError(
      fmt::format("{} has {} ranks and {:.3g} ops; the window shows up to {} ranks and {:.3g} ops; "
                  "make it smaller, or take `pipeloom simulate`",
                  what, ranks, ops, kMostShownRanks, kMostShownOps));
}

void require_shown(const io::Config& config) {
  Limits limits;
  limits.max_memory = std::numeric_limits<double>::infinity();  // the window's own limit is lower
  const study::SchedulePlan plan = study::plan_schedule(config, limits);
  if (plan.found.generator == nullptr) return;
  const Params& params = plan.params;
  const int kinds = params.options.forward_only                          ? 1
                    : plan.found.generator->requirements.splits_backward ? 3
                                                                         : 2;
  const int extras = (config.options.recompute.on ? 1 : 0) + (config.options.offload.on ? 2 : 0);
  require_shown(params.ranks,
                static_cast<double>(kinds + extras) * params.ranks * params.chunks * params.microbatches *
                    params.slices() * params.updates() * config.step.count,
                plan.found.generator->name);
}

Limits window_limits(const Cancelled& cancelled) {
  Limits limits;
  limits.progress = [cancelled](double share) {
    cancelled.report(share);
    return !cancelled;
  };
  limits.stop = [cancelled] { return static_cast<bool>(cancelled); };
  limits.critical_path_entries = std::size_t{1} << 21;
  limits.bound_entries = std::size_t{1} << 21;
  return limits;
}

std::string title_of(const io::EffectiveConfig& effective) {
  std::string title =
      fmt::format("{} p={} m={}", effective.schedule, effective.ranks, effective.microbatches);
  if (effective.chunks > 1) title += fmt::format(" v={}", *effective.chunks);
  return title;
}

namespace {

std::vector<Ticks> starts_of_steps(const Timeline& timeline) {
  std::vector<Ticks> starts;
  const Schedule& schedule = *timeline.schedule;
  for (int step = 0; timeline.steps > 1 && step < timeline.steps; ++step) {
    Ticks first = std::numeric_limits<Ticks>::max();
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      if (const std::size_t op = schedule.queue_begin(Rank(rank)); op != schedule.queue_end(Rank(rank)))
        first = std::min(first, timeline.start[timeline.index(step, op)]);
    starts.push_back(first);
  }
  return starts;
}

}  // namespace

void index_run(RunModel& run) {
  run.step_start = starts_of_steps(run.timeline);
  run.op_track = std::make_shared<const tracks::OpTrack>(run.timeline);
  run.span_ = run.op_track->span();
  run.cause_track = std::make_shared<const tracks::CauseTrack>(run.idle);
  if (run.memory && run.span_.length() > 0)
    run.memory_track = std::make_shared<const tracks::MemoryTrack>(run.timeline, *run.memory, run.span_);
  if (!run.message_bars.empty())
    run.message_track = std::make_shared<const tracks::MessageTrack>(run.message_bars, run.ranks());
}

namespace {

std::shared_ptr<RunModel> make_run(Run made, std::string title, RunSource source, std::string file) {
  auto run = std::make_shared<RunModel>();
  static_cast<Run&>(*run) = std::move(made);
  run->id = next_run_id();
  run->title = std::move(title);
  run->source = source;
  run->file = std::move(file);
  run->idle = study::idle_spans_of(*run);
  run->message_bars = run->program_run ? program_bars(*run->program_run, *run->program)
                                       : latency_bars(run->timeline, *run->costs);
  run->program_run.reset();
  run->program.reset();
  index_run(*run);
  return run;
}

}  // namespace

RunPtr build_run(Run made, std::string title, RunSource source, std::string file) {
  return make_run(std::move(made), std::move(title), source, std::move(file));
}

ShownRun build_shown(Run made, std::string title, RunSource source, std::string file, const Limits& limits) {
  const bool later = made.schedule->num_ops() > kShownFirst;
  if (!later) study::add_bound_and_path(made, limits);
  ShownRun shown{nullptr, made.program, made.program_run};
  const auto run = make_run(std::move(made), std::move(title), source, std::move(file));
  run->analysed = !later;
  shown.run = run;
  return shown;
}

RunPtr analysed(const ShownRun& shown, const Limits& limits) {
  auto run = std::make_shared<RunModel>(*shown.run);
  run->program = shown.program;
  run->program_run = shown.program_run;
  study::add_bound_and_path(*run, limits);
  run->program.reset();
  run->program_run.reset();
  run->analysed = true;
  index_run(*run);  // the index points into the copy's own data
  return run;
}

RunPtr build_timed_run(Timeline timeline, std::string title, std::string file,
                       std::vector<std::string> warnings, const std::vector<io::TracedMessage>& messages,
                       const Recorded& recorded) {
  auto run = new_run(std::move(title), RunSource::TimelineFile, std::move(file));
  run->schedule = timeline.schedule;
  run->timeline = std::move(timeline);
  run->warnings = std::move(warnings);
  run->partial = recorded.partial;
  run->cut = recorded.cut;
  run->message_bars = traced_bars(messages);
  run->idle = all_idle_spans(run->timeline, no_hops(*run->schedule));
  index_run(*run);
  return run;
}

std::vector<Ticks> run_slack(const RunModel& run) {
  if (!run.costs || run.messages || run.hang || run.source == RunSource::TimelineFile) return {};
  if (run.schedule->num_entries() > kMaxSlackEntries) return {};
  return slack(run.timeline, *run.costs);
}

RunPtr build_hanging_run(const std::shared_ptr<const Schedule>& schedule, const Costs& costs,
                         std::string title, RunSource source, std::string file) {
  std::vector<Ticks> start(schedule->num_ops(), -1);
  std::vector<Ticks> end(schedule->num_ops(), -1);
  auto outcome = Simulator().evaluate(*schedule, costs, default_memory(schedule->placement()), start, end);
  auto run = new_run(std::move(title), source, std::move(file));
  run->timeline = executed_part(*schedule, start, end, costs.unit);
  run->schedule = run->timeline.schedule;
  run->whole = schedule;
  run->costs = std::make_shared<const Costs>(costs);
  run->idle = all_idle_spans(run->timeline, costs);
  // The step has no end, so that no gap before it is a cool-down.
  for (auto& spans : run->idle)
    std::erase_if(spans, [](const IdleSpan& span) { return span.cause == IdleCause::Cooldown; });
  run->message_bars = latency_bars(run->timeline, costs);
  if (auto* hang = std::get_if<ScheduleHang>(&outcome)) {
    auto lines = wait_lines(*hang, *schedule);
    run->hang = {std::move(*hang), std::move(lines), remedies_of(*schedule)};
  }
  index_run(*run);
  return run;
}

}  // namespace pipeloom::gui
