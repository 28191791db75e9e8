#pragma once

// What a variant can be expected to come to before it is simulated, what simulating it takes, and what is left of a plan's budget: the most promising
// are tried first, for as long as it lasts. Work counts as it is estimated, so that equal inputs give equal plans; the clock
// ends only what takes much longer than its estimate.

#include <chrono>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "study/plan/candidates.hpp"

namespace pipeloom::study {

/// An expectation of a variant's run.
struct Promise {
  double step =
      0;  ///< ticks, from the schedule's closed form, or from the work of a rank and the way through the pipeline
  double seconds = 0;          ///< of one thread
  double bytes = 0;            ///< while it is simulated, and as long as its run is kept
  bool is_search = false;      ///< the schedule's order is found by a search of its own
  std::string placement = {};  ///< placement_name(); "" where it is not known
};

/// `like`: a run of the same workload, whose ranks' work says what a microbatch takes; null: `step` is then 0. A schedule file promises nothing and costs
/// nothing. O(1), but for a run's stages.
[[nodiscard]] Promise promise_of(const Variant& variant, const Run* like);

class Budget {
 public:
  /// Begins now.
  Budget(double seconds, int threads);

  /// Takes what a simulation costs from the part of the budget that is for simulations; false, and nothing taken, where that or the memory for
  /// runs that are kept is used up.
  [[nodiscard]] bool take(const Promise& promise);
  /// Why take() said no.
  [[nodiscard]] std::string refusal(const Promise& promise) const;
  /// Seconds that are left for searches.
  [[nodiscard]] double left() const;
  /// Whether the clock is far beyond the budget. Any thread may ask.
  [[nodiscard]] bool is_over() const;

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point begin_ = Clock::now();
  std::clock_t clock_begin_ = std::clock();  // of all threads
  double seconds_;
  int threads_;
  double spent_ = 0;  // seconds of one thread
  double bytes_ = 0;
};

inline constexpr const char* kOtherPlacement =
    "has other stages on its ranks, and --vary leaves placement out";

/// Indices of the variants that the budget has room for, the most promising first, and without the workload's own where its run is `now`. `may_be`:
/// whether a placement is allowed. Why others are left out goes to `why`, [variant].
[[nodiscard]] std::vector<std::size_t> affordable(const std::vector<Variant>& variants, const Run* now,
                                                  const std::function<bool(const std::string&)>& may_be,
                                                  Budget& budget, std::vector<PlanRejected>& why);

/// Throws InputError where simulating the configuration once takes much longer than the budget, with both figures.
void require_within(double seconds, const io::Config& config);

}  // namespace pipeloom::study
