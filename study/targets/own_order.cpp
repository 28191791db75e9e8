#include "study/targets/own_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "sim/kinds.hpp"
#include "sim/torch/verdict.hpp"

namespace pipeloom::study {
namespace {

/// Microbatches that rank 0 takes through its first chunk before it turns to another: N of an order in groups.
int first_group(const Schedule& order) {
  int count = 0;
  for (const Op op : order.queue(Rank(0))) {
    if (op.kind() != OpKind::Forward) continue;
    if (op.stage() != Stage(0)) break;
    ++count;
  }
  return count;
}

/// True if both queues hold the same ops in the same groups, apart from ops that options added to the second.
bool same_queue(std::span<const Op> made, std::span<const Op> planned) {
  std::size_t i = 0;
  for (const Op op : planned) {
    if (kExtras.has(op.kind())) continue;
    if (i == made.size() || made[i] != op || made[i].joined() != op.joined()) return false;
    ++i;
  }
  return i == made.size();
}

bool is_order_of(const Schedule& made, const Schedule& planned) {
  if (planned.shares_output()) return false;
  if (made.placement() != planned.placement() || made.microbatches() != planned.microbatches() ||
      made.slices() != planned.slices())
    return false;
  for (Rank rank{0}; rank < Rank(made.ranks()); ++rank)
    if (!same_queue(made.queue(rank), planned.queue(rank))) return false;
  return true;
}

Params params_of(const Deployment& deployment, const Target& target) {
  const Schedule& order = *deployment.order;
  Params params{
      .ranks = order.ranks(), .microbatches = order.microbatches(), .chunks = order.placement().chunks()};
  if (target.block == Block::Megatron && params.chunks > 1) params.options.group_size = first_group(order);
  return params;
}

/// The framework's rule for sizes, then the order's own; "" if both take them. Fills in the values that the framework decides itself.
std::string size_refusal(const Target& target, const OwnOrder& own, Params& params) {
  if (target.block != Block::Megatron) {
    std::string refused = torch::class_refusal(own.word, params.ranks, params.chunks, params.microbatches);
    if (!refused.empty()) return refused;
  }
  const schedules::Found found = schedules::find(own.alias);
  try {
    if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
  } catch (const ScheduleError& error) {
    return error.what();
  }
  if (own.max_chunks == 1) params.options.group_size.reset();
  return schedules::refusal(*found.generator, params);
}

bool takes_chunks(const OwnOrder& own, int chunks) {
  return chunks >= own.min_chunks && chunks <= own.max_chunks;
}

/// True if the target makes this order on that number of ranks: without a pipeline one microbatch comes after the other, as in 1F1B.
bool makes_on(const Target& target, const OwnOrder& own, int ranks) {
  return ranks > 1 || target.pipelines_one_rank || schedules::find(own.alias).generator->name == "1f1b";
}

/// The target's name for the registry's schedule; null if it has none.
const OwnOrder* word_for(const Target& target, const std::string& schedule) {
  const auto found = std::ranges::find_if(target.orders, [&](const OwnOrder& own) {
    return schedules::find(own.alias).generator->name == schedule;
  });
  return found == target.orders.end() ? nullptr : &*found;
}

}  // namespace

bool ComparedOrders::is_planned(const schedules::Generator& generator, const Params& params) {
  const auto known = std::ranges::find_if(
      compared_, [&](const Compared& one) { return one.generator == &generator && one.params == params; });
  if (known != compared_.end()) return known->is_planned;
  const bool is_planned = is_order_of(schedules::make(generator, params), *planned_);
  compared_.push_back({&generator, params, is_planned});
  return is_planned;
}

std::optional<RunsAs> own_order_of(const Target& target, const Deployment& deployment,
                                   ComparedOrders& compared) {
  const Schedule& planned = *deployment.order;
  for (const OwnOrder& own : target.orders) {
    Params params = params_of(deployment, target);
    if (!makes_on(target, own, params.ranks) || !takes_chunks(own, params.chunks) ||
        !size_refusal(target, own, params).empty())
      continue;
    const schedules::Generator& generator = *schedules::find(own.alias).generator;
    if (generator.placement(params) != planned.placement()) continue;
    if (!compared.is_planned(generator, params)) continue;
    const auto& groups = params.options.group_size;
    return RunsAs{&own, target.block == Block::Megatron && groups ? groups->largest() : 0};
  }
  return std::nullopt;
}

std::string own_order_refusal(const Target& target, const Deployment& deployment) {
  const OwnOrder* const own = word_for(target, deployment.schedule);
  if (deployment.order->ranks() == 1 && !target.pipelines_one_rank)
    return fmt::format("{} has no schedule on one rank: microbatches run one after the other", target.title);
  if (own == nullptr)
    return fmt::format("{} has no order like this{}", target.title,
                       target.files == FilePlacements::None ? ", and takes none from a file" : "");
  Params params = params_of(deployment, target);
  if (!takes_chunks(*own, params.chunks))
    return fmt::format("{} does not run {} with {} stages a rank", target.title, own->alias, params.chunks);
  std::string refused = size_refusal(target, *own, params);
  if (!refused.empty()) return refused;
  return fmt::format("{} makes another order of {} at these sizes", target.title, own->alias);
}

}  // namespace pipeloom::study
