// Each rank by itself: its ops become free at heads, have tails after them, and may be cut into pieces (Jackson 1955, Carlier 1982).
//
// Heads and tails are those of the chains, of the same stage's earlier and later ops, of all work that must come before or after on the
// rank, and of microbatches that wait for a free slot.

#include <algorithm>
#include <span>

#include "sim/base/table_size.hpp"
#include "sim/orders/bounds/one_rank.hpp"
#include "sim/orders/bounds/parts.hpp"

namespace pipeloom::orders {
namespace {

/// Passes of a microbatch on a stage: F, I, W.
constexpr std::size_t kPasses = 3;

/// A number for each pass, stage by stage, in each stage microbatch by microbatch.
struct Times {
  std::size_t microbatches = 0;
  std::vector<Ticks> of;  // [(stage * microbatches + k) * kPasses + pass]

  explicit Times(const Problem& problem)
      : microbatches(problem.microbatches), of(table_size(kPasses, problem.stages.size(), microbatches)) {}
  Ticks& at(std::size_t stage, std::size_t pass, std::size_t k) {
    return of[(stage * microbatches + k) * kPasses + pass];
  }
  /// From the first microbatch of a pass to its last, at steps of kPasses.
  [[nodiscard]] std::span<const Ticks> line(std::size_t stage, std::size_t pass) {
    return std::span(of).subspan(kPasses * stage * microbatches + pass, kPasses * (microbatches - 1) + 1);
  }
};

/// Work of one microbatch on the rank: `up_to` the forwards of its stages up to this one and I (and W) of those from this one on in
/// `from`; both without those of `others`, which are the rest.
struct Share {
  Ticks forward_to = 0;    ///< F of this stage and the rank's before it
  Ticks forward_from = 0;  ///< F of this stage and of the rank's later ones
  Ticks forward_all = 0;
  Ticks input_from = 0;  ///< I of this stage and of the rank's later ones
  Ticks back_to = 0;     ///< I and W of this stage and the rank's before it
  Ticks back_later = 0;  ///< I and W of the rank's later stages
  Ticks back_all = 0;
};

class OneMachine {
 public:
  explicit OneMachine(const Parts& parts)
      : parts_(parts),
        problem_(parts.problem),
        shares_(problem_.stages.size()),
        head_(problem_),
        tail_(problem_) {
    for (std::size_t rank = 0; rank < problem_.ranks(); ++rank) find_shares(rank);
    for (std::size_t s = 0; s < problem_.stages.size(); ++s) {
      slots_.push_back(std::max<std::size_t>(1, parts_.slots(s)));
      delay_.push_back(parts_.slot_delay(s));
      young_.push_back(std::max<std::size_t>(1, parts_.young(s)));
    }
    for (std::size_t k = 0; k < problem_.microbatches && goes_on(k); ++k) find_heads(k);
    for (std::size_t k = problem_.microbatches; k-- > 0 && goes_on(k);) find_tails(k);
  }

  /// 0 where it was stopped before the first rank.
  Wide best() {
    Wide best = 0;
    for (std::size_t rank = 0; rank < problem_.ranks() && !parts_.is_stopped(); ++rank)
      best = std::max(best, static_cast<Wide>(preempted(rank)));
    return best;
  }

 private:
  static constexpr std::size_t kF = 0;
  static constexpr std::size_t kI = 1;
  static constexpr std::size_t kW = 2;
  /// Asked before microbatch k.
  [[nodiscard]] bool goes_on(std::size_t k) const {
    constexpr std::size_t kBetween = 64;
    return k % kBetween != 0 || !parts_.is_stopped();
  }
  [[nodiscard]] const StageWork& work(std::size_t stage) const { return problem_.stages[stage]; }
  [[nodiscard]] static Ticks times(std::size_t count, Ticks work) { return static_cast<Ticks>(count) * work; }

  void find_shares(std::size_t rank) {
    Ticks forward = 0;
    Ticks back = 0;
    for (const std::size_t s : problem_.stages_of[rank]) {
      shares_[s].forward_to = forward += work(s).forward;
      shares_[s].back_to = back += work(s).input + work(s).weight;
    }
    Ticks input = 0;
    for (auto s = problem_.stages_of[rank].rbegin(); s != problem_.stages_of[rank].rend(); ++s) {
      Share& share = shares_[*s];
      share.forward_from = forward - share.forward_to + work(*s).forward;
      share.forward_all = forward;
      share.input_from = input += work(*s).input;
      share.back_later = back - share.back_to;
      share.back_all = back;
    }
  }

  /// The work that ran on the rank before F k of this stage starts: forwards up to it of k + 1 microbatches, and all of those that left.
  [[nodiscard]] Ticks before_forward(std::size_t s, std::size_t k) const {
    const Share& share = shares_[s];
    const std::size_t left = k >= slots_[s] ? k - slots_[s] + 1 : 0;
    return static_cast<Ticks>(parts_.start(work(s).rank)) + times(k + 1, share.forward_to) - work(s).forward +
           times(left, share.forward_all - share.forward_to + share.input_from);
  }

  void find_heads(std::size_t k) {
    const std::size_t count = problem_.stages.size();
    for (std::size_t s = 0; s < count; ++s) {
      Ticks head = before_forward(s, k);
      head =
          std::max(head, work(s).forward_delay + (s > 0 ? head_.at(s - 1, kF, k) + work(s - 1).forward : 0));
      if (k > 0) head = std::max(head, head_.at(s, kF, k - 1) + work(s).forward);
      if (k >= slots_[s]) head = std::max(head, head_.at(s, kI, k - slots_[s]) + work(s).input + delay_[s]);
      if (k >= young_[s]) {
        const std::size_t last = parts_.last_stage(work(s).rank);
        head = std::max(head, head_.at(last, kI, k - young_[s]) + work(last).input);
      }
      head_.at(s, kF, k) = head;
    }
    for (std::size_t s = count; s-- > 0;) {
      const Share& share = shares_[s];
      Ticks head = static_cast<Ticks>(parts_.start(work(s).rank)) +
                   times(k + 1, share.forward_all + share.input_from) - work(s).input;
      head =
          std::max(head, work(s).gradient_delay + (s + 1 < count ? head_.at(s + 1, kI, k) + work(s + 1).input
                                                                 : head_.at(s, kF, k) + work(s).forward));
      if (k > 0) head = std::max(head, head_.at(s, kI, k - 1) + work(s).input);
      head_.at(s, kI, k) = head;
      Ticks& weight = head_.at(s, kW, k) = head + work(s).input;
      if (k > 0) weight = std::max(weight, head_.at(s, kW, k - 1) + work(s).weight);
    }
  }

  /// The work that the rank runs after I k of this stage, without its W's: I and W up to it, and all of microbatches that take its place.
  [[nodiscard]] Ticks after_input(std::size_t s, std::size_t k) const {
    const Share& share = shares_[s];
    const std::size_t rest = problem_.microbatches - k;
    const std::size_t come = rest > slots_[s] ? rest - slots_[s] : 0;
    return times(rest, share.back_to) - work(s).input + times(come, share.forward_from + share.back_later);
  }

  void find_tails(std::size_t k) {
    const std::size_t count = problem_.stages.size();
    const std::size_t m = problem_.microbatches;
    for (std::size_t s = 0; s < count; ++s) {
      const Ticks end = -problem_.origin[work(s).rank];
      const bool last = k + 1 == m;
      tail_.at(s, kW, k) = times(m - k - 1, work(s).weight) + end;
      Ticks tail = std::max(end + after_input(s, k), work(s).weight + tail_.at(s, kW, k));
      if (s > 0)
        tail = std::max(tail, work(s - 1).gradient_delay + work(s - 1).input + tail_.at(s - 1, kI, k));
      if (!last) tail = std::max(tail, work(s).input + tail_.at(s, kI, k + 1));
      if (m - k > slots_[s])
        tail = std::max(tail, delay_[s] + work(s).forward + tail_.at(s, kF, k + slots_[s]));
      if (parts_.last_stage(work(s).rank) == s)
        for (const std::size_t a : problem_.stages_of[work(s).rank])
          if (m - k > young_[a]) tail = std::max(tail, work(a).forward + tail_.at(a, kF, k + young_[a]));
      tail_.at(s, kI, k) = tail;
    }
    for (std::size_t s = count; s-- > 0;) {
      const Share& share = shares_[s];
      Ticks tail =
          times(m - k, share.forward_from + share.back_all) - work(s).forward - problem_.origin[work(s).rank];
      tail = std::max(tail, s + 1 < count
                                ? work(s + 1).forward_delay + work(s + 1).forward + tail_.at(s + 1, kF, k)
                                : work(s).gradient_delay + work(s).input + tail_.at(s, kI, k));
      if (k + 1 < m) tail = std::max(tail, work(s).forward + tail_.at(s, kF, k + 1));
      tail_.at(s, kF, k) = tail;
    }
  }

  /// The best order of a rank whose ops may be interrupted. Both heads and tails take the passes of a stage one after the other. Weights' gradients that
  /// take no time start where inputs' gradients end, with shorter tails: the bound is the same without them.
  [[nodiscard]] Ticks preempted(std::size_t rank) {
    lines_.clear();
    for (const std::size_t s : problem_.stages_of[rank]) {
      lines_.push_back({head_.line(s, kF), tail_.line(s, kF), kPasses, work(s).forward});
      lines_.push_back({head_.line(s, kI), tail_.line(s, kI), kPasses, work(s).input});
      if (work(s).weight > 0)
        lines_.push_back({head_.line(s, kW), tail_.line(s, kW), kPasses, work(s).weight});
    }
    return one_rank_.bound(lines_);
  }

  const Parts& parts_;
  const Problem& problem_;
  std::vector<Share> shares_;       // [stage]
  std::vector<std::size_t> slots_;  // [stage]
  std::vector<std::size_t> young_;
  std::vector<Ticks> delay_;  // [stage]
  Times head_;
  Times tail_;
  OneRank one_rank_;
  std::vector<OneRank::Line> lines_;
};

/// No head and no tail is longer than all times one after another.
bool fits(const Problem& problem) {
  Wide sum = 0;
  for (const StageWork& stage : problem.stages)
    sum += Wide{stage.work()} + stage.input + stage.forward_delay + stage.gradient_delay;
  return sum * static_cast<Wide>(problem.microbatches) <= kMaxTicks / 4;
}

}  // namespace

Wide one_machine(const Parts& parts) {
  return fits(parts.problem) ? OneMachine(parts).best() : 0;
}

}  // namespace pipeloom::orders
