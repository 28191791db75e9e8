#include "executor/run/run_outcome.hpp"

#include <algorithm>
#include <utility>

namespace pipeloom::executor {
namespace {

/// Times of every op, of whichever rank ran it; [step * ops + op].
struct Times {
  std::vector<Ticks> start;
  std::vector<Ticks> end;
};

void take_times(const RankRecord& record, std::vector<Ticks>& start, std::vector<Ticks>& end) {
  for (std::size_t i = 0; i < record.end.size(); ++i)
    if (record.end[i] >= 0) {
      start[i] = record.start[i];
      end[i] = record.end[i];
    }
}

Times times_of(const RunPlan& plan, const std::vector<RankRecord>& records) {
  const std::size_t all = plan.schedule().num_ops() * static_cast<std::size_t>(plan.all_steps());
  Times times{std::vector<Ticks>(all, -1), std::vector<Ticks>(all, -1)};
  for (const RankRecord& record : records) take_times(record, times.start, times.end);
  return times;
}

/// The first start from step `first` on; 0 if nothing ended.
Ticks origin_of(const RunPlan& plan, const Times& times, int first) {
  Ticks origin = -1;
  for (std::size_t i = plan.schedule().num_ops() * static_cast<std::size_t>(first); i < times.end.size(); ++i)
    if (times.end[i] >= 0 && (origin < 0 || times.start[i] < origin)) origin = times.start[i];
  return std::max<Ticks>(origin, 0);
}

Timeline timeline_of(const RunPlan& plan, const Times& times, int first, int last) {
  Timeline out;
  out.schedule = plan.program.shared_schedule();
  out.steps = last - first;
  out.unit = TimeUnit::Millisecond;
  const std::size_t ops = plan.schedule().num_ops();
  const Ticks origin = origin_of(plan, times, first);
  for (std::size_t i = ops * static_cast<std::size_t>(first); i < ops * static_cast<std::size_t>(last); ++i) {
    const bool ended = times.end[i] >= 0;
    out.start.push_back(ended ? times.start[i] - origin : -1);
    out.end.push_back(ended ? times.end[i] - origin : -1);
  }
  return out;
}

void merge(MeasuredMessage& into, const MeasuredMessage& from) {
  const auto take = [](Ticks& to, Ticks time) {
    if (time != MeasuredMessage::kNever) to = time;
  };
  take(into.sent, from.sent);
  take(into.received, from.received);
  // If both ends report a start, the message started when both could: at the later one.
  if (into.started == MeasuredMessage::kNever || from.started > into.started)
    take(into.started, from.started);
  take(into.done, from.done);
  into.waited = into.waited || from.waited;
}

std::vector<MeasuredMessage> messages_of(const RunPlan& plan, const std::vector<RankRecord>& records,
                                         Ticks origin) {
  const std::size_t first = plan.elements.size() * static_cast<std::size_t>(plan.options.warmup_steps);
  const std::size_t all = plan.elements.size() * static_cast<std::size_t>(plan.all_steps());
  std::vector<MeasuredMessage> out(all - first);
  for (const RankRecord& record : records)
    for (std::size_t i = 0; i < out.size() && first + i < record.messages.size(); ++i)
      merge(out[i], record.messages[first + i]);
  for (MeasuredMessage& message : out)
    for (Ticks* time : {&message.sent, &message.received, &message.started, &message.done})
      if (*time != MeasuredMessage::kNever) *time -= origin;
  return out;
}

}  // namespace

void move_times(RankRecord& from, RankRecord& into) {
  if (into.end.empty()) {
    into.start = std::move(from.start);
    into.end = std::move(from.end);
  } else {
    take_times(from, into.start, into.end);
  }
  if (into.messages.empty())
    into.messages = std::move(from.messages);
  else
    for (std::size_t i = 0; i < from.messages.size(); ++i) merge(into.messages[i], from.messages[i]);
  from.start = {};
  from.end = {};
  from.messages = {};
}

RunResult result_of(const RunPlan& plan, std::vector<RankRecord> records) {
  const Times times = times_of(plan, records);
  RunResult out;
  out.timeline = timeline_of(plan, times, plan.options.warmup_steps, plan.all_steps());
  out.messages = messages_of(plan, records, origin_of(plan, times, plan.options.warmup_steps));
  for (const std::size_t elements : plan.elements) out.message_bytes.push_back(elements * plan.element_bytes);
  for (RankRecord& record : records) {
    out.peak_bytes.push_back(record.peak_bytes);
    out.gradients.push_back(std::move(record.gradients));
  }
  return out;
}

RunFailed failure_of(const RunPlan& plan, const std::vector<RankRecord>& records, const Failure& failure) {
  const Times times = times_of(plan, records);
  int begun = 0;
  for (std::size_t i = 0; i < times.end.size(); ++i)
    if (times.end[i] >= 0) begun = static_cast<int>(i / plan.schedule().num_ops()) + 1;
  return {failure.message, timeline_of(plan, times, 0, std::max(begun, 1)), failure.last_actions};
}

void change_clock(RankRecord& record, const std::function<Ticks(Ticks)>& changed) {
  for (std::size_t i = 0; i < record.end.size(); ++i)
    if (record.end[i] >= 0) {
      record.start[i] = changed(record.start[i]);
      record.end[i] = changed(record.end[i]);
    }
  for (MeasuredMessage& message : record.messages)
    for (Ticks* time : {&message.sent, &message.received, &message.started, &message.done})
      if (*time != MeasuredMessage::kNever) *time = changed(*time);
}

}  // namespace pipeloom::executor
