#include "sim/cost/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/cost/durations.hpp"
#include "sim/text.hpp"

namespace pipeloom::cost {
namespace {

__extension__ using Wide = __int128;

/// a * b / c to the nearest, or nothing when that reaches kMaxTicks. REQUIRES: all >= 0, c > 0.
std::optional<std::int64_t> scaled(Wide a, Wide b, Wide c) {
  const Wide result = (a * b + c / 2) / c;
  if (result >= kMaxTicks) return std::nullopt;
  return static_cast<std::int64_t>(result);
}

std::vector<Ticks> per_slot(const std::vector<Ticks>& by_stage, const Placement& placement) {
  std::vector<Ticks> out(static_cast<std::size_t>(placement.slots()));
  for (std::size_t slot = 0; slot < out.size(); ++slot)
    out[slot] = by_stage[slot % static_cast<std::size_t>(placement.stages())];
  return out;
}

void require_length(const std::vector<Scale>& scales, int wanted, const Where& where, const char* key,
                    const char* what) {
  if (!scales.empty() && scales.size() != static_cast<std::size_t>(wanted))
    throw InputError(
        where, fmt::format("{} has {} entries, but the schedule has {} {}; give one entry for each", key,
                           scales.size(), wanted, what));
}

void apply_rank_scale(const CostSpec& spec, const Placement& placement, std::vector<Ticks>& by_slot) {
  if (spec.rank_scale.empty()) return;
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    const auto ticks = scaled(by_slot[slot.at()], spec.rank_scale[placement.rank_of(slot).at()], kUnitScale);
    if (!ticks)
      throw InputError(
          spec.rank_scale_where,
          fmt::format(
              "costs.rank_scale makes a duration on rank {} overflow; use smaller numbers or a larger "
              "time unit",
              placement.rank_of(slot).value()));
    by_slot[slot.at()] = *ticks;
  }
}

/// The engine multiplies durations by microbatch_scale unchecked: the largest product must fit.
void check_microbatch_scale(const CostSpec& spec, const Costs& costs) {
  if (spec.microbatch_scale.empty()) return;
  const Scale largest = *std::max_element(spec.microbatch_scale.begin(), spec.microbatch_scale.end());
  for (const auto& by_slot : costs.duration)
    for (const Ticks ticks : by_slot)
      if (!scaled(ticks, largest, kUnitScale))
        throw InputError(
            spec.microbatch_scale_where,
            "costs.microbatch_scale makes a duration overflow; use smaller numbers or a larger time unit");
}

/// A saving for a whole rank or model is divided like the durations that it shortens.
Ticks saving_per_pass(const CostSpec& spec, const Placement& placement) {
  switch (spec.per) {
    case Per::Stage:
      return spec.overlap->saving;
    case Per::Rank:
      return multiply_divide(spec.overlap->saving, 1, placement.chunks());
    case Per::Model:
      return multiply_divide(spec.overlap->saving, 1, placement.stages());
  }
  return 0;
}

void resolve_overlap(const CostSpec& spec, const Schedule& schedule, ResolvedCosts& out) {
  if (!spec.overlap) {
    out.origins.emplace_back("costs.overlapped", "default");
    return;
  }
  Overlap& overlap = out.costs.overlap;
  overlap.rule = spec.overlap->rule;
  overlap.factor = spec.overlap->factor;
  overlap.saving = saving_per_pass(spec, schedule.placement());
  if (overlap.rule != OverlapRule::Explicit) return;
  out.stage_overlap = spread(spec.overlap->duration, spec.per, schedule.placement());
  overlap.duration = per_slot(out.stage_overlap, schedule.placement());
  apply_rank_scale(spec, schedule.placement(), overlap.duration);
}

/// Explicit group durations below the longest part are taken, but said.
void warn_about_short_groups(const CostSpec& spec, const Schedule& schedule, ResolvedCosts& out) {
  if (out.costs.overlap.rule != OverlapRule::Explicit || !schedule.has_groups()) return;
  std::size_t count = 0;
  std::string first_text;
  const auto visit = [&](std::size_t first, std::size_t last) {
    if (last - first < 2) return;
    Ticks longest = 0;
    for (std::size_t i = first; i < last; ++i)
      longest =
          std::max(longest, out.costs.op_duration(schedule.ops()[i], schedule.slot_of(schedule.ops()[i])));
    const Ticks group = out.costs.entry_duration(schedule, first, last);
    if (group >= longest || count++ > 0) return;
    first_text = fmt::format("{} lasts {}, its longest part {}", entry_text(schedule, first, last),
                             format_ticks(group, spec.unit), format_ticks(longest, spec.unit));
  };
  for_each_entry(schedule, 0, schedule.num_ops(), visit);
  if (count == 0) return;
  const std::string place = spec.overlap->duration.where.text();
  out.warnings.push_back(
      fmt::format("{}{}costs.overlapped makes groups shorter than their longest part ({} of them): {}", place,
                  place.empty() ? "" : ": ", count, first_text));
}

/// A hop over one kind of link: all of its delay, and the part that keeps the link busy.
struct Hop {
  Ticks delay = 0;
  Ticks sending = 0;
};
Hop hop_over(const TransferSpec& spec, const LinkSpec& own, const Where& where) {
  const Ticks latency = own.latency.value_or(spec.link.latency.value_or(0));
  const auto speed = own.bits_per_second ? own.bits_per_second : spec.link.bits_per_second;
  if (!speed || spec.bytes == 0) return {latency, 0};
  // Bytes to picoseconds: 8 bits each, 1e12 ticks a second.
  const auto sending = scaled(Wide{spec.bytes} * 8, Wide{1'000'000'000'000}, *speed);
  if (!sending || *sending + latency >= kMaxTicks)
    throw InputError(
        where, "costs.transfer: latency + bytes / bandwidth overflows; use fewer bytes or more bandwidth");
  return {latency + *sending, static_cast<Ticks>(*sending)};
}

void resolve_transfers(const CostSpec& spec, const Placement& placement, Costs& costs) {
  const TransferSpec& transfer = spec.transfer;
  const Hop within = hop_over(transfer, transfer.intra, spec.where);
  const Hop between = hop_over(transfer, transfer.inter, spec.where);
  const auto hop = [&](Rank from, Rank to) -> Hop {
    if (from == to) return {};
    if (!transfer.ranks_per_node) return hop_over(transfer, {}, spec.where);
    const auto node = [&](Rank rank) { return rank.value() / *transfer.ranks_per_node; };
    return node(from) == node(to) ? within : between;
  };
  const auto slots = static_cast<std::size_t>(placement.slots());
  costs.forward_delay.assign(slots, 0);
  costs.backward_delay.assign(slots, 0);
  costs.forward_sending.assign(slots, 0);
  costs.backward_sending.assign(slots, 0);
  const auto set = [](const Hop& of, Ticks& delay, Ticks& sending) {
    delay = of.delay;
    sending = of.sending;
  };
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    const Stage stage = placement.stage_of(slot);
    if (stage > Stage(0))
      set(hop(placement.rank_of(slot - 1), placement.rank_of(slot)), costs.forward_delay[slot.at()],
          costs.forward_sending[slot.at()]);
    if (stage < Stage(placement.stages() - 1))
      set(hop(placement.rank_of(slot + 1), placement.rank_of(slot)), costs.backward_delay[slot.at()],
          costs.backward_sending[slot.at()]);
  }
}

void warn_about_transfer(const TransferSpec& spec, std::vector<std::string>& warnings) {
  const bool has_bandwidth =
      spec.link.bits_per_second || spec.intra.bits_per_second || spec.inter.bits_per_second;
  if (spec.bytes > 0 && !has_bandwidth)
    warnings.emplace_back("costs.transfer.bytes has no effect without costs.transfer.bandwidth_gbps");
  if (spec.bytes == 0 && has_bandwidth)
    warnings.emplace_back("costs.transfer.bandwidth_gbps has no effect without costs.transfer.bytes");
}

}  // namespace

ResolvedCosts resolve(const CostSpec& spec, const Schedule& schedule) {
  const Placement& placement = schedule.placement();
  require_length(spec.rank_scale, placement.ranks(), spec.rank_scale_where, "costs.rank_scale", "ranks");
  require_length(spec.microbatch_scale, schedule.microbatches(), spec.microbatch_scale_where,
                 "costs.microbatch_scale", "microbatches");
  ResolvedCosts out;
  out.costs.unit = spec.unit;
  resolve_durations(spec, schedule, out);
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    out.costs.duration[kind] = per_slot(out.stage_duration[kind], placement);
    apply_rank_scale(spec, placement, out.costs.duration[kind]);
  }
  out.costs.microbatch_scale = spec.microbatch_scale;
  check_microbatch_scale(spec, out.costs);
  resolve_overlap(spec, schedule, out);
  resolve_transfers(spec, placement, out.costs);
  warn_about_short_groups(spec, schedule, out);
  warn_about_transfer(spec.transfer, out.warnings);
  if (spec.per != Per::Stage)
    out.origins.emplace_back("costs.per", fmt::format("divided: given per {}", name_of(spec.per)));
  return out;
}

MemoryModel resolve_memory(const MemorySpec& spec, const Placement& placement) {
  MemoryModel model;
  const auto tables = [&placement](const StageNumbers& numbers) {
    return per_slot(expand(numbers, placement.stages()), placement);
  };
  model.activation = tables(spec.activation);
  model.released_at_input = tables(spec.released_at_input);
  model.static_bytes = tables(spec.static_bytes);
  model.receive = tables(spec.receive);
  model.logits = tables(spec.logits);
  model.stash = tables(spec.stash);
  model.limit = spec.limit;
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    if (placement.stage_of(slot) != Stage(placement.stages() - 1)) model.logits[slot.at()] = 0;
    const auto require_part = [&](const StageNumbers& numbers, Bytes part, const char* what) {
      if (part > model.activation[slot.at()])
        throw InputError(
            numbers.where,
            fmt::format("on stage {} {} = {} is more than memory.activation_bytes = {}; it is {}",
                        placement.stage_of(slot).value(), numbers.key, part, model.activation[slot.at()],
                        what));
    };
    require_part(spec.released_at_input, model.released_at_input[slot.at()],
                 "the part of the activations that the end of I frees");
    require_part(spec.stash, model.stash[slot.at()], "what a recomputed forward keeps of them");
  }
  return model;
}

}  // namespace pipeloom::cost
