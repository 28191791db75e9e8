// ZBVPP: zero bubble on a wave of two chunks a rank or more, in an order found by playing fixed times.
//
// Source: PaddlePaddle 3.3.1, pipeline_scheduler_ZBVPP, after the V schedule of Qi et al., "Zero Bubble Pipeline Parallelism" (2023,
// arXiv 2401.10241), section 6; with the times of its default program_runtimes and no memory limit. Paddle takes m = p.
//
// p = 4, m = 8, v = 2; F takes one column (two characters), I and W too; small letters are chunk 1:
//
//   rank 0  F0F1F2F3F4F5F6f0i0f1i1f2i2  f3i3  f4I0F7i4f5I1i5    I2f6i6I3f7i7  I4w0    I5w1w2I6w3  I7W0w4W1w5W2w6W3w7W4W5W6W7
//   rank 1    F0F1F2F3F4f0F5f1i0f2w0i1f3w1i2f4I0F6i3f5I1F7i4w2I2f6i5I3f7W0i6I4w3W1i7I5w4W2I6w5W3I7w6W4w7W5W6W7
//   rank 2      F0F1F2f0F3f1F4f2F5i0f3w0i1f4I0i2f5I1F6i3w1F7I2f6i4I3f7i5I4W0w2i6I5W1w3i7I6W2w4I7W3w5W4w6W5w7W6W7
//   rank 3        F0f0F1f1F2f2F3f3F4i0f4I0F5i1f5I1i2w0F6I2f6i3F7I3f7i4I4W0i5I5w1W1i6I6w2W2i7I7w3W3w4W4w5W5w6W6w7W7
//
// The rule issues passes one after another, each at the end of its rank's queue and as early as its input allows:
//
//   1. The first microbatch runs forward through all stages; before each turn of the wave, forwards that end in time fill the gap.
//   2. Rounds: each rank one I, of its earliest chunk that is ready, then each rank one F, of its latest.
//   3. The W's that are left.
//
// In rounds W's run first where they fit the gap before an input, and where a rank would otherwise idle longer than the worst did; in
// eight settings, each played again while the longest idle time falls. The order with the shortest makespan is taken.
//
// Requires: v >= 2; any p, m.
//
// Closed forms: peak_live v, m = 1; beyond, the order follows from the times.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"

namespace pipeloom::schedules {
namespace {

/// Paddle's default program_runtimes; the last stage also takes the loss, in each of its passes.
constexpr std::array<Ticks, 3> kPassTimes = {61, 72, 71};
constexpr Ticks kLossTime = 34;
constexpr Ticks kMessageTime = 3;

/// Index of kPassTimes.
enum class WavePass : std::uint8_t { Forward, Input, Weight };
constexpr std::array<OpKind, 3> kKinds = {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight};

/// The rounds in which a rank runs its W's.
struct WaveSetting {
  bool before_input = true;    ///< one W before an I for which the rank would idle longer than the worst
  bool before_forward = true;  ///< the same before a forward
  bool on_last = true;  ///< the last stage's rank runs W's before an I that is later than a fifth of a W
};

class WavePlayer {
 public:
  /// `progress`: as Emission has it; must outlive the player.
  WavePlayer(const Params& params, const std::function<bool(double)>& progress);

  /// `approved`: idle() of an earlier run, or -1 for each rank. Throws Stopped where the progress says so.
  void play(const WaveSetting& setting, const std::vector<Ticks>& approved);
  [[nodiscard]] Ticks makespan() const { return *std::ranges::max_element(clock_); }
  [[nodiscard]] const std::vector<Ticks>& idle() const { return idle_; }
  [[nodiscard]] Ticks longest_idle() const { return longest_idle_; }
  [[nodiscard]] const std::vector<std::vector<Op>>& queues() const { return queues_; }

 private:
  static constexpr Ticks kNotYet = -1;

  void reset();
  void end_if_stopped() const;
  void fill_until(WavePass pass, int chunk, int filled, bool issues);
  void fill(int rank, int chunks, Ticks limit, bool upwards);
  void run_rounds(const WaveSetting& setting, const std::vector<Ticks>& approved);
  void run_round(WavePass pass, int rank, const WaveSetting& setting, const std::vector<Ticks>& approved);
  void issue(WavePass pass, int chunk, int rank);
  void issue_weight(int rank);

  [[nodiscard]] bool is_ready(WavePass pass, int chunk, int rank) const;
  [[nodiscard]] bool ends_by(int chunk, int rank, Ticks limit) const;
  [[nodiscard]] bool may_fill(int chunk, int rank, int chunks, int least, Ticks limit) const;
  [[nodiscard]] int forwards_of(int rank, int chunks) const;
  [[nodiscard]] Ticks input_end(WavePass pass, int chunk, int rank, int microbatch) const;
  [[nodiscard]] Ticks time_of(WavePass pass, int chunk, int rank) const {
    const bool last = rank == last_rank_ && chunk == v_ - 1;
    return kPassTimes[static_cast<std::size_t>(pass)] + (last ? kLossTime : 0);
  }
  [[nodiscard]] std::size_t lane(WavePass pass, int chunk, int rank) const {
    return (static_cast<std::size_t>(pass) * static_cast<std::size_t>(v_) + static_cast<std::size_t>(chunk)) *
               static_cast<std::size_t>(p_) +
           static_cast<std::size_t>(rank);
  }
  [[nodiscard]] int count(WavePass pass, int chunk, int rank) const { return done_[lane(pass, chunk, rank)]; }
  [[nodiscard]] bool has_weights(int rank) const {
    return weights_done_[at(rank)] < weights_[at(rank)].size();
  }
  [[nodiscard]] Ticks next_weight_time(int rank) const {
    return time_of(WavePass::Weight, weights_[at(rank)][weights_done_[at(rank)]], rank);
  }
  [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  const std::function<bool(double)>& progress_;
  int p_;
  int m_;
  int v_;
  int last_rank_;           ///< of the last stage
  std::vector<int> done_;   // [lane]
  std::vector<Ticks> end_;  // [lane * m + microbatch]
  std::vector<Ticks> clock_;
  std::vector<Ticks> idle_;
  Ticks longest_idle_ = 0;
  Ticks most_approved_ = 0;
  std::vector<std::vector<int>> weights_;  // [rank]: chunks in the order of their I
  std::vector<std::size_t> weights_done_;
  std::vector<std::vector<Op>> queues_;
};

WavePlayer::WavePlayer(const Params& params, const std::function<bool(double)>& progress)
    : progress_(progress),
      p_(params.ranks),
      m_(params.microbatches),
      v_(params.chunks),
      last_rank_(v_ % 2 == 0 ? 0 : p_ - 1) {}

/// How far the player is of all that it will play is not known.
void WavePlayer::end_if_stopped() const {
  if (progress_ && !progress_(0)) throw Stopped();
}

void WavePlayer::reset() {
  const std::size_t lanes = op_count(p_, v_, 3);
  done_.assign(lanes, 0);
  end_.assign(lanes * static_cast<std::size_t>(m_), kNotYet);
  clock_.assign(at(p_), 0);
  idle_.assign(at(p_), 0);
  longest_idle_ = 0;
  weights_.assign(at(p_), {});
  weights_done_.assign(at(p_), 0);
  queues_.assign(at(p_), {});
}

void WavePlayer::play(const WaveSetting& setting, const std::vector<Ticks>& approved) {
  reset();
  most_approved_ = *std::ranges::max_element(approved);
  for (int rank = 0; rank < p_; ++rank) issue(WavePass::Forward, 0, rank);
  for (int chunk = 1; chunk < v_; ++chunk) fill_until(WavePass::Forward, chunk, chunk, true);
  fill_until(WavePass::Input, 0, v_, false);
  run_rounds(setting, approved);
  for (int rank = 0; rank < p_; ++rank)
    while (has_weights(rank)) issue_weight(rank);
}

/// Goes along the ranks as the first pass of this kind does, from the one where the wave turns: what comes before it on each is filled with
/// forwards of the first `filled` chunks, then it is issued itself, if it is.
void WavePlayer::fill_until(WavePass pass, int chunk, int filled, bool issues) {
  const bool upwards = filled % 2 == 0;
  Ticks limit = 0;
  for (int i = 0; i < p_; ++i) {
    const int rank = upwards ? i : p_ - 1 - i;
    end_if_stopped();
    if (i == 0) {
      limit = clock_[at(rank)];
    } else {
      limit += kMessageTime + time_of(pass, chunk, rank);
      fill(rank, filled, limit, upwards);
    }
    if (issues) issue(pass, chunk, rank);
  }
}

/// Forwards in front of the rank, chunk after chunk, that end by `limit`; without a limit as many as rank 0 has, on the way up.
void WavePlayer::fill(int rank, int chunks, Ticks limit, bool upwards) {
  const int least = upwards ? forwards_of(0, chunks) : 0;
  const int first = upwards ? p_ - 1 : 0;
  const int step = upwards ? -1 : 1;
  const auto any_fits = [&] {
    for (int chunk = 0; chunk < chunks; ++chunk)
      for (int r = first; r != rank + step; r += step)
        if (may_fill(chunk, r, chunks, least, limit)) return true;
    return false;
  };
  const Op latest = queues_[at(rank)].back();
  int chunk = (latest.stage().value() / p_ + 1) % chunks;
  // Chunks in a row of which no forward may be issued; after all of them none ever will.
  for (int in_vain = 0; in_vain < chunks; chunk = (chunk + 1) % chunks) {
    if (forwards_of(rank, chunks) >= least && !any_fits()) return;
    ++in_vain;
    for (int r = first; r != rank + step; r += step)
      if (may_fill(chunk, r, chunks, least, limit)) {
        issue(WavePass::Forward, chunk, r);
        in_vain = 0;
      }
  }
}

bool WavePlayer::may_fill(int chunk, int rank, int chunks, int least, Ticks limit) const {
  return is_ready(WavePass::Forward, chunk, rank) &&
         (forwards_of(rank, chunks) < least || ends_by(chunk, rank, limit));
}

void WavePlayer::run_rounds(const WaveSetting& setting, const std::vector<Ticks>& approved) {
  const auto inputs_left = [&] {
    int done = 0;
    for (int chunk = 0; chunk < v_; ++chunk) done += count(WavePass::Input, chunk, last_rank_);
    return done < v_ * m_;
  };
  while (inputs_left()) {
    end_if_stopped();
    for (const WavePass pass : {WavePass::Input, WavePass::Forward})
      for (int i = 0; i < p_; ++i) run_round(pass, last_rank_ == 0 ? i : p_ - 1 - i, setting, approved);
  }
}

/// The rank's I of the earliest chunk that is ready, or its F of the latest, and W's before it.
void WavePlayer::run_round(WavePass pass, int rank, const WaveSetting& setting,
                           const std::vector<Ticks>& approved) {
  const bool is_input = pass == WavePass::Input;
  int chunk = is_input ? 0 : v_ - 1;
  while (chunk >= 0 && chunk < v_ && !is_ready(pass, chunk, rank)) chunk += is_input ? 1 : -1;
  if (chunk < 0 || chunk == v_) return;
  const Ticks arrival = input_end(pass, chunk, rank, count(pass, chunk, rank)) + kMessageTime;
  const auto gap = [&] { return arrival - clock_[at(rank)]; };
  while (has_weights(rank) && gap() >= next_weight_time(rank)) issue_weight(rank);
  if (is_input && setting.on_last && rank == last_rank_)
    while (has_weights(rank) && 5 * gap() >= next_weight_time(rank)) issue_weight(rank);
  const Ticks worst = std::max(longest_idle_, most_approved_ - approved[at(rank)]);
  const bool fills = is_input ? setting.before_input : setting.before_forward;
  if (fills && has_weights(rank) && gap() > worst - idle_[at(rank)]) issue_weight(rank);
  issue(pass, chunk, rank);
}

void WavePlayer::issue(WavePass pass, int chunk, int rank) {
  int& done = done_[lane(pass, chunk, rank)];
  const Ticks time = time_of(pass, chunk, rank);
  Ticks start = clock_[at(rank)];
  if (pass != WavePass::Weight) start = std::max(start, input_end(pass, chunk, rank, done) + kMessageTime);
  if (!queues_[at(rank)].empty()) idle_[at(rank)] += start - clock_[at(rank)];
  longest_idle_ = std::max(longest_idle_, idle_[at(rank)]);
  clock_[at(rank)] = start + time;
  end_[lane(pass, chunk, rank) * static_cast<std::size_t>(m_) + static_cast<std::size_t>(done)] =
      start + time;
  const Stage stage(chunk * p_ + (chunk % 2 == 0 ? rank : p_ - 1 - rank));
  queues_[at(rank)].emplace_back(kKinds[static_cast<std::size_t>(pass)], stage, Microbatch(done));
  if (pass == WavePass::Input) weights_[at(rank)].push_back(chunk);
  ++done;
}

void WavePlayer::issue_weight(int rank) {
  issue(WavePass::Weight, weights_[at(rank)][weights_done_[at(rank)]++], rank);
}

/// True if the next microbatch of the chunk has its input, and the chunk in front of it on this rank, or its own forward, is through.
bool WavePlayer::is_ready(WavePass pass, int chunk, int rank) const {
  const int next = count(pass, chunk, rank);
  if (next >= m_ || input_end(pass, chunk, rank, next) == kNotYet) return false;
  if (pass == WavePass::Forward) return chunk == 0 || count(pass, chunk - 1, rank) > next;
  return (chunk + 1 < v_ ? count(pass, chunk + 1, rank) : count(WavePass::Forward, chunk, rank)) > next;
}

bool WavePlayer::ends_by(int chunk, int rank, Ticks limit) const {
  const Ticks input = input_end(WavePass::Forward, chunk, rank, count(WavePass::Forward, chunk, rank));
  return std::max(clock_[at(rank)], input + kMessageTime) + time_of(WavePass::Forward, chunk, rank) <= limit;
}

int WavePlayer::forwards_of(int rank, int chunks) const {
  int sum = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) sum += count(WavePass::Forward, chunk, rank);
  return sum;
}

/// When the neighbour's pass of this kind and chunk ended; 0 where the wave turns: is_ready() looks at the rank itself.
Ticks WavePlayer::input_end(WavePass pass, int chunk, int rank, int microbatch) const {
  const bool from_below = (pass == WavePass::Forward) == (chunk % 2 == 0);
  const int neighbour = from_below ? rank - 1 : rank + 1;
  if (neighbour < 0 || neighbour >= p_) return 0;
  return end_[lane(pass, chunk, neighbour) * static_cast<std::size_t>(m_) +
              static_cast<std::size_t>(microbatch)];
}

/// The shortest of the runs with this setting: again and again, as long as the longest idle time falls.
void try_setting(WavePlayer& player, const WaveSetting& setting, int ranks, Ticks& shortest,
                 std::vector<std::vector<Op>>& best) {
  std::vector<Ticks> approved(static_cast<std::size_t>(ranks), -1);
  for (bool again = true; again;) {
    player.play(setting, approved);
    if (player.makespan() < shortest) {
      shortest = player.makespan();
      best = player.queues();
    }
    const Ticks before = *std::ranges::max_element(approved);
    again = before < 0 || player.longest_idle() < before;
    approved = player.idle();
  }
}

Schedule emit(const Params& params, const Terms& /*terms*/, Emission& emission) {
  WavePlayer player(params, emission.progress);
  Ticks shortest = kMaxTicks;
  std::vector<std::vector<Op>> best;
  for (const bool before_input : {true, false})
    for (const bool before_forward : {true, false})
      for (const bool on_last : {true, false})
        try_setting(player, {before_input, before_forward, on_last}, params.ranks, shortest, best);

  ScheduleBuilder out(wave_placement(params), params.microbatches);
  out.reserve(op_count(params.ranks * params.chunks, params.microbatches, 3));
  for (Rank rank{0}; rank < Rank(params.ranks); ++rank) {
    out.begin_rank(rank);
    for (const Op op : best[rank.at()]) out.add(op);
  }
  return std::move(out).build();
}

}  // namespace

Generator zbvpp() {
  return {
      .name = "zbvpp",
      .aliases = {alias("paddle-zbvpp",
                        {.stack = "Paddle's static graph", .one_round = true, .min_chunks = 2})},
      .summary = "zero bubble on a wave of v chunks a rank, in an order found for fixed times",
      .source =
          "PaddlePaddle 3.3.1, pipeline_scheduler_ZBVPP, after Qi et al. 2023, arXiv 2401.10241, section 6",
      .when_to_use =
          "What Paddle's static graph would run, which in 3.3.1 has jobs for m = p only. zbv-auto looks at "
          "your times and keeps a "
          "limit.",
      .requirements = {.min_chunks = 2,
                       .max_chunks = kMaxIndex,
                       .default_chunks = 2,
                       .splits_backward = true,
                       .text = "2 chunks or more, any ranks, any microbatches"},
      .closed_forms = {order_form("peak_live", "v", "m = 1",
                                  [](const Params& params, Rank) -> Value {
                                    if (params.microbatches != 1) return std::nullopt;
                                    return params.chunks;
                                  })},
      .placement = wave_placement,
      .emit = emit,
      .effort = {.per_op = 0.45e-6},  // up to eight settings are played
  };
}

}  // namespace pipeloom::schedules
