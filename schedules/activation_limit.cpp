#include "schedules/activation_limit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/units.hpp>
#include "sim/memory.hpp"

namespace pipeloom::schedules {
namespace {

__extension__ using Wide = __int128;

std::string limits_text(const MemoryModel& memory, const std::vector<Bytes>& limits) {
  const auto [least, most] = std::minmax_element(limits.begin(), limits.end());
  return *least == *most
             ? fmt::format("{} on every rank", activations_text(memory, *most))
             : fmt::format("{} to {} by rank", memory_text(memory, *least), activations_text(memory, *most));
}

/// "1.5 microbatches"
std::string count_text(Scale microbatches) {
  std::string number = format_ticks(microbatches, TimeUnit::Unit);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return fmt::format("{} microbatch{}", number, number == "1" ? "" : "es");
}

/// Bytes that a rank holds in addition to activations: static bytes, one receive buffer and the logits of each of its stages.
Bytes beside_activations(const Placement& placement, const MemoryModel& memory, Rank rank) {
  Bytes bytes = 0;
  for (const Slot slot : placement.slots_of(rank))
    for (const auto* table : {&memory.static_bytes, &memory.receive, &memory.logits})
      if (__builtin_add_overflow(bytes, (*table)[slot.at()], &bytes))
        throw ScheduleError(
            fmt::format("the bytes that rank {} holds besides activations add up to more than {}; "
                        "use smaller numbers",
                        rank.value(), kMaxTicks));
  return bytes;
}

ActivationLimit what_memory_leaves(const Placement& placement, const MemoryModel& memory) {
  ActivationLimit out;
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
    const Bytes limit = memory.limit[rank.at()];
    const Bytes beside = beside_activations(placement, memory, rank);
    if (beside >= limit)
      throw ScheduleError(
          fmt::format("memory.limit_bytes ({}) leaves nothing for activations on rank {}: static, receive "
                      "and logits bytes take "
                      "{}; raise the limit, or use more ranks",
                      memory_text(memory, limit), rank.value(), memory_text(memory, beside)));
    out.bytes.push_back(limit - beside);
  }
  out.text = fmt::format("memory.limit_bytes less static, receive and logits bytes: {}",
                         limits_text(memory, out.bytes));
  return out;
}

}  // namespace

Bytes microbatch_bytes(const Placement& placement, const MemoryModel& memory) {
  Bytes largest = 0;
  for (Rank rank{0}; rank < Rank(std::min(2, placement.ranks())); ++rank) {
    Wide bytes = 0;
    for (const Slot slot : placement.slots_of(rank)) bytes += memory.activation[slot.at()];
    largest = std::max(largest, static_cast<Bytes>(std::min<Wide>(bytes, kMaxTicks)));
  }
  return largest;
}

ActivationLimit limit_of_microbatches(Scale microbatches, const Placement& placement,
                                      const MemoryModel& memory) {
  const Wide wide = Wide{microbatch_bytes(placement, memory)} * microbatches / kUnitScale;
  const auto bytes = static_cast<Bytes>(std::min<Wide>(wide, kMaxTicks));
  ActivationLimit out;
  out.bytes.assign(static_cast<std::size_t>(placement.ranks()), bytes);
  out.text = fmt::format("{}, {}", count_text(microbatches), limits_text(memory, out.bytes));
  return out;
}

ActivationLimit activation_limit(const Params& params, const Placement& placement,
                                 const MemoryModel& memory) {
  if (params.options.memory_limit.bytes) {
    ActivationLimit out;
    // Without sizes the model counts in parts of what the user calls a byte.
    const Wide units = Wide{*params.options.memory_limit.bytes} * memory.parts;
    out.bytes.assign(static_cast<std::size_t>(placement.ranks()),
                     static_cast<Bytes>(std::min<Wide>(units, kMaxTicks)));
    out.text = limits_text(memory, out.bytes);
    return out;
  }
  if (params.options.memory_limit.microbatches)
    return limit_of_microbatches(*params.options.memory_limit.microbatches, placement, memory);
  if (!memory.limit.empty()) return what_memory_leaves(placement, memory);
  return limit_of_microbatches(params.ranks * kUnitScale, placement, memory);
}

ScheduleError without_room(std::string_view name, const ActivationLimit& limit, const MemoryModel& memory,
                           Rank rank, Bytes needed) {
  return ScheduleError(
      fmt::format("{} has no order within {}: rank {} needs {} for one microbatch; raise "
                  "options.memory_limit or memory.limit_bytes",
                  name, limit.text, rank.value(), activations_text(memory, needed)));
}

void require_summable(const Params& params, const Terms& terms) {
  Wide time = 0;
  Wide bytes = 0;
  const Costs& costs = terms.costs;
  const auto duration = [&costs](OpKind kind, std::size_t slot) {
    return Wide{costs.duration[index_of(kind)][slot]};
  };
  for (std::size_t slot = 0; slot < terms.memory.activation.size(); ++slot) {
    const Wide halves = duration(OpKind::BackwardInput, slot) + duration(OpKind::BackwardWeight, slot);
    time += duration(OpKind::Forward, slot) + std::max(halves, duration(OpKind::Backward, slot));
    time += Wide{costs.forward_delay[slot]} + costs.backward_delay[slot] + 3 * Wide{costs.entry};
    const Bytes released = terms.memory.released_at_input[slot];
    bytes += Wide{terms.memory.activation[slot]} + (released < 0 ? -Wide{released} : Wide{released});
  }
  const auto fits = [&params](Wide sum) { return sum * params.microbatches < kMaxTicks; };
  const Scale scale = costs.microbatch_scale.empty()
                          ? kUnitScale
                          : std::max(kUnitScale, *std::max_element(costs.microbatch_scale.begin(),
                                                                   costs.microbatch_scale.end()));
  if (!fits(time) || time * params.microbatches >= Wide{kMaxTicks} * kUnitScale / scale)
    throw ScheduleError(
        "the times of all ops add up to too much; use smaller numbers or a larger costs.time_unit");
  if (!fits(bytes))
    throw ScheduleError("the activations of all microbatches add up to too many bytes; use smaller numbers");
}

std::string activations_text(const MemoryModel& memory, Bytes units) {
  return memory_text(memory, units) + (counts_activations(memory) ? "" : " of activations");
}

std::string microbatches_text(int microbatches, const Placement& placement, const MemoryModel& memory) {
  const Wide units = Wide{microbatches} * microbatch_bytes(placement, memory);
  return fmt::format("{} ({})", count_text(microbatches * kUnitScale),
                     memory_text(memory, static_cast<Bytes>(std::min<Wide>(units, kMaxTicks))));
}

}  // namespace pipeloom::schedules
