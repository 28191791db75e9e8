#include "study/calibrate/known_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "schedules/generator.hpp"
#include "schedules/recompute.hpp"

namespace pipeloom::study::calibrate {
namespace {

using schedules::Generator;

/// Forwards of the first stage in a row, of the first rank's: the interleaved schedules take so many microbatches in turn.
std::optional<GroupSize> group_size_of(const Schedule& schedule) {
  std::vector<int> sizes;
  bool other = true;
  for (const Op op : schedule.queue(Rank(0))) {
    if (op.kind() != OpKind::Forward) continue;
    if (op.stage() == Stage(0) && other) sizes.push_back(0);
    other = op.stage() != Stage(0);
    if (!other && !sizes.empty()) ++sizes.back();
  }
  if (sizes.empty()) return std::nullopt;
  const GroupSize size(std::move(sizes));
  return size.number() ? GroupSize(*size.number()) : size;
}

/// Whether the schedule's kinds and replicas could be the generator's.
bool may_be(const Generator& generator, const Schedule& schedule) {
  const Requirements& needs = generator.requirements;
  const bool splits = schedule.contains(OpKind::BackwardInput);
  // Variants may leave a backward whole that others split.
  const bool may_split =
      needs.splits_backward == splits || (needs.splits_backward && !needs.variants.empty());
  return !needs.needs_terms && (schedule.is_forward_only() || may_split) &&
         (needs.overlaps || !schedule.has_groups()) &&
         needs.bidirectional == (schedule.placement().replicas() > 1) &&
         needs.shares_output == schedule.shares_output() &&
         (schedule.slices() > 1) == (needs.takes.has(Option::Slices) && needs.default_slices > 1);
}

/// Parameters under which the generator could have made it.
std::vector<Params> candidates(const Generator& generator, const Schedule& schedule) {
  const Requirements& needs = generator.requirements;
  Params params{.ranks = schedule.ranks(),
                .microbatches = schedule.microbatches(),
                .chunks = schedule.placement().chunks()};
  if (needs.takes.has(Option::Slices)) params.options.slices = equal_slices(schedule.slices());
  if (needs.takes.has(Option::Updates)) {
    params.options.updates = needs.default_updates;
    params.microbatches /= needs.default_updates;
  }
  schedules::complete(generator, params, params.chunks);
  std::vector<Params> out;
  for (const std::string& variant : needs.variants.empty() ? std::vector<std::string>{""} : needs.variants) {
    params.options.variant = variant;
    out.push_back(params);
    if (!needs.takes.has(Option::GroupSize)) continue;
    if (const auto size = group_size_of(schedule)) {
      out.push_back(params);
      out.back().options.group_size = size;
    }
  }
  return out;
}

/// Whether these parameters are legal and give this order.
bool gives(const Generator& generator, const Params& params, const Schedule& wanted) {
  if (params.microbatches < 1 || !schedules::takes(generator, params)) return false;
  if (generator.placement(params) != wanted.placement()) return false;
  const Schedule made = schedules::make(generator, params);
  return wanted.is_forward_only() ? forward_only(made) == wanted : made == wanted;
}

}  // namespace

std::vector<KnownOrder> known_orders(const Schedule& schedule) {
  const Schedule wanted =
      schedule.is_extended() && !schedule.is_forward_only() ? schedules::without_added(schedule) : schedule;
  std::vector<KnownOrder> found;
  for (const Generator& generator : schedules::all()) {
    if (!may_be(generator, wanted)) continue;
    const std::vector<Params> all = candidates(generator, wanted);
    const auto fits = std::find_if(all.begin(), all.end(),
                                   [&](const Params& params) { return gives(generator, params, wanted); });
    if (fits != all.end()) found.push_back({generator.name, *fits});
  }
  // Of several at one size the one that is made for these chunks is meant.
  std::stable_partition(found.begin(), found.end(), [](const KnownOrder& order) {
    return schedules::find(order.name).generator->requirements.default_chunks == order.params.chunks;
  });
  return found;
}

std::string arguments_of(const KnownOrder& order) {
  const Params& params = order.params;
  const Generator& generator = *schedules::find(order.name).generator;
  std::string out = fmt::format("--schedule {} --ranks {} --microbatches {}", order.name, params.ranks,
                                params.microbatches);
  const Requirements& needs = generator.requirements;
  if (needs.min_chunks != needs.max_chunks) out += fmt::format(" --chunks {}", params.chunks);
  const ScheduleOptions& options = params.options;
  if (options.group_size)
    out += options.group_size->is_list()
               ? fmt::format(" --set 'options.group_size={}'", options.group_size->text())
               : fmt::format(" --set options.group_size={}", options.group_size->text());
  if (needs.takes.has(Option::Slices)) out += fmt::format(" --set options.slices={}", options.slices.size());
  if (!needs.variants.empty() && options.variant != needs.variants.front())
    out += fmt::format(" --set options.variant={}", options.variant);
  if (options.waves) out += fmt::format(" --set options.waves={}", *options.waves);
  return out;
}

}  // namespace pipeloom::study::calibrate
