#include "executor/process/crew.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pipeloom::executor {
namespace {

constexpr std::chrono::milliseconds kShortestBeat{10};

/// Gathered bytes are sent in pieces, so that heartbeats come through in between.
constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

std::chrono::milliseconds time_between_beats(std::chrono::milliseconds silence, int ranks) {
  constexpr int kBeats = 8;
  const std::chrono::milliseconds longest(std::max(100, ranks));
  return std::clamp(silence / kBeats, kShortestBeat, longest);
}

Crew::Crew(net::Loop& loop, const net::World& world, std::vector<net::Socket> control, const RunClock& clock,
           std::chrono::milliseconds silence)
    : loop_(loop),
      rank_(world.rank),
      clock_(clock),
      silence_(silence),
      lines_(static_cast<std::size_t>(world.size)),
      mail_(lines_.size()) {
  for (Rank other{0}; other < Rank(world.size); ++other) {
    const std::size_t at = is_coordinator() ? other.at() : 0;
    if (other == rank_ || (!is_coordinator() && other != Rank(0))) continue;
    lines_[other.at()].heard = clock_.now();
    lines_[other.at()].id =
        loop_.add(std::move(control.at(at)),
                  {.on_frame = [this, other](const net::Frame& frame) { receive(other, frame); },
                   .on_end = [this, other](const std::string& why) { lose(other, why); }});
  }
}

void Crew::attach(RunState& state) {
  state_ = &state;
  for (Rank rank{0}; rank < Rank(size()); ++rank)
    if (rank != rank_) state.progress(rank).heard = hears_of(rank) ? clock_.now() : Progress::kUnknown;
  state.on_failure([this](const Failure& failure) { tell(failure); });
  loop_.every(time_between_beats(silence_, size()), [this] {
    beat();
    look_for_silence();
  });
}

void Crew::say(Rank to, net::Frame frame) {
  if (lines_[to.at()].id) loop_.send(*lines_[to.at()].id, std::move(frame));
}

void Crew::say_to_all(const net::Frame& frame) {
  for (Rank other{0}; other < Rank(size()); ++other) say(other, frame);
}

void Crew::say_bye() {
  {
    const std::lock_guard lock(mutex_);
    mail_.is_over = true;
  }
  say_to_all(letter(LetterKind::Bye));
}

void Crew::stop() {
  const std::lock_guard lock(mutex_);
  mail_.stopped = true;
  changed_.notify_all();
}

bool Crew::is_told() const {
  const std::lock_guard lock(mutex_);
  return mail_.is_told;
}

void Crew::complain(Rank who, const std::string& what) {
  if (is_coordinator()) return state_->fail(who, what);
  beat();  // where this rank is now, before the complaint
  say(Rank(0), failed_letter({who, what}));
}

void Crew::tell(const Failure& failure) {
  if (!is_coordinator()) return complain(failure.rank, failure.what);
  Failure told = failure;
  if (!is_small()) told.last_actions.clear();
  say_to_all(stop_letter(told));
  const std::lock_guard lock(mutex_);
  mail_.is_told = true;
}

void Crew::beat() {
  std::vector<Whereabouts> all;
  for (Rank rank{0}; rank < Rank(size()); ++rank)
    if (rank == rank_ || (is_coordinator() && is_small()))
      all.push_back(whereabouts(state_->progress(rank), rank, clock_.now()));
  say_to_all(beat_letter(all));
}

void Crew::look_for_silence() {
  const Ticks most = silence_.count() * ticks_per(TimeUnit::Millisecond);
  std::vector<Rank> silent;
  for (Rank other{0}; other < Rank(size()); ++other)
    if (lines_[other.at()].id && clock_.now() - lines_[other.at()].heard > most) silent.push_back(other);
  if (silent.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (mail_.is_over) return;
    for (const Rank other : silent) mail_.gone[other.at()] = true;  // no rank waits for its last words
    changed_.notify_all();
  }
  state_->fail(
      silent.front(),
      fmt::format("no sign of life for {} s: its process is stopped, or its machine cannot be reached",
                  static_cast<double>(silence_.count()) / 1000));
}

void Crew::lose(Rank who, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    mail_.gone[who.at()] = true;
    changed_.notify_all();
    if (mail_.is_over || state_ == nullptr) return;
  }
  state_->fail(who, "its process ended: " + why);
}

void Crew::receive(Rank from, const net::Frame& frame) {
  lines_[from.at()].heard = clock_.now();
  const auto kind = static_cast<LetterKind>(frame.kind);
  if (kind == LetterKind::Ping) {
    net::Writer time;
    time.i64(clock_.now());
    return say(from, letter(LetterKind::Pong, std::move(time).take()));
  }
  if (kind == LetterKind::Beat) return receive_news(frame.body);
  if (kind == LetterKind::Failed) {
    const Complaint complaint = read_complaint(frame.body, size());
    return state_->fail(complaint.rank, complaint.what);
  }
  if (kind == LetterKind::Stop) {
    {
      const std::lock_guard lock(mutex_);
      mail_.is_told = true;
      changed_.notify_all();
    }
    return state_->fail(read_failure(frame.body, size()));
  }
  std::unique_lock lock(mutex_);
  if (kind == LetterKind::Here)
    come(lock);
  else if (kind == LetterKind::Go)
    ++mail_.round;
  else if (kind == LetterKind::Pong)
    mail_.trips.push_back({mail_.asked, net::Reader(frame.body).i64(), clock_.now()});
  else if (kind == LetterKind::Share)
    receive_piece(mail_.shares[from.at()], frame.body);
  else if (kind == LetterKind::Remains)
    receive_piece(mail_.remains[from.at()], frame.body);
  else if (kind == LetterKind::Broadcast)
    mail_.broadcasts.push_back(frame.body);
  else if (kind == LetterKind::Bye)
    mail_.is_over = true;
  else
    throw net::MalformedBytes(fmt::format("a letter of unknown kind {}", frame.kind));
  changed_.notify_all();
}

void Crew::receive_piece(Mail::Share& share, const net::Bytes& body) {
  if (body.empty()) throw net::MalformedBytes("an empty piece");
  share.bytes.insert(share.bytes.end(), body.begin() + 1, body.end());
  share.is_whole = body.front() != std::byte{0};
}

void Crew::receive_news(const net::Bytes& body) {
  for (const Whereabouts& news : read_beat(body, size()))
    if (news.rank != rank_) take(news, state_->progress(news.rank), clock_.now());
}

void Crew::come(std::unique_lock<std::mutex>& lock) {
  if (++mail_.here < size()) return;
  mail_.here = 0;
  ++mail_.round;
  lock.unlock();
  say_to_all(letter(LetterKind::Go));
  lock.lock();
}

unsigned Crew::arrive() {
  std::unique_lock lock(mutex_);
  const unsigned round = mail_.round;
  if (is_coordinator()) {
    come(lock);
    changed_.notify_all();
  } else {
    lock.unlock();
    say(Rank(0), letter(LetterKind::Here));
  }
  return round;
}

std::optional<RoundTrip> Crew::round_trip() {
  {
    const std::lock_guard lock(mutex_);
    mail_.asked = clock_.now();
  }
  say(Rank(0), letter(LetterKind::Ping));
  if (!wait([](const Mail& mail) { return !mail.trips.empty(); })) return {};
  const std::lock_guard lock(mutex_);
  const RoundTrip trip = mail_.trips.front();
  mail_.trips.pop_front();
  return trip;
}

std::vector<net::Bytes> Crew::bytes_of(std::vector<Mail::Share>& shares) {
  std::vector<net::Bytes> out;
  for (Mail::Share& share : shares) {
    out.push_back(share.is_whole ? std::move(share.bytes) : net::Bytes{});
    share = {};
  }
  return out;
}

std::vector<net::Bytes> Crew::take_shares() {
  const std::lock_guard lock(mutex_);
  return bytes_of(mail_.shares);
}

std::vector<net::Bytes> Crew::take_remains() {
  const std::lock_guard lock(mutex_);
  return bytes_of(mail_.remains);
}

net::Bytes Crew::take_broadcast() {
  const std::lock_guard lock(mutex_);
  net::Bytes bytes = std::move(mail_.broadcasts.front());
  mail_.broadcasts.pop_front();
  return bytes;
}

bool Crew::barrier() {
  const unsigned round = arrive();
  return wait([&](const Mail& mail) { return mail.round != round; });
}

std::optional<ClockOffset> Crew::align(int rounds) {
  if (!barrier()) return {};
  std::vector<RoundTrip> trips;
  for (int i = 0; i < rounds && !is_coordinator(); ++i) {
    const auto trip = round_trip();
    if (!trip) return {};
    trips.push_back(*trip);
  }
  if (!barrier()) return {};
  return trips.empty() ? ClockOffset{.at = clock_.now()} : clock_offset(trips);
}

void Crew::share(LetterKind kind, const net::Bytes& own) {
  for (std::size_t at = 0;; at += kPiece) {
    const bool is_last = at + kPiece >= own.size();
    net::Bytes body{static_cast<std::byte>(is_last ? 1 : 0)};
    const auto first = own.begin() + static_cast<std::ptrdiff_t>(at);
    body.insert(body.end(), first, is_last ? own.end() : first + static_cast<std::ptrdiff_t>(kPiece));
    say(Rank(0), letter(kind, std::move(body)));
    if (is_last) return;
  }
}

std::optional<std::vector<net::Bytes>> Crew::gather(net::Bytes own) {
  if (!is_coordinator()) {
    share(LetterKind::Share, own);
    return std::vector<net::Bytes>{};
  }
  const bool all = wait([&](const Mail& mail) {
    return std::all_of(mail.shares.begin() + 1, mail.shares.end(),
                       [](const Mail::Share& share) { return share.is_whole; });
  });
  if (!all) return {};
  std::vector<net::Bytes> shares = take_shares();
  shares.front() = std::move(own);
  return shares;
}

std::optional<net::Bytes> Crew::broadcast(net::Bytes own) {
  if (is_coordinator()) {
    say_to_all(letter(LetterKind::Broadcast, own));
    return own;
  }
  if (!wait([](const Mail& mail) { return !mail.broadcasts.empty(); })) return {};
  return take_broadcast();
}

bool Crew::part() {
  if (is_coordinator()) say_bye();
  return wait([](const Mail& mail) { return mail.is_over; });
}

std::vector<net::Bytes> Crew::say_goodbye(net::Bytes own, std::chrono::milliseconds patience) {
  if (!is_coordinator()) {
    share(LetterKind::Remains, own);
    wait_for(patience, [](const Mail& mail) { return mail.is_told || mail.gone.front(); });
    return {};
  }
  wait_for(patience, [](const Mail& mail) {
    for (std::size_t r = 1; r < mail.remains.size(); ++r)
      if (!mail.remains[r].is_whole && !mail.gone[r]) return false;
    return true;
  });
  std::vector<net::Bytes> remains = take_remains();
  remains.front() = std::move(own);
  return remains;
}

}  // namespace pipeloom::executor
