#include "sim/orders/exact/proof.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/orders/bounds/one_rank.hpp"

namespace pipeloom::orders {
namespace {

constexpr Ticks kUnknown = -1;
/// States between two questions whether to go on.
constexpr std::int64_t kAskedStates = 4096;
/// States that are kept for comparison; more would take more memory than they save time.
constexpr std::size_t kMostKept = 200'000;

/// One stage's part of a state: how many of its passes have been placed, and when its rank is free.
struct Place {
  std::array<std::uint16_t, 3> done = {};
  Ticks free = 0;
  Bytes held = 0;
};

struct State {
  std::vector<Place> stages;
  std::vector<Ticks> forward_end;  // [stage * m + k], kUnknown before it is placed
  std::vector<Ticks> input_end;
};

/// An op that could be next on its rank.
struct Choice {
  std::size_t stage = 0;
  Pass pass = kForward;
  Ticks start = 0;
  Ticks end = 0;
};

class Prover {
 public:
  Prover(const Problem& problem, Ticks value, const ProofOptions& options)
      : problem_(problem), options_(options), m_(problem.microbatches), p_(problem.ranks()) {
    proof_.value = value;
    words_.words.resize(p_);
    find_tails();
  }

  Proof run() {
    State first;
    first.stages.resize(p_);
    first.forward_end.assign(p_ * m_, kUnknown);
    first.input_end.assign(p_ * m_, kUnknown);
    proof_.complete = true;
    search(first, 0);
    if (!proof_.order) proof_.value = kMaxTicks;
    return std::move(proof_);
  }

 private:
  [[nodiscard]] const StageWork& stage(std::size_t s) const { return problem_.stages[s]; }
  [[nodiscard]] std::size_t rank(std::size_t s) const { return problem_.stages[s].rank; }
  [[nodiscard]] Ticks duration(std::size_t s, Pass pass) const {
    return pass == kForward ? stage(s).forward : pass == kInput ? stage(s).input : stage(s).weight;
  }
  [[nodiscard]] Ticks origin(std::size_t s) const { return problem_.origin[rank(s)]; }

  /// From the end of an I until the last rank after it has ended, each counted from its origin.
  void find_tails() {
    tails_.resize(p_);
    for (std::size_t s = 0; s < p_; ++s) {
      tails_[s] = stage(s).weight - origin(s);
      if (s > 0)
        tails_[s] = std::max(tails_[s], stage(s - 1).gradient_delay + stage(s - 1).input + tails_[s - 1]);
    }
  }

  /// When the next op of this kind could start; nothing where what it needs has not been placed, or its memory is not free.
  [[nodiscard]] std::optional<Ticks> start_of(const State& state, std::size_t s, Pass pass) const {
    const Place& place = state.stages[s];
    const std::size_t k = place.done[pass];
    if (k == m_) return std::nullopt;
    Ticks ready = 0;
    if (pass == kForward) {
      if (place.held + stage(s).held > problem_.limit[rank(s)]) return std::nullopt;
      if (s > 0) ready = known(state.forward_end[(s - 1) * m_ + k], stage(s).forward_delay);
    } else if (pass == kInput) {
      if (k >= place.done[kForward]) return std::nullopt;
      if (s + 1 < p_) ready = known(state.input_end[(s + 1) * m_ + k], stage(s).gradient_delay);
    } else if (k >= place.done[kInput]) {
      return std::nullopt;
    }
    if (ready == kUnknown) return std::nullopt;
    return std::max(ready, place.free);
  }

  static Ticks known(Ticks end, Ticks delay) { return end == kUnknown ? kUnknown : end + delay; }

  void place(State& state, const Choice& choice) const {
    Place& place = state.stages[choice.stage];
    const std::size_t at = choice.stage * m_ + place.done[choice.pass]++;
    place.free = choice.end;
    const StageWork& work = stage(choice.stage);
    if (choice.pass == kForward) {
      state.forward_end[at] = choice.end;
      place.held += work.held;
    } else if (choice.pass == kInput) {
      state.input_end[at] = choice.end;
      place.held += work.kept - work.held;
    } else {
      place.held -= work.kept;
    }
  }

  /// Ops of the rank whose next op could end first, that could begin before that end.
  [[nodiscard]] std::vector<Choice> choices(const State& state) const {
    Choice first{.end = kMaxTicks};
    std::vector<Choice> ready;
    for (std::size_t s = 0; s < p_; ++s)
      for (const Pass pass : {kInput, kForward, kWeight}) {
        const auto start = start_of(state, s, pass);
        if (!start) continue;
        ready.push_back({s, pass, *start, *start + duration(s, pass)});
        if (ready.back().end < first.end) first = ready.back();
      }
    std::erase_if(ready, [&](const Choice& choice) {
      return choice.stage != first.stage || (choice.start >= first.end && choice.pass != first.pass);
    });
    return ready;
  }

  /// Least value that any order from here can have.
  [[nodiscard]] Ticks bound(const State& state) {
    find_heads(state);
    Ticks most = -kMaxTicks;
    for (std::size_t s = 0; s < p_; ++s) {
      const Place& place = state.stages[s];
      jobs_.clear();
      for (std::size_t k = place.done[kForward]; k < m_; ++k)
        jobs_.push_back({forward_head_[s * m_ + k], stage(s).forward, forward_tail(s)});
      for (std::size_t k = place.done[kInput]; k < m_; ++k)
        jobs_.push_back({input_head_[s * m_ + k], stage(s).input, tails_[s]});
      for (std::size_t k = place.done[kWeight]; k < m_; ++k)
        jobs_.push_back({k < place.done[kInput] ? place.free : input_head_[s * m_ + k] + stage(s).input,
                         stage(s).weight, -origin(s)});
      most = std::max(most, jobs_.empty() ? place.free - origin(s) : one_rank_.bound(jobs_));
      if (most >= proof_.value) break;
    }
    return most;
  }

  /// After an F come the ways forward and back, and the rank's own I and W.
  [[nodiscard]] Ticks forward_tail(std::size_t s) const {
    Ticks way = 0;
    for (std::size_t next = s + 1; next < p_; ++next)
      way += stage(next).forward_delay + stage(next).forward + stage(next).input +
             stage(next - 1).gradient_delay;
    return way + stage(s).input + tails_[s];
  }

  void find_heads(const State& state) {
    forward_head_.assign(p_ * m_, 0);
    input_head_.assign(p_ * m_, 0);
    for (std::size_t s = 0; s < p_; ++s) {
      Ticks before = state.stages[s].free;
      for (std::size_t k = state.stages[s].done[kForward]; k < m_; ++k) {
        Ticks& head = forward_head_[s * m_ + k];
        head = std::max(before, s == 0 ? 0 : forward_by(state, s - 1, k) + stage(s).forward_delay);
        before = head + stage(s).forward;
      }
    }
    for (std::size_t s = p_; s-- > 0;) {
      Ticks before = state.stages[s].free;
      for (std::size_t k = state.stages[s].done[kInput]; k < m_; ++k) {
        Ticks& head = input_head_[s * m_ + k];
        head = std::max(before, s + 1 == p_ ? forward_by(state, s, k)
                                            : input_by(state, s + 1, k) + stage(s).gradient_delay);
        before = head + stage(s).input;
      }
    }
  }

  /// When an F, I ended, or could at the earliest.
  [[nodiscard]] Ticks forward_by(const State& state, std::size_t s, std::size_t k) const {
    const Ticks end = state.forward_end[s * m_ + k];
    return end == kUnknown ? forward_head_[s * m_ + k] + stage(s).forward : end;
  }
  [[nodiscard]] Ticks input_by(const State& state, std::size_t s, std::size_t k) const {
    const Ticks end = state.input_end[s * m_ + k];
    return end == kUnknown ? input_head_[s * m_ + k] + stage(s).input : end;
  }

  /// True if a state with the same ops placed was seen, everything in which is there no later. Keeps the state otherwise.
  [[nodiscard]] bool is_dominated(const State& state) {
    std::string key;
    std::vector<Ticks> times;
    for (std::size_t s = 0; s < p_; ++s) {
      const Place& place = state.stages[s];
      for (const std::uint16_t done : place.done)
        key += {static_cast<char>(done), static_cast<char>(done >> 8U)};
      times.push_back(place.free);
      // Microbatches that have left a stage and were not taken by the next: when they can be.
      if (s > 0)
        for (std::size_t k = place.done[kForward]; k < state.stages[s - 1].done[kForward]; ++k)
          times.push_back(std::max(place.free, state.forward_end[(s - 1) * m_ + k] + stage(s).forward_delay));
      if (s + 1 < p_)
        for (std::size_t k = place.done[kInput]; k < state.stages[s + 1].done[kInput]; ++k)
          times.push_back(std::max(place.free, state.input_end[(s + 1) * m_ + k] + stage(s).gradient_delay));
    }
    std::vector<std::vector<Ticks>>& seen = seen_[key];
    const auto no_later = [](const std::vector<Ticks>& a, const std::vector<Ticks>& b) {
      return std::ranges::equal(a, b, std::ranges::less_equal());
    };
    if (std::ranges::any_of(seen, [&](const auto& other) { return no_later(other, times); })) return true;
    if (kept_ >= kMostKept) return false;
    kept_ -= std::erase_if(seen, [&](const auto& other) { return no_later(times, other); });
    seen.push_back(std::move(times));
    ++kept_;
    return false;
  }

  [[nodiscard]] bool may_go_on() {
    if (++proof_.states >= options_.states) proof_.complete = false;
    if (proof_.states % kAskedStates == 0 && options_.goes_on && !options_.goes_on()) proof_.complete = false;
    return proof_.complete;
  }

  void search(const State& state, std::size_t placed) {
    if (!may_go_on()) return;
    if (placed == problem_.num_ops()) return keep(state);
    struct Child {
      Choice choice;
      State state;
      Ticks bound = 0;
    };
    std::vector<Child> children;
    for (const Choice& choice : choices(state)) {
      Child child{choice, state, 0};
      place(child.state, choice);
      child.bound = bound(child.state);
      if (child.bound < proof_.value) children.push_back(std::move(child));
    }
    std::ranges::stable_sort(children, {}, &Child::bound);
    for (const Child& child : children) {
      if (child.bound >= proof_.value || is_dominated(child.state)) continue;
      std::vector<Letter>& word = words_.words[rank(child.choice.stage)];
      word.push_back(letter(0, child.choice.pass));
      search(child.state, placed + 1);
      word.pop_back();
      if (!proof_.complete) return;
    }
  }

  void keep(const State& state) {
    Ticks value = -kMaxTicks;
    for (std::size_t s = 0; s < p_; ++s) value = std::max(value, state.stages[s].free - origin(s));
    if (value >= proof_.value) return;
    proof_.value = value;
    proof_.order = words_;
  }

  const Problem& problem_;
  const ProofOptions& options_;
  std::size_t m_;
  std::size_t p_;
  std::vector<Ticks> tails_;  // [stage]
  std::vector<Ticks> forward_head_;
  std::vector<Ticks> input_head_;
  std::vector<OneRank::Job> jobs_;
  OneRank one_rank_;
  std::unordered_map<std::string, std::vector<std::vector<Ticks>>> seen_;
  std::size_t kept_ = 0;
  Order words_;
  Proof proof_;
};

}  // namespace

bool can_be_proven(const Problem& problem) {
  if (problem.stages.size() != problem.ranks() || problem.num_ops() > kMostProven) return false;
  return std::ranges::all_of(problem.stages, [](const StageWork& stage) { return stage.kept <= stage.held; });
}

Proof prove(const Problem& problem, Ticks value, const ProofOptions& options) {
  return Prover(problem, value, options).run();
}

}  // namespace pipeloom::orders
