#include "executor/runs.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <pipeloom/schedule.hpp>
#include "sim/dependency.hpp"
#include "sim/kinds.hpp"
#include "sim/messages/message_plans.hpp"

namespace pipeloom::executor {

Program async_program(const schedules::Generator& generator, const Params& params) {
  return async_plan(std::make_shared<const Schedule>(schedules::make(generator, params)), {});
}

Program async_program(std::string_view schedule, int p, int m, int v) {
  return async_program(*schedules::find(schedule).generator, {.ranks = p, .microbatches = m, .chunks = v});
}

namespace {

/// The first op of the rank's queue, or of its copies, that starts before its turn.
std::string out_of_turn(const Timeline& timeline, Rank rank, int step) {
  const Schedule& schedule = *timeline.schedule;
  Ticks free = step == 0 ? 0 : span_of(timeline, step - 1).end;
  Ticks copies_free = free;
  std::string found;
  for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                 [&](std::size_t first, std::size_t last) {
                   const bool copies = is_copy(schedule.ops()[first].kind());
                   Ticks& lane = copies ? copies_free : free;
                   const Ticks turn = std::max(free, lane);
                   for (std::size_t i = first; i < last; ++i)
                     if (timeline.start_of(i, step) < turn)
                       found = to_text(schedule.ops()[i]) + " starts before its turn";
                   for (std::size_t i = first; i < last; ++i) lane = std::max(lane, timeline.end_of(i, step));
                 });
  return found;
}

}  // namespace

Costs one_ms(const Program& program) {
  return uniform_costs(program.schedule().placement(), {.forward = 1'000'000'000,
                                                        .backward = 2'000'000'000,
                                                        .backward_input = 1'000'000'000,
                                                        .backward_weight = 1'000'000'000,
                                                        .unit = TimeUnit::Millisecond});
}

std::string disorder(const Timeline& timeline) {
  const Schedule& schedule = *timeline.schedule;
  const DependencyMap needs(schedule);
  for (int step = 0; step < timeline.steps; ++step) {
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      if (auto found = out_of_turn(timeline, rank, step); !found.empty()) return found;
    for (std::size_t i = 0; i < schedule.num_ops(); ++i)
      for (const std::uint32_t producer : {needs.producer_of(i), needs.reload_of(i)})
        if (producer != DependencyMap::kNone && producer != i &&
            timeline.start_of(i, step) < timeline.end_of(producer, step))
          return to_text(schedule.ops()[i]) + " starts before " + to_text(schedule.ops()[producer]) +
                 " has ended";
  }
  return "";
}

std::function<void(Rank, std::size_t)> random_delays(unsigned seed, unsigned microseconds) {
  return [seed, microseconds](Rank rank, std::size_t instruction) {
    // A hash instead of a generator, which ranks would have to share.
    unsigned mixed = seed * 2654435761U + static_cast<unsigned>(rank.value()) * 40503U +
                     static_cast<unsigned>(instruction) * 2246822519U;
    mixed ^= mixed >> 15U;
    std::this_thread::sleep_for(std::chrono::microseconds(mixed % (microseconds + 1)));
  };
}

}  // namespace pipeloom::executor
