#include "sim/cost/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/cost/bind.hpp"
#include "sim/cost/cost_spec.hpp"
#include "sim/cost/deal.hpp"
#include "sim/cost/exceptions.hpp"
#include "sim/cost/scaled.hpp"
#include "sim/cost/source.hpp"
#include "sim/cost/spread.hpp"
#include "sim/cost/transfers.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "sim/text.hpp"

namespace pipeloom::cost {

namespace {

// The part of resolve() about stage 0, which has no stage before it to send a gradient to.

/// FirstStage::Torch: I of stage 0 takes no time, and its W takes I + W, as measured under PyTorch (there is no input whose gradient I
/// could compute, so autograd does all of it in W). Applying it again changes nothing. REQUIRES: `out.stage_duration` is filled in.
/// Throws InputError if I + W overflows.
void apply_first_stage(const CostSpec& spec, ResolvedCosts& out) {
  if (spec.first_stage == FirstStage::Full) return;
  Ticks& input = out.stage_duration[index_of(OpKind::BackwardInput)].front();
  Ticks& weight = out.stage_duration[index_of(OpKind::BackwardWeight)].front();
  if (input + weight >= kMaxTicks)
    throw InputError(
        spec.where,
        "costs.backward_input + costs.backward_weight overflows on stage 0, where costs.first_stage "
        "\"torch\" adds them; use a larger time unit");
  weight += input;
  input = 0;
  out.origins.emplace_back("costs.first_stage", "stage 0: nothing in I, I and W in W");
}

// The part of resolve() about durations: from the numbers of sources to all kinds on every stage.

[[noreturn]] void fail_missing(const CostSpec& spec, const KindRow& row) {
  std::string also = "it";
  for (const KindRow& from : kKinds)
    if (row.derived_from.has(from.kind))
      also += fmt::format("{}{}", also == "it" ? ", or " : " and ", from.cost_key);
  throw InputError(
      spec.where, fmt::format("{} is missing, but other costs are given and the schedule has {} ops; give {}",
                              row.cost_key, row.letter, also));
}

/// Fills `out.stage_duration`, `out.origins` and `out.warnings`. Throws InputError for a kind that runs and has no duration from any
/// source.
void take_durations(const CostSpec& spec, const Shape& shape, Stated said, ResolvedCosts& out) {
  out.origins = std::move(said.origins);
  out.warnings = std::move(said.warnings);
  for (const KindRow& row : kKinds) {
    std::optional<std::vector<Ticks>>& ticks = said.duration[index_of(row.kind)];
    if (!ticks && shape.contains(row.kind)) fail_missing(spec, row);
    if (!ticks) {
      ticks.emplace(static_cast<std::size_t>(shape.placement->stages()), 0);
      out.origins.emplace_back(row.cost_key, "not given: the schedule has no such ops");
    }
    out.stage_duration[index_of(row.kind)] = std::move(*ticks);
  }
}

std::vector<Ticks> per_slot(const std::vector<Ticks>& by_stage, const Placement& placement) {
  const auto slots = static_cast<std::size_t>(placement.slots());
  std::vector<Ticks> out;
  out.reserve(slots);
  // Slots count the stages of one replica after the other.
  while (out.size() < slots) out.insert(out.end(), by_stage.begin(), by_stage.end());
  return out;
}

std::string plural(std::string_view noun) {
  return fmt::format("{}{}", noun, noun.ends_with("ch") ? "es" : "s");
}

/// The factors of `what` there are `count` of, from an array or a table; empty if neither is given.
std::vector<Scale> expand_scales(const ScaleSpec& spec, int count, const char* key, const char* what) {
  const auto& [array, table, where] = spec;
  if (!table) {
    if (!array.empty() && array.size() != static_cast<std::size_t>(count))
      throw InputError(
          where, fmt::format("{} has {} entries, but the schedule has {} {}; give one entry for each", key,
                             array.size(), count, plural(what)));
    return array;
  }
  std::vector<Scale> out(static_cast<std::size_t>(count), table->fallback);
  for (const ScaleTable::Exception& exception : table->exceptions) {
    if (exception.index >= count)
      throw InputError(exception.where, fmt::format("{} names {} {}, but the schedule's {} are 0 to {}", key,
                                                    what, exception.index, plural(what), count - 1));
    out[static_cast<std::size_t>(exception.index)] = exception.factor;
  }
  return out;
}

void apply_scale(Scale scale, const Where& where, const char* key, Rank rank, Ticks& ticks) {
  const auto longer = scaled(ticks, scale, kUnitScale);
  if (!longer)
    throw InputError(
        where,
        fmt::format("{} makes a duration on rank {} overflow; use smaller numbers or a larger time unit", key,
                    rank.value()));
  ticks = *longer;
}

/// stage_scale, then rank_scale.
void apply_scales(const CostSpec& spec, const ResolvedCosts& found, const Placement& placement,
                  std::vector<Ticks>& by_slot) {
  if (found.stage_scale.empty() && found.rank_scale.empty()) return;
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    const Rank rank = placement.rank_of(slot);
    Ticks& ticks = by_slot[slot.at()];
    if (!found.stage_scale.empty())
      apply_scale(found.stage_scale[placement.stage_of(slot).at()], spec.stage_scale.where,
                  "costs.stage_scale", rank, ticks);
    if (!found.rank_scale.empty())
      apply_scale(found.rank_scale[rank.at()], spec.rank_scale.where, "costs.rank_scale", rank, ticks);
  }
}

/// Durations of single ops with the scales that tables have: for each slot that one names, where slots are scaled differently.
std::vector<OpCost> scaled_ops(const CostSpec& spec, const ResolvedCosts& found, const Placement& placement,
                               std::vector<OpCost> ops) {
  if (found.stage_scale.empty() && found.rank_scale.empty()) return ops;
  std::vector<OpCost> out;
  std::vector<Ticks> by_slot;
  for (const OpCost& cost : ops) {
    if (cost.factor) {
      out.push_back(cost);
      continue;
    }
    by_slot.assign(static_cast<std::size_t>(placement.slots()), cost.duration);
    apply_scales(spec, found, placement, by_slot);
    for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
      const Stage stage = placement.stage_of(slot);
      const Rank rank = placement.rank_of(slot);
      if ((cost.stage && *cost.stage != stage) || (cost.rank && *cost.rank != rank)) continue;
      OpCost& one = out.emplace_back(cost);
      one.stage = stage;
      one.rank = rank;
      one.duration = by_slot[slot.at()];
    }
  }
  return out;
}

/// The engine works out durations unchecked: the largest product of a duration, a factor and a microbatch's scale must fit.
void check_products(const CostSpec& spec, const Costs& costs, const std::vector<OpCost>& ops) {
  Ticks longest = 0;
  for (const auto& by_slot : costs.duration)
    for (const Ticks ticks : by_slot) longest = std::max(longest, ticks);
  Scale factor = kUnitScale;
  Ticks said = 0;
  for (const OpCost& op : ops) {
    factor = std::max(factor, op.factor.value_or(0));
    said = std::max(said, op.duration);
  }
  const auto larger = scaled(longest, factor, kUnitScale);
  if (!larger)
    throw InputError(
        spec.where,
        "costs.exceptions: a factor makes a duration overflow; use smaller numbers or a larger time unit");
  // A B follows from its halves where these are given: its own time, and by how much each differs.
  const Ticks summand = std::max(*larger, said);
  const Wide longest_op = ops.empty() ? Wide{summand} : Wide{3} * summand;
  const Scale largest = costs.microbatch_scale.empty()
                            ? kUnitScale
                            : *std::max_element(costs.microbatch_scale.begin(), costs.microbatch_scale.end());
  const auto product = scaled(longest_op, largest, kUnitScale);
  if (!product || (!ops.empty() && *product + spec.entry >= kMaxTicks))
    throw InputError(ops.empty() ? spec.microbatch_scale.where : spec.where,
                     "a duration overflows with its factors; use smaller numbers or a larger time unit");
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

/// Durations of pairs by slot, [slot of F * slots + slot of B], with the factors of F's stage and rank.
std::vector<Ticks> pair_table(const CostSpec& costs, const ResolvedCosts& found, const Placement& placement) {
  const OverlapSpec& spec = *costs.overlap;
  const auto stages = static_cast<std::size_t>(placement.stages());
  const auto slots = static_cast<std::size_t>(placement.slots());
  const bool square =
      spec.pairs.size() == stages && std::all_of(spec.pairs.begin(), spec.pairs.end(),
                                                 [stages](const auto& row) { return row.size() == stages; });
  if (!square)
    throw InputError(
        spec.pairs_where,
        fmt::format(
            "costs.overlapped.pairs must have {0} rows of {0} entries: a row per stage of the forward, "
            "with an entry per stage of the backward",
            stages));
  std::vector<Ticks> out(slots * slots);
  std::vector<Ticks> of_forward(slots);
  for (std::size_t b = 0; b < slots; ++b) {
    for (std::size_t f = 0; f < slots; ++f) of_forward[f] = spec.pairs[f % stages][b % stages];
    apply_scales(costs, found, placement, of_forward);
    for (std::size_t f = 0; f < slots; ++f) out[f * slots + b] = of_forward[f];
  }
  return out;
}

void resolve_overlap(const CostSpec& spec, const Placement& placement, ResolvedCosts& out) {
  if (!spec.overlap) {
    out.origins.emplace_back("costs.overlapped", "default");
    return;
  }
  Overlap& overlap = out.costs.overlap;
  overlap.rule = spec.overlap->rule;
  overlap.factor = spec.overlap->factor;
  overlap.saving = saving_per_pass(spec, placement);
  if (overlap.rule != OverlapRule::Explicit) return;
  if (!spec.overlap->pairs.empty()) {
    overlap.pairs = pair_table(spec, out, placement);
    return;
  }
  out.stage_overlap = spread(spec.overlap->duration, spec.per, placement);
  overlap.duration = per_slot(out.stage_overlap, placement);
  apply_scales(spec, out, placement, overlap.duration);
}

/// The ops of a group without their microbatches: "1F with 0B".
std::string group_text(const Schedule& schedule, std::size_t first, std::size_t last) {
  std::string out;
  for (const Op op : schedule.ops().subspan(first, last - first))
    out += fmt::format("{}{}{}", out.empty() ? "" : " with ", op.stage().value(), letter_of(op.kind()));
  return out;
}

/// Explicit group durations below the longest part are taken, with a warning that tells the first. It names no microbatch and no number of groups:
/// runs of any length are told the same.
void warn_about_short_groups(const CostSpec& spec, const Schedule& schedule, ResolvedCosts& out) {
  if (out.costs.overlap.rule != OverlapRule::Explicit || !schedule.has_groups()) return;
  Costs costs = out.costs;
  bind_costs(costs, out.ops, schedule);
  const std::vector<Ticks> own = std::exchange(costs.per_group, {});
  bool is_told = false;
  const auto visit = [&](std::size_t first, std::size_t last) {
    if (is_told || last - first < 2) return;
    Ticks longest = 0;
    for (std::size_t i = first; i < last; ++i) longest = std::max(longest, costs.op_duration(schedule, i));
    const Ticks as_all = costs.entry_duration(schedule, first, last);
    const Ticks group = own.empty() ? as_all : own[first];
    if (group >= longest) return;
    is_told = true;
    const Where& where =
        spec.overlap->pairs.empty() ? spec.overlap->duration.where : spec.overlap->pairs_where;
    const std::string place = group == as_all ? where.text() : "";
    out.warnings.push_back(fmt::format(
        "{}{}{} makes groups shorter than their longest part: {} lasts {}, its longest part {}", place,
        place.empty() ? "" : ": ", group == as_all ? "costs.overlapped" : "costs.exceptions",
        group_text(schedule, first, last), format_ticks(group, spec.unit), format_ticks(longest, spec.unit)));
  };
  for_each_entry(schedule, 0, schedule.num_ops(), visit);
}

void require_noise_fits(const CostSpec& spec, int ranks) {
  if (!spec.noise) return;
  for (const Rank rank : spec.noise->ranks)
    if (rank >= Rank(ranks))
      throw InputError(
          spec.noise_where,
          fmt::format("costs.noise names rank {}, but the schedule's ranks are 0 to {}; change it, "
                      "or leave the rank out",
                      rank.value(), ranks - 1));
}

/// Costs that the sources `from` state for the shape, whose stages the numbers are of.
ResolvedCosts resolve_stated(const CostSpec& spec, const Shape& shape, std::span<const Source> from) {
  const Placement& placement = *shape.placement;
  require_noise_fits(spec, placement.ranks());
  ResolvedCosts out;
  out.rank_scale = expand_scales(spec.rank_scale, placement.ranks(), "costs.rank_scale", "rank");
  out.stage_scale = expand_scales(spec.stage_scale, placement.stages(), "costs.stage_scale", "stage");
  out.costs.microbatch_scale =
      expand_scales(spec.microbatch_scale, shape.microbatches, "costs.microbatch_scale", "microbatch");
  out.costs.unit = spec.unit;
  Stated said = ask(from, spec, shape);
  out.layers = spec.layers;
  out.stage_ranks = spec.stage_ranks;
  out.table = rows_per_pass(spec.table, spec.per, placement);
  out.exceptions = rows_per_pass(spec.exceptions, spec.per, placement);
  std::vector<OpCost> ops = std::move(said.ops);
  const std::optional<Links> links = std::move(said.links);
  take_durations(spec, shape, std::move(said), out);
  apply_first_stage(spec, out);
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    out.costs.duration[kind] = per_slot(out.stage_duration[kind], placement);
    apply_scales(spec, out, placement, out.costs.duration[kind]);
  }
  ops = scaled_ops(spec, out, placement, std::move(ops));
  check_products(spec, out.costs, ops);
  if (!ops.empty() && !fold_costs(out.costs, ops, placement)) out.ops = std::move(ops);
  out.costs.entry = spec.entry;
  out.costs.rank_time = spec.transfer.rank_time;
  resolve_overlap(spec, placement, out);
  resolve_transfers(spec, links ? &*links : nullptr, placement, out.costs);
  warn_about_transfer(spec.transfer, out.warnings);
  if (spec.per != Per::Stage)
    out.origins.emplace_back("costs.per", fmt::format("divided: given per {}", name_of(spec.per)));
  return out;
}

}  // namespace

ResolvedCosts resolve(const CostSpec& spec, const Shape& shape) {
  return resolve(spec, shape, sources());
}

ResolvedCosts resolve(const CostSpec& spec, const Shape& shape, std::span<const Source> from) {
  if (std::optional<DealtCosts> dealt = deal_out(spec, *shape.placement)) {
    ResolvedCosts out = resolve_stated(dealt->spec, shape, from);
    out.origins.insert(out.origins.end(), dealt->origins.begin(), dealt->origins.end());
    out.warnings.insert(out.warnings.end(), dealt->warnings.begin(), dealt->warnings.end());
    return out;
  }
  return resolve_stated(spec, shape, from);
}

ResolvedCosts resolve(const CostSpec& spec, const Schedule& schedule) {
  ResolvedCosts out = resolve(spec, shape_of(schedule));
  warn_about_short_groups(spec, schedule, out);
  return out;
}

namespace {

Bytes in_parts(Bytes bytes, int parts, const Where& where, const std::string& key) {
  Bytes out = 0;
  if (__builtin_mul_overflow(bytes, Bytes{parts}, &out) || out >= kMaxTicks)
    throw InputError(where, fmt::format("{} = {} overflows; give memory.activation_bytes, or smaller numbers",
                                        key, bytes));
  return out;
}

/// The same numbers in parts of a byte, so that the stages of a rank share them without a remainder.
StageNumbers in_parts(StageNumbers numbers, int parts) {
  if (parts == 1) return numbers;
  const auto cut = [&](std::int64_t& number) {
    number = in_parts(number, parts, numbers.where, numbers.key);
  };
  cut(numbers.scalar);
  std::ranges::for_each(numbers.array, cut);
  if (numbers.fallback) cut(*numbers.fallback);
  for (StageNumbers::Exception& exception : numbers.exceptions) cut(exception.number);
  return numbers;
}

/// True if sizes are of all stages of a rank, and so small that they count activations: halves of those are no rounding error.
bool has_relative_sizes_of_ranks(const MemorySpec& spec) {
  const auto is_small = [](const StageNumbers* numbers) {
    const auto below = [](std::int64_t number) { return number < kLeastRealBytes; };
    return below(numbers->scalar) && std::ranges::all_of(numbers->array, below) &&
           below(numbers->fallback.value_or(0)) &&
           std::ranges::all_of(numbers->exceptions, below, &StageNumbers::Exception::number);
  };
  const auto sizes = {&spec.activation, &spec.static_bytes, &spec.receive, &spec.logits};
  return spec.per == Per::Rank && std::ranges::all_of(sizes, is_small);
}

}  // namespace

std::vector<Bytes> resolve_limit(const MemorySpec& spec, int ranks, int parts) {
  if (!spec.limit) return {};
  std::vector<Bytes> bytes = spec.limit->bytes;
  for (Bytes& limit : bytes)
    if (parts > 1) limit = in_parts(limit, parts, spec.limit->where, "memory.limit_bytes");
  const auto wanted = static_cast<std::size_t>(ranks);
  if (!spec.limit->per_rank) return std::vector<Bytes>(wanted, bytes.front());
  if (bytes.size() != wanted)
    throw InputError(spec.limit->where,
                     fmt::format("memory.limit_bytes has {} entries, but the schedule has {} ranks; give one "
                                 "number for all of them, or one entry for each",
                                 bytes.size(), wanted));
  return bytes;
}

MemoryModel resolve_memory(const MemorySpec& spec, const Placement& placement) {
  MemoryModel model;
  model.passes = spec.per == Per::Stage ? 1 : placement.chunks();
  model.parts = spec.has_sizes() && !has_relative_sizes_of_ranks(spec) ? 1 : model.passes;
  const auto tables = [&](const StageNumbers& numbers, Per per) {
    return per_slot(spread(in_parts(numbers, model.parts), per, placement, "memory.per"), placement);
  };
  if (spec.has_sizes())
    model.activation = tables(spec.activation, spec.per);
  else
    model.activation.assign(static_cast<std::size_t>(placement.slots()), 1);
  model.released_at_input = tables(spec.released_at_input, spec.per);
  model.static_bytes = tables(spec.static_bytes, spec.per);
  model.receive = tables(spec.receive, Per::Stage);
  model.logits = tables(spec.logits, Per::Stage);
  model.stash = tables(spec.stash, spec.per);
  model.limit = resolve_limit(spec, placement.ranks(), model.parts);
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    if (placement.stage_of(slot) != Stage(placement.stages() - 1)) model.logits[slot.at()] = 0;
    const auto require_part = [&](const StageNumbers& numbers, Bytes part, const char* what) {
      if (part > model.activation[slot.at()])
        throw InputError(
            numbers.where,
            fmt::format("on stage {} {} = {} is more than memory.activation_bytes = {}; it is {}",
                        placement.stage_of(slot).value(), numbers.key, bytes_number(model, part),
                        bytes_number(model, model.activation[slot.at()]), what));
    };
    require_part(spec.released_at_input, model.released_at_input[slot.at()],
                 "the part of the activations that the end of I frees");
    require_part(spec.stash, model.stash[slot.at()], "what a recomputed forward keeps of them");
  }
  return model;
}

}  // namespace pipeloom::cost
