#include "executor/process/letters.hpp"

#include <algorithm>
#include <utility>

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

}  // namespace pipeloom::executor
