#include "study/plan/codesign.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/resolve.hpp"
#include "study/estimate/balance.hpp"
#include "study/plan/candidates.hpp"
#include "study/plan/orders.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/model_costs.hpp"

namespace pipeloom::study {
namespace {

using Layers = std::vector<int>;

/// Candidates whose layers are dealt out anew.
constexpr std::size_t kBalanced = 3;
/// Splits, of those that look best under the order that stands, for which an order is searched.
constexpr std::size_t kTried = 6;
/// Searches that one search's share of the time is divided among.
constexpr std::int64_t kSearches = 80;

Assignments with_layers(Assignments config, const Layers& layers) {
  config["costs.layers"] = fmt::format("[{}]", fmt::join(layers, ","));
  return config;
}

/// A split, the best order known for it, and what both come to.
struct Design {
  Layers layers;
  orders::Order order;
  Ticks value = kMaxTicks;
};

class CoDesigner {
 public:
  CoDesigner(const PlanCandidate& from, const PlanOptions& options, const Limits& limits)
      : from_(from),
        options_(options),
        limits_(limits),
        config_(config_of(from.config)),
        placement_(from.run.schedule->placement()),
        setting_(setting_of(config_, placement_.ranks())) {
    work_ = search_work(options.seconds / 2, options.threads) / kSearches;
  }

  std::optional<PlanCandidate> run() {
    const auto problem = problem_for(from_.layers);
    if (!problem) return std::nullopt;
    auto order = orders::order_of(*problem, *from_.run.schedule);
    if (!order) return std::nullopt;
    Design now{from_.layers, std::move(*order), kMaxTicks};
    now.value = orders::value_of(*problem, now.order).value_or(kMaxTicks);
    const Ticks first = now.value;
    for (std::int64_t searches = kSearches; searches > 0 && improve(now, searches);) {
    }
    if (now.value >= first) return std::nullopt;
    return candidate(now);
  }

 private:
  /// The problem with other layers on the stages.
  [[nodiscard]] std::optional<orders::Problem> problem_for(const Layers& layers) const {
    const ModelCosts made = costs_of_layers(config_, placement_, setting_, layers);
    Run run;
    run.schedule = from_.run.schedule;
    run.effective = from_.run.effective;
    run.costs = std::make_shared<const Costs>(cost::resolve(made.config.costs, *run.schedule).costs);
    run.memory = std::make_shared<const MemoryModel>(cost::resolve_memory(made.config.memory, placement_));
    return problem_of(run);
  }

  /// All splits that differ by one layer, those first under which the order that stands is shortest.
  [[nodiscard]] std::vector<Design> neighbours(const Design& now) const {
    std::vector<Design> out;
    for (std::size_t a = 0; a < now.layers.size(); ++a)
      for (std::size_t b = 0; b < now.layers.size(); ++b) {
        if (a == b || now.layers[a] <= 1) continue;
        Design next{now.layers, {}, kMaxTicks};
        --next.layers[a];
        ++next.layers[b];
        const auto problem = problem_for(next.layers);
        if (!problem) continue;
        next.value = orders::value_of(*problem, now.order).value_or(kMaxTicks);
        out.push_back(std::move(next));
      }
    std::ranges::stable_sort(out, {}, &Design::value);
    return out;
  }

  /// Takes the first of the best looking neighbours whose order comes out shorter. False where none does, or the searches are used up.
  bool improve(Design& now, std::int64_t& searches) const {
    std::vector<Design> next = neighbours(now);
    for (std::size_t i = 0; i < std::min(kTried, next.size()) && searches > 0; ++i, --searches) {
      if (options_.progress && !options_.progress("layers and order", text(now.value))) return false;
      const auto problem = problem_for(next[i].layers);
      const auto found =
          orders::search_order(*problem, {{"before", now.order}},
                               {.work = work_, .seed = options_.seed, .threads = options_.threads});
      if (!found || found->value >= now.value) continue;
      now = {next[i].layers, found->order, found->value};
      return true;
    }
    return false;
  }

  [[nodiscard]] std::string text(Ticks value) const { return format_ticks(value, from_.run.timeline.unit); }

  [[nodiscard]] std::optional<PlanCandidate> candidate(const Design& design) const {
    Variant variant{from_.name + ", layers with it", with_layers(from_.config, design.layers), ""};
    const io::Config config = config_of(variant.config);
    const auto problem = problem_for(design.layers);
    auto schedule = std::make_shared<const Schedule>(orders::schedule_of(*problem, placement_, design.order));
    Run run = evaluate_schedule(with_extras(std::move(schedule), config), variant.name, config, limits_);
    if (!over_limit_text(run).empty() || run.metrics->step_time >= from_.step_time) return std::nullopt;
    return candidate_of(variant, std::move(run));
  }

  const PlanCandidate& from_;
  const PlanOptions& options_;
  const Limits& limits_;
  io::Config config_;
  Placement placement_;
  estimate::Setting setting_;
  std::int64_t work_ = 0;
};

}  // namespace

std::vector<PlanCandidate> balanced_candidates(const std::vector<const PlanCandidate*>& candidates,
                                               const PlanOptions& options, const Limits& limits) {
  std::vector<PlanCandidate> out;
  for (std::size_t i = 0; i < std::min(kBalanced, candidates.size()); ++i) {
    const PlanCandidate& from = *candidates[i];
    if (from.searched()) continue;
    if (options.progress && !options.progress("layers of " + from.name, "")) break;
    const Balanced balanced = balance_layers(config_of(from.config), limits, Balance::Time);
    if (balanced.best.step_time >= from.step_time || balanced.best.over > 0) continue;
    Variant variant{from.name + ", balanced", with_layers(from.config, balanced.best.layers), ""};
    out.push_back(candidate_of(variant, evaluate(config_of(variant.config), limits)));
  }
  return out;
}

std::optional<PlanCandidate> codesigned_candidate(const std::vector<PlanCandidate>& found,
                                                  const PlanOptions& options, const Limits& limits) {
  const auto best = std::ranges::min_element(found, {}, &PlanCandidate::step_time);
  return CoDesigner(*best, options, limits).run();
}

}  // namespace pipeloom::study
