#include <algorithm>
#include <chrono>
#include <utility>

#include "executor/net/meeting.hpp"
#include "executor/net/meeting_letters.hpp"

namespace pipeloom::executor::net {
namespace {

class Guest {
 public:
  explicit Guest(const Visit& visit)
      : visit_(visit),
        times_(visit.times),
        name_("rank " + std::to_string(visit.world.rank)),
        host_(to_text(visit.world.master)),
        listener_(listen_on(0)),
        callers_(listener_, kMostLetterBytes),
        hello_{kProtocolVersion, visit.world.rank, visit.world.size, port_of(listener_), visit.agreements},
        meeting_(empty_meeting(visit.world)) {}

  Meeting meet() && {
    call_host();
    const Table table = table_in_time();
    std::string failure;
    try {
      connect(table);
    } catch (const NetworkError& error) {
      failure = error.what();
    }
    report(failure);
    try {
      (void)from_host(LetterKind::Go, times_.deadline);
    } catch (const NetworkError& error) {
      if (is_rejected_) throw;
      throw NetworkError(not_together(error) + (failure.empty() ? "" : " (" + failure + ")"));
    }
    return std::move(meeting_);
  }

 private:
  [[nodiscard]] Socket& control() { return meeting_.control.front(); }

  void call_host() {
    try {
      control() = connect_to(meeting_.world.master, times_.deadline);
    } catch (const NetworkError& error) {
      throw NetworkError(name_ + ": " + error.what() + "; rank 0 has to listen there within " + times_.all +
                         ", are MASTER_ADDR and MASTER_PORT right?");
    }
    try {
      send_frame(control(), letter(hello_), times_.deadline);
      (void)from_host(LetterKind::Welcome, times_.deadline);
    } catch (const NetworkError& error) {
      if (is_rejected_) throw;
      throw NetworkError(name_ + ": whoever listens at " + host_ + " is no rank 0 that waits for it (" +
                         error.what() + "); set MASTER_PORT to a free port");
    }
  }

  Table table_in_time() {
    try {
      Table table = table_in(from_host(LetterKind::Table, times_.deadline));
      if (table.addresses.size() != meeting_.data.size()) throw MalformedBytes("a table of another size");
      return table;
    } catch (const NetworkError& error) {
      if (is_rejected_) throw;
      throw NetworkError(not_together(error));
    }
  }

  [[nodiscard]] std::string not_together(const NetworkError& error) const {
    return name_ + ": rank 0 at " + host_ + " did not bring all ranks together within " + times_.all + ": " +
           error.what();
  }

  void report(const std::string& failure) {
    const bool is_ready = failure.empty();
    try {
      send_frame(control(), is_ready ? letter(LetterKind::Ready) : letter(LetterKind::Failed, failure),
                 times_.deadline);
    } catch (const NetworkError&) {
      return;  // rank 0 has closed the connection: its last letter is read next
    }
  }

  /// The next letter of rank 0. Throws NetworkError with its reason if it is a Reject, MalformedBytes for another one.
  Frame from_host(LetterKind kind, Deadline deadline) {
    Frame frame = receive_frame(control(), deadline, kMostLetterBytes);
    const bool is_reject = is(frame, LetterKind::Reject);
    const std::string text = is_reject || kind != LetterKind::Table ? text_in(frame) : "";
    if (is_reject) {
      is_rejected_ = true;
      throw NetworkError(text);
    }
    if (!is(frame, kind))
      throw MalformedBytes("an unexpected message, of kind " + std::to_string(frame.kind));
    return frame;
  }

  /// Calls all lower peers, is called by all higher ones, and hears the lower ones' answers: no rank waits for one that itself waits.
  void connect(const Table& table) {
    for (const int rank : lower_peers(visit_)) call(rank, table);
    take_calls(callers_, table.run, higher_peers(visit_), meeting_, times_.connect);
    for (const int rank : lower_peers(visit_)) hear(rank, table);
  }

  [[nodiscard]] Address address(int rank, const Table& table) const {
    Address address = table.addresses[static_cast<std::size_t>(rank)];
    if (address.host.empty()) address.host = meeting_.world.master.host;
    return address;
  }

  [[nodiscard]] std::string no_way(int rank, const Table& table, const std::string& why) const {
    return name_ + " cannot reach rank " + std::to_string(rank) + " at " + to_text(address(rank, table)) +
           ": " + why;
  }

  void call(int rank, const Table& table) {
    try {
      // It listened before it called rank 0: a rank that does not answer now never will.
      const Deadline until = std::min(times_.call, Deadline::clock::now() + std::chrono::seconds(10));
      Socket socket = connect_to(address(rank, table), until, &control());
      send_frame(socket, letter(Call{table.run, meeting_.world.rank}), until);
      meeting_.data[static_cast<std::size_t>(rank)] = std::move(socket);
    } catch (const NetworkError& error) {
      throw NetworkError(no_way(rank, table, error.what()));
    }
  }

  void hear(int rank, const Table& table) {
    try {
      const Socket& socket = meeting_.data[static_cast<std::size_t>(rank)];
      const Call answer = call_in(receive_frame(socket, times_.connect, kMostLetterBytes));
      if (answer.run != table.run || answer.rank != rank) throw MalformedBytes("somebody else answers");
    } catch (const NetworkError& error) {
      throw NetworkError(no_way(rank, table, error.what()));
    }
  }

  const Visit& visit_;
  const MeetingTimes& times_;
  std::string name_;
  std::string host_;
  Socket listener_;
  Callers callers_;
  Hello hello_;
  Meeting meeting_;
  bool is_rejected_ = false;
};

}  // namespace

Meeting meet_as_guest(const Visit& visit) {
  return Guest(visit).meet();
}

}  // namespace pipeloom::executor::net
