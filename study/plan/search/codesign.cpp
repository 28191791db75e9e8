#include "study/plan/search/codesign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/cost/resolve.hpp"
#include "sim/kinds.hpp"
#include "sim/orders/designs/design.hpp"
#include "sim/orders/designs/design_bound.hpp"
#include "study/estimate/balance.hpp"
#include "study/plan/candidates.hpp"
#include "study/plan/ranking.hpp"
#include "study/plan/relief.hpp"
#include "study/plan/search/orders.hpp"
#include "study/plan/search/problem.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/model_costs.hpp"
#include "study/run/repeated/repeated_run.hpp"

namespace pipeloom::study {
namespace {

/// Loops and V shapes to begin with have up to so many stages on a rank, designs in all so many times the ranks.
constexpr int kMostLaps = 4;
constexpr std::size_t kMostStages = 6;

std::vector<std::size_t> ranks_of(const Placement& placement) {
  std::vector<std::size_t> out;
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage)
    out.push_back(placement.rank_of(stage).at());
  return out;
}

Placement placement_of(const orders::Design& design, int ranks) {
  std::vector<Rank> slots;
  for (const std::size_t rank : design.rank) slots.emplace_back(static_cast<int>(rank));
  const int stages = static_cast<int>(slots.size());
  return Placement::custom(ranks, stages, 1, std::move(slots));
}

std::size_t way_of(const orders::Design& design) {
  return design.recomputes.empty() ? 0 : std::ranges::max(design.recomputes);
}

/// Those that are set.
std::vector<int> stages_of(const std::vector<std::uint8_t>& set) {
  std::vector<int> out;
  for (std::size_t s = 0; s < set.size(); ++s)
    if (set[s] > 0) out.push_back(static_cast<int>(s));
  return out;
}

/// A way in which stages hold less, and what a model is spread by where all use it.
struct Means {
  const Relief* relief = nullptr;
  estimate::Setting setting;
};

/// What single stages can do.
struct AllMeans {
  std::vector<Means> recomputations;
  const Relief* copies = nullptr;
};

/// Whether single stages may use it: targets say what runs again, and what is copied, for all alike.
bool may_relieve(const PlanOptions& options, const Relief& relief) {
  return options.vary.has(relief.vary) && options.target == nullptr;
}

/// Whether any rank may have any stage.
bool may_place(const PlanOptions& options) {
  return options.vary.has(Vary::Placement) && options.target == nullptr;
}

bool may_relieve(const PlanOptions& options) {
  return std::ranges::any_of(reliefs(), [&](const Relief& relief) { return may_relieve(options, relief); });
}

/// What single stages can do, where it may vary; without any of the candidate's own.
AllMeans means_of(const io::Config& plain, const Schedule& schedule, const PlanOptions& options) {
  AllMeans out;
  for (const Relief& relief : reliefs()) {
    if (!may_relieve(options, relief) || (relief.needs_model && !has_model(plain))) continue;
    if (relief.vary == Vary::Offload) {
      out.copies = &relief;
      continue;
    }
    if (!has_model(plain)) {
      out.recomputations.push_back({&relief, {}});
      out.recomputations.back().setting.recomputation = model::Recomputation::Full;
      continue;
    }
    io::Config config = plain;
    use(relief, {0}, config);
    try {
      out.recomputations.push_back({&relief, setting_of(config, schedule)});
    } catch (const InputError&) {
      continue;  // no layer of the model has the modules
    }
  }
  return out;
}

/// The configuration of an order without what stages do to hold less, where that may vary.
io::Config plain_config(const PlanCandidate& from, const PlanOptions& options) {
  io::Config out = searched_config(from.config, options);
  for (const Relief& relief : reliefs())
    if (may_relieve(options, relief)) forget(relief, out);
  return out;
}

/// Designs and orders on the ranks of one candidate, with its memory options as far as they may not vary.
class CoDesigner {
 public:
  /// `others`: whose orders are tried where a design has their placement; of a model those that fit, best first.
  CoDesigner(const PlanCandidate& from, const std::vector<const PlanCandidate*>& others,
             const PlanOptions& options, const Limits& limits)
      : from_(from),
        others_(others),
        options_(options),
        limits_(limits),
        config_(plain_config(from, options)),
        schedule_(*from.run.schedule),
        microbatches_(microbatches_of(from.run)),
        setting_(has_model(config_) ? setting_of(config_, schedule_) : estimate::Setting()),
        means_(means_of(config_, schedule_, options)) {}

  /// Whether bounds leave room for a design that is better. REQUIRES: a model.
  [[nodiscard]] bool may_win() const {
    const orders::Design own{from_.layers, ranks_of(schedule_.placement())};
    const auto problem = problem_for(own);
    const std::string& letters = setting_.model->layers;
    const bool alike = letters.find_first_not_of(letters.front()) == std::string::npos;
    if (!problem || !is_bounded(*problem) || !alike) return true;
    const Ticks work = orders::least_rank_work(
        own, [this](const orders::Design& one) { return problem_for(one); }, !may_place(options_));
    return leaves_room(static_cast<double>(work) * microbatches_);
  }

  std::optional<PlanCandidate> run(const std::vector<orders::Design>& starts, double seconds) const {
    // What single stages or passes do to hold less, and may not vary, is not carried over to others.
    const bool model = has_model(config_);
    if (!setting_.recomputing.empty() || setting_.keeps_some || config_.options.offload.on ||
        (!model && config_.options.recompute.on))
      return std::nullopt;
    orders::DesignOptions search{.layers = model && options_.vary.has(Vary::Layers),
                                 .ranks = model && may_place(options_),
                                 .stages = model && options_.vary.has(Vary::Chunks),
                                 .most_stages = kMostStages * static_cast<std::size_t>(schedule_.ranks()),
                                 .recomputations = static_cast<std::uint8_t>(means_.recomputations.size()),
                                 .copies = means_.copies != nullptr,
                                 .work = search_work(seconds, options_.threads),
                                 .seed = options_.seed,
                                 .threads = options_.threads};
    const orders::EntrySearchOptions entries =
        entry_search(options_, search.work / 4, "layers, placement and order", from_.run.timeline.unit);
    search.progress = entries.progress;
    if (model && is_time())
      search.rival = static_cast<Ticks>(value_of(*others_.front(), options_.objective) - rest());
    const auto design = orders::search_design(
        with_relieved(starts), [this](const orders::Design& one) { return problem_for(one); }, search);
    if (!design) return std::nullopt;
    const auto problem = problem_for(design->design);
    const bool has_entries = problem->needs_entries() || !problem->pairs.empty();
    return has_entries ? best_entries(*design, *problem, entries)
                       : best_order(*design, *problem, entries.work);
  }

 private:
  [[nodiscard]] bool is_time() const {
    return options_.objective == PlanObjective::StepTime || options_.objective == PlanObjective::Makespan;
  }

  /// Whether bounds hold for all that is searched for.
  [[nodiscard]] bool is_bounded(const orders::Problem& problem) const {
    return is_time() && problem.pairs.empty() && config_.step.rule == StepRule::Barrier;
  }

  /// Whether a makespan with this bound may be shorter than the best of the others by more than kSameStep, with an optimizer that takes as long as
  /// the candidate's own.
  [[nodiscard]] bool leaves_room(double bound) const {
    return bound < (1 - kSameStep) * value_of(*others_.front(), options_.objective) - rest();
  }

  /// What the objective has besides the makespan.
  [[nodiscard]] double rest() const {
    const bool whole = options_.objective == PlanObjective::StepTime;
    return static_cast<double>(whole ? from_.step_time - from_.makespan : 0);
  }

  /// Those that have room, and all of them with every stage recomputing in each way, copying, or both.
  [[nodiscard]] std::vector<orders::Design> with_relieved(const std::vector<orders::Design>& starts) const {
    std::vector<orders::Design> out;
    for (const orders::Design& start : starts)
      for (std::size_t way = 0; way <= means_.recomputations.size(); ++way)
        for (const bool copied : {false, true}) {
          if (copied && means_.copies == nullptr) continue;
          orders::Design relieved = start;
          if (way > 0) relieved.recomputes.assign(start.layers.size(), static_cast<std::uint8_t>(way));
          if (copied) relieved.copied.assign(start.layers.size(), 1);
          if (way > 0 || copied || problem_for(start)) out.push_back(std::move(relieved));
        }
    return out;
  }

  /// The design's best order, searched for once more.
  [[nodiscard]] std::optional<PlanCandidate> best_order(const orders::FoundDesign& from,
                                                        const orders::Problem& problem,
                                                        std::int64_t work) const {
    if (has_model(config_) && is_bounded(problem) &&
        !leaves_room(static_cast<double>(orders::best_bound(problem).value)))
      return std::nullopt;
    const auto found = orders::search_order(problem, {{"design", from.order}}, order_search(options_, work));
    if (!found) return std::nullopt;
    return best_made(
        *found, [&](const orders::Order& order) { return candidate(from.design, problem, order); }, options_);
  }

  /// The same where words alone do not say what it comes to, from the orders of other candidates, too.
  [[nodiscard]] std::optional<PlanCandidate> best_entries(const orders::FoundDesign& from,
                                                          const orders::Problem& problem,
                                                          const orders::EntrySearchOptions& options) const {
    std::vector<orders::EntryStart> starts = {{from.order, from.design.copying.prefetch}};
    for (const PlanCandidate* other : others_)
      if (auto start = entry_start(problem, *other)) starts.push_back(std::move(*start));
    const auto found = orders::search_entries(problem, starts, options);
    if (!found) return std::nullopt;
    return best_made(
        *found,
        [&](const orders::EntryStart& one) {
          orders::Design design = from.design;
          design.copying.prefetch = one.prefetch;
          return candidate(design, problem, one.order);
        },
        options_);
  }

  /// The setting of a design: what its stages do to hold less.
  [[nodiscard]] estimate::Setting setting_for(const orders::Design& design) const {
    const std::size_t way = way_of(design);
    estimate::Setting out = way > 0 ? means_.recomputations[way - 1].setting : setting_;
    if (way > 0) out.recomputing = stages_of(design.recomputes);
    out.offloads = !stages_of(design.copied).empty();
    return out;
  }

  [[nodiscard]] std::optional<orders::Problem> problem_for(const orders::Design& design) const {
    try {
      const Placement placement = placement_of(design, schedule_.ranks());
      const estimate::Setting setting = setting_for(design);
      std::optional<ModelCosts> made;
      if (has_model(config_)) made = costs_of_layers(config_, placement, setting, design.layers);
      const io::Config& config = made ? made->config : config_;
      const cost::Shape shape{&placement, kinds(setting), microbatches_, 1};
      const Costs costs = cost::resolve(config.costs, shape).costs;
      const MemoryModel memory = cost::resolve_memory(config.memory, placement);
      ProblemParts parts{placement, microbatches_, costs, memory, config_.step.rule};
      if (estimate::recomputes_all(setting))
        for (std::size_t s = 0; s < design.layers.size(); ++s)
          if (estimate::is_recomputing(setting, static_cast<int>(s))) parts.recomputed.push_back(s);
      parts.offload.on = setting.offloads;
      parts.offload.stages = stages_of(design.copied);
      parts.pairs = true;
      return problem_of(parts);
    } catch (const Error&) {
      return std::nullopt;  // what the input states is for other stages
    }
  }

  /// Kinds of ops that have costs: those of the candidate, with its backwards cut, and what the setting adds.
  [[nodiscard]] std::uint32_t kinds(const estimate::Setting& setting) const {
    std::uint32_t out = cost::shape_of(schedule_).kinds;
    for (const OpKind kind : kAllOpKinds) {
      const bool cut = kind == OpKind::BackwardInput || kind == OpKind::BackwardWeight;
      const bool again = kTakesDropped.has(kind) && estimate::recomputes_all(setting);
      const bool copied = kCopies.has(kind) && setting.offloads;
      const std::uint32_t bit = 1U << index_of(kind);
      if (kCopies.has(kind)) out &= ~bit;  // the candidate's own are an option that may vary
      if (cut || again || copied) out |= bit;
    }
    return out;
  }

  [[nodiscard]] std::optional<PlanCandidate> candidate(const orders::Design& design,
                                                       const orders::Problem& problem,
                                                       const orders::Order& words) const {
    const Placement placement = placement_of(design, schedule_.ranks());
    const bool model = has_model(config_);
    std::string name = "searched " + placement_name(placement);
    if (placement.chunks() > 1) name += fmt::format(" v={}", placement.chunks());
    if (model && options_.vary.has(Vary::Layers)) name += ", layers with it";
    Variant variant{std::move(name), model ? with_layers(config_, placement, design.layers) : config_, ""};
    if (const std::size_t way = way_of(design); way > 0)
      relieve(variant, *means_.recomputations[way - 1].relief, stages_of(design.recomputes));
    if (const std::vector<int> stages = stages_of(design.copied); !stages.empty()) {
      relieve(variant, *means_.copies, stages);
      variant.config = with_prefetch(variant.config, design.copying.prefetch);
    }
    const auto order = std::make_shared<const Schedule>(orders::schedule_of(problem, placement, words));
    Run run = evaluate_schedule(order, variant.name, variant.config, limits_);
    if (!over_limit_text(run).empty()) return std::nullopt;
    if (std::vector<std::uint8_t> used = copied_in(*run.schedule);
        stages_of(used) != stages_of(design.copied)) {
      orders::Design less = design;  // of some stages no pass lives long enough
      less.copied = std::move(used);
      return candidate(less, problem, words);
    }
    PlanCandidate out = candidate_of(variant, std::move(run));
    out.order = order;
    return out;
  }

  static std::vector<std::uint8_t> copied_in(const Schedule& schedule) {
    std::vector<std::uint8_t> out(static_cast<std::size_t>(schedule.stages()));
    for (const Op op : schedule.ops())
      if (op.kind() == OpKind::Offload) out[op.stage().at()] = 1;
    return out;
  }

  static void relieve(Variant& variant, const Relief& relief, const std::vector<int>& stages) {
    variant.name += relief_words(relief, stages);
    use(relief, stages, variant.config);
  }

  const PlanCandidate& from_;
  const std::vector<const PlanCandidate*>& others_;
  const PlanOptions& options_;
  const Limits& limits_;
  io::Config config_;
  const Schedule& schedule_;  // of fewer microbatches where Run::repeated is set
  int microbatches_;
  estimate::Setting setting_;  ///< where no stage uses a means
  AllMeans means_;
};

/// The candidate's own design, those of other candidates on as many ranks, and loops and V shapes with as many layers dealt out evenly.
std::vector<orders::Design> starts_of(const PlanCandidate& best,
                                      const std::vector<const PlanCandidate*>& others,
                                      const PlanOptions& options) {
  std::vector<orders::Design> out;
  const auto add = [&](const Placement& placement, std::vector<int> layers) {
    orders::Design design{std::move(layers), ranks_of(placement)};
    const auto is_same = [&](const orders::Design& other) { return other.rank == design.rank; };
    if (std::ranges::none_of(out, is_same)) out.push_back(std::move(design));
  };
  add(best.run.schedule->placement(), best.layers);
  const bool free = options.vary.has(Vary::Placement) && options.vary.has(Vary::Chunks);
  if (!free) return out;
  for (const PlanCandidate* other : others)
    if (other->run.schedule->placement().replicas() == 1)
      add(other->run.schedule->placement(), other->layers);
  const int ranks = best.run.schedule->ranks();
  const int layers = std::accumulate(best.layers.begin(), best.layers.end(), 0);
  for (int chunks = 2; chunks <= kMostLaps && ranks * chunks <= layers; ++chunks) {
    const std::vector<int> even = orders::even_layers(layers, ranks * chunks);
    add(Placement::loop(ranks, chunks), even);
    if (chunks % 2 == 0) add(Placement::wave(ranks, chunks), even);
  }
  return out;
}

/// The searchable one with the shortest step; null where there is none.
const PlanCandidate* fastest(const std::vector<const PlanCandidate*>& candidates) {
  const PlanCandidate* out = nullptr;
  for (const PlanCandidate* one : candidates)
    if (is_searchable(*one->run.schedule) && (out == nullptr || one->step_time < out->step_time)) out = one;
  return out;
}

/// Of those on different placements the searchable ones with the shortest steps, whether they fit or not.
std::vector<const PlanCandidate*> fastest_shapes(std::vector<const PlanCandidate*> candidates) {
  constexpr std::size_t kShapes = 3;
  std::ranges::stable_sort(candidates, {}, [](const auto* one) { return one->step_time; });
  std::vector<const PlanCandidate*> out;
  for (const PlanCandidate* one : candidates) {
    const auto is_same = [&](const PlanCandidate* other) {
      return other->run.schedule->placement() == one->run.schedule->placement();
    };
    if (out.size() < kShapes && is_searchable(*one->run.schedule) && std::ranges::none_of(out, is_same))
      out.push_back(one);
  }
  return out;
}

/// What is on which rank, where no layers are known.
orders::Design design_of(const PlanCandidate& candidate) {
  const Placement& placement = candidate.run.schedule->placement();
  return {std::vector(static_cast<std::size_t>(placement.stages()), 1), ranks_of(placement)};
}

}  // namespace

std::optional<PlanCandidate> codesigned_candidate(const std::vector<const PlanCandidate*>& candidates,
                                                  const std::vector<const PlanCandidate*>& over,
                                                  const PlanOptions& options, const Limits& limits) {
  const PlanCandidate* best = fastest(candidates);
  std::optional<PlanCandidate> out;
  const auto take = [&](std::optional<PlanCandidate> one) {
    if (!one || (best != nullptr && !is_better(*one, *best, options))) return;
    if (!out || is_better(*one, *out, options)) out = std::move(one);
  };
  if (best != nullptr && has_model(best->config)) {
    if (!options.vary.has(Vary::Layers) && !may_place(options) && !may_relieve(options)) return out;
    const CoDesigner designer(*best, candidates, options, limits);
    if (designer.may_win()) take(designer.run(starts_of(*best, candidates, options), options.seconds / 2));
    return out;
  }
  if (!may_relieve(options)) return out;
  std::vector<const PlanCandidate*> all = candidates;
  all.insert(all.end(), over.begin(), over.end());
  const std::vector<const PlanCandidate*> shapes = fastest_shapes(all);
  for (const PlanCandidate* one : shapes)
    if (!has_model(one->config))
      take(CoDesigner(*one, all, options, limits)
               .run({design_of(*one)}, options.seconds / 2 / static_cast<double>(shapes.size())));
  return out;
}

}  // namespace pipeloom::study
