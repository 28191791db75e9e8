#include "study/layouts/space.hpp"

#include <algorithm>
#include <utility>

#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/estimate/recomputed.hpp"
#include "sim/model/check.hpp"
#include "study/targets/refusals.hpp"

namespace pipeloom::study {
namespace {

/// Orders that hold all microbatches, which those with the same idle time do not; and pairs, whose gain a model does not tell.
constexpr std::array<std::string_view, 3> kNotTried = {"gpipe", "looped-bfs", "interleaved-1f1b-overlap"};

/// An order, and how many stages of a rank it has.
struct OrderChoice {
  std::string_view alias;
  std::string_view generator;
  int min_chunks = 1;
  int max_chunks = 1;
  std::vector<const Target*> targets = {};  ///< that make it
};

void add_order(const Target& target, const OwnOrder& own, std::vector<OrderChoice>& out) {
  const schedules::Generator& generator = *schedules::find(own.alias).generator;
  if (std::ranges::find(kNotTried, generator.name) != kNotTried.end()) return;
  auto found = std::ranges::find(out, generator.name, &OrderChoice::generator);
  if (found == out.end()) {
    const Requirements& takes = generator.requirements;
    // With one stage a rank an order of several is another one's.
    const int least = takes.max_chunks > 1 ? 2 : 1;
    out.push_back({own.alias, generator.name, std::max({own.min_chunks, takes.min_chunks, least}),
                   std::min(own.max_chunks, takes.max_chunks)});
    found = out.end() - 1;
  }
  found->targets.push_back(&target);
}

std::vector<OrderChoice> orders_of(std::span<const Target> targets) {
  std::vector<OrderChoice> out;
  for (const Target& target : targets)
    for (const OwnOrder& own : target.orders) add_order(target, own, out);
  return out;
}

std::vector<int> divisors_of(int number) {
  std::vector<int> out;
  for (int i = 1; i <= number / i; ++i) {
    if (number % i != 0) continue;
    out.push_back(i);
    if (i != number / i) out.push_back(number / i);
  }
  std::ranges::sort(out);
  return out;
}

/// A stage has a layer; the embedding and the head may have stages of their own.
bool is_number_of_stages(int stages, int layers) {
  return stages <= layers || stages == layers + 2;
}

/// Of the numbers of chunks whose largest stages have as many layers the smallest.
std::vector<int> chunk_counts(const OrderChoice& order, int ranks, int layers) {
  std::vector<int> out;
  int last = 0;
  for (int chunks = order.min_chunks; chunks <= order.max_chunks; ++chunks) {
    const int stages = ranks * chunks;
    if (stages > layers + 2) break;
    if (!is_number_of_stages(stages, layers)) continue;
    const int largest = (layers + stages - 1) / stages;
    if (stages != layers + 2 && largest == last) continue;
    last = largest;
    out.push_back(chunks);
  }
  return out;
}

std::int64_t most_experts(const model::Model& model) {
  std::int64_t out = 1;
  for (const model::Layer& layer : model.kinds)
    if (layer.experts) out = std::max(out, layer.experts->experts);
  return out;
}

/// True if layers of the model have each of the modules.
bool has_modules(const model::Model& model, const RecomputeChoice& choice) {
  if (choice.modules.empty()) return true;
  return std::ranges::all_of(split(choice.modules, ','), [&](const std::string& module) {
    return std::ranges::any_of(
        model.kinds, [&](const model::Layer& layer) { return estimate::has_module(layer, module); });
  });
}

class Enumeration {
 public:
  explicit Enumeration(const SpaceOf& of)
      : of_(of),
        targets_(of.target != nullptr ? std::span(of.target, 1) : targets()),
        orders_(orders_of(targets_)),
        layers_(static_cast<int>(of.model->layers.size())),
        experts_(static_cast<int>(std::min<std::int64_t>(most_experts(*of.model), of.devices))) {
    for (std::size_t i = 0; i < kRecomputeChoices.size(); ++i)
      if (has_modules(*of.model, kRecomputeChoices[i]))
        recomputations_.push_back(static_cast<std::uint8_t>(i));
  }

  Space run() {
    for (const int tensor : divisors_of(of_.devices))
      for (const int context : divisors_of(of_.devices / tensor))
        for (const int pipeline : divisors_of(of_.devices / tensor / context)) {
          ParallelLayout layout;
          layout.tensor = tensor;
          layout.context = context;
          layout.pipeline = pipeline;
          layout.data = of_.devices / tensor / context / pipeline;
          if (pipeline <= layers_ + 2 && context <= most_context()) add_experts(layout);
        }
    return std::move(out_);
  }

 private:
  [[nodiscard]] int most_context() const {
    const auto fixed = of_.fixed.find("cp");
    return fixed != of_.fixed.end() ? fixed->second : of_.max_context;
  }
  [[nodiscard]] bool is_fixed_otherwise(std::string_view key, int size) const {
    const auto fixed = of_.fixed.find(key);
    return fixed != of_.fixed.end() && fixed->second != size;
  }
  [[nodiscard]] bool is_fixed(std::string_view key) const { return of_.fixed.contains(key); }

  void add_experts(ParallelLayout layout) {
    for (const auto& [key, size] : {std::pair("tp", layout.tensor), std::pair("cp", layout.context),
                                    std::pair("pp", layout.pipeline), std::pair("dp", layout.data)})
      if (is_fixed_otherwise(key, size)) return;
    const int ranks = layout.tensor * layout.context * layout.data;
    for (const int expert : divisors_of(std::min(experts_, ranks))) {
      if (is_fixed_otherwise("ep", expert) || ranks % expert != 0) continue;
      layout.expert = expert;
      add_levels(layout);
    }
  }

  /// The size that is fixed, alone; else all of these.
  [[nodiscard]] std::vector<int> fixed_or(std::string_view key, std::vector<int> all) const {
    const auto fixed = of_.fixed.find(key);
    return fixed == of_.fixed.end() ? std::move(all) : std::vector<int>{fixed->second};
  }
  [[nodiscard]] bool has_stages(const OrderChoice& order, int stages, int chunks) const {
    return chunks >= order.min_chunks && chunks <= order.max_chunks && is_number_of_stages(stages, layers_);
  }

  /// FSDP gathers layer by layer where there is no pipeline. In one each microbatch of each stage would be gathered, which is not modelled.
  void add_levels(ParallelLayout layout) {
    const bool has_shards = layout.pipeline == 1 && layout.data * layout.context > 1;
    for (const int zero : fixed_or("zero", has_shards ? std::vector{1, 3} : std::vector{1})) {
      layout.zero = zero;
      for (const int shards : fixed_or("shards", shard_counts(layout))) {
        layout.shards = shards == layout.data ? 0 : shards;
        for (const DeviceOrder devices : device_orders(layout)) {
          layout.devices = devices;
          add_split(layout);
        }
      }
    }
  }

  /// With data last, stages share the nodes that data ranks share otherwise.
  [[nodiscard]] std::vector<DeviceOrder> device_orders(const ParallelLayout& layout) const {
    if (of_.order) return {*of_.order};
    const int inside = layout.tensor * layout.context;
    const int node = of_.hardware->devices_per_node;
    const bool is_other = layout.pipeline > 1 && layout.data > 1 && inside < node && of_.devices > node &&
                          inside % layout.expert == 0;
    return is_other ? std::vector{DeviceOrder::PipelineLast, DeviceOrder::DataLast}
                    : std::vector{DeviceOrder::PipelineLast};
  }

  /// FSDP over all data ranks, and over those of a node alone.
  [[nodiscard]] std::vector<int> shard_counts(const ParallelLayout& layout) const {
    const int inside = layout.tensor * layout.context;
    const int near = of_.hardware->devices_per_node / inside;
    const bool is_hybrid = layout.zero == 3 && layout.pipeline == 1 && near > 1 && near < layout.data &&
                           layout.data % near == 0 && near * inside % layout.expert == 0;
    return is_hybrid ? std::vector{0, near} : std::vector{0};
  }

  /// Targets that run the split, and why none does.
  void add_split(ParallelLayout layout) {
    const model::Split split = split_of(of_.split, layout);
    std::optional<Excluded> excluded;
    std::vector<const Target*> taking;
    if (layout.tensor > of_.hardware->devices_per_node && !is_fixed("tp"))
      excluded = Excluded::FastDomain;
    else if (!is_shared_out(split))
      excluded = Excluded::Model;
    else
      taking = taking_targets(split);
    if (!excluded && taking.empty()) excluded = Excluded::Target;
    for (const int samples : fixed_or("micro_batch", {1, 2, 4, 8, 16})) {
      layout.micro_batch = samples;
      add_orders(layout, taking, excluded);
    }
  }

  [[nodiscard]] bool is_shared_out(const model::Split& split) const {
    try {
      model::check(*of_.model, split, {});
      return true;
    } catch (const InputError&) {
      return false;
    }
  }

  [[nodiscard]] std::vector<const Target*> taking_targets(const model::Split& split) const {
    std::vector<const Target*> out;
    for (const Target& target : targets_) {
      const bool is_sharded = split.zero == 0 || split.zero == 3 || split.data * split.context == 1;
      const bool is_run = !target.shards_weights || split.pipeline > 1 || is_sharded;
      if (is_run && split_refusal(target, *of_.model, split).empty()) out.push_back(&target);
    }
    return out;
  }

  void add_orders(ParallelLayout layout, const std::vector<const Target*>& taking,
                  std::optional<Excluded> excluded) {
    const long long samples = static_cast<long long>(layout.micro_batch) * layout.data;
    if (!excluded && of_.global_batch % samples != 0) excluded = Excluded::Batch;
    layout.microbatches = static_cast<int>(of_.global_batch / samples);
    for (const OrderChoice& order : orders_) {
      const bool pipelined = layout.pipeline > 1;
      if (!pipelined && order.generator != "1f1b") continue;
      layout.order = order.alias;
      for (const int chunks : fixed_or("chunks", chunk_counts(order, layout.pipeline, layers_))) {
        if (!has_stages(order, layout.pipeline * chunks, chunks)) continue;
        layout.chunks = chunks;
        add_recomputations(layout, order, taking, excluded);
      }
    }
  }

  void add_recomputations(ParallelLayout layout, const OrderChoice& order,
                          const std::vector<const Target*>& taking, std::optional<Excluded> excluded) {
    for (const std::uint8_t recompute : recomputations_) {
      layout.recompute = recompute;
      layout.layers_again = 0;
      add_point(layout, order, taking, excluded);
      if (!recompute_of(layout).whole) continue;
      const int stages = layout.pipeline * layout.chunks;
      for (int layers = 1; layers < (layers_ + stages - 1) / stages; layers *= 2) {
        layout.layers_again = layers;
        add_point(layout, order, taking, excluded);
      }
    }
  }

  void add_point(const ParallelLayout& layout, const OrderChoice& order,
                 const std::vector<const Target*>& taking, std::optional<Excluded> excluded) {
    ++out_.points;
    if (!excluded && std::ranges::none_of(taking, [&](const Target* target) {
          return is_told(*target, layout) && std::ranges::find(order.targets, target) != order.targets.end();
        }))
      excluded = Excluded::Target;
    if (excluded)
      out_.excluded.add(*excluded);
    else
      out_.layouts.push_back(layout);
  }

  /// True if the target can be told what runs again.
  [[nodiscard]] static bool is_told(const Target& target, const ParallelLayout& layout) {
    return target.recompute != RecomputeWords::All ||
           (recompute_of(layout).modules.empty() && layout.layers_again == 0);
  }

  const SpaceOf& of_;
  std::span<const Target> targets_;
  std::vector<OrderChoice> orders_;
  int layers_;
  int experts_;
  std::vector<std::uint8_t> recomputations_;  // whose modules the model has
  Space out_;
};

}  // namespace

std::string_view name_of(Excluded excluded) {
  constexpr std::array<std::string_view, kExcluded.size()> kNames = {
      "model", "batch", "fast_domain", "target", "order", "memory", "slower", "not_tried"};
  return kNames[static_cast<std::size_t>(excluded)];
}

Space space_of(const SpaceOf& of) {
  return Enumeration(of).run();
}

std::string_view own_alias(const Target& target, std::string_view order) {
  const schedules::Generator* const generator = schedules::find(std::string(order)).generator;
  for (const OwnOrder& own : target.orders)
    if (schedules::find(own.alias).generator == generator) return own.alias;
  return "";
}

}  // namespace pipeloom::study
