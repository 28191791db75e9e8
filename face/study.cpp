#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <pipeloom/study.hpp>
#include "study/sweep/grid/grid.hpp"
#include "study/sweep/result/result.hpp"
#include "study/sweep/run/evaluator.hpp"
#include "study/sweep/run/runner.hpp"

namespace pipeloom {
namespace {

/// All that the threads of one run_sweep() share.
class SweepRun {
 public:
  SweepRun(const sweep::Grid& grid, const Control& control)
      : grid_(grid), control_(control), cache_(sweep::Evaluator::make_cache()) {
    out_.keys = grid.keys();
    out_.metrics = sweep::metrics_of(grid, {});
    collect_points();
  }

  Sweep run() {
    const int asked = control_.threads > 0 ? control_.threads : sweep::usable_processors();
    const auto threads = std::min(static_cast<std::size_t>(asked), due_.size());
    std::vector<std::thread> others;
    try {
      for (std::size_t i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system has no more threads: those that there are do the work.
    }
    work();
    for (std::thread& other : others) other.join();
    if (failure_) std::rethrow_exception(failure_);
    out_.complete = !stopped_;
    return std::move(out_);
  }

 private:
  void collect_points() {
    const sweep::Shard part = checked_part();
    sweep::Combination combination;
    for (std::uint64_t i = 0; i < grid_.combinations(); ++i) {
      if (!grid_.combination(i, combination)) continue;
      if (part.count == 1 || part.has(grid_.key(combination))) due_.push_back({i, out_.points.size()});
      take_settings(combination, out_.points.emplace_back());
    }
  }

  [[nodiscard]] sweep::Shard checked_part() const {
    const int count = control_.parts;
    if (count < 1 || count > sweep::kMaxShards)
      throw InputError("parts are " + std::to_string(count) + "; from 1 to " +
                       std::to_string(sweep::kMaxShards));
    if (control_.part < 1 || control_.part > count)
      throw InputError("part is " + std::to_string(control_.part) + "; there are parts 1 to " +
                       std::to_string(count));
    return {control_.part, count};
  }

  void work() {
    try {
      sweep::Evaluator evaluator(out_.metrics, control_.limits, cache_, grid_.scenarios());
      sweep::Combination combination;
      sweep::Outcome outcome;
      for (std::size_t i = next_++; i < due_.size() && !stopped_; i = next_++) {
        static_cast<void>(grid_.combination(due_[i].combination, combination));
        evaluate(evaluator, combination, outcome);
        take_outcome(outcome, out_.points[due_[i].point]);
        tell();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stopped_ = true;
    }
  }

  void evaluate(sweep::Evaluator& evaluator, const sweep::Combination& combination,
                sweep::Outcome& outcome) const {
    try {
      evaluator.evaluate(grid_.config(combination), outcome);
    } catch (const InputError& error) {
      outcome = {study::status_of(error), {}, error.line()};
    }
  }

  void take_settings(const sweep::Combination& combination, SweepPoint& point) const {
    point.settings.resize(out_.keys.size());
    for (const sweep::Setting& setting : combination.settings) point.settings[setting.key] = setting.json;
  }

  void take_outcome(const sweep::Outcome& outcome, SweepPoint& point) const {
    point.status = study::name_of(outcome.status);
    point.error = outcome.error;
    point.metrics.resize(out_.metrics.size());
    for (std::size_t m = 0; m < outcome.metrics.size(); ++m) {
      const std::string& text = outcome.metrics[m];
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc() && end == text.data() + text.size()) point.metrics[m] = value;
    }
  }

  void tell() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (!stopped_ && control_.progress && !control_.progress(done_, due_.size())) stopped_ = true;
  }

  struct Due {
    std::uint64_t combination;
    std::size_t point;
  };

  const sweep::Grid& grid_;
  const Control& control_;
  std::shared_ptr<sweep::Evaluator::Cache> cache_;
  std::vector<Due> due_;
  Sweep out_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

Sweep run_sweep(std::string_view grid, const std::string& path, const Control& control) {
  const sweep::Grid read = sweep::Grid::parse(grid, path);
  return SweepRun(read, control).run();
}

}  // namespace pipeloom
