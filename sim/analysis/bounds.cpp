#include "sim/analysis/bounds.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/base/table_size.hpp"
#include "sim/dependency.hpp"
#include "sim/kinds.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom {

namespace {

/// The best sum of a tail and all work of at least that tail, over the tails up to the largest that has work.
///
/// Work is added to all tails up to its own, so a tail that is no better than a smaller one never will be: only those that beat all smaller
/// ones are kept, each with how much it beats the one before. Adding work narrows a single gap, and each tail is dropped at most once.
class BestTail {
 public:
  /// REQUIRES: sorted, each once.
  explicit BestTail(const std::vector<Ticks>& tails)
      : tails_(tails), lead_(tails), before_(tails.size()), after_(tails.size()) {
    std::adjacent_difference(tails.begin(), tails.end(), lead_.begin());
    for (std::size_t i = 0; i < tails.size(); ++i) {
      before_[i] = static_cast<std::uint32_t>(i);
      after_[i] = static_cast<std::uint32_t>(i + 1);
    }
  }

  /// Adds the work to all tails up to number `last`.
  void add_work(std::size_t last, Ticks work) {
    const std::size_t kept = last_kept(last);
    if (last >= reached_) {
      // Tails beyond those reached so far have no work yet.
      if (kept >= reached_) best_ = {kept, tails_[kept]};
      reached_ = last + 1;
    }
    if (best_.tail <= last) best_.value += work;
    narrow(kept, work);
  }
  [[nodiscard]] Ticks best() const { return best_.value; }

 private:
  struct Best {
    std::size_t tail = 0;
    Ticks value = 0;
  };

  /// The largest kept tail up to this one. The first tail is always kept.
  [[nodiscard]] std::size_t last_kept(std::size_t tail) {
    std::size_t kept = tail;
    while (before_[kept] != kept) kept = before_[kept];
    while (before_[tail] != kept) tail = std::exchange(before_[tail], static_cast<std::uint32_t>(kept));
    return kept;
  }

  /// The tail after `kept` leads by `work` less; drops it if it leads no more, and those after it.
  void narrow(std::size_t kept, Ticks work) {
    for (std::size_t next = after_[kept]; next < tails_.size(); next = after_[kept]) {
      lead_[next] -= work;
      if (lead_[next] > 0) return;
      if (best_.tail == next) best_ = {kept, best_.value - lead_[next]};
      work = -lead_[next];
      before_[next] = static_cast<std::uint32_t>(kept);
      after_[kept] = after_[next];
    }
  }

  const std::vector<Ticks>& tails_;
  std::vector<Ticks> lead_;            // [tail] over the kept one before
  std::vector<std::uint32_t> before_;  // [tail] itself if it is kept, else one before it
  std::vector<std::uint32_t> after_;   // [kept tail] the next kept one
  std::size_t reached_ = 0;            // tails below this number may have work
  Best best_;                          // the last kept of these
};

/// max over sets {head >= h, tail >= t} of h + work + t. Jobs enter by falling head.
Ticks head_tail_bound(const std::vector<ChainJob>& jobs) {
  std::vector<Ticks> tails(jobs.size());
  std::transform(jobs.rbegin(), jobs.rend(), tails.begin(), [](const ChainJob& job) { return job.tail; });
  std::sort(tails.begin(), tails.end());
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
  BestTail best_tail(tails);
  Ticks best = 0;
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
    const auto place = std::lower_bound(tails.begin(), tails.end(), job->tail) - tails.begin();
    best_tail.add_work(static_cast<std::size_t>(place), job->work);
    if (std::next(job) == jobs.rend() || std::next(job)->head < job->head)
      best = std::max(best, job->head + best_tail.best());
  }
  return best;
}

void improve(LowerBound& bound, Ticks value, const char* name) {
  if (value > bound.value) bound = {value, name};
}

}  // namespace

LowerBound lower_bound(const Schedule& schedule, const Costs& costs, const Steps& steps, Ticks reached) {
  const Chains chains(schedule, costs);
  std::vector<RankChains> ranks;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) ranks.push_back(chains.of(rank));
  LowerBound bound{0, "rank-work"};
  const bool barrier = steps.rule == StepRule::Barrier;
  for (const RankChains& rank : ranks)
    improve(bound, rank.work + (barrier ? 0 : steps.optimizer), "rank-work");
  if (!barrier) return bound;
  // The set {head >= h, tail >= t} of a single entry holds that entry, so a chain never beats the best set: it comes first to give
  // the bound its simpler name where both agree.
  for (const RankChains& rank : ranks) improve(bound, rank.longest, "microbatch-chain");
  constexpr const char* kSet = "rank-head-tail";
  const auto of_all = [&](Rank rank) {
    return ranks[rank.at()].head + ranks[rank.at()].work + ranks[rank.at()].tail;
  };
  std::vector<Rank> promising;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) promising.push_back(rank);
  std::sort(promising.begin(), promising.end(), [&](Rank a, Rank b) { return of_all(a) > of_all(b); });
  for (const Rank rank : promising) {
    improve(bound, of_all(rank), kSet);
    if (bound.value >= reached) break;
    improve(bound, head_tail_bound(chains.jobs(rank)), kSet);
  }
  return bound;
}

namespace {

/// Entries of one stage and kind mostly share head and tail: those that are merged here need not be sorted.
void add(const ChainJob& job, std::vector<ChainJob>& jobs) {
  constexpr std::size_t kRecent = 8;
  const std::size_t oldest = jobs.size() - std::min(jobs.size(), kRecent);
  for (std::size_t i = jobs.size(); i > oldest; --i) {
    ChainJob& known = jobs[i - 1];
    if (known.head != job.head || known.tail != job.tail) continue;
    known.work += job.work;
    known.longest = std::max(known.longest, job.longest);
    return;
  }
  jobs.push_back(job);
}

void merge(std::vector<ChainJob>& jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const ChainJob& a, const ChainJob& b) {
    return a.head != b.head ? a.head < b.head : a.tail < b.tail;
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    if (jobs[i].head != jobs[kept].head || jobs[i].tail != jobs[kept].tail) {
      jobs[++kept] = jobs[i];
      continue;
    }
    jobs[kept].work += jobs[i].work;
    jobs[kept].longest = std::max(jobs[kept].longest, jobs[i].longest);
  }
  if (!jobs.empty()) jobs.resize(kept + 1);
}

/// Kinds of ops that every unit (a slice of a microbatch) has on every stage.
class UnitKinds {
 public:
  explicit UnitKinds(const Schedule& schedule)
      : schedule_(schedule), stages_(static_cast<std::size_t>(schedule.stages())) {
    for (const OpKind kind : kAllOpKinds)
      if (schedule.contains(kind)) kinds_ |= 1U << index_of(kind);
    const auto units = static_cast<std::size_t>(schedule.units());
    all_alike_ = count_of_cells(schedule.num_ops()) == count_of_cells(stages_, units, num_kinds()) &&
                 !has_both_backwards();
    if (all_alike_) return;
    kinds_of_.assign(table_size(stages_, units), 0);
    for (const Op op : schedule.ops())
      kinds_of_[schedule.unit_of(op) * stages_ + op.stage().at()] |=
          static_cast<std::uint16_t>(1U << index_of(op.kind()));
  }

  /// Every unit has every kind of the schedule on every stage.
  [[nodiscard]] bool all_alike() const { return all_alike_; }
  [[nodiscard]] bool has(OpKind kind, std::size_t unit, std::size_t stage) const {
    const unsigned kinds = all_alike_ ? kinds_ : kinds_of_[unit * stages_ + stage];
    return (kinds >> index_of(kind) & 1U) != 0;
  }

 private:
  [[nodiscard]] std::size_t num_kinds() const {
    return static_cast<std::size_t>(std::count_if(kAllOpKinds.begin(), kAllOpKinds.end(),
                                                  [&](OpKind kind) { return schedule_.contains(kind); }));
  }
  [[nodiscard]] bool has_both_backwards() const {
    return schedule_.contains(OpKind::Backward) && schedule_.contains(OpKind::BackwardInput);
  }

  const Schedule& schedule_;
  std::size_t stages_;
  unsigned kinds_ = 0;
  bool all_alike_ = false;
  std::vector<std::uint16_t>
      kinds_of_;  // [unit * stages + stage], bit k: an op of kind k; empty if all are alike
};

/// Chains of one unit at a time: forward through the stages, back through them, and a side branch at each stage that ends there: W, R. Where all
/// stages share the output layer, S and T of all of them come between the two ways.
class UnitChains {
 public:
  UnitChains(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule),
        costs_(costs),
        kinds_(schedule),
        turning_(turning_kind(schedule)),
        stages_(schedule.stages()) {
    jobs_.resize(static_cast<std::size_t>(schedule.ranks()));
    pass_.resize(static_cast<std::size_t>(stages_));
  }

  std::vector<std::vector<ChainJob>> run() && {
    const int alike = kinds_.all_alike() && costs_.microbatch_scale.empty() ? units_alike() : 0;
    for (Microbatch k{0}; k < Microbatch(schedule_.microbatches()); ++k)
      for (int slice = 0; slice < schedule_.slices(); ++slice) {
        if (alike == 0) {
          add_unit(k, slice, 1);
        } else if (Ticks& count = counts_[kind_of_unit(k, slice)]; count > 0) {
          add_unit(k, slice, count);
          count = 0;
        }
      }
    return std::move(jobs_);
  }

 private:
  /// A stage's part of the chain: its forward and the op that carries its gradient.
  struct Pass {
    Ticks forward = 0;  // durations
    Ticks gradient = 0;
    Ticks weight = 0;
    Ticks again = 0;  // R
    Ticks output = 0;
    Ticks output_weight = 0;
    Ticks forward_delay = 0;  // of what F waits for
    Ticks gradient_delay = 0;
    Ticks forward_head = 0;
    Ticks gradient_head = 0;
    bool has_forward = false;
    bool has_gradient = false;
    bool is_split = false;
    bool has_recompute = false;
  };

  /// Units of the same replica and slice cost the same. Counts them; returns how many kinds there are.
  int units_alike() {
    counts_.assign(static_cast<std::size_t>(schedule_.placement().replicas()) *
                       static_cast<std::size_t>(schedule_.slices()),
                   0);
    for (Microbatch k{0}; k < Microbatch(schedule_.microbatches()); ++k)
      for (int slice = 0; slice < schedule_.slices(); ++slice) ++counts_[kind_of_unit(k, slice)];
    return static_cast<int>(counts_.size());
  }
  [[nodiscard]] std::size_t kind_of_unit(Microbatch k, int slice) const {
    return static_cast<std::size_t>(schedule_.replica_of(k).value()) *
               static_cast<std::size_t>(schedule_.slices()) +
           static_cast<std::size_t>(slice);
  }

  void add_unit(Microbatch k, int slice, Ticks count) {
    read_passes(k, slice);
    find_heads();
    add_jobs(k, count);
  }

  [[nodiscard]] Slot slot(std::int32_t stage, Microbatch k) const {
    return schedule_.placement().slot_of(Stage(stage), schedule_.replica_of(k));
  }
  [[nodiscard]] Pass& at(std::int32_t stage) { return pass_[static_cast<std::size_t>(stage)]; }

  void read_passes(Microbatch k, int slice) {
    const std::size_t unit =
        k.at() * static_cast<std::size_t>(schedule_.slices()) + static_cast<std::size_t>(slice);
    for (std::int32_t s = 0; s < stages_; ++s) {
      const auto has = [&](OpKind kind) { return kinds_.has(kind, unit, static_cast<std::size_t>(s)); };
      const auto duration = [&](OpKind kind) {
        return costs_.table_duration(Op(kind, Stage(s), k).with_slice(slice), slot(s, k));
      };
      Pass& pass = at(s) = {};
      const auto delay = [&](OpKind kind) {
        return arrival_delay(costs_, Op(kind, Stage(s), k).with_slice(slice), slot(s, k));
      };
      pass.forward_delay = delay(OpKind::Forward);
      pass.gradient_delay = delay(OpKind::Backward);
      pass.has_forward = has(OpKind::Forward);
      pass.is_split = has(OpKind::BackwardInput);
      pass.has_gradient = pass.is_split || has(OpKind::Backward);
      pass.has_recompute = has(OpKind::Recompute);
      if (pass.has_forward) pass.forward = duration(OpKind::Forward);
      if (pass.has_gradient)
        pass.gradient = duration(pass.is_split ? OpKind::BackwardInput : OpKind::Backward);
      if (pass.is_split) pass.weight = duration(OpKind::BackwardWeight);
      if (pass.has_recompute) pass.again = duration(OpKind::Recompute);
      if (has(OpKind::Output)) pass.output = duration(OpKind::Output);
      if (has(OpKind::OutputWeight)) pass.output_weight = duration(OpKind::OutputWeight);
    }
    longest_output_ = longest_of(&Pass::output);
    longest_output_weight_ = longest_of(&Pass::output_weight);
  }
  [[nodiscard]] Ticks longest_of(Ticks Pass::*part) const {
    Ticks most = 0;
    for (const Pass& pass : pass_) most = std::max(most, pass.*part);
    return most;
  }
  /// From the sum over S to the last stage's backward.
  [[nodiscard]] Ticks second_sum() const {
    return turning_ == OpKind::OutputWeight ? longest_output_weight_ : 0;
  }

  void find_heads() {
    for (std::int32_t s = 1; s < stages_; ++s)
      at(s).forward_head = at(s - 1).forward_head + at(s - 1).forward + at(s).forward_delay;
    for (std::int32_t s = stages_ - 1; s >= 0; --s) {
      const bool last = s + 1 == stages_;
      const Ticks before = last ? at(s).forward_head + at(s).forward + longest_output_ + second_sum()
                                : at(s + 1).gradient_head + at(s + 1).gradient;
      at(s).gradient_head = before + at(s).gradient_delay;
    }
  }

  /// Tails grow from the first stage's gradient to the first stage's forward.
  void add_jobs(Microbatch k, Ticks count) {
    Ticks tail = 0;
    for (std::int32_t s = 0; s < stages_; ++s) {
      const Pass& pass = at(s);
      if (!pass.has_gradient) continue;
      if (pass.is_split) add_job(s, k, pass.gradient_head + pass.gradient, pass.weight, 0, count);
      tail = std::max(tail, pass.weight);
      add_job(s, k, pass.gradient_head, pass.gradient, tail, count);
      tail += pass.gradient + pass.gradient_delay;
    }
    if (turning_ != OpKind::Forward) tail = add_output_jobs(k, tail, count);
    for (std::int32_t s = stages_ - 1; s >= 0; --s) {
      const Pass& pass = at(s);
      if (!pass.has_forward) continue;
      if (pass.has_recompute) add_job(s, k, pass.forward_head + pass.forward, pass.again, 0, count);
      tail = std::max(tail, pass.again);
      add_job(s, k, pass.forward_head, pass.forward, tail, count);
      tail += pass.forward + pass.forward_delay;
    }
  }

  /// S and T of all stages. `tail`: from the start of the last stage's backward. Returns that from the end of its forward.
  Ticks add_output_jobs(Microbatch k, Ticks tail, Ticks count) {
    const Ticks head = at(stages_ - 1).forward_head + at(stages_ - 1).forward;
    const Ticks behind_sum = std::max(longest_output_weight_, second_sum() + tail);
    for (std::int32_t s = 0; s < stages_; ++s) {
      add_job(s, k, head, at(s).output, behind_sum, count);
      add_job(s, k, head + longest_output_, at(s).output_weight, turning_ == OpKind::OutputWeight ? tail : 0,
              count);
    }
    return longest_output_ + behind_sum;
  }

  void add_job(std::int32_t stage, Microbatch k, Ticks head, Ticks duration, Ticks tail, Ticks count) {
    add({head, tail, duration * count, duration}, jobs_[schedule_.placement().rank_of(slot(stage, k)).at()]);
  }

  const Schedule& schedule_;
  const Costs& costs_;
  UnitKinds kinds_;
  OpKind turning_;
  Ticks longest_output_ = 0;  // of the unit at hand, over its stages
  Ticks longest_output_weight_ = 0;
  std::int32_t stages_;
  std::vector<Pass> pass_;     // [stage], of the unit at hand
  std::vector<Ticks> counts_;  // [replica * slices + slice] units that are alike and not yet added
  std::vector<std::vector<ChainJob>> jobs_;  // [rank]
};

}  // namespace

Chains::Chains(const Schedule& schedule, const Costs& costs) : schedule_(schedule), costs_(costs) {
  if (schedule.has_groups() || schedule.has_copies() || !costs.per_op.empty())
    entries_ = entry_chains(schedule, costs);
  else
    jobs_ = UnitChains(schedule, costs).run();
}

template <class Fn>
void Chains::for_each_job(Rank rank, Fn&& fn) const {
  if (!jobs_.empty()) {
    for (const ChainJob& job : jobs_[rank.at()]) fn(job);
    return;
  }
  const EntryChain* chain = entries_[rank.at()].data();
  for_each_entry(schedule_, schedule_.queue_begin(rank), schedule_.queue_end(rank),
                 [&](std::size_t first, std::size_t last) {
                   if (is_copy(schedule_.ops()[first].kind())) return;
                   const Ticks duration = costs_.entry_duration(schedule_, first, last);
                   fn(ChainJob{chain->head, chain->tail, duration, duration});
                   ++chain;
                 });
}

RankChains Chains::of(Rank rank) const {
  RankChains all{.head = kMaxTicks, .tail = kMaxTicks};
  for_each_job(rank, [&](const ChainJob& job) {
    all.any = true;
    all.head = std::min(all.head, job.head);
    all.tail = std::min(all.tail, job.tail);
    all.work += job.work;
    all.longest = std::max(all.longest, job.head + job.longest + job.tail);
  });
  return all.any ? all : RankChains{};
}

std::vector<ChainJob> Chains::jobs(Rank rank) const {
  std::vector<ChainJob> jobs;
  for_each_job(rank, [&](const ChainJob& job) { add(job, jobs); });
  merge(jobs);
  return jobs;
}

}  // namespace pipeloom
