#pragma once

// Schedule generators, and how to find one by name.
//
//   const auto [generator, alias] = schedules::find("Interleaved1F1B");
//   Params params{.ranks = 4, .microbatches = 10, .chunks = 2};
//   if (alias && alias->defaults) alias->defaults(params);
//   Schedule schedule = schedules::make(*generator, params);

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>
#include "sim/messages/program.hpp"

namespace pipeloom::schedules {

/// True if the schedule uses the option.
[[nodiscard]] bool takes_option(const Requirements& requirements, Option option);

/// v where the user names the variant but no chunks.
[[nodiscard]] int default_chunks(const Requirements& requirements, std::string_view variant);

/// The smallest legal m for p ranks, parity apart.
[[nodiscard]] std::int64_t min_microbatches(const Requirements& requirements, int ranks);

/// A closed form with the condition under which it holds.
struct ClosedForm {
  std::string quantity;   ///< the metric's name: "makespan", "idle", "max_window", "peak_live"
  std::string formula;    ///< "(m + p - 1)(F + B)"; r is the rank, X the duration of an overlapped pair
  std::string condition;  ///< "equal stages, no transfers"
  /// The value for these parameters and costs, or nothing where the condition does not hold. `rank` matters
  /// for per-rank quantities ("idle", "peak_live") only. REQUIRES: may_take(); the value fits 63 bits.
  std::function<std::optional<std::int64_t>(const Params&, const UniformCosts&, Rank)> value;
};

/// Another name; may bring its framework's defaults with it.
struct Alias {
  std::string name;
  std::string dialect;  ///< "PyTorch", "Megatron-LM", ...
  /// Adjusts parameters that the user did not give; may be empty. Throws ScheduleError, worded like
  /// refusal(), where the framework itself refuses the parameters.
  std::function<void(Params&)> defaults = {};
};

/// The ways in which frameworks order the messages of a schedule.
enum class MessageStyle : std::uint8_t {
  Blocking,      ///< groups of sends and receives that the rank waits for
  Overlap,       ///< in the steady phase issue and wait are separate
  OverlapFlush,  ///< in warm-up and cool-down too
};

/// Inputs and outputs of emit() in addition to parameters, terms and order. Only schedules with needs_terms use it.
struct Emission {
  /// Asked now and then how far the search is, 0 to 1; false ends it with Stopped. May be empty.
  std::function<bool(double)> progress = {};
  /// The way of playing the rules that won, if there was a choice.
  std::string setting = {};
  /// The origin of the limit, and its value: "default: 4 microbatches of 12 bytes".
  std::string limit = {};
  std::vector<std::string> warnings = {};
  /// A search may end after its first part (Effort::first_part).
  bool may_end_early = false;
  /// It did so, without an order that is proven the best: this one is that of Effort::first_part_variant.
  bool ended_early = false;
};

/// Seconds of a thread that one evaluation of a schedule takes: its order is made, simulated and measured. Plans reckon with it, so that their
/// budgets do not depend on the machine. As measured (docs/performance.md), and up to three times that: models add to it.
struct Effort {
  double per_op = 0.15e-6;
  /// Of searches for an order, in addition: in proportion to the ops, up to `most_searched`.
  double per_searched_op = 0;
  double most_searched = 0;
  /// The share of that which the first part of a search takes, where there are parts. It ends there if the order found is proven the best.
  double first_part = 1;
  /// The options.variant whose search is that first part alone; "" where there is none.
  std::string_view first_part_variant = {};

  /// Of a search that part: 1 or first_part.
  [[nodiscard]] double seconds(double ops, double part = 1) const {
    return per_op * ops + part * std::min(per_searched_op * ops, most_searched);
  }
};

/// One schedule: its name, its requirements, and how to make it.
struct Generator {
  std::string name;
  std::vector<Alias> aliases;
  std::string summary;      ///< one line
  std::string source;       ///< paper or program, with section
  std::string when_to_use;  ///< one or two sentences
  Requirements requirements;
  std::vector<ClosedForm> closed_forms;
  /// Where the stages are. REQUIRES: may_take(*this, params).
  std::function<Placement(const Params&)> placement;
  /// Emits the queues. `terms` are those of placement(params). REQUIRES: takes(*this, params); options.forward_only is not
  /// looked at. Schedules with needs_terms throw ScheduleError, without a place, where no order keeps the limit.
  std::function<Schedule(const Params& params, const Terms& terms, Emission& emission)> emit;
  /// Why parameters that meet `requirements` are refused all the same, or ""; may be empty. The text goes on
  /// after "NAME with ranks = .., microbatches = .. ": "would hang (...)".
  std::function<std::string(const Params&)> predicate = {};
  /// True if `predicate` returns "", without making its text: the search for legal values calls it many times.
  /// Required where there is a predicate.
  std::function<bool(const Params&)> accepts = {};
  /// N where the options have none, for schedules that take one; empty means p.
  std::function<int(const Params&)> default_group_size = {};
  /// For schedules where an option decides the chunks: fills in those of the two that the user did not give. `chunks` is the user's value.
  /// May be empty.
  std::function<void(Params& params, std::optional<int> chunks)> complete = {};
  /// The blanks that the schedule's own framework draws (PyTorch's compute_only files have them), for these parameters and the
  /// schedule that emit() makes of them; empty where it draws none. REQUIRES: as emit.
  std::function<IdleCells(const Params&, const Schedule&)> idle_cells = {};
  /// The program that the schedule's own framework makes of it: of what emit() returned for these parameters, perhaps with its
  /// backwards dropped or with R, O and L added. Nothing for a style or a size that the framework does not have; empty if
  /// it prescribes no messages at all. A program that the framework refuses because its messages would be mispaired is returned
  /// all the same: check_program() reports it.
  std::function<std::optional<Program>(const Params&, std::shared_ptr<const Schedule>, MessageStyle)>
      messages = {};
  /// True if, for these parameters, a rank of its framework exchanges the messages of a forward and of a backward with both of its neighbours in one
  /// group and waits for it once: four messages then take less than twice the time of two. Empty: never.
  std::function<bool(const Params&)> groups_both_ways = {};
  Effort effort = {};
  /// Microbatches of the block that every queue repeats: with that many more, each queue has one block more and is the same before and after it.
  /// That holds from some number of microbatches on, which RepeatingQueues::find() tells; the options do not change with it. 0, or empty:
  /// queues repeat no block.
  std::function<int(const Params&)> period = {};
};

/// Generator::period of schedules whose queues repeat a block of this many microbatches.
[[nodiscard]] inline auto repeats_every(int microbatches) {
  return [microbatches](const Params&) { return microbatches; };
}

/// Every schedule, in the order of registry.def.
[[nodiscard]] const std::vector<Generator>& all();

/// A generator found by name or alias: first as spelt (case ignored), then with '-' and '_' ignored where that is unique.
/// `alias` is null for the schedule's own name.
struct Found {
  const Generator* generator = nullptr;
  const Alias* alias = nullptr;
};
/// Throws InputError suggesting the nearest name and listing all.
[[nodiscard]] Found find(std::string_view name, const Where& where = {});

/// Most ops that these parameters can yield, for checking sizes before anything is allocated; saturates.
[[nodiscard]] std::int64_t max_ops(const Generator& generator, const Params& params);

/// Fills in the values that the user did not give: chunks, and options that have a default of their own. Group sizes, variants and limits may stay
/// without a value, which an alias or emit() decides.
void complete(const Generator& generator, Params& params, std::optional<int> chunks);

/// The options as they hold in the end, for the caller who shows them: with the group size and the variant that emit() takes.
[[nodiscard]] ScheduleOptions options_in_force(const Generator& generator, const Params& params);

/// Why these parameters are refused, with the nearest legal values of the offending parameter; "" if they are
/// not. "dualpipe needs an even number of ranks, not 5; try 4 or 6". Every suggested value has been tried: it
/// makes the parameters legal. An order that hangs is made once to name the cycle, so check max_ops() first.
[[nodiscard]] std::string refusal(const Generator& generator, const Params& params);

/// True if refusal() is empty, without the time that its words and suggestions take. Unequal groups are simulated once.
[[nodiscard]] bool takes(const Generator& generator, const Params& params);
/// True if the requirements alone allow these parameters, also for an order that hangs. Simulates nothing.
[[nodiscard]] bool may_take(const Generator& generator, const Params& params);

/// The emit() of a schedule that is the same whatever its ops cost.
[[nodiscard]] inline auto whatever_the_costs(Schedule (*emit)(const Params&)) {
  return [emit](const Params& params, const Terms&, Emission&) { return emit(params); };
}

/// The emit() of one that asks now and then whether it is to go on.
[[nodiscard]] inline auto whatever_the_costs(Schedule (*emit)(const Params&,
                                                              const std::function<bool(double)>& progress)) {
  return [emit](const Params& params, const Terms&, Emission& emission) {
    return emit(params, emission.progress);
  };
}

/// The messages() of a schedule whose framework has blocking groups and nothing else.
[[nodiscard]] inline auto blocking_only(Program (*plan)(std::shared_ptr<const Schedule>)) {
  return [plan](const Params&, std::shared_ptr<const Schedule> schedule, MessageStyle style) {
    return style == MessageStyle::Blocking ? std::optional(plan(std::move(schedule))) : std::nullopt;
  };
}

/// Makes the schedule under these terms. Throws ScheduleError with refusal()'s text, or with emit()'s.
[[nodiscard]] Schedule make(const Generator& generator, const Params& params, const Terms& terms,
                            Emission& emission, const Where& where = {});

/// The same under default_costs() and default_memory().
[[nodiscard]] Schedule make(const Generator& generator, const Params& params, const Where& where = {});

}  // namespace pipeloom::schedules
