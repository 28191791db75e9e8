#include "study/layouts/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "study/plan/candidates.hpp"
#include "study/plan/workers.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/make_schedule.hpp"

namespace pipeloom::study {
namespace {

/// Layouts that are simulated at once, whatever the threads, so that the answer does not depend on these.
constexpr std::size_t kTogether = 16;

/// The run of a layout, or why there is none.
struct TriedLayout {
  std::optional<LayoutResult> result;
  Excluded excluded = Excluded::Memory;
};

class LayoutSearcher {
 public:
  LayoutSearcher(Space& space, const LayoutSearch& search)
      : space_(space), search_(search), bounds_(search.setting), most_(search.at_most) {}

  LayoutsFound run() {
    for (std::size_t i = 0; i < space_.layouts.size(); ++i)
      queue_.push({bounds_.mean_work(space_.layouts[i]), i, false});
    while (!queue_.empty() && go_on()) {
      if (is_above(queue_.top().bound)) break;
      simulate(next_together());
    }
    space_.excluded.add(ended_ ? Excluded::NotTried : Excluded::Slower,
                        static_cast<std::int64_t>(queue_.size()));
    std::ranges::stable_sort(found_.results, {}, &LayoutResult::step);
    return std::move(found_);
  }

 private:
  struct Bounded {
    double bound = 0;  // seconds
    std::size_t index = 0;
    bool of_stages = false;
    bool operator<(const Bounded& other) const {  // of std::priority_queue: the smallest bound first
      return std::pair(other.bound, other.index) < std::pair(bound, index);
    }
  };
  bool go_on() {
    if (search_.progress &&
        !search_.progress(fmt::format("{} of {} layouts simulated", found_.simulated, space_.points)))
      ended_ = true;
    return !ended_;
  }

  /// The step, in seconds, above which nothing is wanted: of the worst wanted split.
  [[nodiscard]] std::optional<double> most_wanted() const {
    if (search_.simulates_all) return std::nullopt;
    if (best_.size() < search_.splits) return search_.at_most;
    std::vector<Ticks> steps;
    for (const auto& [split, step] : best_) steps.push_back(step);
    std::ranges::nth_element(steps, steps.begin() + static_cast<std::ptrdiff_t>(search_.splits) - 1);
    return static_cast<double>(steps[search_.splits - 1]) / static_cast<double>(ticks_per(TimeUnit::Second));
  }
  [[nodiscard]] bool is_above(double bound) const { return most_ && bound > *most_ * (1 + search_.near); }

  /// Layouts whose stages' bounds are the smallest of all.
  std::vector<std::size_t> next_together() {
    std::vector<std::size_t> out;
    while (!queue_.empty() && out.size() < kTogether && !is_above(queue_.top().bound)) {
      const Bounded next = queue_.top();
      queue_.pop();
      if (next.of_stages)
        out.push_back(next.index);
      else
        bound_stages(next);
    }
    return out;
  }

  void bound_stages(Bounded next) {
    ParallelLayout& layout = space_.layouts[next.index];
    const auto params = params_of_first_alias(layout);
    if (!params) return space_.excluded.add(Excluded::Order);
    const LayoutBound bound =
        bounds_.of_stages(layout, *schedules::find(std::string(layout.order)).generator, *params);
    if (!search_.simulates_all && bound.peak > static_cast<double>(search_.limit))
      return space_.excluded.add(Excluded::Memory);
    next.bound = std::max(next.bound, bound.step);
    next.of_stages = true;
    queue_.push(next);
  }

  /// The parameters under the first target's name of the order that takes them; the layout has that name then.
  std::optional<Params> params_of_first_alias(ParallelLayout& layout) const {
    const std::string_view order = layout.order;
    const auto asked = search_.target != nullptr ? std::span(search_.target, 1) : targets();
    for (const Target& target : asked) {
      const std::string_view alias = own_alias(target, order);
      if (alias.empty()) continue;
      layout.order = alias;
      try {
        const SchedulePlan plan = name_schedule(config_of(search_.base, layout));
        if (schedules::takes(*plan.found.generator, plan.params)) return plan.params;
      } catch (const ScheduleError&) {
        continue;
      }
    }
    layout.order = order;
    return std::nullopt;
  }

  void simulate(const std::vector<std::size_t>& together) {
    std::vector<TriedLayout> tried(together.size());
    std::vector<std::vector<int>> layers;
    for (const std::size_t index : together) {
      const ParallelLayout& layout = space_.layouts[index];
      layers.push_back(bounds_.layers_of(layout, layout.pipeline * layout.chunks));
    }
    on_threads(search_.threads, together.size(), [&](std::size_t i, bool) {
      tried[i] = try_layout(space_.layouts[together[i]], std::move(layers[i]));
    });
    found_.simulated += together.size();
    for (TriedLayout& one : tried) {
      if (!one.result) {
        space_.excluded.add(one.excluded);
        continue;
      }
      const auto [best, is_new] = best_.emplace(split_key(one.result->layout), one.result->step);
      best->second = std::min(best->second, one.result->step);
      found_.results.push_back(*std::move(one.result));
    }
    most_ = most_wanted();
  }

  [[nodiscard]] TriedLayout try_layout(const ParallelLayout& layout, std::vector<int> layers) const {
    try {
      const Run run = totals_of(config_of(search_.base, layout, layers), {}, Depth::Metrics);
      if (!over_limit_text(run).empty()) return {};
      Bytes peak = 0;
      for (const RankMetrics& rank : run.metrics->ranks) peak = std::max(peak, rank.memory.peak_bytes);
      return {LayoutResult{layout, std::move(layers), run.metrics->step_time, run.memory->in_bytes(peak)}};
    } catch (const Error&) {
      return {std::nullopt, Excluded::Order};
    }
  }

  Space& space_;
  const LayoutSearch& search_;
  LayoutBounds bounds_;
  std::priority_queue<Bounded> queue_;
  std::map<SplitKey, Ticks> best_;
  std::optional<double> most_;
  bool ended_ = false;
  LayoutsFound found_;
};

}  // namespace

LayoutsFound search_layouts(Space& space, const LayoutSearch& search) {
  return LayoutSearcher(space, search).run();
}

}  // namespace pipeloom::study
