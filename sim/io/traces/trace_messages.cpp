#include "sim/io/traces/trace_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/analysis/clocks.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/dependency.hpp"

namespace pipeloom::io {
namespace {

/// Two ops of a timeline and the tensor between their ranks.
struct Wire {
  std::size_t producer = 0;
  std::size_t consumer = 0;
};

std::vector<Wire> wires_of(const Schedule& schedule) {
  std::vector<Wire> wires;
  const DependencyMap dependencies(schedule);
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
    const std::uint32_t producer = dependencies.producer_of(i);
    if (producer != DependencyMap::kNone && schedule.rank_of_op(producer) != schedule.rank_of_op(i))
      wires.push_back({producer, i});
  }
  return wires;
}

/// One side of a message as its rank names it.
struct SideName {
  std::int32_t rank = 0;
  std::int32_t stage = 0;
  std::int32_t microbatch = 0;
  bool is_gradient = false;
  bool is_receive = false;
  friend auto operator<=>(const SideName&, const SideName&) = default;
};

class Pairer {
 public:
  Pairer(const Timeline& timeline, const TraceOrigin& origin)
      : timeline_(timeline), schedule_(*timeline.schedule), origin_(origin), wires_(wires_of(schedule_)) {
    for (std::size_t i = 0; i < wires_.size(); ++i) {
      sides_.emplace(name_of(wires_[i].producer, i, false), i);
      sides_.emplace(name_of(wires_[i].consumer, i, true), i);
    }
  }

  PairedMessages run() {
    for (std::size_t r = 0; r < origin_.ranks.size(); ++r)
      for (const TraceMessage& message : origin_.ranks[r]->messages)
        place(message, static_cast<std::int32_t>(r));
    PairedMessages out;
    for (const auto& [at, sides] : found_) {
      const auto [step, wire] = at;
      if (!sides.send || !sides.receive) {
        ++out.alone;
        continue;
      }
      out.messages.push_back({.step = step,
                              .producer = wires_[wire].producer,
                              .consumer = wires_[wire].consumer,
                              .from = schedule_.rank_of_op(wires_[wire].producer),
                              .to = schedule_.rank_of_op(wires_[wire].consumer),
                              .is_gradient = is_gradient(wire),
                              .send = *sides.send,
                              .receive = *sides.receive});
    }
    return out;
  }

 private:
  struct Sides {
    std::optional<Span> send;
    std::optional<Span> receive;
  };

  [[nodiscard]] bool is_gradient(std::size_t wire) const {
    return schedule_.ops()[wires_[wire].consumer].kind() != OpKind::Forward;
  }
  [[nodiscard]] SideName name_of(std::size_t op, std::size_t wire, bool is_receive) const {
    const Op found = schedule_.ops()[op];
    return {schedule_.rank_of_op(op).value(), found.stage().value(), found.microbatch().value(),
            is_gradient(wire), is_receive};
  }

  void place(const TraceMessage& message, std::int32_t rank) {
    const auto side =
        sides_.find({rank, message.stage, message.microbatch, message.is_gradient, message.is_receive});
    if (side == sides_.end()) return;
    const Wire& wire = wires_[side->second];
    const int step = message.step != kUnknown ? step_marked(message.step)
                     : message.is_receive     ? step_of_receive(message, wire.consumer)
                                              : step_of_send(message, wire.producer);
    if (step < 0) return;
    const Ticks offset = origin_.offset[static_cast<std::size_t>(step)];
    Sides& sides = found_[{step, side->second}];
    (message.is_receive ? sides.receive : sides.send) = Span{message.start + offset, message.end + offset};
  }

  /// -1 if the timeline has no such step.
  [[nodiscard]] int step_marked(std::int32_t mark) const {
    const auto found = std::find(origin_.marks.begin(), origin_.marks.end(), mark);
    return found == origin_.marks.end() ? -1 : static_cast<int>(found - origin_.marks.begin());
  }
  /// The last whose op has started by then.
  [[nodiscard]] int step_of_send(const TraceMessage& message, std::size_t producer) const {
    for (int step = timeline_.steps - 1; step >= 0; --step)
      if (timeline_.start_of(producer, step) <= message.start + offset_of(step)) return step;
    return -1;
  }
  /// The first whose op has not ended before.
  [[nodiscard]] int step_of_receive(const TraceMessage& message, std::size_t consumer) const {
    for (int step = 0; step < timeline_.steps; ++step)
      if (message.start + offset_of(step) <= timeline_.end_of(consumer, step)) return step;
    return -1;
  }
  [[nodiscard]] Ticks offset_of(int step) const { return origin_.offset[static_cast<std::size_t>(step)]; }

  const Timeline& timeline_;
  const Schedule& schedule_;
  const TraceOrigin& origin_;
  std::vector<Wire> wires_;
  std::map<SideName, std::size_t> sides_;                        // -> wire
  std::map<std::pair<std::int32_t, std::size_t>, Sides> found_;  // [step, wire]
};

/// True if the op is one of several that ran at once: what of it ran when is not known.
bool is_overlapped(const Timeline& timeline, std::size_t op, int step) {
  const Schedule& schedule = *timeline.schedule;
  const auto together = [&](std::size_t a, std::size_t b) {
    return timeline.start_of(a, step) == timeline.start_of(b, step);
  };
  return (schedule.ops()[op].joined() && together(op, op + 1)) ||
         (op > 0 && schedule.ops()[op - 1].joined() && together(op - 1, op));
}

/// A message, from when it can have left at the earliest to when it was there at the latest.
struct Arrival {
  Rank from;
  Rank to;
  Ticks gap = 0;
  /// How long the receiver had nothing to do before; 0 where that is not known.
  Ticks idle = 0;
};

/// When the rank of an op was free for it. Nothing for the first one of a rank: its step may have begun late.
std::optional<Ticks> free_for(const Timeline& timeline, std::size_t op, int step) {
  const Schedule& schedule = *timeline.schedule;
  if (op == schedule.queue_begin(schedule.rank_of_op(op))) return std::nullopt;
  return timeline.end_of(op - 1, step);
}

/// Those of the steps [first, last), as ops show them and as ranges of messages do.
std::vector<Arrival> arrivals_of(const Timeline& timeline, const std::vector<Wire>& wires,
                                 const std::vector<TracedMessage>& messages, const WaitsInside& waits,
                                 int first, int last) {
  const Schedule& schedule = *timeline.schedule;
  std::vector<Arrival> out;
  for (int step = first; step < last; ++step)
    for (const Wire& wire : wires) {
      const bool ends_early = waits.of_next[wire.producer] || is_overlapped(timeline, wire.producer, step);
      const bool starts_late = waits.unknown[wire.consumer] || is_overlapped(timeline, wire.consumer, step);
      const Ticks left =
          ends_early ? timeline.start_of(wire.producer, step) : timeline.end_of(wire.producer, step);
      const Ticks there =
          starts_late ? timeline.end_of(wire.consumer, step) : timeline.start_of(wire.consumer, step);
      const auto free = free_for(timeline, wire.consumer, step);
      const bool is_exact = free && !ends_early && !starts_late;
      out.push_back({schedule.rank_of_op(wire.producer), schedule.rank_of_op(wire.consumer), there - left,
                     is_exact ? there - *free : 0});
    }
  for (const TracedMessage& message : messages) {
    if (message.step < first || message.step >= last) continue;
    const Ticks free = free_for(timeline, message.consumer, message.step).value_or(-kMaxTicks);
    out.push_back({message.from, message.to, message.receive.end - message.send.start,
                   message.receive.end - std::max(free, message.receive.start)});
  }
  return out;
}

/// What every link's messages say. `usual` is how long an op takes: which messages were waited for counts only where the others may have come far
/// earlier than they were asked for.
std::vector<ClockGap> gaps_of(const std::vector<Arrival>& arrivals, Ticks usual) {
  std::map<std::pair<Rank, Rank>, ClockGap> links;
  for (const Arrival& one : arrivals) {
    ClockGap& link =
        links.emplace(std::pair(one.from, one.to), ClockGap{one.from, one.to, one.gap}).first->second;
    link.least = std::min(link.least, one.gap);
  }
  for (const Arrival& one : arrivals) {
    ClockGap& link = links.at({one.from, one.to});
    if (one.idle > usual / 20 && one.gap <= link.least + usual / 10) ++link.waited;
  }
  std::vector<ClockGap> gaps;
  for (const auto& [ranks, link] : links) {
    gaps.push_back(link);
    const auto back = links.find({link.to, link.from});
    if (back != links.end() && link.least + back->second.least <= usual / 10) gaps.back().waited = 0;
  }
  return gaps;
}

/// Of ops that take time; 0 if none does.
Ticks usual_duration(const Timeline& timeline) {
  std::vector<Ticks> durations;
  for (std::size_t i = 0; i < timeline.schedule->num_ops(); ++i)
    if (timeline.end_of(i) > timeline.start_of(i))
      durations.push_back(timeline.end_of(i) - timeline.start_of(i));
  if (durations.empty()) return 0;
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

void shift(Timeline& timeline, std::vector<TracedMessage>& messages, const std::vector<Ticks>& offset,
           int first, int last) {
  const Schedule& schedule = *timeline.schedule;
  const auto move = [](Span& span, Ticks by) { span = {span.start - by, span.end - by}; };
  for (int step = first; step < last; ++step)
    for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
      const Ticks by = offset[schedule.rank_of_op(i).at()];
      timeline.start[timeline.index(step, i)] -= by;
      timeline.end[timeline.index(step, i)] -= by;
    }
  for (TracedMessage& message : messages) {
    if (message.step < first || message.step >= last) continue;
    move(message.send, offset[message.from.at()]);
    move(message.receive, offset[message.to.at()]);
  }
}

/// All times from the first start on.
void start_at_zero(Timeline& timeline, std::vector<TracedMessage>& messages) {
  if (timeline.start.empty()) return;
  const Ticks first = *std::min_element(timeline.start.begin(), timeline.start.end());
  shift(timeline, messages, std::vector<Ticks>(static_cast<std::size_t>(timeline.schedule->ranks()), first),
        0, timeline.steps);
}

/// "rank 1 is 5 ms ahead, rank 2 is 0.1 ms behind".
std::string text_of_offsets(const std::vector<Ticks>& offset, const std::vector<std::int32_t>& ranks,
                            TimeUnit unit) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> texts;
  std::size_t count = 0;
  for (std::size_t r = 0; r < offset.size(); ++r) {
    if (offset[r] == 0 || ++count > kShown) continue;
    texts.push_back(fmt::format("rank {} is {} {} {}", ranks[r], format_ticks(std::abs(offset[r]), unit),
                                name_of(unit), offset[r] > 0 ? "ahead" : "behind"));
  }
  std::string out = fmt::format("{}", fmt::join(texts, ", "));
  if (count > kShown) out += fmt::format(" and {} more", count - kShown);
  return out;
}

}  // namespace

Span TracedMessage::under_way() const {
  const Ticks both = std::max(send.start, receive.start);
  return {both < receive.end ? both : std::min(send.start, receive.end), receive.end};
}

PairedMessages pair_messages(const Timeline& timeline, const TraceOrigin& origin) {
  const bool any = std::any_of(origin.ranks.begin(), origin.ranks.end(),
                               [](const RankTrace* rank) { return !rank->messages.empty(); });
  return any ? Pairer(timeline, origin).run() : PairedMessages();
}

ClocksSet align_by_messages(Timeline& timeline, std::vector<TracedMessage>& messages,
                            const WaitsInside& waits, bool has_step_clocks,
                            const std::vector<std::int32_t>& ranks) {
  const std::vector<Wire> wires = wires_of(*timeline.schedule);
  const Ticks usual = usual_duration(timeline);
  const Ticks bearable = usual / 100;
  const int at_once = has_step_clocks ? 1 : timeline.steps;
  const TimeUnit unit = timeline.unit;
  Ticks early = 0;
  Ticks left = 0;
  Ticks uncertain = 0;
  std::vector<Ticks> offset;
  for (int step = 0; step < timeline.steps; step += at_once) {
    const auto arrivals = arrivals_of(timeline, wires, messages, waits, step, step + at_once);
    const SettledClocks settled =
        settle_clocks(timeline.schedule->ranks(), gaps_of(arrivals, usual), bearable);
    early = std::max(early, settled.early);
    left = std::max(left, settled.left);
    if (!settled.moved) continue;
    uncertain = std::max(uncertain, settled.uncertain);
    offset = settled.offset;
    shift(timeline, messages, offset, step, step + at_once);
  }
  if (early <= bearable) return {};
  const auto text = [unit](Ticks time) {
    return fmt::format("{} {}", format_ticks(time, unit), name_of(unit));
  };
  if (offset.empty())
    return {.line = fmt::format(
                "messages arrive up to {} before they leave, which no offsets of the ranks' clocks "
                "explain; times are left as they are",
                text(early)),
            .offset = {}};
  start_at_zero(timeline, messages);
  std::string line =
      fmt::format("messages arrive up to {} before they leave, so clocks were set by them, to within {}",
                  text(early), text(uncertain));
  if (!has_step_clocks) line += ": " + text_of_offsets(offset, ranks, unit);
  if (left > 0) line += fmt::format("; some still arrive up to {} before they leave", text(left));
  return {std::move(line), std::move(offset), uncertain};
}

}  // namespace pipeloom::io
