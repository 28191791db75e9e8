#include "study/sweep/run/runner.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/io/json/json_value.hpp"
#include "study/report/metric.hpp"
#include "study/sweep/result/result_file.hpp"

namespace pipeloom::sweep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kProgressEvery = std::chrono::milliseconds(100);
constexpr auto kSyncEvery = std::chrono::seconds(1);

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Processors that the control group of a container grants, or 0: "200000 100000" is two.
int granted_processors() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? std::max(1, static_cast<int>(quota / period))
                                                            : 0;
}

/// Threads that take pieces in order, and the texts that they have finished.
class Crew {
 public:
  using Finished = std::vector<std::pair<std::uint64_t, PieceText>>;

  Crew(const Pieces& pieces, std::uint64_t first_piece, std::uint64_t skip_below)
      : pieces_(pieces), skip_below_(skip_below), next_(first_piece) {}
  ~Crew() { end(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Starts one thread per worker; fewer if the system has no more.
  void start(std::vector<PieceWorker> workers) {
    workers_ = std::move(workers);
    for (PieceWorker& worker : workers_) {
      try {
        const std::lock_guard lock(mutex_);
        threads_.emplace_back([this, &worker] { work(worker); });
        ++working_;
      } catch (const std::system_error& error) {
        if (threads_.empty())
          throw SystemError(fmt::format(
              "cannot start a thread: {}; end other programs, or raise the limit of processes (ulimit -u)",
              error.what()));
        break;
      }
    }
  }

  /// Ends every worker after its current point.
  void halt() {
    // Under the mutex, or a worker that is just about to wait would miss it.
    const std::lock_guard lock(mutex_);
    halt_ = true;
    may_go_on_.notify_all();
  }

  /// Waits until `until` for finished pieces and returns those finished since the last call. `waiting`: bytes of earlier calls that are
  /// not written yet.
  Finished take(Clock::time_point until, std::size_t waiting) {
    std::unique_lock lock(mutex_);
    waiting_bytes_ = waiting + finished_bytes_;
    may_go_on_.notify_all();
    something_.wait_until(lock, until, [this] { return !finished_.empty() || working_ == 0; });
    finished_bytes_ = 0;
    return std::exchange(finished_, {});
  }

  /// False once no thread works any more and take() has given everything.
  [[nodiscard]] bool is_busy() {
    const std::lock_guard lock(mutex_);
    return working_ > 0 || !finished_.empty();
  }

  /// Waits for the threads and rethrows the first error of any of them.
  void finish() {
    end();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void end() {
    halt();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  /// The next piece to evaluate, once there is room for its text; count() if there is none.
  std::uint64_t next_piece() {
    std::unique_lock lock(mutex_);
    may_go_on_.wait(lock, [this] { return halt_ || waiting_bytes_ < kMaxWaitingBytes; });
    return halt_ || next_ >= pieces_.count() ? pieces_.count() : next_++;
  }

  void work(PieceWorker& worker) {
    try {
      for (std::uint64_t i = next_piece(); i < pieces_.count(); i = next_piece()) {
        PieceText text = worker.run(pieces_.at(i), skip_below_, &halt_);
        const std::lock_guard lock(mutex_);
        finished_bytes_ += text.lines.size();
        waiting_bytes_ += text.lines.size();
        finished_.emplace_back(i, std::move(text));
        something_.notify_one();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      halt_ = true;
    }
    const std::lock_guard lock(mutex_);
    --working_;
    something_.notify_one();
    may_go_on_.notify_all();
  }

  const Pieces& pieces_;
  const std::uint64_t skip_below_;
  std::vector<PieceWorker> workers_;
  std::vector<std::thread> threads_;
  std::atomic<bool> halt_{false};
  std::mutex mutex_;
  std::condition_variable something_;
  std::condition_variable may_go_on_;
  // Under the mutex:
  std::uint64_t next_;
  Finished finished_;
  std::size_t finished_bytes_ = 0;
  std::size_t waiting_bytes_ = 0;  // finished, and given to the writer but not in turn
  int working_ = 0;
  std::exception_ptr error_;
};

/// One run from an open file to its end.
class Run {
 public:
  Run(const Pieces& pieces, const SweepOptions& options, ResultFile& file)
      : pieces_(pieces),
        options_(options),
        file_(file),
        resumed_(file.found().next_point),
        writer_(file, pieces.piece_of(resumed_)) {}

  void go(std::vector<PieceWorker> workers) {
    // Stopped while the file was checked: its content stays as it is.
    if (is_stopped()) return;
    Crew crew(pieces_, writer_.next(), resumed_);
    crew.start(std::move(workers));
    auto next_progress = begin_;
    auto next_sync = begin_ + kSyncEvery;
    while (crew.is_busy()) {
      if (is_stopped()) crew.halt();
      for (auto& [piece, text] : crew.take(Clock::now() + kProgressEvery, writer_.waiting_bytes()))
        writer_.put(piece, std::move(text));
      if (Clock::now() >= next_progress) {
        tell();
        next_progress = Clock::now() + kProgressEvery;
      }
      if (Clock::now() >= next_sync) {
        file_.sync();
        next_sync = Clock::now() + kSyncEvery;
      }
    }
    file_.sync();
    tell();
    crew.finish();
  }

  [[nodiscard]] bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }

  [[nodiscard]] SweepSummary summary() const {
    SweepSummary out;
    out.points = pieces_.points();
    out.resumed = file_.found().lines;
    out.lines = out.resumed + writer_.counts().total();
    out.dropped = file_.found().dropped;
    out.reached = reached();
    out.counts = writer_.counts();
    out.stopped = is_stopped() && out.reached < out.points;
    out.seconds = seconds_since(begin_);
    return out;
  }

 private:
  [[nodiscard]] std::uint64_t reached() const { return std::max(resumed_, writer_.end_point()); }
  void tell() const {
    if (options_.progress)
      options_.progress({reached(), pieces_.points(), resumed_, seconds_since(begin_), writer_.counts()});
  }

  const Pieces& pieces_;
  const SweepOptions& options_;
  ResultFile& file_;
  const std::uint64_t resumed_;
  PrefixWriter writer_;
  const Clock::time_point begin_ = Clock::now();
};

std::vector<PieceWorker> make_workers(const Grid& grid, const SweepOptions& options, const LineWriter& lines,
                                      const std::vector<std::string>& metrics, std::uint64_t count) {
  const auto cache = Evaluator::make_cache();
  std::vector<PieceWorker> workers;
  for (std::uint64_t i = 0; i < count; ++i)
    workers.emplace_back(grid, Evaluator(metrics, options.limits, cache, grid.scenarios()), lines,
                         options.shard);
  return workers;
}

}  // namespace

namespace {

std::vector<std::string> default_metrics_of(const Grid& grid) {
  std::vector<std::string> out = default_metrics();
  if (grid.scenarios())
    for (std::string& name : scenario_metrics()) out.push_back(std::move(name));
  return out;
}

/// Scenarios that no metric asks for would cost time, and metrics that ask for them need some.
void require_scenarios_asked(const Grid& grid, const std::vector<std::string>& metrics, const Where& where) {
  const auto needs = [](const std::string& name) {
    return study::find_metric(name, {}, study::sweep_metrics()).needs == study::Needs::Scenarios;
  };
  const auto found = std::find_if(metrics.begin(), metrics.end(), needs);
  if (found != metrics.end() && !grid.scenarios())
    throw InputError(where, fmt::format("{} is of scenarios, and there are none; give --scenarios N, or "
                                        "\"scenarios\": {{\"count\": N}} in the grid",
                                        *found));
  if (found == metrics.end() && grid.scenarios())
    throw InputError(where,
                     fmt::format("scenarios are asked for, and no metric is of them; add {} or others, or "
                                 "leave the scenarios out",
                                 scenario_metrics().front()));
}

/// True if some point can name a model.
bool names_model(const Grid& grid) {
  const auto& keys = grid.keys();
  if (std::find(keys.begin(), keys.end(), "costs.model") != keys.end()) return true;
  const io::Document base = io::Document::parse(grid.base_json(), "base");
  const io::Value* costs = base.root().find("costs");
  return costs != nullptr && costs->is(io::ValueKind::Object) && costs->find("model") != nullptr;
}

/// Rates that no point can have would be a column of nothing.
void require_model_named(const Grid& grid, const std::vector<std::string>& metrics, const Where& where) {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [](const std::string& name) {
    return study::find_metric(name, {}, study::sweep_metrics()).needs == study::Needs::Rates;
  });
  if (found == metrics.end() || names_model(grid)) return;
  throw InputError(where, fmt::format("{} is of a model, and no point names one; give costs.model and "
                                      "costs.hardware, or leave the metric out",
                                      *found));
}

}  // namespace

std::vector<std::string> metrics_of(const Grid& grid, const std::vector<std::string>& asked) {
  std::vector<std::string> out = !asked.empty()            ? asked
                                 : !grid.metrics().empty() ? grid.metrics()
                                                           : default_metrics_of(grid);
  const Where where = asked.empty() ? Where{} : Where{"--metrics"};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = study::find_metric(out[i], where, study::sweep_metrics()).name;
    if (std::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i), out[i]) !=
        out.begin() + static_cast<std::ptrdiff_t>(i))
      throw InputError(where, fmt::format("the metric {} is there twice; keep one of them", out[i]));
  }
  require_scenarios_asked(grid, out, where);
  require_model_named(grid, out, where);
  return out;
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed = ::sched_getaffinity(0, sizeof set, &set) == 0
                          ? CPU_COUNT(&set)
                          : static_cast<int>(std::thread::hardware_concurrency());
  const int granted = granted_processors();
  return std::max(1, granted > 0 ? std::min(allowed, granted) : allowed);
}

SweepSummary run_sweep(const Grid& grid, const SweepOptions& options) {
  if (options.existing == Existing::Refuse) require_absent(options.out);
  const std::vector<std::string> metrics = metrics_of(grid, options.metrics);
  const int threads = options.threads > 0 ? options.threads : usable_processors();
  const Pieces pieces(grid, piece_size(grid.combinations(), threads), threads, options.stop);
  if (options.stop != nullptr && *options.stop) {
    SweepSummary out;
    out.stopped = true;
    return out;
  }
  const LineWriter lines(options.format, grid, metrics);
  ResultFile file(options.out, grid, Header::of(grid, metrics, pieces.points(), options.shard), lines,
                  options.existing, options.stop);
  Run run(pieces, options, file);
  const std::uint64_t left = pieces.count() - pieces.piece_of(file.found().next_point);
  try {
    run.go(make_workers(grid, options, lines, metrics,
                        std::min<std::uint64_t>(static_cast<std::uint64_t>(threads), left)));
  } catch (const std::bad_alloc&) {
    throw SystemError(
        "out of memory; the results up to there are kept: go on with --resume and fewer threads (-j), or "
        "refuse large points "
        "with --max-memory");
  }
  return run.summary();
}

}  // namespace pipeloom::sweep
