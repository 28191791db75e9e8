#include "executor/process/letters.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace pipeloom::executor {
namespace {

Rank read_rank(net::Reader& in, int ranks) {
  const std::uint32_t rank = in.u32();
  if (rank >= static_cast<std::uint32_t>(ranks))
    throw net::MalformedBytes("a letter about a rank that is not there");
  return Rank(static_cast<int>(rank));
}

void write_rank(net::Writer& out, Rank rank) {
  out.u32(static_cast<std::uint32_t>(rank.value()));
}

/// Calls fn(index of the times) for every op of the rank in every step.
template <class Fn>
void for_each_time(const RunPlan& plan, Rank rank, Fn&& fn) {
  const Schedule& schedule = plan.schedule();
  for (int step = 0; step < plan.all_steps(); ++step)
    for (std::size_t op = schedule.queue_begin(rank); op < schedule.queue_end(rank); ++op)
      fn(static_cast<std::size_t>(step) * schedule.num_ops() + op);
}

bool is_seen(const MeasuredMessage& message) {
  return message.sent != MeasuredMessage::kNever || message.received != MeasuredMessage::kNever;
}

std::size_t all_messages(const RunPlan& plan) {
  return plan.elements.size() * static_cast<std::size_t>(plan.all_steps());
}

void write_messages(net::Writer& out, const std::vector<MeasuredMessage>& messages) {
  std::uint32_t seen = 0;
  for (const MeasuredMessage& message : messages) seen += is_seen(message) ? 1U : 0U;
  out.u32(seen);
  for (std::uint32_t i = 0; i < messages.size(); ++i) {
    const MeasuredMessage& message = messages[i];
    if (!is_seen(message)) continue;
    out.u32(i).i64(message.sent).i64(message.received).i64(message.started).i64(message.done);
    out.u8(message.waited ? 1 : 0);
  }
}

std::vector<MeasuredMessage> read_messages(net::Reader& in, const RunPlan& plan) {
  std::uint32_t seen = in.u32();
  if (seen == 0) return {};
  std::vector<MeasuredMessage> messages(all_messages(plan));
  for (; seen > 0; --seen) {
    const std::uint32_t i = in.u32();
    if (i >= messages.size()) throw net::MalformedBytes("a rank measured a message that the program has not");
    MeasuredMessage& message = messages[i];
    message.sent = in.i64();
    message.received = in.i64();
    message.started = in.i64();
    message.done = in.i64();
    message.waited = in.u8() != 0;
  }
  return messages;
}

std::vector<std::int64_t> times_of(const RunPlan& plan, Rank rank, const std::vector<Ticks>& all) {
  std::vector<std::int64_t> own;
  for_each_time(plan, rank, [&](std::size_t i) { own.push_back(all[i]); });
  return own;
}

std::vector<Ticks> read_times(net::Reader& in, const RunPlan& plan, Rank rank) {
  const std::vector<std::int64_t> own = in.times();
  std::vector<Ticks> all(plan.schedule().num_ops() * static_cast<std::size_t>(plan.all_steps()), -1);
  std::size_t next = 0;
  for_each_time(plan, rank, [&](std::size_t i) {
    if (next < own.size()) all[i] = own[next];
    ++next;
  });
  if (next != own.size()) throw net::MalformedBytes("a rank measured another number of ops than it has");
  return all;
}

}  // namespace

Whereabouts whereabouts(const Progress& progress, Rank rank, Ticks now) {
  return {.rank = rank,
          .step = progress.step,
          .instruction = progress.instruction,
          .doing = progress.doing,
          .age = std::max<Ticks>(0, now - progress.since),
          .copy = progress.copy,
          .copy_age = std::max<Ticks>(0, now - progress.copy_since)};
}

void take(const Whereabouts& news, Progress& progress, Ticks now) {
  progress.doing = Progress::Doing::Waiting;  // no moment with a new clock and an old deed
  progress.since = now - news.age;
  progress.step = news.step;
  progress.instruction = news.instruction;
  progress.doing = news.doing;
  progress.copy_since = now - news.copy_age;
  progress.copy = news.copy;
  progress.heard = now;
}

net::Frame letter(LetterKind kind, net::Bytes body) {
  return {.kind = static_cast<std::uint8_t>(kind), .body = std::move(body)};
}

net::Frame beat_letter(const std::vector<Whereabouts>& all) {
  net::Writer out;
  out.u32(static_cast<std::uint32_t>(all.size()));
  for (const Whereabouts& one : all) {
    write_rank(out, one.rank);
    out.u32(static_cast<std::uint32_t>(one.step)).u64(one.instruction);
    out.u8(static_cast<std::uint8_t>(one.doing)).i64(one.age);
    out.u64(one.copy).i64(one.copy_age);
  }
  return letter(LetterKind::Beat, std::move(out).take());
}

std::vector<Whereabouts> read_beat(const net::Bytes& body, int ranks) {
  net::Reader in(body);
  std::vector<Whereabouts> all;
  for (std::uint32_t left = in.u32(); left > 0; --left) {
    Whereabouts one;
    one.rank = read_rank(in, ranks);
    one.step = static_cast<int>(in.u32());
    one.instruction = in.u64();
    const std::uint8_t doing = in.u8();
    if (doing > static_cast<std::uint8_t>(Progress::Doing::Ended))
      throw net::MalformedBytes("a rank does what no rank does");
    one.doing = static_cast<Progress::Doing>(doing);
    one.age = in.i64();
    one.copy = in.u64();
    one.copy_age = in.i64();
    if (one.step < 0 || one.age < 0 || one.copy_age < 0)
      throw net::MalformedBytes("a rank is where it will be later");
    all.push_back(one);
  }
  in.end();
  return all;
}

net::Frame failed_letter(const Complaint& complaint) {
  net::Writer out;
  write_rank(out, complaint.rank);
  out.text(complaint.what);
  return letter(LetterKind::Failed, std::move(out).take());
}

Complaint read_complaint(const net::Bytes& body, int ranks) {
  net::Reader in(body);
  const Rank rank = read_rank(in, ranks);
  Complaint complaint{.rank = rank, .what = in.text()};
  in.end();
  return complaint;
}

net::Frame stop_letter(const Failure& failure) {
  net::Writer out;
  write_rank(out, failure.rank);
  out.text(failure.what).text(failure.message);
  out.u32(static_cast<std::uint32_t>(failure.last_actions.size()));
  for (const std::string& line : failure.last_actions) out.text(line);
  return letter(LetterKind::Stop, std::move(out).take());
}

Failure read_failure(const net::Bytes& body, int ranks) {
  net::Reader in(body);
  Failure failure;
  failure.rank = read_rank(in, ranks);
  failure.what = in.text();
  failure.message = in.text();
  for (std::uint32_t left = in.u32(); left > 0; --left) failure.last_actions.push_back(in.text());
  in.end();
  return failure;
}

net::Bytes to_bytes(const RankRecord& record, const RunPlan& plan, Rank rank) {
  net::Writer out;
  out.times(times_of(plan, rank, record.start)).times(times_of(plan, rank, record.end));
  write_messages(out, record.messages);
  out.u64(record.peak_bytes);
  out.u32(static_cast<std::uint32_t>(record.gradients.slots.size()));
  for (const std::vector<float>& slot : record.gradients.slots) out.floats(slot);
  out.u32(static_cast<std::uint32_t>(record.gradients.losses.size()));
  for (const double loss : record.gradients.losses) out.f64(loss);
  out.u8(record.gradients.is_reduced ? 1 : 0);
  return std::move(out).take();
}

RankRecord record_from(std::span<const std::byte> bytes, const RunPlan& plan, Rank rank) {
  net::Reader in(bytes);
  RankRecord record;
  record.start = read_times(in, plan, rank);
  record.end = read_times(in, plan, rank);
  record.messages = read_messages(in, plan);
  record.peak_bytes = in.u64();
  for (std::uint32_t slots = in.u32(); slots > 0; --slots) record.gradients.slots.push_back(in.floats());
  for (std::uint32_t losses = in.u32(); losses > 0; --losses) record.gradients.losses.push_back(in.f64());
  record.gradients.is_reduced = in.u8() != 0;
  in.end();
  return record;
}

}  // namespace pipeloom::executor
