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
  double first_seconds = 0;    ///< with the first part alone of a search of the schedule's own
  double bytes = 0;            ///< while it is simulated, and as long as its run is kept
  bool is_search = false;      ///< the schedule's order is found by such a search
  std::string placement = {};  ///< placement_name(); "" where it is not known
};

/// `like`: a run of the same workload, whose ranks' work says what a microbatch takes; null: `step` is then 0. A schedule file promises nothing and costs
/// nothing. O(1), but for a run's stages. `of_all`: what simulating all ops takes, though short runs may tell the numbers.
[[nodiscard]] Promise promise_of(const Variant& variant, const Run* like, bool of_all = false);

class Budget {
 public:
  /// Begins now.
  Budget(double seconds, int threads);

  /// Takes what a simulation costs from the part of the budget that is for simulations. The share of its work that there is room for: 1, of a search
  /// less where only its first part is to be done; 0, and nothing taken, where the budget or the memory for runs that are kept is used up.
  [[nodiscard]] double take(const Promise& promise);
  /// True if the simulation is so small a part of that, that it is tried before others that promise more.
  [[nodiscard]] bool takes_little(const Promise& promise) const;
  /// Why take() said no.
  [[nodiscard]] std::string refusal(const Promise& promise) const;
  /// Seconds that are left for searches.
  [[nodiscard]] double left() const;
  /// Whether the clock is far beyond the budget. Any thread may ask.
  [[nodiscard]] bool is_over() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// Seconds of one thread that simulations may take.
  [[nodiscard]] double most() const;

  Clock::time_point begin_ = Clock::now();
  std::clock_t clock_begin_ = std::clock();  // of all threads
  double seconds_;
  int threads_;
  double spent_ = 0;  // seconds of one thread
  double bytes_ = 0;
};

inline constexpr const char* kOtherPlacement =
    "has other stages on its ranks, and --vary leaves placement out";

/// A variant that the budget has room for.
struct Affordable {
  std::size_t index = 0;
  double share = 1;  ///< as Budget::take() returns it
};

/// The variant's run, where Budget::take() has room for `share` of its work: a search of the schedule's own may end after its first part. The variant is
/// then with_short_search(), unless its order is proven the best.
struct Made {
  Variant variant;
  Run run;
};
[[nodiscard]] Made made_within(const Variant& variant, double share, const Limits& limits);

/// The variants that the budget has room for, the most promising first after those that take little, and without the workload's own where its run is `now`. `may_be`:
/// whether a placement is allowed. Why others are left out goes to `why`, [variant].
[[nodiscard]] std::vector<Affordable> affordable(const std::vector<Variant>& variants, const Run* now,
                                                 const std::function<bool(const std::string&)>& may_be,
                                                 Budget& budget, std::vector<PlanRejected>& why);

/// Throws InputError where simulating the configuration once takes much longer than the budget, with both figures.
void require_within(double seconds, const io::Config& config);

}  // namespace pipeloom::study
