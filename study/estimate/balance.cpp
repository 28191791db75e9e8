#include "study/estimate/balance.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "schedules/generator.hpp"
#include "sim/cost/bind.hpp"
#include "sim/cost/deal.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/memory.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/make_schedule.hpp"
#include "study/run/model_costs.hpp"

namespace pipeloom::study {
namespace {

using Layers = std::vector<int>;

/// Splits that are looked at, however little effort is wanted.
constexpr int kFewest = 60;

bool is_modelled(const io::Config& config) {
  return !config.costs.model.model.empty();
}

/// The configuration with a split.
struct SplitCosts {
  io::Config config;
  bool has_bytes = true;
  cost::ResolvedCosts resolved = {};
};

/// Simulates splits, each once.
class Judge {
 public:
  Judge(const io::Config& config, const Limits& limits) : config_(config), limits_(limits) {
    io::EffectiveConfig unused;
    schedule_ = make_schedule(config, limits, unused);
    if (is_modelled(config)) setting_ = setting_of(config, *schedule_);
    quick_ = order_stays();
    bounded_ = has_bounds();
  }

  /// Where the configuration has its layers.
  [[nodiscard]] Layers given() const {
    if (is_modelled(config_)) return stage_layers(config_, *setting_.model, schedule_->stages());
    return cost::resolve(config_.costs, *schedule_).layers.counts;
  }
  [[nodiscard]] bool is_stopped() const { return limits_.stop && limits_.stop(); }
  [[nodiscard]] int looked_at() const { return static_cast<int>(known_.size()); }
  [[nodiscard]] int simulations() const { return simulations_; }
  /// How many splits to look at: a second's worth, whatever the run's size.
  [[nodiscard]] int budget() const {
    const double each = static_cast<double>(schedule_->num_ops()) * (quick_ ? 1.0 : 40.0) + 2000;
    return static_cast<int>(std::clamp(2.4e7 / each, 60.0, 12000.0));
  }

  const SplitScore& score(const Layers& layers) { return *score_below(layers, kMaxTicks); }
  /// Null where a bound says that the split's step is not below `most`, which takes no simulation.
  const SplitScore* score_below(const Layers& layers, Ticks most) {
    Known& known = known_[layers];
    if (known.score) return &*known.score;
    if (known.least >= most) return nullptr;
    std::optional<SplitCosts> costs;
    if (quick_ || (bounded_ && most < kMaxTicks)) costs = costs_on(layers);
    if (costs && bounded_ && most < kMaxTicks) {
      known.least = least_step(*costs);
      if (known.least >= most) return nullptr;
    }
    ++simulations_;
    known.score = quick_ ? judge_quickly(layers, std::move(*costs)) : judge_whole(layers);
    return &*known.score;
  }

 private:
  struct Known {
    Ticks least = 0;  ///< a bound on the step
    std::optional<SplitScore> score = {};
  };

  /// True if one schedule serves every split, and queues alone tell its times.
  [[nodiscard]] bool order_stays() const {
    if (config_.costs.transfer.model != cost::TransferModel::Latency || schedule_->has_copies()) return false;
    if (config_.schedule == io::kCustomSchedule) return true;
    return !schedules::find(config_.schedule, config_.place_of("schedule"))
                .generator->requirements.needs_terms;
  }

  /// True if least_step() holds for each order: plain passes of one copy of the model, one at a time.
  [[nodiscard]] bool has_bounds() const {
    const bool one_kind =
        !schedule_->contains(OpKind::Backward) || !schedule_->contains(OpKind::BackwardInput);
    return schedule_->placement().replicas() == 1 && !schedule_->has_groups() && !schedule_->is_extended() &&
           one_kind && config_.step.rule == StepRule::Barrier;
  }

  /// The work of a rank after its first microbatch came through the stages before its own; and where backwards are whole, before its last gradient
  /// went back through them. 0 where microbatches differ.
  [[nodiscard]] Ticks least_step(const SplitCosts& made) const {
    if (!made.resolved.ops.empty() || !made.resolved.costs.microbatch_scale.empty()) return 0;
    const auto& duration = made.resolved.costs.duration;
    const bool splits = schedule_->contains(OpKind::BackwardInput);
    const auto forward = [&](std::size_t s) { return duration[index_of(OpKind::Forward)][s]; };
    const auto backward = [&](std::size_t s) {
      return splits ? duration[index_of(OpKind::BackwardInput)][s] +
                          duration[index_of(OpKind::BackwardWeight)][s]
                    : duration[index_of(OpKind::Backward)][s];
    };
    const Placement& placement = schedule_->placement();
    std::vector<Ticks> rank(static_cast<std::size_t>(placement.ranks()));
    std::vector<bool> seen(rank.size());
    Ticks before = 0;
    for (Stage stage{0}; stage < Stage(placement.stages()); ++stage) {
      const std::size_t s = stage.at();
      const std::size_t r = placement.rank_of(stage).at();
      if (!seen[r]) rank[r] += before;
      seen[r] = true;
      rank[r] += schedule_->microbatches() * (forward(s) + backward(s));
      before += forward(s) + (splits ? 0 : backward(s));
    }
    return *std::ranges::max_element(rank) + made.config.step.optimizer;
  }

  SplitScore judge_quickly(const Layers& layers, SplitCosts split) {
    cost::ResolvedCosts& resolved = split.resolved;
    resolved.costs.slice_end = slice_ends(config_.options, schedule_->slices());
    cost::bind_costs(resolved.costs, resolved.ops, *schedule_);
    MemoryModel memory = cost::resolve_memory(split.config.memory, schedule_->placement());
    memory.slice_end = resolved.costs.slice_end;
    const auto outcome = simulator_.evaluate(*schedule_, resolved.costs, memory);
    SplitScore out{.layers = layers};
    out.step_time = std::get<Totals>(outcome).makespan + split.config.step.optimizer;
    if (!split.has_bytes) return out;
    const std::vector<QueuePeaks> peaks = measure_queues(*schedule_, memory);
    for (std::size_t r = 0; r < peaks.size(); ++r)
      add_peak(out, peaks[r].bytes, memory.limit_of(Rank(static_cast<int>(r))));
    return out;
  }

  [[nodiscard]] SplitCosts costs_on(const Layers& layers) const {
    SplitCosts out;
    if (is_modelled(config_)) {
      ModelCosts made = costs_of_layers(config_, schedule_->placement(), setting_, layers);
      out.has_bytes = made.estimate.has_bytes;
      out.config = std::move(made.config);
    } else {
      out.config = with_layers(config_, schedule_->placement(), layers);
    }
    out.resolved = cost::resolve(out.config.costs, *schedule_);
    return out;
  }

  SplitScore judge_whole(const Layers& layers) {
    const Run run = evaluate(with_layers(config_, schedule_->placement(), layers), limits_);
    SplitScore out{.layers = layers, .step_time = run.metrics->step_time};
    for (std::size_t r = 0; r < run.metrics->ranks.size(); ++r)
      add_peak(out, run.metrics->ranks[r].memory.peak_bytes, run.memory->limit_of(Rank(static_cast<int>(r))));
    return out;
  }

  static void add_peak(SplitScore& out, Bytes peak, std::optional<Bytes> limit) {
    out.peak = std::max(out.peak, peak);
    if (limit) out.over = std::max(out.over, peak - *limit);
  }

  const io::Config& config_;
  const Limits& limits_;
  std::shared_ptr<const Schedule> schedule_;
  estimate::Setting setting_;
  bool quick_ = false;
  bool bounded_ = false;
  Simulator simulator_;
  std::map<Layers, Known> known_;
  int simulations_ = 0;
};

/// Which of two splits is better: what passes the limit by less, then what costs less.
struct Order {
  Balance balance = Balance::Time;
  double time = 1;  ///< Both: the shortest step and the smallest peak that each alone can have
  double peak = 1;

  [[nodiscard]] bool better(const SplitScore& a, const SplitScore& b) const {
    if (a.over != b.over) return a.over < b.over;
    if (balance == Balance::Both) return sum(a) < sum(b);
    if (balance == Balance::Memory && a.peak != b.peak) return a.peak < b.peak;
    return a.step_time < b.step_time;
  }
  /// Splits whose step is as long as this are not better.
  [[nodiscard]] Ticks ceiling(const SplitScore& best) const {
    return balance == Balance::Time && best.over == 0 ? best.step_time : kMaxTicks;
  }

 private:
  [[nodiscard]] double sum(const SplitScore& score) const {
    return static_cast<double>(score.step_time) / time + static_cast<double>(score.peak) / peak;
  }
};

/// Moves of single layers as long as one helps.
class Climber {
 public:
  Climber(Judge& judge, Order order, int most) : judge_(judge), order_(order), most_(most) {}

  [[nodiscard]] bool is_over() const { return judge_.looked_at() >= most_ || judge_.is_stopped(); }

  SplitScore climb(const Layers& from) {
    SplitScore best = judge_.score(from);
    for (bool moved = true; moved && !is_over();) {
      moved = false;
      const SplitScore here = best;
      for_each_move(here.layers, [&](const Layers& layers) {
        const SplitScore* score = judge_.score_below(layers, order_.ceiling(best));
        if (score == nullptr || !order_.better(*score, best)) return;
        best = *score;
        moved = true;
      });
    }
    return best;
  }

 private:
  template <class Visit>
  void for_each_move(const Layers& layers, const Visit& visit) {
    for (std::size_t from = 0; from < layers.size(); ++from)
      for (std::size_t to = 0; to < layers.size(); ++to) {
        if (from == to || layers[from] <= least(from, layers.size()) || is_over()) continue;
        Layers moved = layers;
        --moved[from];
        ++moved[to];
        visit(moved);
      }
  }
  /// Embedding and head make stages of their own; others need a layer.
  static int least(std::size_t stage, std::size_t stages) {
    return stage == 0 || stage + 1 == stages ? 0 : 1;
  }

  Judge& judge_;
  Order order_;
  int most_;
};

/// Splits to start from: as given, and with lighter ends.
std::vector<Layers> starts(const Layers& given) {
  std::vector<Layers> out = {given};
  for (int less = 1; less <= 2; ++less) {
    Layers layers = given;
    for (int i = 0; i < less && layers.size() > 2; ++i) {
      if (layers.back() > 1) {
        --layers.back();
        ++layers[layers.size() / 2];
      }
      if (layers.front() > 1) {
        --layers.front();
        ++layers[layers.size() / 2 - (layers.size() % 2 == 0 ? 1 : 0)];
      }
    }
    out.push_back(std::move(layers));
  }
  return out;
}

/// A few layers of the split moved anywhere.
Layers shaken(Layers layers, std::mt19937_64& random) {
  const std::size_t moves = 2 + random() % 3;
  for (std::size_t i = 0; i < moves; ++i) {
    const std::size_t from = random() % layers.size();
    const std::size_t to = random() % layers.size();
    if (layers[from] <= 1) continue;
    --layers[from];
    ++layers[to];
  }
  return layers;
}

SplitScore search(Judge& judge, const Layers& given, Order order, int most) {
  Climber climber(judge, order, most);
  SplitScore best = judge.score(given);
  const auto take = [&](const SplitScore& score) {
    if (order.better(score, best)) best = score;
  };
  for (const Layers& start : starts(given)) take(climber.climb(start));
  std::mt19937_64 random(1);
  // A search that finds nothing new for long has seen what there is to see.
  for (int idle = 0; idle < 40 && !climber.is_over(); ++idle) {
    const SplitScore found = climber.climb(shaken(best.layers, random));
    if (order.better(found, best)) idle = 0;
    take(found);
  }
  return best;
}

}  // namespace

std::string_view name_of(Balance balance) {
  return balance == Balance::Time ? "time" : balance == Balance::Memory ? "memory" : "both";
}

std::optional<Balance> balance_named(std::string_view name) {
  for (const Balance balance : {Balance::Time, Balance::Memory, Balance::Both})
    if (name_of(balance) == name) return balance;
  return std::nullopt;
}

bool has_layers(const io::Config& config) {
  return is_modelled(config) || !config.costs.layers.counts.empty();
}

io::Config with_layers(const io::Config& config, const Placement& placement, const std::vector<int>& layers) {
  io::Config out = config;
  if (is_modelled(config)) {
    out.costs.layers = {layers, config.place_of("costs.layers")};
  } else {
    out.costs = cost::deal_layers(config.costs, placement, layers).spec;
    cost::MemorySpec& memory = out.memory;
    if (memory.per == cost::Per::Stage && memory.has_sizes())
      for (cost::StageNumbers* sizes :
           {&memory.activation, &memory.released_at_input, &memory.static_bytes, &memory.stash})
        *sizes = cost::deal_sizes(*sizes, config.costs, placement, layers);
  }
  io::mark_given(out, "costs.layers");
  return out;
}

Balanced balance_layers(const io::Config& config, const Limits& limits, Balance balance, double effort) {
  Judge judge(config, limits);
  const Layers given = judge.given();
  Balanced out{.before = judge.score(given)};
  const int budget = std::max(kFewest, static_cast<int>(judge.budget() * effort));
  Order order{.balance = balance};
  if (balance == Balance::Both) {
    const int third = budget / 3;
    order.time = static_cast<double>(search(judge, given, {Balance::Time}, third).step_time);
    order.peak = std::max(1.0, static_cast<double>(search(judge, given, {Balance::Memory}, 2 * third).peak));
  }
  out.best = search(judge, given, order, budget);
  out.simulations = judge.simulations();
  return out;
}

}  // namespace pipeloom::study
