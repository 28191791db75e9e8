#pragma once

// What a device and its links can do, and how long a piece of work takes on them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/units.hpp>
#include "sim/model/work.hpp"

namespace pipeloom::hardware {

/// How a number was found, the most trusted first.
enum class Basis : std::uint8_t { Measured, Table, Nearest, Default };
/// "measured", "table", "nearest", "default".
[[nodiscard]] std::string_view name_of(Basis basis);

struct Timed {
  double seconds = 0;
  Basis basis = Basis::Default;
};

struct Link {
  double bytes_per_second = 0;  ///< of one device, one way
  double latency = 0;           ///< seconds
  double efficiency = 1;        ///< of the rate, that a long message reaches
};

struct Hardware;  // tables and rates: defined below by the room's own files

/// The pass of one product. `accumulate`: gradients of weights are added up in fp32.
[[nodiscard]] Timed time_of(const Hardware& hardware, const model::Gemm& gemm, model::Pass pass);
/// The pass of core attention; nothing in the weights' pass.
[[nodiscard]] Timed time_of(const Hardware& hardware, const model::CoreAttention& attention,
                            model::Pass pass);
[[nodiscard]] Timed time_of(const Hardware& hardware, const model::Traffic& traffic, model::Pass pass);
/// A collective over `ranks` devices, `per_node` of which are neighbours in one node.
[[nodiscard]] Timed time_of(const Hardware& hardware, model::CollectiveKind kind, double bytes, int ranks,
                            int per_node);

}  // namespace pipeloom::hardware
