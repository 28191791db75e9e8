#pragma once

// Rank 0: hands out pieces, writes their lines in order, and evaluates pieces itself.

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "cli/mpi/crew.hpp"
#include "cli/mpi/letters.hpp"
#include "cli/mpi/mail.hpp"
#include "cli/mpi/pause.hpp"
#include "cli/mpi/shared_sweep.hpp"
#include "study/sweep/result/result_file.hpp"
#include "study/sweep/run/dispatcher.hpp"

namespace pipeloom::cli::mpi {

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

/// All of rank 0: reads the grid, opens the file, runs a Master. The other ranks are left waiting for Tag::Stop, also by what it throws.
[[nodiscard]] sweep::SweepSummary run_master(Mail& mail, const SweepArguments& arguments,
                                             Clock::duration patience, const std::atomic<bool>& stop,
                                             std::function<void(const sweep::Progress&)> progress);

/// More ranks than this do not die of bad luck on one piece.
inline constexpr int kMostLosses = 3;

}  // namespace pipeloom::cli::mpi
