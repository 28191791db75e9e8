#include "schedules/interleaved_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schedules/nearest.hpp"
#include "schedules/queue_builder.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/wait_for.hpp"

namespace pipeloom::schedules {
namespace {

/// R = max(1, m div p).
int pytorch_rounds_of(int microbatches, int ranks) {
  return std::max(1, microbatches / ranks);
}

}  // namespace

int group_size_of(const Params& params) {
  return params.options.group_size ? params.options.group_size->largest() : params.ranks;
}

std::vector<int> groups_of(const Params& params) {
  if (params.options.group_size && params.options.group_size->is_list())
    return params.options.group_size->sizes();
  const int n = group_size_of(params);
  std::vector<int> sizes(static_cast<std::size_t>(params.microbatches / n), n);
  if (params.microbatches % n != 0) sizes.push_back(params.microbatches % n);
  return sizes;
}

bool has_equal_groups(const Params& params) {
  return !params.options.group_size || params.options.group_size->number().has_value();
}

std::int64_t interleaved_warmup(const Params& params, Rank rank, int extra) {
  const std::int64_t passes = std::int64_t{params.microbatches} * params.chunks;
  const std::int64_t to_the_end_and_back = 2 * (std::int64_t{params.ranks} - 1 - rank.value());
  const std::int64_t other_chunks = (std::int64_t{params.chunks} - 1) * group_size_of(params);
  return std::min(passes, to_the_end_and_back + other_chunks + extra);
}

InterleavedOrder::InterleavedOrder(const Params& params) : last_stage_((params.chunks - 1) * params.ranks) {
  const int m = params.microbatches;
  const int v = params.chunks;
  rows_.reserve(op_count(v, m, 1));
  int begin = 0;
  for (const int size : groups_of(params)) {
    for (int chunk = 0; chunk < v; ++chunk)
      for (int k = begin; k < begin + size; ++k)
        rows_.push_back({Stage(chunk * params.ranks), Microbatch(k)});
    begin += size;
  }
}

bool groups_too_short(const Params& params, std::int64_t too_few, bool single_is_harmless) {
  const std::int64_t n = group_size_of(params);
  const std::int64_t m = params.microbatches;
  const int v = params.chunks;
  if (v == 1 || m <= n) return false;
  const int harmless = v == 2 && single_is_harmless ? 1 : 0;
  const auto follows_too_soon = [&](std::int64_t next) { return next > harmless && n + next <= too_few; };
  const bool between_full_groups = m >= 2 * n && follows_too_soon(n);
  // Groups of one microbatch on two chunks: two of them after the first act like one group of two.
  const bool between_single_microbatches = n == 1 && m >= 3 && follows_too_soon(2);
  const bool before_last_group = m % n != 0 && follows_too_soon(m % n);
  return between_full_groups || between_single_microbatches || before_last_group;
}

HangRule hang_rule(bool (*hangs)(const Params&), Schedule (*emit)(const Params&)) {
  const auto runs = [=](const Params& params) {
    return has_equal_groups(params) ? !hangs(params) : !find_hang(emit(params));
  };
  const auto text = [=](const Params& params) -> std::string {
    if (runs(params)) return "";
    const Schedule schedule = emit(params);
    const auto hang = find_hang(schedule);
    return hang ? fmt::format("would hang ({})", describe(*hang, schedule)) : "";
  };
  return {.predicate = text, .accepts = runs};
}

std::function<void(Params&)> pytorch_rounds(std::string alias, std::string framework) {
  return [alias = std::move(alias), framework = std::move(framework)](Params& params) {
    if (params.options.group_size || params.ranks < 1 || params.microbatches < 1) return;
    const auto fits = [&](int m) { return m % pytorch_rounds_of(m, params.ranks) == 0; };
    const int m = params.microbatches;
    const int rounds = pytorch_rounds_of(m, params.ranks);
    if (!fits(m))
      throw ScheduleError(
          fmt::format("{} with ranks = {}, microbatches = {}: {} runs microbatches div ranks = {} "
                      "rounds, which must "
                      "divide microbatches{}, or set options.group_size",
                      alias, params.ranks, m, framework, rounds, try_text(nearest(m, {1, kMaxIndex}, fits))));
    params.options.group_size = m / rounds;
  };
}

bool has_pytorch_rounds(const Params& params) {
  const int rounds = pytorch_rounds_of(params.microbatches, params.ranks);
  return params.microbatches % rounds == 0 && has_equal_groups(params) &&
         group_size_of(params) == params.microbatches / rounds;
}

}  // namespace pipeloom::schedules
