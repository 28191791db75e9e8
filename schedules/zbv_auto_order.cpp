#include "schedules/zbv_auto_order.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "schedules/zbv_auto_run.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::schedules {
namespace {

using Passes = std::vector<ZbvPass>;

/// A bubble and the order that has it.
struct FoundOrder {
  Ticks bubble = std::numeric_limits<Ticks>::max();
  Passes order;
};

/// Runs the rule, and again with the idle times that it came to as long as that makes the bubble smaller: a rank that idles less
/// than the worst one in the end need not hurry. Keeps in `best` what is strictly better.
void play_repeatedly(ZbvAutoRun& run, ZbvAutoSetting setting, ZbvWarmUp how, FoundOrder& best) {
  std::vector<Ticks> idle;
  Ticks bubble = std::numeric_limits<Ticks>::max();
  while (run.play(setting, how, idle, bubble)) {
    bubble = run.bubble();
    idle = run.idle();
    if (bubble < best.bubble) best = {.bubble = bubble, .order = run.order()};
  }
}

FoundOrder play_setting(ZbvAutoRun& run, ZbvAutoSetting setting) {
  FoundOrder best;
  play_repeatedly(run, setting, ZbvWarmUp::EndsInTime, best);
  if (!run.has_equal_stages()) play_repeatedly(run, setting, ZbvWarmUp::MayOverrun, best);
  return best;
}

Schedule schedule_of(const Passes& order, int ranks, int microbatches) {
  using enum OpKind;
  constexpr std::array<OpKind, kZbvPasses> kKinds = {Forward,       Forward,        BackwardInput,
                                                     BackwardInput, BackwardWeight, BackwardWeight};
  constexpr std::array<bool, kZbvPasses> kIsChunk1 = {false, true, true, false, false, true};
  ScheduleBuilder out(Placement::wave(ranks, 2), microbatches);
  out.reserve(order.size());
  const std::size_t per_rank = order.size() / static_cast<std::size_t>(ranks);
  for (Rank rank{0}; rank < Rank(ranks); ++rank) {
    out.begin_rank(rank);
    const Stage stages[] = {Stage(rank.value()), Stage(2 * ranks - 1 - rank.value())};
    std::array<int, kZbvPasses> next = {};
    for (std::size_t i = 0; i < per_rank; ++i) {
      const auto pass = static_cast<std::size_t>(order[rank.at() * per_rank + i]);
      out.add({kKinds[pass], stages[kIsChunk1[pass] ? 1 : 0], Microbatch(next[pass]++)});
    }
  }
  return std::move(out).build();
}

}  // namespace

std::variant<ZbvAutoResult, ZbvAutoShortage> zbv_auto_order(const Terms& terms, int ranks, int microbatches,
                                                            std::span<const Bytes> limit,
                                                            const std::optional<ZbvAutoSetting>& setting) {
  ZbvAutoRun run(terms, ranks, microbatches, limit);
  if (const auto shortage = run.shortage()) return *shortage;
  std::vector<ZbvAutoTrial> trials;
  ZbvAutoSetting best_setting;
  FoundOrder best;
  for (const ZbvAutoSetting& one : kZbvAutoSettings) {
    if (setting && *setting != one) continue;
    FoundOrder found = play_setting(run, one);
    trials.push_back({.setting = one, .bubble = found.bubble});
    if (found.bubble >= best.bubble) continue;
    best_setting = one;
    best = std::move(found);
  }
  return ZbvAutoResult{.schedule = schedule_of(best.order, ranks, microbatches),
                       .best = {.setting = best_setting, .bubble = best.bubble},
                       .cost = run.most_work() + best.bubble,
                       .trials = std::move(trials)};
}

}  // namespace pipeloom::schedules
