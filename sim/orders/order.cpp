#include "sim/orders/order.hpp"

#include <algorithm>
#include <array>

#include "sim/kinds.hpp"

namespace pipeloom::orders {
namespace {

/// Adds the letters of one op; false where it is of another kind.
bool add_letters(Op op, std::size_t chunk, std::vector<Letter>& word) {
  switch (op.kind()) {
    case OpKind::Forward:
      word.push_back(letter(chunk, kForward));
      return true;
    case OpKind::BackwardInput:
      word.push_back(letter(chunk, kInput));
      return true;
    case OpKind::BackwardWeight:
      word.push_back(letter(chunk, kWeight));
      return true;
    case OpKind::Backward:
      word.push_back(letter(chunk, kInput));
      word.push_back(letter(chunk, kWeight));
      return true;
    default:
      // An R before a backward comes back with it.
      return kTakesDropped.has(op.kind());
  }
}

bool add_ops(const Problem& problem, std::span<const Op> ops, std::vector<Letter>& word) {
  return std::ranges::all_of(ops, [&](Op op) {
    return kCopies.has(op.kind()) || add_letters(op, problem.stages[op.stage().at()].chunk, word);
  });
}

/// Adds an F and a B that the problem has as a pair; false where they are none.
bool add_pair(const Problem& problem, std::span<const Op> ops, Order& out, std::size_t rank) {
  if (problem.pairs.empty() || ops.size() != 2) return false;
  const bool forward_first = ops.front().kind() == OpKind::Forward;
  const Op forward = forward_first ? ops.front() : ops.back();
  const Op backward = forward_first ? ops.back() : ops.front();
  if (forward.kind() != OpKind::Forward || backward.kind() != OpKind::Backward ||
      problem.pair(forward.stage().at(), backward.stage().at()) == kMaxTicks)
    return false;
  out.pairs[rank].push_back(static_cast<std::uint32_t>(out.words[rank].size()));
  return add_ops(problem, std::array{forward, backward}, out.words[rank]);
}

bool same_placement(const Problem& problem, const Placement& placement) {
  if (placement.replicas() != 1 || static_cast<std::size_t>(placement.stages()) != problem.stages.size() ||
      static_cast<std::size_t>(placement.ranks()) != problem.ranks())
    return false;
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage)
    if (placement.rank_of(stage).at() != problem.stages[stage.at()].rank) return false;
  return true;
}

/// Bytes that each letter of a rank takes at its start and gives back at its end, and the most at once.
class Account {
 public:
  Account(const Problem& problem, std::size_t rank) : problem_(problem), rank_(rank) {}

  void add(Letter next) {
    const StageWork& work = problem_.at(rank_, chunk_of(next));
    if (pass_of(next) == kForward) held_ += work.held;
    most_ = std::max(most_, held_);
    if (pass_of(next) == kInput) held_ += work.kept - work.held;
    if (pass_of(next) == kWeight) held_ -= work.kept;
    most_ = std::max(most_, held_);
  }
  [[nodiscard]] Bytes most() const { return most_; }

 private:
  const Problem& problem_;
  std::size_t rank_;
  Bytes held_ = 0;
  Bytes most_ = 0;
};

Bytes peak_of(const Problem& problem, std::size_t rank, std::span<const Letter> word) {
  Account account(problem, rank);
  for (const Letter next : word) account.add(next);
  return account.most();
}

/// Runs all words as far as they go: a rank that waits is woken by the op that it waits for.
class Playback {
 public:
  Playback(const Problem& problem, const Order& order)
      : problem_(problem),
        order_(order),
        at_(problem.ranks()),
        clock_(problem.ranks()),
        count_(3 * problem.stages.size()),
        end_(problem.num_ops()) {}

  std::optional<std::vector<Ticks>> run() {
    for (std::size_t rank = problem_.ranks(); rank-- > 0;) ready_.push_back(rank);
    while (!ready_.empty()) {
      const std::size_t rank = ready_.back();
      ready_.pop_back();
      while (at_[rank] < order_.words[rank].size() && step(rank)) {
      }
    }
    for (std::size_t rank = 0; rank < problem_.ranks(); ++rank)
      if (at_[rank] != order_.words[rank].size()) return std::nullopt;
    return std::move(clock_);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  [[nodiscard]] std::size_t row(std::size_t stage, Pass pass) const { return 3 * stage + pass; }
  /// The row whose k-th op the k-th of this one waits for.
  [[nodiscard]] std::size_t producer(std::size_t stage, Pass pass) const {
    if (pass == kForward) return stage == 0 ? kNone : row(stage - 1, kForward);
    if (pass == kWeight) return row(stage, kInput);
    return stage + 1 == problem_.stages.size() ? row(stage, kForward) : row(stage + 1, kInput);
  }
  [[nodiscard]] Ticks arrival(std::size_t stage, Pass pass, std::size_t from, std::size_t k) const {
    const StageWork& work = problem_.stages[stage];
    const Ticks delay = pass == kForward ? work.forward_delay : pass == kInput ? work.gradient_delay : 0;
    return from == kNone ? 0 : end_[from * problem_.microbatches + k] + delay;
  }
  bool step(std::size_t rank) {
    const Letter next = order_.words[rank][at_[rank]];
    const Pass pass = pass_of(next);
    const std::size_t stage = problem_.stages_of[rank][chunk_of(next)];
    const std::size_t own = row(stage, pass);
    const std::size_t from = producer(stage, pass);
    const std::size_t k = count_[own];
    // I waits for its own F as well: the gradient of another rank may come before it in a word that makes no sense.
    if ((from != kNone && count_[from] <= k) || (pass == kInput && count_[row(stage, kForward)] <= k))
      return false;
    const StageWork& work = problem_.stages[stage];
    const Ticks duration = pass == kForward ? work.forward : pass == kInput ? work.input : work.weight;
    clock_[rank] = std::max(clock_[rank], arrival(stage, pass, from, k)) + duration;
    end_[own * problem_.microbatches + k] = clock_[rank];
    ++count_[own];
    ++at_[rank];
    wake(stage, pass);
    return true;
  }
  void wake(std::size_t stage, Pass pass) {
    if (pass == kForward && stage + 1 < problem_.stages.size())
      ready_.push_back(problem_.stages[stage + 1].rank);
    if (pass == kInput && stage > 0) ready_.push_back(problem_.stages[stage - 1].rank);
  }

  const Problem& problem_;
  const Order& order_;
  std::vector<std::size_t> at_;     // [rank]: next letter
  std::vector<Ticks> clock_;        // [rank]
  std::vector<std::size_t> count_;  // [row]: ops that ran
  std::vector<Ticks> end_;          // [row * m + k]
  std::vector<std::size_t> ready_;
};

/// Writes the queues of an order.
class Writer {
 public:
  Writer(const Problem& problem, const Placement& placement, const Order& order)
      : problem_(problem),
        order_(order),
        out_(placement, static_cast<int>(problem.microbatches)),
        count_(3 * problem.stages.size()),
        pending_(problem.stages.size()) {
    out_.reserve(problem.num_ops());
  }

  Schedule write() && {
    for (std::size_t rank = 0; rank < problem_.ranks(); ++rank) {
      out_.begin_rank(Rank(static_cast<int>(rank)));
      const auto& word = order_.words[rank];
      std::span<const std::uint32_t> pairs;
      if (!order_.pairs.empty()) pairs = order_.pairs[rank];
      for (std::size_t place = 0; place < word.size(); ++place) {
        if (pairs.empty() || pairs.front() != place) {
          add(rank, word[place]);
          continue;
        }
        const Op first = next_op(rank, word[place]);
        out_.add_pair(first, backward(stage_of(rank, word[place + 1]), next(rank, word[place + 1])));
        place += 2;  // its W is in the backward
        pairs = pairs.subspan(1);
      }
    }
    return std::move(out_).build();
  }

 private:
  [[nodiscard]] Stage stage_of(std::size_t rank, Letter letter) const {
    return Stage(static_cast<int>(problem_.stages_of[rank][chunk_of(letter)]));
  }
  /// The next microbatch of this pass.
  [[nodiscard]] Microbatch next(std::size_t rank, Letter letter) {
    return Microbatch(count_[3 * stage_of(rank, letter).at() + pass_of(letter)]++);
  }

  /// An op of its own. W are of the I that are alone: those of pairs have theirs with them.
  [[nodiscard]] Op next_op(std::size_t rank, Letter letter) {
    const Stage stage = stage_of(rank, letter);
    std::vector<Microbatch>& pending = pending_[stage.at()];
    const Microbatch microbatch =
        pass_of(letter) == kWeight && problem_.cut ? pending[next(rank, letter).at()] : next(rank, letter);
    if (pass_of(letter) == kForward) return forward(stage, microbatch);
    if (pass_of(letter) == kWeight) return backward_weight(stage, microbatch);
    pending.push_back(microbatch);
    return problem_.cut ? backward_input(stage, microbatch) : backward(stage, microbatch);
  }

  void add(std::size_t rank, Letter letter) {
    const Op op = next_op(rank, letter);
    if (op.kind() != OpKind::BackwardWeight || problem_.cut) out_.add(op);
  }

  const Problem& problem_;
  const Order& order_;
  ScheduleBuilder out_;
  std::vector<int> count_;                        // [3 * stage + pass]
  std::vector<std::vector<Microbatch>> pending_;  // [stage]: of I that are alone, in order
};

}  // namespace

std::optional<Order> order_of(const Problem& problem, const Schedule& schedule) {
  if (!same_placement(problem, schedule.placement()) || schedule.slices() != 1) return std::nullopt;
  Order out;
  out.words.resize(problem.ranks());
  if (!problem.pairs.empty()) out.pairs.resize(problem.ranks());
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    bool is_known = true;
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     const auto ops = schedule.ops().subspan(first, last - first);
                     is_known = is_known && (add_pair(problem, ops, out, rank.at()) ||
                                             add_ops(problem, ops, out.words[rank.at()]));
                   });
    if (!is_known) return std::nullopt;
  }
  return out;
}

Schedule schedule_of(const Problem& problem, const Placement& placement, const Order& order) {
  return Writer(problem, placement, order).write();
}

bool keeps_limit(const Problem& problem, std::size_t rank, std::span<const Letter> word) {
  return peak_of(problem, rank, word) <= problem.limit[rank];
}

bool keeps_limits(const Problem& problem, const Order& order) {
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank)
    if (!keeps_limit(problem, rank, order.words[rank])) return false;
  return true;
}

std::vector<Bytes> peaks(const Problem& problem, const Order& order) {
  std::vector<Bytes> out(problem.ranks());
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank)
    out[rank] = peak_of(problem, rank, order.words[rank]);
  return out;
}

std::optional<std::vector<Ticks>> last_ends(const Problem& problem, const Order& order) {
  return Playback(problem, order).run();
}

std::optional<Ticks> value_of(const Problem& problem, const Order& order) {
  const auto ends = last_ends(problem, order);
  if (!ends) return std::nullopt;
  Ticks value = 0;
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank)
    value = std::max(value, (*ends)[rank] - problem.origin[rank]);
  return value;
}

}  // namespace pipeloom::orders
