#pragma once

// Rates of a device and its links, and the time of a piece of work on them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include <pipeloom/units.hpp>
#include "sim/hardware/collective_table.hpp"
#include "sim/hardware/gemm_grid.hpp"
#include "sim/hardware/shape_table.hpp"
#include "sim/model/work.hpp"

namespace pipeloom::hardware {

/// How a number was found, the most trusted first: a measurement in the user's own file, a table that has the shape, the table's nearest shapes, or
/// the default formula.
enum class Basis : std::uint8_t { Measured, Table, Nearest, Default };
inline constexpr int kBases = 4;
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

/// Precision of the products' operands. Mxfp8: 8 bits with a scale of 8 bits for each 32 of them (OCP Microscaling Formats 1.0).
enum class Precision : std::uint8_t { Bf16, Fp8, Mxfp8 };
inline constexpr std::size_t kPrecisions = 3;
/// "bf16", "fp8", "mxfp8".
[[nodiscard]] std::string_view name_of(Precision precision);
/// Of a number that a product reads, as it is kept: 2, 1, 33/32.
[[nodiscard]] double bytes_of(Precision precision);

/// Products of one precision. Efficiencies are shares of the peak. A table by pass comes before the grid. Without a table of mxfp8 its products
/// have the shares of fp8's.
struct GemmTables {
  std::array<ShapeTable, model::kPasses> by_pass;  ///< [pass] at {1, m, k, n} of the pass's own product
  std::array<ShapeTable, model::kPasses> grouped;  ///< [pass] at {groups, m, k, n}
  GemmGrid grid;                                   ///< of forward products, asked for every pass
};

struct Gemms {
  double efficiency = 0.75;  ///< eG, where no table is
  double launch = 0;         ///< t0: seconds that each launch takes in addition, where no table is
  std::array<GemmTables, kPrecisions> tables;
};

/// Core attention. FLOPs of flash attention are those of the whole square of queries and keys, 2 products; twice as many as causal attention has
/// to do, so that efficiencies may exceed 1.
struct Attentions {
  double efficiency = 0.85;      ///< eA of flash attention, where no table is
  double backward_factor = 2.5;  ///< FLOPs backward over forward: flash attention computes the scores again
  double unfused_efficiency =
      0.4;  ///< of two products over the whole square with the scores in memory; twice as many backward
  std::array<ShapeTable, 2>
      by_direction;  ///< [0] forward, [1] backward, at attention_shape(); flash attention alone
};

/// Times of launching kernels.
struct Launch {
  double layer_floor = 0;   ///< c: seconds that a layer, forward and backward together, takes at least
  double floor_growth = 0;  ///< of the floor with each doubling of the tensor ranks
  double sharpness = 2.87;  ///< q: floor and GPU time x make (x^q + floor^q)^(1/q)
  double pass_seconds = 0;  ///< of each pass of a stage in addition: the framework's own
};

struct Hardware {
  std::string name;
  std::string source;  ///< where the numbers come from, for people
  double memory_bytes = 0;
  double memory_rate = 0;                            ///< bytes per second of the device's memory
  std::array<double, kPrecisions> matrix_rate = {};  ///< [precision] FLOPs per second, dense; 0: it has none
  Precision precision = Precision::Bf16;             ///< that products run in
  Gemms gemm;
  Attentions attention;
  /// eM: share of the memory's rate over the bytes of model::Traffic, which has two lists: of models with layer norms, the second, and of all others.
  std::array<double, 2> traffic_efficiency = {0.264, 0.75};
  double kernel_seconds = 0;  ///< added for each kernel of model::Traffic
  Launch launch;
  double optimizer_efficiency = 0.8;  ///< share of the memory's rate
  double collective_factor = 1;       ///< kC: a collective in a run over the same alone
  CollectiveTable collectives;
  Link nvlink;   ///< between devices of one node
  Link send;     ///< a send and its receive between two devices of one node, in a run; rate 0: as nvlink
  Link network;  ///< of one device, between nodes
  Link pcie;     ///< between a device and its host
  int devices_per_node = 8;
};

/// The pass's own product: C[m, n] = A[m, k] B[k, n].
struct Product {
  double m = 0;
  double k = 0;
  double n = 0;
};
/// Forward [m, k] x [k, n], gradient of the input [m, n] x [n, k], of the weights [n, m] x [m, k].
[[nodiscard]] Product product_of(const model::Gemm& gemm, model::Pass pass);

/// Place of attention in tables: batch, sequence (the mean of queries and keys in logarithms), heads, key/value heads, two head dimensions.
[[nodiscard]] Shape attention_shape(const model::CoreAttention& attention);

/// The pass of one product. A default is launch + max(FLOPs / (eG peak), bytes / memory rate).
[[nodiscard]] Timed time_of(const Hardware& hardware, const model::Gemm& gemm, model::Pass pass);
/// The pass of core attention; nothing in the weights' pass.
[[nodiscard]] Timed time_of(const Hardware& hardware, const model::CoreAttention& attention,
                            model::Pass pass);
/// Bytes / (eM x memory rate) + time per kernel; nothing in the weights' pass. `list`: the model's norms, which decide how bytes are counted.
[[nodiscard]] Timed time_of(const Hardware& hardware, const model::Traffic& traffic, model::Pass pass,
                            model::NormKind list = model::NormKind::Rms);

/// A collective over `ranks` devices, `per_node` of which are neighbours in one node; `bytes` as model::Collective counts them.
/// In one node: the table's time x kC, else latency + bytes x sent_share() / (NVLink's rate x its efficiency) x kC. Across nodes: a ring at
/// the rate of the network of all `per_node` devices, not above NVLink's, latency once for each doubling of the nodes; in an all-to-all
/// each rank sends the bytes that leave its node, (k - 1) / k of the bytes for k nodes, over its own network.
[[nodiscard]] Timed time_of(const Hardware& hardware, model::CollectiveKind kind, double bytes, int ranks,
                            int per_node);

/// The link of a message from one device to another.
[[nodiscard]] const Link& message_link(const Hardware& hardware, bool across_nodes);
/// A message of the pipeline from one device to another: latency + bytes / (rate x efficiency).
[[nodiscard]] Timed message(const Hardware& hardware, double bytes, bool across_nodes);
/// A step of the optimizer that moves `bytes` bytes through a device's memory.
[[nodiscard]] Timed optimizer(const Hardware& hardware, double bytes);
/// Gradients summed over replicas at the end of a step. `shared_out` (ZeRO 1 and more): a reduce-scatter of the gradients and an all-gather of
/// the weights; else one all-reduce of the gradients.
[[nodiscard]] Timed reduction(const Hardware& hardware, double gradient_bytes, double weight_bytes, int ranks,
                              int per_node, bool shared_out);

}  // namespace pipeloom::hardware
