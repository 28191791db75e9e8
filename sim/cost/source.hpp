#pragma once

// Sources of costs, asked in order of trust. Each states what it knows of the kinds that those before it left open.
//
// A new source is a file sim/cost/<name>.cpp that defines
//
//   std::optional<Stated> <name>(const CostSpec& spec, const Shape& shape, const Stated& known)
//
// and a line in sim/cost/sources.def. It returns nullopt if it states nothing.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/units.hpp>
#include "sim/cost/cost_spec.hpp"
#include "sim/cost/shape.hpp"

namespace pipeloom::cost {

/// Where a value of the effective configuration came from: {"costs.backward_input", "derived: backward - backward_weight"}.
using Origin = std::pair<std::string, std::string>;

/// Transfers between any two ranks, [from * ranks + to]; nothing from a rank to itself.
struct Links {
  std::vector<Ticks> delay;    ///< from the producer's end to the tensor's arrival
  std::vector<Ticks> sending;  ///< the part of it for which the link is busy; empty: none
};

/// Numbers that sources state. Everything is optional.
struct Stated {
  /// Ticks of a chunk pass before any scale, [kind][stage].
  std::array<std::optional<std::vector<Ticks>>, kOpKinds> duration;
  /// Ops that take another time than their kind on their stage; of several that name an op the last counts. Sources' lists follow each
  /// other from the least trusted to the most.
  std::vector<OpCost> ops;
  std::optional<Links> links;
  std::vector<Origin> origins;
  std::vector<std::string> warnings;

  [[nodiscard]] bool any_duration() const;
};

/// Throws InputError, at the place of the number concerned, where stated numbers do not fit the shape. `known`: the numbers of more trusted
/// sources; numbers stated again for the same are left out.
using Source = std::optional<Stated> (*)(const CostSpec& spec, const Shape& shape, const Stated& known);

/// The sources of sim/cost/sources.def, the most trusted first.
[[nodiscard]] std::span<const Source> sources();

/// All that they state of this shape. O(stages) for each.
[[nodiscard]] Stated ask(std::span<const Source> sources, const CostSpec& spec, const Shape& shape);

}  // namespace pipeloom::cost
