#pragma once

// Sets of kinds and arrays [kind], made of the table of kinds (sim/kinds.hpp) by the compiler: what loops over ops ask, one shift and one
// "and" each.

#include <array>
#include <cstddef>

#include "sim/kinds.hpp"

namespace pipeloom {

/// The kinds for which `is` holds.
template <class Predicate>
[[nodiscard]] constexpr KindSet kinds_where(Predicate is) {
  KindSet out;
  for (const KindRow& row : kKinds)
    if (is(row)) out.add(row.kind);
  return out;
}

inline constexpr KindSet kCopies = kinds_where([](const KindRow& row) { return row.lane == Lane::Copies; });
inline constexpr KindSet kExtras = kinds_where([](const KindRow& row) { return row.extra; });
inline constexpr KindSet kGradientMakers =
    kinds_where([](const KindRow& row) { return row.makes.tensor == TensorKind::Gradient; });
/// B, I and R: ops of the queue that wait for the end of a copy of their pass.
inline constexpr KindSet kWaitsForCopy = kinds_where([](const KindRow& row) {
  bool waits = false;
  for (const OpKind used : row.uses) waits = waits || kCopies.has(used);
  return waits && row.lane == Lane::Work;
});
/// L: copies for whose end ops of the queue wait.
inline constexpr KindSet kAwaitedCopies = kinds_where([](const KindRow& row) {
  bool awaited = false;
  for (const KindRow& user : kKinds)
    for (const OpKind used : user.uses) awaited = awaited || (used == row.kind && user.lane == Lane::Work);
  return awaited && row.lane == Lane::Copies;
});

/// True for B and I: the op whose end lets the previous stage go backward.
[[nodiscard]] constexpr bool carries_gradient(OpKind kind) {
  return kGradientMakers.has(kind);
}

/// True for O and L: they stand in the rank's queue where they are issued, but run on its copy stream, one after another, and
/// the entries behind them do not wait for their end (B and I of a reloaded activation wait for its L).
[[nodiscard]] constexpr bool is_copy(OpKind kind) {
  return kCopies.has(kind);
}

/// From an op's stage to the one whose tensor it waits for: -1 for F, 1 for B and I, 0 for those that need nothing from another stage.
inline constexpr std::array<int, kOpKinds> kStepToProducer = [] {
  std::array<int, kOpKinds> steps{};
  for (const KindRow& row : kKinds) steps[index_of(row.kind)] = static_cast<int>(row.waits_for.stage);
  return steps;
}();
/// From an op's stage to the one that waits for what it makes: 1 for F, -1 for B and I, else 0.
inline constexpr std::array<int, kOpKinds> kStepToConsumer = [] {
  std::array<int, kOpKinds> steps{};
  for (const KindRow& maker : kKinds)
    for (const KindRow& user : kKinds)
      if (maker.makes.tensor != TensorKind::None && maker.makes.tensor == user.waits_for.tensor &&
          user.waits_for.stage != At::Own)
        steps[index_of(maker.kind)] = -static_cast<int>(user.waits_for.stage);
  return steps;
}();
[[nodiscard]] constexpr int step_to_producer(OpKind kind) {
  return kStepToProducer[index_of(kind)];
}
[[nodiscard]] constexpr int step_to_consumer(OpKind kind) {
  return kStepToConsumer[index_of(kind)];
}

}  // namespace pipeloom
