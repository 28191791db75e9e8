#pragma once

// Who works on which piece, where workers may vanish: pieces of a lost worker go to others, first of all.

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace pipeloom::sweep {

/// Workers are numbers of the caller's choice. Not thread-safe.
class Dispatcher {
 public:
  /// Pieces `first` .. `end`-1, in that order.
  Dispatcher(std::uint64_t first, std::uint64_t end) : next_(first), end_(end) {}

  /// The next piece for `worker`, or none: pieces that were lost first, the lowest of them first, then new ones unless `only_lost`.
  std::optional<std::uint64_t> hand_out(int worker, bool only_lost = false);
  /// `worker` has finished `piece`. Also one that was lost comes back with what it had: nobody is asked for that piece any more.
  void finish(int worker, std::uint64_t piece);
  /// `worker` is gone: its pieces are lost. Returns how many. It may come back and be handed new ones.
  std::size_t lose(int worker);

  /// Pieces that `worker` has.
  [[nodiscard]] std::size_t held_by(int worker) const;
  /// How often the piece that was lost most often has been.
  [[nodiscard]] int most_losses() const;
  /// The lowest piece with so many losses. REQUIRES: most_losses() > 0.
  [[nodiscard]] std::uint64_t most_lost_piece() const;

 private:
  std::uint64_t next_;
  std::uint64_t end_;
  std::set<std::uint64_t> lost_;
  std::map<int, std::set<std::uint64_t>> held_;
  std::map<std::uint64_t, int> losses_;  // of pieces that are not finished
};

}  // namespace pipeloom::sweep
