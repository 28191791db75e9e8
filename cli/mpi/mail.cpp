#include "cli/mpi/mail.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <list>
#include <thread>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::cli::mpi {
namespace {

using executor::net::Bytes;

/// Seconds that the ranks have to come together at the end. Everything is on the disk by then.
constexpr unsigned kFarewell = 10;
constexpr unsigned kFarewellOfSome = 2;

// For the handler, which has no other way to know.
std::atomic<int> last_status{0};

void leave_alone(int /*signal*/) {
  ::_exit(last_status);
}

/// Open MPI reads long messages out of the sender's memory, and a receive may "succeed" although the sender died meanwhile. So each
/// carries a checksum: FNV-1a, 64 bits.
constexpr std::ptrdiff_t kChecksumBytes = 8;

Bytes checksum(const Bytes& body) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte one : body) hash = (hash ^ static_cast<unsigned char>(one)) * 0x100000001b3U;
  executor::net::Writer out;
  out.u64(hash);
  return std::move(out).take();
}

void add_checksum(Bytes& body) {
  const Bytes sum = checksum(body);
  body.insert(body.end(), sum.begin(), sum.end());
}

/// Takes the checksum off; false if it does not fit.
bool remove_checksum(Bytes& body) {
  if (std::ssize(body) < kChecksumBytes) return false;
  const Bytes found(body.end() - kChecksumBytes, body.end());
  body.resize(body.size() - found.size());
  return found == checksum(body);
}

}  // namespace

/// A message under way. Its buffer must stay where it is.
struct Transfer {
  int peer = 0;
  Tag tag = Tag::Alive;
  Bytes body;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Mail::State {
  int rank = 0;
  int size = 1;
  std::list<Transfer> leaving;
  std::list<Transfer> arriving;
  std::vector<Clock::time_point> heard;
  std::vector<Clock::time_point> sent;
  std::vector<int> under_way;  // letters to each rank
  std::vector<Health> health;
  std::vector<Letter> inbox;
  bool expects_absence = false;

  static bool is_over(Transfer& transfer) {
    int over = 0;
    // A transfer that MPI gave up is over too: what was to be said is said by silence.
    return MPI_Test(&transfer.request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS || over != 0;
  }

  void tidy() {
    leaving.remove_if([this](Transfer& transfer) {
      if (!is_over(transfer)) return false;
      --under_way[static_cast<std::size_t>(transfer.peer)];
      return true;
    });
  }

  /// Begins to receive the next message that has been announced, if any.
  bool accept() {
    int is_there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &message, &status) !=
            MPI_SUCCESS ||
        is_there == 0)
      return false;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    Transfer& transfer = arriving.emplace_back();
    transfer.peer = status.MPI_SOURCE;
    transfer.tag = static_cast<Tag>(status.MPI_TAG);
    transfer.body.resize(static_cast<std::size_t>(bytes));
    MPI_Imrecv(transfer.body.data(), bytes, MPI_BYTE, &message, &transfer.request);
    heard[static_cast<std::size_t>(transfer.peer)] = Clock::now();
    return true;
  }
};

Mail::Mail(int& argc, char**& argv) : state_(std::make_unique<State>()) {
  int provided = 0;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw SystemError("MPI does not start; run the program under mpirun, or use pipeloom sweep");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &state_->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state_->size);
  const auto ranks = static_cast<std::size_t>(state_->size);
  state_->heard.assign(ranks, Clock::now());
  state_->sent.assign(ranks, Clock::now());
  state_->under_way.assign(ranks, 0);
  state_->health.assign(ranks, Health::Well);
}

Mail::~Mail() = default;

int Mail::rank() const {
  return state_->rank;
}

int Mail::size() const {
  return state_->size;
}

void Mail::send(int to, Tag tag, Bytes body) {
  Transfer& transfer = state_->leaving.emplace_back();
  transfer.peer = to;
  transfer.tag = tag;
  transfer.body = std::move(body);
  add_checksum(transfer.body);
  MPI_Isend(transfer.body.data(), static_cast<int>(transfer.body.size()), MPI_BYTE, to, static_cast<int>(tag),
            MPI_COMM_WORLD, &transfer.request);
  // Its end is seen by tidy(), not waited for.  NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker)
  ++state_->under_way[static_cast<std::size_t>(to)];
  state_->sent[static_cast<std::size_t>(to)] = Clock::now();
}

void Mail::beat() {
  const int first = rank() == 0 ? 1 : 0;
  const int last = rank() == 0 ? size() - 1 : 0;
  for (int peer = first; peer <= last; ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    if (state_->health[i] == Health::Well && state_->under_way[i] == 0 &&
        Clock::now() - state_->sent[i] >= kBeatEvery)
      send(peer, Tag::Alive);
  }
}

void Mail::note(int rank, Health health) {
  state_->health[static_cast<std::size_t>(rank)] = health;
  if (health == Health::Gone) expect_absence();
}

void Mail::expect_absence() {
  state_->expects_absence = true;
}

bool Mail::expects_absence() const {
  return state_->expects_absence;
}

void Mail::listen() {
  state_->tidy();
  while (state_->accept()) {
  }
  state_->arriving.remove_if([this](Transfer& transfer) {
    if (!State::is_over(transfer)) return false;
    const Tag tag = remove_checksum(transfer.body) ? transfer.tag : Tag::Damaged;
    if (tag != Tag::Alive) state_->inbox.push_back({transfer.peer, tag, std::move(transfer.body)});
    return true;
  });
  beat();
}

std::vector<Letter> Mail::collect() {
  listen();
  return std::exchange(state_->inbox, {});
}

Clock::time_point Mail::heard_of(int rank) const {
  return state_->heard[static_cast<std::size_t>(rank)];
}

void Mail::forgive(Clock::duration pause) {
  for (Clock::time_point& time : state_->heard) time += pause;
}

void Mail::flush(Clock::duration at_most) {
  const auto end = Clock::now() + at_most;
  while (!state_->leaving.empty() && Clock::now() < end) {
    state_->tidy();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Mail::leave(int status) {
  last_status = status;
  std::signal(SIGALRM, leave_alone);
  ::alarm(expects_absence() ? kFarewellOfSome : kFarewell);
  const auto& health = state_->health;
  if (std::find(health.begin(), health.end(), Health::Silent) != health.end())
    MPI_Abort(MPI_COMM_WORLD, status);
  else
    MPI_Finalize();
  // Threads that are amid a point are not waited for: nobody wants its result any more.
  std::cout.flush();
  std::fflush(nullptr);
  ::_exit(status);
}

}  // namespace pipeloom::cli::mpi
