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
  return params.options.group_size.value_or(params.ranks);
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
  for (int begin = 0; begin < m;) {
    const int end = begin + std::min(m - begin, group_size_of(params));
    for (int chunk = 0; chunk < v; ++chunk)
      for (int k = begin; k < end; ++k) rows_.push_back({Stage(chunk * params.ranks), Microbatch(k)});
    begin = end;
  }
}

bool groups_too_short(const Params& params, std::int64_t too_few) {
  const std::int64_t n = group_size_of(params);
  const std::int64_t m = params.microbatches;
  const int v = params.chunks;
  if (v == 1 || m <= n) return false;
  const int harmless = v == 2 ? 1 : 0;
  const auto follows_too_soon = [&](std::int64_t next) { return next > harmless && n + next <= too_few; };
  const bool between_full_groups = m >= 2 * n && follows_too_soon(n);
  // Groups of one microbatch on two chunks: two of them after the first act like one group of two.
  const bool between_single_microbatches = n == 1 && m >= 3 && follows_too_soon(2);
  const bool before_last_group = m % n != 0 && follows_too_soon(m % n);
  return between_full_groups || between_single_microbatches || before_last_group;
}

bool interleaved_hangs(const Params& params, int extra) {
  return groups_too_short(params, 2 * std::int64_t{params.ranks} - 3 + extra);
}

std::string hang_text(const Params& params, Schedule (*emit)(const Params&)) {
  const Schedule schedule = emit(params);
  const auto hang = find_hang(schedule);
  return hang ? fmt::format("would hang ({})", describe(*hang, schedule)) : "";
}

std::function<void(Params&)> pytorch_rounds(std::string alias) {
  return [alias = std::move(alias)](Params& params) {
    if (params.options.group_size || params.ranks < 1 || params.microbatches < 1) return;
    const auto fits = [&](int m) { return m % pytorch_rounds_of(m, params.ranks) == 0; };
    const int m = params.microbatches;
    const int rounds = pytorch_rounds_of(m, params.ranks);
    if (!fits(m))
      throw ScheduleError(
          fmt::format("{} with ranks = {}, microbatches = {}: PyTorch runs microbatches div ranks = {} "
                      "rounds, which must "
                      "divide microbatches{}, or set options.group_size",
                      alias, params.ranks, m, rounds, try_text(nearest(m, {1, kMaxIndex}, fits))));
    params.options.group_size = m / rounds;
  };
}

bool has_pytorch_rounds(const Params& params) {
  const int rounds = pytorch_rounds_of(params.microbatches, params.ranks);
  return params.microbatches % rounds == 0 && group_size_of(params) == params.microbatches / rounds;
}

}  // namespace pipeloom::schedules
