#pragma once

// Moves of ops along the chain that makes an order as long as it is, drawn at random.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/orders/search/random.hpp"

namespace pipeloom::orders {

/// A place in a rank's word.
struct Place {
  std::size_t rank = 0;
  std::size_t at = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

struct Move {
  std::size_t rank = 0;
  std::size_t from = 0;
  std::size_t to = 0;
};

/// A move of an op on the chain: out of its block (neighbours of the chain on one rank), within it, or a little way.
/// `Times` has critical_chain(out, choose), which writes places from the end to the start, and length(rank).
template <class Times>
class Mover {
 public:
  Mover(const Times& times, Random& random) : times_(&times), random_(random) {}

  /// From now on after these times.
  void follow(const Times& times) { times_ = &times; }

  [[nodiscard]] Place draw_place() { return chain_[draw_index()]; }

  [[nodiscard]] Move draw() {
    const std::size_t at = draw_index();
    const auto [last, first] = block(at);
    const Place op = chain_[at];
    const std::size_t length = times_->length(op.rank);
    const std::size_t style = random_.below(8);
    if (style < 2) return {op.rank, op.at, nearby(op.at, length)};
    if (style < 4) return {op.rank, op.at, last.at};
    if (style < 6) return {op.rank, op.at, first.at};
    if (style == 6) return {op.rank, op.at, first.at + random_.below(last.at - first.at + 1)};
    return {op.rank, beyond(last.at, length), op.at};
  }

 private:
  struct Block {
    Place last;
    Place first;
  };
  std::size_t draw_index() {
    times_->critical_chain(chain_, [this] { return random_.next(); });
    return random_.below(chain_.size());
  }
  /// The neighbours of chain_[at] on its rank. The chain runs from the end to the start.
  [[nodiscard]] Block block(std::size_t at) const {
    std::size_t late = at;
    std::size_t early = at;
    const auto follows = [this](std::size_t i) {
      return chain_[i].rank == chain_[i + 1].rank && chain_[i].at == chain_[i + 1].at + 1;
    };
    while (late > 0 && follows(late - 1)) --late;
    while (early + 1 < chain_.size() && follows(early)) ++early;
    return {chain_[late], chain_[early]};
  }
  std::size_t nearby(std::size_t at, std::size_t length) {
    const std::size_t by = 1 + random_.below(3);
    return random_.below(2) == 0 ? (at < by ? 0 : at - by) : std::min(length - 1, at + by);
  }
  /// One of those that come soon after the block, to be drawn into it.
  std::size_t beyond(std::size_t last, std::size_t length) {
    return std::min(length - 1, last + 1 + random_.below(4));
  }

  const Times* times_;
  Random& random_;
  std::vector<Place> chain_;
};

}  // namespace pipeloom::orders
