#include "schedules/zbv_auto_order.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <pipeloom/error.hpp>
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

namespace {

/// When an input arrives that the rank makes itself: whatever its clock says, it is there.
constexpr Ticks kAlreadyThere = std::numeric_limits<Ticks>::min() / 2;

std::size_t product(int a, int b, std::size_t c) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * c;
}

}  // namespace

ZbvAutoRun::ZbvAutoRun(const Terms& terms, int ranks, int microbatches, std::span<const Bytes> limit)
    : ranks_(ranks),
      microbatches_(microbatches),
      states_(static_cast<std::size_t>(ranks)),
      end_(product(ranks, microbatches, kZbvChainPasses)),
      weights_(product(ranks, microbatches, 2)),
      order_(product(ranks, microbatches, kZbvPasses)),
      is_postponed_(static_cast<std::size_t>(ranks)) {
  const auto& of_kind = terms.costs.duration;
  for (std::size_t r = 0; r < states_.size(); ++r) {
    RankState& here = states_[r];
    const std::size_t s0 = r;
    const std::size_t s1 = 2 * states_.size() - 1 - r;
    const auto& forward = of_kind[index_of(OpKind::Forward)];
    const auto& input = of_kind[index_of(OpKind::BackwardInput)];
    const auto& weight = of_kind[index_of(OpKind::BackwardWeight)];
    const auto& activation = terms.memory.activation;
    const auto& released = terms.memory.released_at_input;
    here.duration = {forward[s0], forward[s1], input[s1], input[s0], weight[s0], weight[s1]};
    here.bytes = {activation[s0],
                  activation[s1],
                  -released[s1],
                  -released[s0],
                  released[s0] - activation[s0],
                  released[s1] - activation[s1]};
    here.delay = {terms.costs.forward_delay[s0], terms.costs.forward_delay[s1],
                  terms.costs.backward_delay[s1], terms.costs.backward_delay[s0]};
    here.limit = limit[r];
    here.spare = std::max({Bytes{0}, here.size(ZbvPass::Input0), here.size(ZbvPass::Input1)});
    for (const Ticks duration : here.duration) here.work += duration * microbatches;
    most_work_ = std::max(most_work_, here.work);
    for (const auto* of_slot : {&forward, &input, &weight})
      has_equal_stages_ &= (*of_slot)[s0] == of_slot->front() && (*of_slot)[s1] == of_slot->front();
  }
}

std::optional<ZbvAutoShortage> ZbvAutoRun::shortage() const {
  for (int r = 0; r < ranks_; ++r)
    if (state(r).limit < state(r).smallest_limit())
      return ZbvAutoShortage{.rank = Rank(r), .limit = state(r).limit, .needed = state(r).smallest_limit()};
  return {};
}

std::vector<Ticks> ZbvAutoRun::idle() const {
  std::vector<Ticks> idle;
  for (const RankState& here : states_) idle.push_back(here.idle);
  return idle;
}

void ZbvAutoRun::reset(std::span<const Ticks> approved) {
  const Ticks worst = approved.empty() ? 0 : *std::max_element(approved.begin(), approved.end());
  for (std::size_t r = 0; r < states_.size(); ++r) {
    RankState& here = states_[r];
    here.done = {};
    here.held = 0;
    here.clock = 0;
    here.idle = here.work - most_work_;
    here.approved = approved.empty() ? 0 : worst - approved[r];
    here.end_of_order = order_.data() + r * (order_.size() / states_.size());
    here.end_of_pending = weights_.data() + r * (weights_.size() / states_.size());
    here.pending = here.end_of_pending;
  }
  bubble_ = 0;
  passes_left_ = static_cast<std::int64_t>(end_.size());
}

bool ZbvAutoRun::play(ZbvAutoSetting setting, ZbvWarmUp how, std::span<const Ticks> approved, Ticks bound) {
  setting_ = setting;
  reset(approved);
  warm_up(how);
  level();
  while (passes_left_ > 0 && bubble_ < bound) {
    const auto before = passes_left_;
    issue_inputs();
    issue_forwards();
    if (passes_left_ == before) throw InternalError("a round of the ZB-V rule issues nothing");
  }
  if (bubble_ >= bound) return false;
  for (int r = 0; r < ranks_; ++r)
    while (state(r).has_pending()) issue_weight(r);
  return true;
}

// ---- which pass comes next

void ZbvAutoRun::warm_up(ZbvWarmUp how) {
  for (int r = 0; r < ranks_; ++r) issue_forward(r, ZbvPass::Forward0);
  for (int r = ranks_ - 1; r >= 0; --r) {
    while (r < ranks_ - 1 && takes_another(r, how))
      for (int feeding = 0; feeding <= r; ++feeding) issue_forward(feeding, ZbvPass::Forward0);
    issue_forward(r, ZbvPass::Forward1);
  }
}

/// True if the rank has time for one more forward before its first one of chunk 1, and all ranks that feed it have room for it.
bool ZbvAutoRun::takes_another(int rank, ZbvWarmUp how) const {
  const RankState& here = state(rank);
  if (here.count(ZbvPass::Forward0) == microbatches_) return false;
  const Ticks first_up = arrival(rank, ZbvPass::Forward1);
  if (how == ZbvWarmUp::MayOverrun && here.clock >= first_up) return false;
  if (how == ZbvWarmUp::EndsInTime && here.clock + here.time(ZbvPass::Forward0) > first_up) return false;
  for (int feeding = 0; feeding <= rank; ++feeding)
    if (!state(feeding).has_room_to_warm_up(feeding)) return false;
  return true;
}

/// Levelling will add up to `rank` forwards of either chunk to this one and the first of chunk 1.
bool ZbvAutoRun::RankState::has_room_to_warm_up(int rank) const {
  return held + (rank + 1) * (size(ZbvPass::Forward0) + size(ZbvPass::Forward1)) + spare <= limit;
}

/// Goes through chunk 0 and chunk 1 in turn, over all ranks from the last one on; gives up on a rank where neither can go on.
void ZbvAutoRun::level() {
  ZbvPass pass = ZbvPass::Forward0;
  for (int r = 1; r < ranks_; ++r) {
    int in_vain = 0;
    while (in_vain < 2 && is_behind(r)) {
      const auto before = passes_left_;
      for (int later = ranks_ - 1; later >= r; --later)
        if (is_ready(later, pass)) issue_forward(later, pass);
      in_vain = passes_left_ == before ? in_vain + 1 : 0;
      pass = pass == ZbvPass::Forward0 ? ZbvPass::Forward1 : ZbvPass::Forward0;
    }
  }
}

bool ZbvAutoRun::is_behind(int rank) const {
  const RankState& here = state(rank);
  const RankState& earlier = state(rank - 1);
  const auto forwards = [](const RankState& of) {
    return of.count(ZbvPass::Forward0) + of.count(ZbvPass::Forward1);
  };
  if (forwards(here) < forwards(earlier)) return true;
  const int earlier_up = earlier.count(ZbvPass::Forward1);
  return here.count(ZbvPass::Forward1) <= earlier_up && earlier_up < microbatches_;
}

/// All ranks choose by what was done before the round. Gradients of chunk 0 come from later ranks, those of chunk 1 from earlier
/// ones: so chunk 0 goes first and backwards.
void ZbvAutoRun::issue_inputs() {
  int done_before = 0;  // I of chunk 0 on the next rank, before this round
  for (int r = ranks_ - 1; r >= 0; --r) {
    const ZbvPass pass = input_of_round(r, done_before);
    done_before = state(r).count(ZbvPass::Input0);
    const bool is_done = pass == ZbvPass::Input0 && issue_input(r, pass);
    is_postponed_[static_cast<std::size_t>(r)] = is_done ? 0 : 1;
  }
  for (int r = 0; r < ranks_; ++r) {
    if (is_postponed_[static_cast<std::size_t>(r)] == 0) continue;
    if (!issue_input(r, ZbvPass::Input1)) issue_input(r, ZbvPass::Input0);
  }
}

/// The two chunks in turn, chunk 1 first; but chunk 1 again where the gradient of chunk 0 is not there yet.
ZbvPass ZbvAutoRun::input_of_round(int rank, int done_before) const {
  const RankState& here = state(rank);
  const int done0 = here.count(ZbvPass::Input0);
  const int done1 = here.count(ZbvPass::Input1);
  if (done1 <= done0) return ZbvPass::Input1;
  const bool is_there = rank == ranks_ - 1 || done_before > done0;
  return is_there || done1 == microbatches_ ? ZbvPass::Input0 : ZbvPass::Input1;
}

void ZbvAutoRun::issue_forwards() {
  for (int r = 0; r < ranks_; ++r)
    if (const auto pass = forward_of_round(r)) issue_forward(r, *pass);
}

/// Chunk 1 as soon as it can run, else chunk 0.
std::optional<ZbvPass> ZbvAutoRun::forward_of_round(int rank) const {
  if (is_ready(rank, ZbvPass::Forward1)) return ZbvPass::Forward1;
  if (is_ready(rank, ZbvPass::Forward0)) return ZbvPass::Forward0;
  return {};
}

// ---- whether it can run, and when

/// The rank whose pass of the same name makes the input; `rank` itself where the chain turns.
int ZbvAutoRun::feeder(int rank, ZbvPass pass) const {
  const bool goes_up = pass == ZbvPass::Forward0 || pass == ZbvPass::Input1;
  return goes_up ? std::max(rank - 1, 0) : std::min(rank + 1, ranks_ - 1);
}

/// True if there is a microbatch left for the pass, and its input is made.
bool ZbvAutoRun::is_ready(int rank, ZbvPass pass) const {
  const int next = state(rank).count(pass);
  if (next == microbatches_) return false;
  const int from = feeder(rank, pass);
  if (from != rank) return state(from).count(pass) > next;
  // Where the chain turns, the pass before it in the chain made the input on the same rank.
  return pass == ZbvPass::Forward0 || state(rank).done[static_cast<std::size_t>(pass) - 1] > next;
}

/// REQUIRES: is_ready().
Ticks ZbvAutoRun::arrival(int rank, ZbvPass pass) const {
  const int from = feeder(rank, pass);
  if (from == rank) return kAlreadyThere;
  const RankState& here = state(rank);
  return end_[end_index(pass, from, here.count(pass))] + here.delay[static_cast<std::size_t>(pass)];
}

/// True if this forward can be issued once the W of all finished I have run: (1) its bytes fit, and (2) once all microbatches
/// that have both forwards on this rank are done, the next one can run its forward of chunk 1. Then the next pass of a microbatch
/// fits once all older microbatches are done: the oldest one never gets stuck.
bool ZbvAutoRun::RankState::keeps_room(ZbvPass forward) const {
  const Bytes bytes0 = size(ZbvPass::Forward0);
  const Bytes bytes1 = size(ZbvPass::Forward1);
  const int live0 = count(ZbvPass::Forward0) - count(ZbvPass::Input0);
  const int live1 = count(ZbvPass::Forward1) - count(ZbvPass::Input1);
  if (live0 * bytes0 + live1 * bytes1 + size(forward) + spare > limit) return false;
  const int half_way = count(ZbvPass::Forward0) - count(ZbvPass::Forward1) + 1;
  return forward == ZbvPass::Forward1 || half_way * bytes0 + bytes1 + spare <= limit;
}

// ---- issuing

/// False if it must not be issued now. REQUIRES: is_ready().
bool ZbvAutoRun::issue_forward(int rank, ZbvPass pass) {
  RankState& here = state(rank);
  if (!here.keeps_room(pass)) return false;
  while (here.held + here.size(pass) > here.limit) issue_weight(rank);
  const Ticks when = arrival(rank, pass);
  fill_gap(rank, when, setting_.fill_forward);
  issue(rank, pass, when);
  return true;
}

/// False if its input is not made yet.
bool ZbvAutoRun::issue_input(int rank, ZbvPass pass) {
  if (!is_ready(rank, pass)) return false;
  RankState& here = state(rank);
  while (here.held + here.size(pass) > here.limit) issue_weight(rank);
  const Ticks when = arrival(rank, pass);
  fill_gap(rank, when, pass == ZbvPass::Input0 || setting_.fill_backward);
  issue(rank, pass, when);
  *here.end_of_pending++ = pass == ZbvPass::Input0 ? ZbvPass::Weight0 : ZbvPass::Weight1;
  return true;
}

void ZbvAutoRun::issue(int rank, ZbvPass pass, Ticks arrival) {
  RankState& here = state(rank);
  if (arrival > here.clock) {
    if (here.count(ZbvPass::Forward0) > 0) here.idle += arrival - here.clock;
    bubble_ = std::max(bubble_, here.idle);
    here.clock = arrival;
  }
  here.clock += here.time(pass);
  here.held += here.size(pass);
  end_[end_index(pass, rank, here.count(pass))] = here.clock;
  ++here.done[static_cast<std::size_t>(pass)];
  *here.end_of_order++ = pass;
  --passes_left_;
}

/// The oldest. REQUIRES: one is pending.
void ZbvAutoRun::issue_weight(int rank) {
  RankState& here = state(rank);
  const ZbvPass weight = *here.pending++;
  here.clock += here.time(weight);
  here.held += here.size(weight);
  *here.end_of_order++ = weight;
}

/// Issues the W that end before `arrival`; if idle time is left that the rank must not afford, one more with `overfill`.
void ZbvAutoRun::fill_gap(int rank, Ticks arrival, bool overfill) {
  RankState& here = state(rank);
  while (here.has_pending() && here.clock + here.time(*here.pending) <= arrival) issue_weight(rank);
  const Ticks affordable = std::max(bubble_, here.approved) - here.idle;
  if (overfill && here.has_pending() && arrival - here.clock > affordable) issue_weight(rank);
}

}  // namespace pipeloom::schedules
