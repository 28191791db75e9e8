#include "study/layouts/layouts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "schedules/generator.hpp"
#include "sim/memory.hpp"
#include "sim/model/check.hpp"
#include "study/plan/candidates.hpp"
#include "study/plan/judge.hpp"
#include "study/plan/ranking.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/model_costs.hpp"

namespace pipeloom::study {
namespace {

/// Steps of one split that are no longer than its shortest by more than this are one choice.
constexpr double kSameSteps = 0.003;
/// Seconds of the plan that deals out a row's layers.
constexpr double kLayerSeconds = 0.2;
/// Parts of a device: peaks in one of them count as equal.
constexpr double kMemoryParts = 10;

bool is_within(Ticks step, Ticks of, double share) {
  return static_cast<double>(step) <= (1 + share) * static_cast<double>(of);
}

/// A configuration without what layouts choose.
io::Config base_of(io::Config workload) {
  workload.schedule = "1f1b";
  workload.chunks.reset();
  io::mark_given(workload, "schedule");
  return workload;
}

/// How much runs again: larger for more.
std::pair<int, int> amount_of(const ParallelLayout& layout) {
  return {layout.recompute, layout.layers_again == 0 ? kMaxIndex : layout.layers_again};
}

/// The results of one split, fastest first.
using OfSplit = std::vector<const LayoutResult*>;

class LayoutPlanner {
 public:
  LayoutPlanner(io::Config workload, const LayoutOptions& options)
      : options_(options), base_(base_of(std::move(workload))) {
    plan_.plan.objective = PlanObjective::StepTime;
    plan_.devices = options.devices;
  }

  LayoutPlan run() {
    require_workload();
    plan_.plan.room = leave_headroom(base_, options_.headroom);
    plan_.global_batch = *base_.costs.model.global_batch;
    take_measured();
    setting_ = setting_of_base();
    plan_.space = space_of(space(options_.target));
    if (plan_.space.points == 0) refuse_space();
    const LayoutsFound found = search_layouts(plan_.space, search(options_.target, options_.top));
    plan_.simulated = found.simulated;
    plan_.space.layouts = {};
    take_rows(found.results);
    recommend();
    refine_rows();
    finish_plan();
    if (!plan_.ended && !plan_.layouts.empty()) {
      look_elsewhere();
      if (!plan_.fitted) vary_hidden();
    }
    return std::move(plan_);
  }

 private:
  void require_workload() {
    const cost::ModelSpec& spec = base_.costs.model;
    if (spec.model.empty())
      throw InputError(Where{"--gpus"},
                       "layouts are of a model; name one: pipeloom plan llama3-70b --hardware "
                       "h100 --gpus 512 --global-batch 1024");
    for (const char* key : {"costs.tp", "costs.cp", "costs.ep", "costs.dp", "costs.zero", "costs.shards",
                            "costs.micro_batch", "costs.layers", "options.recompute", "chunks"})
      if (base_.given.has(key))
        throw InputError(
            base_.place_of(key),
            fmt::format("a plan of layouts finds {} out; leave it out, or keep a size by --fix KEY=N of {}",
                        key, fmt::join(kFixable, ", ")));
    if (spec.hardware.empty())
      throw InputError(Where{"--gpus"},
                       "layouts need the device that the model runs on; add --hardware NAME");
    if (!spec.global_batch)
      throw InputError(Where{"--gpus"}, "layouts need the samples of a step; add --global-batch SAMPLES");
    if (!model::has_sizes(*model_of(base_)))
      throw InputError(base_.place_of("costs.model"),
                       "the model has measured times and no sizes, so that it cannot be laid out otherwise");
  }

  /// Forecasts under the terms that measured steps say.
  void take_measured() {
    if (options_.measured.empty()) return;
    for (const char* key : {"costs.hidden_collectives", "costs.hidden.tp", "costs.hidden.cp",
                            "costs.hidden.ep", "costs.compute_scale"})
      if (base_.given.has(key))
        throw InputError(base_.place_of(key),
                         fmt::format("measured steps say {}; leave one of them out", key));
    plan_.fitted = fit_forecast(base_, options_.measured, [this] {
      return !options_.progress || options_.progress("forecasts of the measured steps");
    });
    base_ = with_terms(std::move(base_), plan_.fitted->terms);
  }

  [[noreturn]] void refuse_space() const {
    std::string fixed;
    for (const auto& [key, size] : options_.fixed)
      fixed += fmt::format("{}{}={}", fixed.empty() ? "" : ",", key, size);
    throw InputError(
        Where{options_.fixed.empty() ? "--gpus" : "--fix"},
        fmt::format(
            "no layout of {} devices has {}; tp, cp, pp and dp must divide the devices, ep the experts, "
            "and a stage has a layer",
            options_.devices, fixed.empty() ? "such sizes" : fixed));
  }

  [[nodiscard]] estimate::Setting setting_of_base() const {
    ParallelLayout one{.microbatches = plan_.global_batch, .order = "1f1b"};
    const io::Config config = config_of(base_, one);
    const schedules::Generator& generator = *schedules::find("1f1b").generator;
    return model_costs(config, Placement::linear(1), generator.requirements)->setting;
  }

  [[nodiscard]] SpaceOf space(const Target* target) const {
    return {.model = setting_.model.get(),
            .hardware = setting_.hardware.get(),
            .split = setting_.split,
            .devices = options_.devices,
            .global_batch = plan_.global_batch,
            .max_context = options_.max_context,
            .fixed = options_.fixed,
            .order = base_.given.has("costs.order") ? std::optional(base_.costs.model.order) : std::nullopt,
            .target = target};
  }

  LayoutSearch search(const Target* target, std::size_t splits) {
    LayoutSearch out{.base = base_,
                     .setting = setting_,
                     .target = target,
                     .limit = plan_.plan.room.usable.value_or(kMaxTicks),
                     .splits = splits,
                     .near = kEqualSteps,
                     .threads = options_.threads,
                     .simulates_all = options_.simulates_all};
    out.progress = [this](const std::string& doing) {
      if (!plan_.ended && options_.progress && !options_.progress(doing)) plan_.ended = true;
      return !plan_.ended;
    };
    return out;
  }

  /// A row for each split, in the order of the splits' shortest steps.
  void take_rows(const std::vector<LayoutResult>& results) {
    std::vector<std::pair<SplitKey, OfSplit>> splits;
    for (const LayoutResult& result : results) {
      const SplitKey split = split_key(result.layout);
      auto found = std::ranges::find(splits, split, &std::pair<SplitKey, OfSplit>::first);
      if (found == splits.end()) found = splits.insert(splits.end(), {split, {}});
      found->second.push_back(&result);
    }
    for (auto& [split, own] : splits) {
      if (plan_.layouts.size() == options_.top) break;
      take_row(std::move(own));
    }
  }

  /// The best of a split that a target runs.
  void take_row(OfSplit own) {
    while (!own.empty()) {
      const auto best = std::ranges::min_element(own, {}, [&](const LayoutResult* one) {
        const bool is_same = is_within(one->step, own.front()->step, kSameSteps);
        const ParallelLayout& layout = one->layout;
        return std::tuple(!is_same, plainness_of(layout), layout.chunks, amount_of(layout), layout.devices,
                          one->step);
      });
      if (auto row = row_of(**best)) {
        plan_.layouts.push_back((*best)->layout);
        plan_.plan.candidates.push_back(*std::move(row));
        return;
      }
      own.erase(best);
    }
  }

  [[nodiscard]] PlanCandidate candidate_for(const LayoutResult& result) const {
    const io::Config config = config_of(base_, result.layout, result.layers);
    return candidate_of({split_text(result.layout), config, ""}, totals_of(config, {}));
  }

  std::optional<PlanCandidate> row_of(const LayoutResult& result) {
    std::vector<PlanCandidate> one = {candidate_for(result)};
    const std::string name = one.front().name;
    PlanOptions options;
    options.target = options_.target;
    if (options_.target != nullptr) {
      judge(one, options, {}, plan_.plan.rejected);
    } else {
      const auto verdicts = verdicts_of(one.front(), options);
      if (std::ranges::none_of(verdicts, &TargetVerdict::taken)) {
        plan_.plan.rejected.push_back({name, verdicts.front().reason, Refusal::Target});
        one.clear();
      }
    }
    if (one.empty()) return std::nullopt;
    return std::move(one.front());
  }

  /// Moves the row that common sense takes first to the front.
  void recommend() {
    std::vector<PlanCandidate>& rows = plan_.plan.candidates;
    if (rows.empty()) return;
    const double part = static_cast<double>(plan_.plan.room.device.value_or(kMaxTicks)) / kMemoryParts;
    const auto key = [&](std::size_t i) {
      const ParallelLayout& layout = plan_.layouts[i];
      return std::tuple(std::floor(rows[i].peak / part), layout.tensor, layout.pipeline, plainness_of(layout),
                        amount_of(layout), layout.devices);
    };
    Ticks shortest = rows.front().step_time;
    for (const PlanCandidate& row : rows) shortest = std::min(shortest, row.step_time);
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (is_within(rows[i].step_time, shortest, kEqualSteps) && (!best || key(i) < key(*best))) best = i;
    const auto first = static_cast<std::ptrdiff_t>(*best);
    std::rotate(rows.begin(), rows.begin() + first, rows.begin() + first + 1);
    std::rotate(plan_.layouts.begin(), plan_.layouts.begin() + first, plan_.layouts.begin() + first + 1);
  }

  /// Other layers, and orders, of the first rows.
  void refine_rows() {
    constexpr std::size_t kRefined = 3;
    for (std::size_t i = 0; i < std::min(kRefined, plan_.layouts.size()) && !plan_.ended; ++i) {
      if (plan_.layouts[i].pipeline == 1) continue;
      PlanCandidate& row = plan_.plan.candidates[i];
      auto better = refined(row);
      if (better && better->step_time < row.step_time) {
        better->name = row.name;
        row = *std::move(better);
      }
    }
  }

  /// The best that a plan of the row's own pipeline finds.
  std::optional<PlanCandidate> refined(const PlanCandidate& row) {
    PlanOptions options;
    options.target = options_.target;
    options.headroom = options_.headroom;
    options.threads = options_.threads;
    options.seed = options_.seed;
    options.seconds = std::max(options_.seconds, kLayerSeconds);
    options.ends_by_clock = false;
    options.vary.add(Vary::Layers);
    if (options_.seconds > 0) options.vary.add(Vary::Order);
    options.progress = [this](const std::string& doing, const std::string&) {
      if (!plan_.ended && options_.progress && !options_.progress(doing)) plan_.ended = true;
      return !plan_.ended;
    };
    try {
      Plan found = make_plan(row.config, options, {});
      if (found.candidates.empty() || (options_.seconds == 0 && found.candidates.front().searched()))
        return std::nullopt;
      return std::move(found.candidates.front());
    } catch (const Error&) {  // the row stays as it is
      return std::nullopt;
    }
  }

  void finish_plan() {
    Plan& plan = plan_.plan;
    plan.workload = base_;
    find_front(plan);
    if (plan.candidates.empty()) return;
    plan.workload = plan.candidates.front().config;
    PlanOptions options;
    options.target = options_.target;
    plan.to_run = verdicts_of(plan.candidates.front(), options);
    plan.not_taken = not_taken(plan, options);
  }

  [[nodiscard]] Ticks shortest() const {
    Ticks out = kMaxTicks;
    for (const PlanCandidate& row : plan_.plan.candidates) out = std::min(out, row.step_time);
    return out;
  }

  /// The best of all frameworks, where the asked one's is slower.
  void look_elsewhere() {
    if (options_.target == nullptr) return;
    Space space = space_of(this->space(nullptr));
    LayoutSearch wanted = search(nullptr, 1);
    wanted.near = 0;
    wanted.at_most = static_cast<double>(shortest()) / static_cast<double>(ticks_per(TimeUnit::Second));
    const LayoutsFound found = search_layouts(space, wanted);
    if (found.results.empty() || found.results.front().step >= shortest()) return;
    const LayoutResult& best = found.results.front();
    Elsewhere out{best.layout, static_cast<double>(best.step) / static_cast<double>(shortest()) - 1};
    for (const TargetVerdict& verdict : verdicts_of(candidate_for(best), PlanOptions()))
      if (verdict.taken()) out.targets.push_back(verdict.target);
    if (out.targets.empty()) return;
    plan_.elsewhere = std::move(out);
  }

  /// The best layouts if nothing, and if all of the exchanges were hidden.
  void vary_hidden() {
    const estimate::Setting as_is = setting_;
    const io::Config base = base_;
    constexpr std::array kGroups = {model::Group::Tensor, model::Group::Context, model::Group::Expert};
    for (const double hidden : {0.0, 1.0}) {
      cost::ModelSpec& spec = base_.costs.model;
      spec.hidden_collectives = static_cast<Scale>(hidden * static_cast<double>(kUnitScale));
      spec.hidden_tensor = spec.hidden_context = spec.hidden_expert = std::nullopt;
      io::mark_given(base_, "costs.hidden_collectives");
      for (const model::Group group : kGroups) setting_.hidden[static_cast<std::size_t>(group)] = hidden;
      if (setting_.hidden == as_is.hidden) continue;
      Space space = space_of(this->space(options_.target));
      LayoutSearch wanted = search(options_.target, 1);
      wanted.near = 0;
      const LayoutsFound found = search_layouts(space, wanted);
      if (!found.results.empty()) plan_.sensitivities.push_back({hidden, found.results.front().layout});
    }
    setting_ = as_is;
    base_ = base;
  }

  const LayoutOptions& options_;
  io::Config base_;
  estimate::Setting setting_;
  LayoutPlan plan_;
};

}  // namespace

int plainness_of(const ParallelLayout& layout) {
  const std::string& name = order_name(layout);
  if (name == "1f1b") return 0;
  return name == "interleaved-1f1b" ? 1 : 2;
}

LayoutPlan make_layouts(io::Config workload, const LayoutOptions& options) {
  return LayoutPlanner(std::move(workload), options).run();
}

}  // namespace pipeloom::study
