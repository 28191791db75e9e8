#include "study/plan/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

#include "schedules/generator.hpp"
#include "schedules/recompute.hpp"
#include "sim/io/config/config.hpp"
#include "sim/memory.hpp"
#include "sim/options.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/make_schedule.hpp"
#include "study/run/repeated/repeated_run.hpp"
#include "study/run/scenario_run.hpp"
#include "study/run/training.hpp"
#include "study/targets/deployment.hpp"

namespace pipeloom::study {
namespace {

/// Stages of a rank that are tried where no layers are known: more send more messages than they save idle time.
constexpr int kMostChunks = 4;

/// What a configuration is multiplied by: the same with one thing said differently, and how its name goes on.
struct Choice {
  std::function<void(io::Config&)> patch;  ///< empty: as the input has it
  std::string words;                       ///< "" for what the input has
};

/// The input's own value, and each of these that differs from it.
template <class Member>
std::vector<Choice> choices_for(const Member& own, std::string_view path, const std::string& words,
                                const std::vector<std::pair<std::string, Member>>& values,
                                Member& (*member)(io::Config&)) {
  std::vector<Choice> out = {{}};
  for (const auto& [word, value] : values)
    if (value != own)
      out.push_back({[path, member, value = value](io::Config& config) {
                       member(config) = value;
                       io::mark_given(config, path);
                     },
                     words + word});
  return out;
}

std::vector<Choice> recomputations(const io::Config& workload) {
  std::vector<std::pair<std::string, RecomputeOption>> values = {{"none", {}}, {"full", {.on = true}}};
  if (has_model(workload))
    values.insert(values.begin() + 1, {"selective", {.modules = std::string(kSelectiveModules)}});
  return choices_for<RecomputeOption>(
      workload.options.recompute, "options.recompute", "recompute ", values,
      [](io::Config& config) -> RecomputeOption& { return config.options.recompute; });
}

std::vector<Choice> offloads(const io::Config& workload) {
  OffloadOption all;
  all.on = true;
  return choices_for<OffloadOption>(
      workload.options.offload, "options.offload", "offload ", {{"none", {}}, {"all", all}},
      [](io::Config& config) -> OffloadOption& { return config.options.offload; });
}

/// Other microbatches follow from other samples in each.
std::vector<Choice> micro_batches(const io::Config& workload) {
  std::vector<Choice> out = choices_for<int>(
      workload.costs.model.micro_batch, "costs.micro_batch", "micro batch ", {{"1", 1}, {"2", 2}, {"4", 4}},
      [](io::Config& config) -> int& { return config.costs.model.micro_batch; });
  for (Choice& choice : out)
    if (choice.patch)
      choice.patch = [first = std::move(choice.patch)](io::Config& config) {
        first(config);
        config.given.drop(io::id_of(*io::find_config_key("microbatches")));
        io::derive_microbatches(config);
      };
  return out;
}

/// One list of choices for each key that may vary.
std::vector<std::vector<Choice>> choices_of(const io::Config& workload, const PlanOptions& options) {
  std::vector<std::vector<Choice>> out;
  if (options.vary.has(Vary::Recompute)) out.push_back(recomputations(workload));
  if (options.vary.has(Vary::Offload)) out.push_back(offloads(workload));
  if (options.vary.has(Vary::Microbatches) && has_model(workload) && workload.costs.model.global_batch)
    out.push_back(micro_batches(workload));
  return out;
}

/// The configuration with one of each. What a choice refuses goes to `rejected`.
std::vector<Variant> multiplied(std::vector<Variant> variants,
                                const std::vector<std::vector<Choice>>& choices,
                                std::vector<PlanRejected>& rejected) {
  for (const std::vector<Choice>& list : choices) {
    std::vector<Variant> more;
    for (const Variant& variant : variants)
      for (const Choice& choice : list) {
        Variant next = variant;
        if (choice.patch) {
          next.name += ", " + choice.words;
          next.memory_of += ", " + choice.words;
          next.now = false;
          try {
            choice.patch(next.config);
          } catch (const InputError& error) {
            rejected.push_back({next.name, error.what()});
            continue;
          }
        }
        more.push_back(std::move(next));
      }
    variants = std::move(more);
  }
  return variants;
}

/// Numbers of stages of a rank, up to `most`: small ones, then ones further and further apart, and the last.
std::vector<int> chunk_counts(const Requirements& takes, int most) {
  constexpr int kAllUpTo = 6;
  std::vector<int> out;
  const int last = std::min(most, takes.max_chunks);
  for (int chunks = std::max(2, takes.min_chunks); chunks <= last; ++chunks)
    if (chunks <= kAllUpTo || std::has_single_bit(static_cast<unsigned>(chunks)) || chunks == last)
      out.push_back(chunks);
  return out;
}

/// Microbatches of a group other than one per rank: of p <= N <= m those that leave no remainder, or one of p at least, as Megatron-LM takes
/// them. The smallest first, which hold least; then PyTorch's, whose groups are equal, and one group of all.
std::vector<int> group_sizes(const io::Config& config) {
  const int ranks = config.ranks;
  const int microbatches = config.microbatches;
  // Where p divides m no other is faster but for transfers, which larger groups hide.
  const bool divides = microbatches % ranks == 0;
  if (divides && !has_model(config) && !config.given.has("costs.transfer")) return {};
  const std::size_t most = divides ? 2 : 5;
  const auto is_taken = [&](int size) {
    const int rest = microbatches % size;
    return rest == 0 || rest >= ranks;
  };
  std::vector<int> out;
  for (int size = ranks + 1; size <= microbatches && out.size() < most; ++size)
    if (is_taken(size)) out.push_back(size);
  const int rounds = std::max(1, microbatches / ranks);
  for (const int size : {microbatches / rounds, microbatches})
    if (size > ranks && is_taken(size) && std::ranges::find(out, size) == out.end()) out.push_back(size);
  return out;
}

/// The schedule with each number of chunks that it takes, its own first, and with each size of groups.
class ScheduleVariants {
 public:
  ScheduleVariants(const Workload& workload, const PlanOptions& options, int layers)
      : workload_(workload), options_(options) {
    const int ranks = std::max(1, workload.config.ranks);
    most_chunks_ = layers > 0 ? std::max(1, layers / ranks) : kMostChunks;
  }

  void add(const schedules::Generator& generator, std::vector<Variant>& out) const {
    const Requirements& takes = generator.requirements;
    const bool now = options_.runs_now && !workload_.config.schedule.empty() &&
                     workload_.config.schedule != io::kCustomSchedule &&
                     schedules::find(workload_.config.schedule).generator == &generator;
    add_groups({generator.name, with_schedule(workload_, generator.name), "", now}, takes, out);
    if (!options_.vary.has(Vary::Chunks) || takes.min_chunks == takes.max_chunks || generator.complete)
      return;
    const int own = chunks_of(with_schedule(workload_, generator.name));
    for (const int chunks : chunk_counts(takes, most_chunks_))
      if (chunks != own)
        add_groups({fmt::format("{} v={}", generator.name, chunks),
                    with_schedule(workload_, generator.name, chunks), ""},
                   takes, out);
  }

 private:
  void add_groups(const Variant& variant, const Requirements& takes, std::vector<Variant>& out) const {
    out.push_back(variant);
    if (!takes.takes.has(Option::GroupSize) || variant.config.options.group_size ||
        chunks_of(variant.config) < 2 || !options_.vary.has(Vary::Schedule))
      return;
    for (const int size : group_sizes(workload_.config))
      add_grouped(variant, size, fmt::format(" N={}", size), out);
    const int rest = workload_.config.microbatches % workload_.config.ranks;
    if (rest == 0 || workload_.config.microbatches < 2 * workload_.config.ranks || takes.equal_groups) return;
    // The remainder in the first group, as Paddle's dynamic graph has it.
    const int ranks = workload_.config.ranks;
    std::vector<int> sizes(static_cast<std::size_t>(workload_.config.microbatches / ranks), ranks);
    sizes.front() += rest;
    add_grouped(variant, sizes, fmt::format(" N={},{},..", sizes.front(), ranks), out);
  }

  static void add_grouped(const Variant& variant, const GroupSize& size, const std::string& words,
                          std::vector<Variant>& out) {
    const schedules::Found found = schedules::find(variant.config.schedule);
    Variant other = variant;
    other.now = false;
    other.name += words;
    other.config.options.group_size = size;
    io::mark_given(other.config, "options.group_size");
    if (is_worth_a_run(*found.generator, params_of(other.config, found))) out.push_back(std::move(other));
  }

  const Workload& workload_;
  const PlanOptions& options_;
  int most_chunks_ = 1;
};

/// Why the plan leaves a schedule out that it could simulate; "" where it does not.
std::string reason_to_skip(const Requirements& takes) {
  if (takes.takes.has(Option::Updates)) return "updates weights in between, which changes the training";
  if (takes.takes.has(Option::Slices))
    return "what smaller pieces of a sequence cost is not known; simulate it by itself";
  return "";
}

/// Layers of the workload that stages can share; 0 where they are not known.
int layers_of(const Workload& workload, const Run* now) {
  if (now != nullptr && now->model) {
    int out = 0;
    for (const estimate::Stage& stage : now->model->costs.estimate.stages) out += stage.layers;
    return out;
  }
  const std::vector<std::int32_t>& counts = workload.config.costs.layers.counts;
  return std::accumulate(counts.begin(), counts.end(), 0);
}

/// True if options add ops to any schedule.
bool adds_ops(const io::Config& config) {
  return config.options.recompute.on || config.options.offload.on;
}

}  // namespace

bool is_worth_a_run(const schedules::Generator& generator, const Params& params) {
  constexpr std::int64_t kTestedOps = 1 << 17;
  const auto& size = params.options.group_size;
  const bool is_told_by_its_run =
      size && size->is_list() && schedules::max_ops(generator, params) > kTestedOps;
  return is_told_by_its_run ? schedules::may_take(generator, params) : schedules::takes(generator, params);
}

bool has_model(const io::Config& config) {
  return !config.costs.model.model.empty();
}

std::vector<Variant> variants_of(const Workload& workload, const Run* now, const PlanOptions& options,
                                 std::vector<PlanRejected>& rejected) {
  std::vector<Variant> out;
  const std::string& given = workload.config.schedule;
  const ScheduleVariants variants(workload, options, layers_of(workload, now));
  // What runs now is tried as it is, whatever the others are.
  if (given == io::kCustomSchedule) out.push_back({given, workload.config, "", true});
  const std::string own =
      given == io::kCustomSchedule || given.empty() ? given : schedules::find(given).generator->name;
  for (const schedules::Generator& generator : schedules::all()) {
    if (generator.name != own && !options.vary.has(Vary::Schedule)) continue;
    const std::string refusal =
        options.target != nullptr ? target_refusal(*options.target, generator.name) : "";
    const std::string skipped = generator.name == own ? "" : reason_to_skip(generator.requirements);
    if (!refusal.empty())
      rejected.push_back({generator.name, refusal, Refusal::Target});
    else if (!skipped.empty())
      rejected.push_back({generator.name, skipped, Refusal::LeftOut});
    else
      variants.add(generator, out);
  }
  return multiplied(std::move(out), choices_of(workload.config, options), rejected);
}

Variant with_short_search(Variant variant) {
  variant.config.options.variant =
      schedules::find(variant.config.schedule).generator->effort.first_part_variant;
  io::mark_given(variant.config, "options.variant");
  variant.name.insert(std::min(variant.name.find(", "), variant.name.size()), " (short search)");
  variant.now = false;
  return variant;
}

Ticks p95_of(const Run& run, std::uint64_t seed) {
  constexpr int kScenarios = 400;
  return run_scenarios(run, {kScenarios, seed}).makespan.p95;
}

bool is_searchable(const Schedule& schedule) {
  return schedule.placement().replicas() == 1 && schedule.slices() == 1 && !schedule.shares_output();
}

bool makes_pairs(const Costs& costs) {
  return costs.overlap.rule != OverlapRule::Sum && costs.overlap.rule != OverlapRule::Sequential;
}

bool bounds_searched_orders(const Run& run) {
  const Schedule& schedule = *run.schedule;
  return is_searchable(schedule) && schedule.contains(OpKind::BackwardInput) && !schedule.has_groups() &&
         !schedule.is_extended() && !makes_pairs(*run.costs) && run.effective->step.rule == StepRule::Barrier;
}

std::string placement_name(const Placement& placement) {
  if (placement.replicas() > 1) return "two ways";
  const int chunks = placement.chunks();
  if (placement.stages() != chunks * placement.ranks()) return "free";
  if (placement == Placement::linear(placement.ranks())) return "linear";
  if (placement == Placement::wave(placement.ranks(), chunks)) return chunks == 2 ? "v" : "wave";
  return placement == Placement::loop(placement.ranks(), chunks) ? "loop" : "free";
}

void weigh_bound(PlanCandidate& candidate) {
  const Ticks bound = candidate.bound.value;
  candidate.proven = bound > 0 && candidate.makespan <= bound;
  candidate.gap = bound > 0 ? static_cast<double>(candidate.makespan) / static_cast<double>(bound) - 1 : 0;
}

std::shared_ptr<const Schedule> PlanCandidate::schedule_of_all() const {
  if (!run.repeated) return run.schedule;
  io::EffectiveConfig unused;
  return make_schedule(config, {}, unused);
}

std::shared_ptr<const Schedule> PlanCandidate::queues() const {
  if (order != nullptr) return order;
  auto all = schedule_of_all();
  return run.repeated && adds_ops(config) ? std::make_shared<const Schedule>(schedules::without_added(*all))
                                          : all;
}

Run PlanCandidate::run_of_all() const {
  return run.repeated ? evaluate(config) : run;
}

Run totals_of(const io::Config& config, const Limits& limits, Depth depth) {
  if (config.schedule == io::kCustomSchedule) return evaluate(config, limits, depth);
  Limits totals = limits;
  totals.totals_only = true;
  totals.critical_path_entries = 0;
  return evaluate(config, totals, depth);
}

PlanCandidate candidate_of(const Variant& variant, Run run) {
  const Metrics& metrics = *run.metrics;
  PlanCandidate out;
  out.name = variant.name;
  out.schedule = registry_name(variant.config.schedule);
  out.chunks = run.schedule->placement().chunks();
  out.placement = placement_name(run.schedule->placement());
  out.step_time = metrics.step_time;
  out.makespan = metrics.makespan;
  out.window = metrics.max_window;
  out.bubble_ratio = metrics.bubble_ratio;
  for (const RankMetrics& rank : metrics.ranks) out.peaks.push_back(rank.memory.peak_bytes);
  out.peak = run.memory->in_bytes(*std::ranges::max_element(out.peaks));
  out.bound = metrics.lower_bound;
  weigh_bound(out);
  out.config = variant.config;
  out.now = variant.now;
  if (run.model) {
    out.tokens_per_s = tokens_per_s(run.model->training, out.step_time);
    for (const estimate::Stage& stage : run.model->costs.estimate.stages) out.layers.push_back(stage.layers);
  } else {
    out.layers = run.effective->costs.layers.counts;
  }
  if (adds_ops(out.config) && !run.repeated)
    out.order = std::make_shared<const Schedule>(schedules::without_added(*run.schedule));
  out.run = std::move(run);
  return out;
}

std::string over_limit_text(const Run& run) {
  std::string text;
  Bytes most = 0;
  for (std::size_t r = 0; r < run.metrics->ranks.size(); ++r) {
    const auto limit = run.memory->limit_of(Rank(static_cast<int>(r)));
    const Bytes peak = run.metrics->ranks[r].memory.peak_bytes;
    if (!limit || peak - *limit <= most) continue;
    most = peak - *limit;
    text = fmt::format("holds {} on rank {}, {} over its limit", memory_text(*run.memory, peak), r,
                       memory_text(*run.memory, most));
  }
  return text;
}

io::Config searched_config(const io::Config& kin, const PlanOptions& options) {
  io::Config out = with_schedule({kin, 1}, std::string(io::kCustomSchedule));
  for (const char* key : {"options.variant", "options.memory_limit", "options.group_size"})
    io::reset_option(out, key);
  if (!options.schedule_file.empty()) {
    out.options.file = options.schedule_file;
    io::mark_given(out, "options.file");
  }
  return out;
}

}  // namespace pipeloom::study
