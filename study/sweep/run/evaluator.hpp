#pragma once

// Many runs, one after another, as fast as they go: schedules are kept from one point to the next, and what only changes
// costs is evaluated again without being generated again. The numbers are those of study::evaluate(), text for text.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/config/config.hpp"
#include "study/report/metric.hpp"
#include "study/run/make_schedule.hpp"
#include "study/sweep/result/outcome.hpp"

namespace pipeloom::sweep {

using study::name_of;

/// Metrics of a sweep that names none.
[[nodiscard]] std::vector<std::string> default_metrics();
/// Further metrics of such a sweep where points run scenarios.
[[nodiscard]] std::vector<std::string> scenario_metrics();

/// Use of a cache.
struct CacheUse {
  std::size_t generated = 0;  ///< schedules made, and parameters refused
  std::size_t held = 0;       ///< now
  std::size_t bytes = 0;
};

/// Not thread-safe: one per thread. Schedules are shared between those made from the same Cache.
class Evaluator {
 public:
  /// Schedules that several evaluators use; holds at most `max_bytes` of them, the least recently used go. Thread-safe.
  class Cache;
  [[nodiscard]] static std::shared_ptr<Cache> make_cache(std::size_t max_bytes = std::size_t{32} << 20);

  [[nodiscard]] static CacheUse use_of(const Cache& cache);

  /// Throws InputError for names that are no metrics. `scenarios` are run at every point where a metric needs them. REQUIRES: they are there if one does.
  Evaluator(std::vector<std::string> metrics, Limits limits, std::shared_ptr<Cache> cache,
            const std::optional<study::ScenarioChoice>& scenarios = {});
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;

  /// Never throws for an error of a point: that is its status. Out of memory and defects of ours pass. `family`: the same text for configurations that differ
  /// in their microbatches alone, which two short runs may then tell all of; "" if there are none.
  void evaluate(const io::Config& config, Outcome& out, std::string_view family = {});
  [[nodiscard]] const std::vector<std::string>& metrics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pipeloom::sweep
