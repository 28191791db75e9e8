#pragma once

// The work of a layer on a device, as terms of its time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/hardware/hardware.hpp"
#include "sim/model/model.hpp"
#include "sim/model/work.hpp"

namespace pipeloom::hardware {

enum class Term : std::uint8_t { Gemm, Attention, Elementwise, Collectives, Launch };
inline constexpr std::size_t kTerms = 5;
/// "gemm", "attention", "elementwise", "collectives", "launch".
[[nodiscard]] std::string_view name_of(Term term);

/// Seconds, [term].
struct Terms {
  std::array<double, kTerms> seconds = {};

  double& operator[](Term term) { return seconds[static_cast<std::size_t>(term)]; }
  double operator[](Term term) const { return seconds[static_cast<std::size_t>(term)]; }
  [[nodiscard]] double total() const;
  Terms& operator+=(const Terms& other);
};

/// Times of a piece of work in each pass, and how the numbers were found.
struct WorkTime {
  std::array<Terms, model::kPasses> passes;
  /// [pass][model::Group] seconds of Term::Collectives by the ranks that take part.
  std::array<std::array<double, model::kGroups>, model::kPasses> exchanged = {};
  std::array<std::array<int, kBases>, kTerms> counts =
      {};  ///< [term][basis] times that were looked up, all passes

  Terms& operator[](model::Pass pass) { return passes[static_cast<std::size_t>(pass)]; }
  const Terms& operator[](model::Pass pass) const { return passes[static_cast<std::size_t>(pass)]; }
  [[nodiscard]] double total() const;
  WorkTime& operator+=(const WorkTime& other);
};

/// The devices of a collective and how many of them are neighbours in one node.
struct GroupSize {
  int ranks = 1;
  int per_node = 1;
};
/// Ranks are numbered as Split::order says; expert groups are neighbours. Data: replicas times the context's
/// ranks, which hold the same weights.
[[nodiscard]] GroupSize group_of(const Hardware& hardware, const model::Split& split, model::Group group);

/// Everything one after the other. `list`: the model's norms, as in time_of() of traffic.
[[nodiscard]] WorkTime work_time(const Hardware& hardware, const model::Work& work, const model::Split& split,
                                 model::NormKind list);

/// The same of a layer, with the time of launching its kernels: each pass takes (x^q + y^q)^(1/q) for its GPU time x and a third y of the floor
/// c (1 + growth log2 t). A forward that is computed again is another forward, which the caller adds.
[[nodiscard]] WorkTime layer_time(const Hardware& hardware, const model::Work& work,
                                  const model::Split& split, model::NormKind list);

}  // namespace pipeloom::hardware
