// The other ranks: evaluate what rank 0 sends.

#include <fmt/format.h>

#include <exception>
#include <new>
#include <optional>

#include <pipeloom/error.hpp>
#include "cli/console.hpp"
#include "cli/mpi/crew.hpp"
#include "cli/mpi/letters.hpp"
#include "cli/mpi/mail.hpp"
#include "cli/mpi/shared_sweep.hpp"

namespace pipeloom::cli::mpi {
namespace {

/// Rank 0 also writes to a disk that others share: it gets more time.
constexpr int kMorePatience = 4;

class Worker {
 public:
  Worker(Mail& mail, Clock::duration patience) : mail_(mail), patience_(kMorePatience * patience) {}

  [[noreturn]] void run(const SweepArguments& arguments) {
    mail_.send(0, Tag::Hello, pack(Introduction::of_this_process()));
    try {
      work(arguments);
    } catch (const Error& error) {
      fail(error.exit_code(), error.line().substr(error.line().find("error: ") + 7));
    } catch (const std::bad_alloc&) {
      fail(ExitCode::DeviceFailed, "out of memory");
    } catch (const std::exception& error) {
      fail(ExitCode::Bug, error.what());
    }
    mail_.leave(status_);
  }

 private:
  void work(const SweepArguments& arguments) {
    const SharedSweep sweep =
        mail_.await(std::async(std::launch::async, [&] { return SharedSweep::read(arguments); }));
    mail_.send(0, Tag::Ready, pack(Readiness{sweep.options.threads, sweep.identity()}));
    Crew crew(sweep.workers());
    pause_ = Pause();
    while (goes_on(&crew)) {
      for (const Completion& completion : crew.take()) {
        mail_.send(0, Tag::Done, pack(completion));
        pause_.something_happened();
      }
      pause_.rest();
    }
    // Not by the end of this block: nobody waits for the points that the threads are at.
    mail_.leave(status_);
  }

  /// Reads letters. False once there is nothing more to do.
  bool goes_on(Crew* crew) {
    for (const Letter& letter : mail_.collect()) {
      if (letter.tag == Tag::Stop) {
        is_over_ = true;
        if (!letter.body.empty()) mail_.expect_absence();
      }
      if (letter.tag == Tag::Hello) master_ = unpack<Introduction>(letter.body);
      if (letter.tag == Tag::Work && crew != nullptr) crew->submit(unpack<Assignment>(letter.body));
      pause_.something_happened();
    }
    mail_.forgive(pause_.away());
    if (!is_over_ && has_lost_master()) {
      say(fmt::format("error: rank {}: rank 0 is gone; go on with --resume\n", mail_.rank()));
      status_ = static_cast<int>(ExitCode::DeviceFailed);
      mail_.expect_absence();
      is_over_ = true;
    }
    return !is_over_;
  }

  bool has_lost_master() {
    if (pause_.is_time_to_look() && master_ && master_->is_gone()) return true;
    return Clock::now() - mail_.heard_of(0) > patience_;
  }

  /// Rank 0 says what happens now.
  void fail(ExitCode code, const std::string& message) {
    mail_.send(0, Tag::Failed, pack(Failure{static_cast<int>(code), message}));
    while (goes_on(nullptr)) pause_.rest();
  }

  Mail& mail_;
  const Clock::duration patience_;
  Pause pause_;
  std::optional<Introduction> master_;
  bool is_over_ = false;
  int status_ = 0;
};

}  // namespace

void run_worker(Mail& mail, const SweepArguments& arguments, Clock::duration patience) {
  Worker(mail, patience).run(arguments);
}

}  // namespace pipeloom::cli::mpi
