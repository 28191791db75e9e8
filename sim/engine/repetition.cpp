#include "sim/engine/repetition.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "sim/dependency.hpp"
#include "sim/kinds.hpp"

namespace pipeloom {
namespace {

/// Times that a cut is moved by a block until everything under way at it comes from blocks.
constexpr int kMostMoves = 64;

/// A schedule whose microbatches are counted replica by replica, as blocks count them.
class CountedQueues {
 public:
  explicit CountedQueues(const Schedule& schedule)
      : schedule_(schedule), ordinal_(static_cast<std::size_t>(schedule.microbatches())) {
    for (Microbatch k{0}; k < Microbatch(schedule.microbatches()); ++k)
      ordinal_[k.at()] = count_[schedule.replica_of(k).at()]++;
  }

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] std::size_t size(Rank rank) const { return schedule_.queue(rank).size(); }
  [[nodiscard]] std::int32_t microbatches(std::size_t replica) const { return count_.at(replica); }

  /// True if op `i` of the rank's queue is op `j` of the other's, `shift[replica]` microbatches of its replica later.
  [[nodiscard]] bool same(Rank rank, std::size_t i, const CountedQueues& other, std::size_t j,
                          const std::array<std::int32_t, 2>& shift) const {
    const Op a = schedule_.queue(rank)[i];
    const Op b = other.schedule_.queue(rank)[j];
    const Replica replica = schedule_.replica_of(a.microbatch());
    return a.kind() == b.kind() && a.stage() == b.stage() && a.slice() == b.slice() &&
           a.joined() == b.joined() && a.in_turn() == b.in_turn() &&
           replica == other.schedule_.replica_of(b.microbatch()) &&
           ordinal_[a.microbatch().at()] == other.ordinal_[b.microbatch().at()] + shift[replica.at()];
  }

 private:
  const Schedule& schedule_;
  std::vector<std::int32_t> ordinal_;  // [microbatch]: among those of its replica
  std::array<std::int32_t, 2> count_ = {};
};

using Cuts = std::vector<std::size_t>;  // [rank]: op index after the beginning of its queue

/// Moves cuts on until no op before them waits for one after them, and none splits an entry.
class Closure {
 public:
  explicit Closure(const Schedule& schedule) : schedule_(schedule), map_(schedule) {
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      rank_of_.insert(rank_of_.end(), schedule.queue(rank).size(), rank);
  }

  void close(Cuts& cuts) const {
    Cuts seen(cuts.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
        skip_to_entry(rank, cuts);
        while (seen[rank.at()] < cuts[rank.at()]) {
          take_producers(schedule_.queue_begin(rank) + seen[rank.at()]++, cuts);
          skip_to_entry(rank, cuts);
          moved = true;
        }
      }
    }
  }

  /// Calls fn(rank, op index) for every op before the cuts that matters after them, by rank; an op may come twice.
  template <class Fn>
  void each_carried(const Cuts& cuts, Fn&& fn) const {
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
      last_of_lanes(rank, cuts[rank.at()], fn);
      for (std::size_t i = schedule_.queue_begin(rank) + cuts[rank.at()]; i < schedule_.queue_end(rank); ++i)
        each_producer(i, [&](std::size_t producer) {
          if (is_before(producer, cuts)) fn(rank_of_[producer], producer);
        });
    }
  }

 private:
  template <class Fn>
  void each_producer(std::size_t i, Fn&& fn) const {
    map_.each_producer(i, fn);
    if (const std::uint32_t reload = map_.reload_of(i); reload != DependencyMap::kNone) fn(reload);
  }
  [[nodiscard]] bool is_before(std::size_t op, const Cuts& cuts) const {
    const Rank rank = rank_of_[op];
    return op - schedule_.queue_begin(rank) < cuts[rank.at()];
  }
  void take_producers(std::size_t i, Cuts& cuts) const {
    each_producer(i, [&](std::size_t producer) {
      const Rank rank = rank_of_[producer];
      cuts[rank.at()] = std::max(cuts[rank.at()], producer - schedule_.queue_begin(rank) + 1);
    });
  }
  void skip_to_entry(Rank rank, Cuts& cuts) const {
    const auto queue = schedule_.queue(rank);
    std::size_t& cut = cuts[rank.at()];
    while (cut > 0 && cut < queue.size() && queue[cut - 1].joined()) ++cut;
  }
  /// The ops of the rank's last entry before the cut, and its last copy.
  template <class Fn>
  void last_of_lanes(Rank rank, std::size_t cut, Fn&& fn) const {
    const auto queue = schedule_.queue(rank);
    const std::size_t begin = schedule_.queue_begin(rank);
    std::size_t i = cut;
    while (i > 0 && is_copy(queue[i - 1].kind())) --i;
    if (i < cut) fn(rank, begin + cut - 1);
    if (i > 0) fn(rank, begin + --i);
    while (i > 0 && queue[i - 1].joined()) fn(rank, begin + --i);
    if (!schedule_.has_copies() || i == 0) return;
    while (i > 0 && !is_copy(queue[i - 1].kind())) --i;
    if (i > 0) fn(rank, begin + i - 1);
  }

  const Schedule& schedule_;
  DependencyMap map_;
  std::vector<Rank> rank_of_;  // [op index]
};

Cuts moved_by(Cuts cuts, const Cuts& blocks, std::size_t times) {
  for (std::size_t r = 0; r < cuts.size(); ++r) cuts[r] += times * blocks[r];
  return cuts;
}

}  // namespace

/// Compares two sizes of a schedule.
class RepeatingQueues::Finder {
 public:
  Finder(const Schedule& shorter, const Schedule& longer)
      : shorter_(shorter), longer_(longer), in_shorter_(shorter), in_longer_(longer) {}

  std::optional<RepeatingQueues> find() {
    out_.period_ = longer_.schedule().microbatches() - shorter_.schedule().microbatches();
    if (out_.period_ <= 0 || longer_.schedule().slices() != shorter_.schedule().slices()) return std::nullopt;
    for (std::size_t replica = 0; replica < shift_.size(); ++replica)
      shift_[replica] = longer_.microbatches(replica) - shorter_.microbatches(replica);
    for (Rank rank{0}; rank < Rank(shorter_.schedule().ranks()); ++rank)
      if (!compare(rank)) return std::nullopt;
    Cuts cuts = begin_;
    for (int move = 0; move < kMostMoves; ++move) {
      close(cuts);
      if (!is_within(cuts)) return std::nullopt;
      if (take_carried(cuts)) return finish(std::move(cuts));
      cuts = moved_by(std::move(cuts), out_.block_ops_, 1);
    }
    return std::nullopt;
  }

 private:
  /// Finds the part of a rank's queue that repeats: from begin_ on, up to end_.
  bool compare(Rank rank) {
    const std::size_t n = shorter_.size(rank);
    const std::size_t more = longer_.size(rank);
    if (more < n || (more == n && n > 0)) return false;
    std::size_t same = 0;
    while (same < n && longer_.same(rank, same, shorter_, same, {0, 0})) ++same;
    std::size_t shifted = 0;
    while (shifted < n && longer_.same(rank, more - 1 - shifted, shorter_, n - 1 - shifted, shift_))
      ++shifted;
    begin_.push_back(n - shifted);
    end_.push_back(same);
    out_.block_ops_.push_back(more - n);
    return same + shifted >= n;
  }

  /// Moves the cuts until they are closed in both schedules.
  void close(Cuts& cuts) const {
    for (Cuts before; before != cuts && is_within(cuts);) {
      before = cuts;
      in_shorter_.close(cuts);
      if (!is_within(cuts)) return;
      Cuts later = moved_by(cuts, out_.block_ops_, 1);
      in_longer_.close(later);
      for (std::size_t r = 0; r < cuts.size(); ++r) cuts[r] = later[r] - out_.block_ops_[r];
    }
  }

  [[nodiscard]] bool is_within(const Cuts& cuts) const {
    for (std::size_t r = 0; r < cuts.size(); ++r)
      if (cuts[r] > end_[r]) return false;
    return true;
  }

  [[nodiscard]] static std::vector<Carried> carried_of(const Closure& closure, const Schedule& schedule,
                                                       const Cuts& cuts) {
    std::vector<Carried> carried;
    closure.each_carried(cuts, [&](Rank rank, std::size_t op) {
      carried.push_back({rank, op - schedule.queue_begin(rank)});
    });
    std::sort(carried.begin(), carried.end(), [](const Carried& a, const Carried& b) {
      return std::pair(a.rank, a.place) < std::pair(b.rank, b.place);
    });
    carried.erase(std::unique(carried.begin(), carried.end()), carried.end());
    return carried;
  }

  /// True if everything under way at the cuts comes from the part that repeats, and is the same one block later.
  bool take_carried(const Cuts& cuts) {
    out_.carried_ = carried_of(in_shorter_, shorter_.schedule(), cuts);
    std::vector<Carried> later =
        carried_of(in_longer_, longer_.schedule(), moved_by(cuts, out_.block_ops_, 1));
    for (Carried& carried : later) {
      const Rank rank = carried.rank;
      if (carried.place < begin_[rank.at()] + out_.block_ops_[rank.at()]) return false;
      carried.place -= out_.block_ops_[rank.at()];
    }
    const auto repeats = [this](const Carried& carried) {
      return carried.place >= begin_[carried.rank.at()];
    };
    return std::all_of(out_.carried_.begin(), out_.carried_.end(), repeats) && later == out_.carried_;
  }

  std::optional<RepeatingQueues> finish(Cuts cuts) {
    out_.blocks_ = static_cast<std::size_t>(shorter_.schedule().microbatches());
    for (std::size_t r = 0; r < cuts.size(); ++r)
      if (out_.block_ops_[r] > 0)
        out_.blocks_ = std::min(out_.blocks_, (end_[r] - cuts[r]) / out_.block_ops_[r]);
    if (out_.blocks_ == 0) return std::nullopt;
    out_.cuts_ = std::move(cuts);
    return std::move(out_);
  }

  CountedQueues shorter_;
  CountedQueues longer_;
  Closure in_shorter_;
  Closure in_longer_;
  std::array<std::int32_t, 2> shift_ = {};  // [replica]: its microbatches of a block
  Cuts begin_;
  Cuts end_;
  RepeatingQueues out_;
};

std::optional<RepeatingQueues> RepeatingQueues::find(const Schedule& shorter, const Schedule& longer) {
  return Finder(shorter, longer).find();
}

std::optional<Ticks> RepeatingQueues::delay(std::size_t from, std::size_t to, const Schedule& schedule,
                                            std::span<const Ticks> end) const {
  const auto delay_of = [&](const Carried& carried) {
    const std::size_t op = schedule.queue_begin(carried.rank) + carried.place;
    const std::size_t block = block_ops_[carried.rank.at()];
    return end[op + to * block] - end[op + from * block];
  };
  if (carried_.empty()) return std::nullopt;
  const Ticks delay = delay_of(carried_.front());
  for (const Carried& carried : carried_)
    if (delay_of(carried) != delay) return std::nullopt;
  return delay;
}

std::optional<Repetition> RepeatingQueues::repetition(const Schedule& schedule, std::span<const Ticks> end,
                                                      std::size_t most) const {
  for (std::size_t to = 1; to <= blocks_; ++to)
    for (std::size_t blocks = 1; blocks <= std::min(most, to); ++blocks)
      if (const auto same = delay(to - blocks, to, schedule, end))
        return Repetition{to - blocks, blocks, *same};
  return std::nullopt;
}

}  // namespace pipeloom
