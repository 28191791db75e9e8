#include "executor/process/crew.hpp"

#include <algorithm>
#include <utility>

#include "executor/process/crew_inside.hpp"

namespace pipeloom::executor {
namespace {

/// What is gathered goes in pieces, so that heartbeats come through in between.
constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

Crew::Crew(net::Loop& loop, const net::World& world, std::vector<net::Socket> control, const RunClock& clock,
           std::chrono::milliseconds silence)
    : inside_(std::make_unique<Inside>(loop, world, std::move(control), clock, silence)) {}

Crew::~Crew() = default;

Rank Crew::rank() const {
  return inside_->rank();
}
int Crew::size() const {
  return inside_->size();
}
void Crew::attach(RunState& state) {
  inside_->attach(state);
}
void Crew::complain(Rank who, const std::string& what) {
  inside_->complain(who, what);
}
bool Crew::is_told() const {
  return inside_->is_told();
}
void Crew::stop() {
  inside_->stop();
}

bool Crew::barrier() {
  const unsigned round = inside_->arrive();
  return inside_->wait([&](const CrewMail& mail) { return mail.round != round; });
}

std::optional<ClockOffset> Crew::align(int rounds) {
  if (!barrier()) return {};
  std::vector<RoundTrip> trips;
  for (int i = 0; i < rounds && !is_coordinator(); ++i) {
    const auto trip = inside_->round_trip();
    if (!trip) return {};
    trips.push_back(*trip);
  }
  if (!barrier()) return {};
  return trips.empty() ? ClockOffset{.at = inside_->now()} : clock_offset(trips);
}

void Crew::Inside::share(LetterKind kind, const net::Bytes& own) {
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
    inside_->share(LetterKind::Share, own);
    return std::vector<net::Bytes>{};
  }
  const bool all = inside_->wait([&](const CrewMail& mail) {
    return std::all_of(mail.shares.begin() + 1, mail.shares.end(),
                       [](const CrewMail::Share& share) { return share.is_whole; });
  });
  if (!all) return {};
  std::vector<net::Bytes> shares = inside_->take_shares();
  shares.front() = std::move(own);
  return shares;
}

std::optional<net::Bytes> Crew::broadcast(net::Bytes own) {
  if (is_coordinator()) {
    inside_->say_to_all(letter(LetterKind::Broadcast, own));
    return own;
  }
  if (!inside_->wait([](const CrewMail& mail) { return !mail.broadcasts.empty(); })) return {};
  return inside_->take_broadcast();
}

bool Crew::part() {
  if (is_coordinator()) inside_->say_bye();
  return inside_->wait([](const CrewMail& mail) { return mail.is_over; });
}

std::vector<net::Bytes> Crew::say_goodbye(net::Bytes own, std::chrono::milliseconds patience) {
  if (!is_coordinator()) {
    inside_->share(LetterKind::Remains, own);
    inside_->wait_for(patience, [](const CrewMail& mail) { return mail.is_told || mail.gone.front(); });
    return {};
  }
  inside_->wait_for(patience, [](const CrewMail& mail) {
    for (std::size_t r = 1; r < mail.remains.size(); ++r)
      if (!mail.remains[r].is_whole && !mail.gone[r]) return false;
    return true;
  });
  std::vector<net::Bytes> remains = inside_->take_remains();
  remains.front() = std::move(own);
  return remains;
}

}  // namespace pipeloom::executor
