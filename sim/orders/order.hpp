#pragma once

// An order as words, and its value.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/orders/problem.hpp"

namespace pipeloom::orders {

/// 3 * chunk + pass.
using Letter = std::uint8_t;
using Pass = std::uint8_t;
inline constexpr Pass kForward = 0;
inline constexpr Pass kInput = 1;
inline constexpr Pass kWeight = 2;

[[nodiscard]] constexpr Letter letter(std::size_t chunk, Pass pass) {
  return static_cast<Letter>(3 * chunk + pass);
}
[[nodiscard]] constexpr std::size_t chunk_of(Letter letter) {
  return letter / 3U;
}
[[nodiscard]] constexpr Pass pass_of(Letter letter) {
  return static_cast<Pass>(letter % 3U);
}

/// words[rank]: every letter of the rank's chunks m times, W too where the problem is not cut (it takes no time there).
/// pairs[rank]: places in its word, in order, where an F, an I and its W begin that run as one overlapped pair (Problem::pairs). Empty: none do.
/// Who says nothing of pairs takes their ops one after another.
struct Order {
  std::vector<std::vector<Letter>> words;
  std::vector<std::vector<std::uint32_t>> pairs = {};

  friend bool operator==(const Order&, const Order&) = default;
};

/// The words of a schedule of F, I, W (or F, B): an overlapped group counts as its ops one after another, unless it is a pair that the problem has
/// (Problem::pairs); with B, W comes right after it, and an R is part of the backward that it is for; copies to the host and back run beside the
/// words. Nothing where it has other kinds, slices or replicas, or where its placement is not the problem's.
[[nodiscard]] std::optional<Order> order_of(const Problem& problem, const Schedule& schedule);

/// The queues of an order: F, I, W, or F, B where the problem is not cut; its pairs as groups of F and B.
[[nodiscard]] Schedule schedule_of(const Problem& problem, const Placement& placement, const Order& order);

/// True if the rank keeps its limit while this word runs, every op's bytes as StageWork says. O(word).
[[nodiscard]] bool keeps_limit(const Problem& problem, std::size_t rank, std::span<const Letter> word);
/// True if all ranks do.
[[nodiscard]] bool keeps_limits(const Problem& problem, const Order& order);
/// The most bytes of activations that each rank holds, [rank].
[[nodiscard]] std::vector<Bytes> peaks(const Problem& problem, const Order& order);

/// Last ends of all ranks when every op runs as early as its word allows; nothing where the order hangs. O(ops).
[[nodiscard]] std::optional<std::vector<Ticks>> last_ends(const Problem& problem, const Order& order);

/// max over ranks of last_ends - origin; nothing where the order hangs.
[[nodiscard]] std::optional<Ticks> value_of(const Problem& problem, const Order& order);

}  // namespace pipeloom::orders
