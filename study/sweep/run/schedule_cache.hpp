#pragma once

// Schedules that a sweep has made already. Not for users; see study/sweep/run/evaluator.hpp.

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/cost/cost_spec.hpp"
#include "sim/engine/fixed_order.hpp"
#include "sim/io/config/config.hpp"
#include "sim/memory.hpp"
#include "study/run/make_schedule.hpp"
#include "study/run/run_status.hpp"
#include "study/sweep/run/evaluator.hpp"

namespace pipeloom::sweep {

/// Everything that decides a schedule: equal keys, equal queues.
struct ScheduleKey {
  const schedules::Generator* generator = nullptr;  ///< null: a file
  Params params;
  bool recompute_given = false;  ///< even a "false" is refused where it makes no sense
  bool offload_given = false;
  std::string file;  ///< path; its size is checked against the steps when it is read
  int steps = 0;
  /// All numbers of SchedulePlan::terms, for orders that depend on them; else empty.
  std::vector<std::int64_t> terms;
  friend bool operator==(const ScheduleKey&, const ScheduleKey&) = default;
};
[[nodiscard]] ScheduleKey key_of(const io::Config& config, const study::SchedulePlan& plan);

/// A schedule, or why there is none, and the facts computed about it. Shared between threads.
class MadeSchedule {
 public:
  /// Generates on the first call; callers wait meanwhile. Returns null for a schedule that is refused; throws what
  /// study::make_planned() throws where it would be worded differently for this configuration. `made` is set if it was generated now.
  const Schedule* get(const study::SchedulePlan& plan, const io::Config& config, const Limits& limits,
                      bool& made);
  /// REQUIRES: get() gave a schedule.
  [[nodiscard]] const std::shared_ptr<const Schedule>& schedule() const { return schedule_; }
  /// REQUIRES: get() returned null.
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] const std::string& error() const { return error_; }

  /// For evaluation number kUsesBeforeOrder and later: a fixed order, if this kind of schedule has one; else null. `made` is set if it
  /// was made now.
  const FixedOrder* order(bool& made);
  static constexpr int kUsesBeforeOrder = 4;

  /// measure_queues() under this memory, kept for the next call. REQUIRES: no copies, whole sequences; `model` is `spec` resolved.
  std::shared_ptr<const std::vector<QueuePeaks>> peaks(const cost::MemorySpec& spec,
                                                       const MemoryModel& model);

  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Peaks {
    cost::MemorySpec spec;
    std::shared_ptr<const std::vector<QueuePeaks>> ranks;
  };

  bool generate(const study::SchedulePlan& plan, const io::Config& config, const Limits& limits);

  std::mutex mutex_;
  std::atomic<bool> ready_ = false;
  std::shared_ptr<const Schedule> schedule_;
  Status status_ = Status::Ok;
  std::string error_;
  std::string places_;  // of the configuration that the error speaks of
  std::atomic<int> uses_ = 0;
  std::unique_ptr<const FixedOrder> order_;
  std::atomic<const FixedOrder*> order_there_ = nullptr;
  std::vector<Peaks> peaks_;
  std::size_t next_peaks_ = 0;
};

class Evaluator::Cache {
 public:
  explicit Cache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// The one object for this key, generated or not.
  std::shared_ptr<MadeSchedule> find(const ScheduleKey& key);
  /// Counts the bytes that an object has become, and lets the least recently used ones go. `generated`: it is new.
  void grown(const ScheduleKey& key, const MadeSchedule& made, bool generated);
  [[nodiscard]] CacheUse use() const;

 private:
  struct Node {
    ScheduleKey key;
    std::shared_ptr<MadeSchedule> made;
    std::size_t bytes = 0;
  };
  struct Hash {
    std::size_t operator()(const ScheduleKey& key) const;
  };

  mutable std::mutex mutex_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::size_t generated_ = 0;
  std::list<Node> nodes_;  // most recently used first
  std::unordered_map<ScheduleKey, std::list<Node>::iterator, Hash> by_key_;
};

}  // namespace pipeloom::sweep
