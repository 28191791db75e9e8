// Rank 0: hands out pieces, writes their lines in order, and evaluates pieces itself.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/console.hpp"
#include "cli/mpi/crew.hpp"
#include "cli/mpi/letters.hpp"
#include "cli/mpi/mail.hpp"
#include "cli/mpi/shared_sweep.hpp"
#include "cli/numbers.hpp"
#include "study/sweep/result/line_writer.hpp"
#include "study/sweep/run/dispatcher.hpp"

namespace pipeloom::cli::mpi {
namespace {

/// Pieces under way per thread: enough for a thread never to wait for its next one.
constexpr std::size_t kPiecesPerThread = 4;
constexpr auto kProgressEvery = std::chrono::milliseconds(100);
constexpr auto kSyncEvery = std::chrono::seconds(1);

[[noreturn]] void pass_on(const Failure& failure, const std::string& rank) {
  const std::string message = fmt::format("{}: {}", rank, failure.message);
  switch (static_cast<ExitCode>(failure.exit_code)) {
    case ExitCode::BadInput:
      throw InputError(message);
    case ExitCode::DeviceFailed:
      throw SystemError(message);
    default:
      throw InternalError(message);
  }
}

/// More ranks than this do not die of bad luck on one piece.
constexpr int kMostLosses = 3;

/// Counting the points of a large grid and reading a file of an earlier run take a while.
template <class Make>
auto aside(Mail& mail, const Make& make) {
  return mail.await(std::async(std::launch::async, make));
}

/// The sweep of all ranks. A worker whose process is gone, or that is silent for longer than `patience`, is given up and its pieces go to
/// others; rank 0 evaluates too, so that the sweep ends even where every other rank is dead.
class Master {
 public:
  Master(Mail& mail, const SharedSweep& sweep, const sweep::Pieces& pieces, sweep::ResultFile& file,
         Clock::duration patience);
  /// Until the last piece is written, or SweepOptions::stop is set. Throws what a rank cannot get over, SystemError for pieces that
  /// took kMostLosses ranks with them, and as ResultFile does; the file is a prefix of the result then.
  void run();
  [[nodiscard]] sweep::SweepSummary summary() const;

 private:
  struct Worker {
    Introduction who;
    int threads = 0;  ///< 0 until it is ready
    bool is_lost = false;
  };

  [[nodiscard]] bool is_stopped() const;
  void read_letters();
  void read(const Letter& letter);
  void check(const Letter& letter, const Readiness& readiness) const;
  void write_own();
  void put(int worker, Completion completion);
  void hand_out();
  void hand_out_to(int worker);
  void look_for_the_dead();
  void give_up(int worker, bool is_gone);
  void keep_up();
  void end_stopped();
  [[nodiscard]] std::string name_of(int worker) const;

  Mail& mail_;
  const SharedSweep& sweep_;
  const sweep::Pieces& pieces_;
  sweep::ResultFile& file_;
  const Clock::duration patience_;
  const std::uint64_t resumed_;
  sweep::PrefixWriter writer_;
  sweep::Dispatcher dispatcher_;
  std::vector<Worker> workers_;  // [rank]; 0 is our own crew
  Pause pause_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_progress_ = begin_;
  Clock::time_point next_sync_ = begin_;
  Crew crew_;
};

Master::Master(Mail& mail, const SharedSweep& sweep, const sweep::Pieces& pieces, sweep::ResultFile& file,
               Clock::duration patience)
    : mail_(mail),
      sweep_(sweep),
      pieces_(pieces),
      file_(file),
      patience_(patience),
      resumed_(file.found().next_point),
      writer_(file, pieces.piece_of(resumed_)),
      dispatcher_(writer_.next(), pieces.count()),
      workers_(static_cast<std::size_t>(mail.size())),
      crew_(sweep.workers()) {
  workers_[0].threads = sweep.options.threads;
}

void Master::run() {
  while (writer_.next() < pieces_.count()) {
    if (is_stopped()) {
      end_stopped();
      break;
    }
    read_letters();
    write_own();
    look_for_the_dead();
    hand_out();
    keep_up();
    pause_.rest();
  }
  crew_.halt();
  file_.sync();
  next_progress_ = begin_;
  keep_up();
}

sweep::SweepSummary Master::summary() const {
  sweep::SweepSummary out;
  out.points = pieces_.points();
  out.resumed = file_.found().lines;
  out.lines = out.resumed + writer_.counts().total();
  out.dropped = file_.found().dropped;
  out.reached = std::max(resumed_, writer_.end_point());
  out.counts = writer_.counts();
  out.stopped = writer_.next() < pieces_.count();
  out.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  return out;
}

bool Master::is_stopped() const {
  return sweep_.options.stop != nullptr && *sweep_.options.stop;
}

void Master::read_letters() {
  for (const Letter& letter : mail_.collect()) {
    read(letter);
    pause_.something_happened();
  }
  mail_.forgive(pause_.away());
}

void Master::read(const Letter& letter) {
  Worker& worker = workers_[static_cast<std::size_t>(letter.from)];
  if (letter.tag == Tag::Hello) worker.who = unpack<Introduction>(letter.body);
  if (letter.tag == Tag::Failed) pass_on(unpack<Failure>(letter.body), name_of(letter.from));
  if (letter.tag == Tag::Done) put(letter.from, unpack<Completion>(letter.body));
  // Whatever it said: its pieces are done again.
  if (letter.tag == Tag::Damaged) dispatcher_.lose(letter.from);
  if (letter.tag == Tag::Ready) {
    const auto readiness = unpack<Readiness>(letter.body);
    check(letter, readiness);
    worker.threads = readiness.threads;
  }
}

void Master::check(const Letter& letter, const Readiness& readiness) const {
  if (readiness.identity == sweep_.identity()) return;
  throw InputError(fmt::format(
      "{} reads another grid, or is another version, than rank 0; let all ranks run one program on one "
      "grid, in a folder that they share",
      name_of(letter.from)));
}

void Master::write_own() {
  for (Completion& completion : crew_.take()) {
    put(0, std::move(completion));
    pause_.something_happened();
  }
}

void Master::put(int worker, Completion completion) {
  dispatcher_.finish(worker, completion.number);
  writer_.put(completion.number, std::move(completion.text));
}

void Master::hand_out() {
  for (int worker = mail_.size() - 1; worker >= 0; --worker)
    if (!workers_[static_cast<std::size_t>(worker)].is_lost) hand_out_to(worker);
}

void Master::hand_out_to(int worker) {
  const std::size_t most =
      kPiecesPerThread * static_cast<std::size_t>(workers_[static_cast<std::size_t>(worker)].threads);
  while (dispatcher_.held_by(worker) < most) {
    // What is written next may be among the lost ones, whatever waits behind it.
    const bool is_full = writer_.waiting_bytes() >= sweep::kMaxWaitingBytes;
    const auto number = dispatcher_.hand_out(worker, is_full);
    if (!number) return;
    const Assignment assignment{*number, pieces_.at(*number), resumed_};
    if (worker == 0)
      crew_.submit(assignment);
    else
      mail_.send(worker, Tag::Work, pack(assignment));
  }
}

void Master::look_for_the_dead() {
  if (!pause_.is_time_to_look()) return;
  for (int rank = 1; rank < mail_.size(); ++rank) {
    Worker& worker = workers_[static_cast<std::size_t>(rank)];
    const bool is_gone = worker.who.is_gone();
    const bool is_silent = Clock::now() - mail_.heard_of(rank) > patience_;
    if (!worker.is_lost && (is_gone || is_silent)) give_up(rank, is_gone);
    if (worker.is_lost && !is_gone && !is_silent) {
      // It was only stopped for a while.
      worker.is_lost = false;
      mail_.note(rank, Health::Well);
    }
  }
}

void Master::give_up(int rank, bool is_gone) {
  workers_[static_cast<std::size_t>(rank)].is_lost = true;
  mail_.note(rank, is_gone ? Health::Gone : Health::Silent);
  const std::size_t pieces = dispatcher_.lose(rank);
  print_warning(fmt::format("{} is {}; the work that it had ({}) goes to others", name_of(rank),
                            is_gone ? "gone" : "silent", count_text(pieces, "piece")));
  if (dispatcher_.most_losses() < kMostLosses) return;
  const sweep::Piece piece = pieces_.at(dispatcher_.most_lost_piece());
  throw SystemError(
      fmt::format("{} ranks were lost while they had the points from {} on; perhaps one of these needs "
                  "more memory than there is: refuse it with --max-memory and go on with --resume",
                  kMostLosses, piece.first_point));
}

void Master::keep_up() {
  const auto now = Clock::now();
  if (now >= next_progress_ && sweep_.options.progress) {
    sweep_.options.progress({std::max(resumed_, writer_.end_point()), pieces_.points(), resumed_,
                             std::chrono::duration<double>(now - begin_).count(), writer_.counts()});
    next_progress_ = now + kProgressEvery;
  }
  if (now >= next_sync_) {
    file_.sync();
    next_sync_ = Clock::now() + kSyncEvery;
  }
}

void Master::end_stopped() {
  crew_.halt();
  while (crew_.is_busy()) pause_.rest();
  read_letters();
  write_own();
}

std::string Master::name_of(int rank) const {
  const Introduction& who = workers_[static_cast<std::size_t>(rank)].who;
  return who.host.empty() ? fmt::format("rank {}", rank)
                          : fmt::format("rank {} (process {} on {})", rank, who.process, who.host);
}

}  // namespace

sweep::SweepSummary run_master(Mail& mail, const SweepArguments& arguments, Clock::duration patience,
                               const std::atomic<bool>& stop,
                               std::function<void(const sweep::Progress&)> progress) {
  const net::Bytes introduction = pack(Introduction::of_this_process());
  for (int rank = 1; rank < mail.size(); ++rank) mail.send(rank, Tag::Hello, introduction);
  SharedSweep sweep = aside(mail, [&] { return SharedSweep::read(arguments); });
  sweep.options.stop = &stop;
  sweep.options.progress = std::move(progress);
  const int workers = mail.size() * sweep.options.threads;
  const auto pieces = aside(mail, [&] {
    return sweep::Pieces(sweep.grid, sweep::piece_size(sweep.grid.combinations(), workers),
                         sweep::usable_processors(), &stop);
  });
  if (stop) return {};
  const auto header = sweep::Header::of(sweep.grid, sweep.metrics, pieces.points(), sweep.options.shard);
  const auto file = aside(mail, [&] {
    return std::make_unique<sweep::ResultFile>(sweep.options.out, sweep.grid, header, sweep.lines,
                                               sweep.options.existing, &stop);
  });
  Master master(mail, sweep, pieces, *file, patience);
  master.run();
  return master.summary();
}

}  // namespace pipeloom::cli::mpi
