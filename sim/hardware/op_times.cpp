#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/hardware/hardware.hpp"

namespace pipeloom::hardware {
namespace {

constexpr double kOperandBytes =
    2;  // bf16; traffic of fp8 operands is half, which large products do not feel

std::size_t index_of(Precision precision) {
  return static_cast<std::size_t>(precision);
}

/// A device without the rate computes in bf16.
Precision precision_in_use(const Hardware& hardware) {
  return hardware.matrix_rate[index_of(hardware.precision)] > 0 ? hardware.precision : Precision::Bf16;
}

bool is_empty(const GemmTables& tables) {
  const auto none = [](const ShapeTable& table) { return table.empty(); };
  return tables.grid.empty() && std::all_of(tables.by_pass.begin(), tables.by_pass.end(), none) &&
         std::all_of(tables.grouped.begin(), tables.grouped.end(), none);
}

/// What products of this precision are looked up in.
struct Tables {
  const GemmTables& tables;
  bool own = true;
};
Tables tables_of(const Hardware& hardware, Precision precision) {
  const GemmTables& own = hardware.gemm.tables[index_of(precision)];
  if (precision != Precision::Mxfp8 || !is_empty(own)) return {own};
  return {hardware.gemm.tables[index_of(Precision::Fp8)], false};
}

Basis basis_of(const Found& found) {
  if (!found.hit) return Basis::Nearest;
  return found.measured ? Basis::Measured : Basis::Table;
}

/// FLOPs over the peak, bytes over the memory's rate: nothing is faster.
double roofline(const Hardware& hardware, const Product& product, double groups, double peak,
                double efficiency) {
  const double flops = 2 * groups * product.m * product.k * product.n;
  const double values = groups * (product.m * product.k + product.k * product.n + product.m * product.n);
  return std::max(flops / (peak * efficiency), values * kOperandBytes / hardware.memory_rate);
}

/// The value of the tables for one product that is not grouped.
std::optional<Found> find_product(const GemmTables& tables, const Product& product, model::Pass pass) {
  const auto& shapes = tables.by_pass[static_cast<std::size_t>(pass)];
  if (const auto found = shapes.find({1, product.m, product.k, product.n, 1, 1})) return found;
  return tables.grid.find(product.m, product.k, product.n);
}

/// Experts' products fill the device together: without a table of their own they are as efficient as one product over all their tokens.
std::optional<Found> find_grouped(const GemmTables& tables, const model::Gemm& gemm, model::Pass pass) {
  const Product own = product_of(gemm, pass);
  const double groups = static_cast<double>(gemm.groups);
  const auto& shapes = tables.grouped[static_cast<std::size_t>(pass)];
  if (const auto found = shapes.find({groups, own.m, own.k, own.n, 1, 1})) return found;
  model::Gemm whole = gemm;
  whole.m *= gemm.groups;
  auto found = find_product(tables, product_of(whole, pass), pass);
  if (found) found->hit = false;
  return found;
}

}  // namespace

std::string_view name_of(Basis basis) {
  static constexpr std::array<std::string_view, kBases> kNames = {"measured", "table", "nearest", "default"};
  return kNames[static_cast<std::size_t>(basis)];
}

std::string_view name_of(Precision precision) {
  static constexpr std::array<std::string_view, kPrecisions> kNames = {"bf16", "fp8", "mxfp8"};
  return kNames[index_of(precision)];
}

double bytes_of(Precision precision) {
  static constexpr std::array<double, kPrecisions> kBytes = {2, 1, 1 + 1.0 / 32};
  return kBytes[index_of(precision)];
}

Product product_of(const model::Gemm& gemm, model::Pass pass) {
  const auto m = static_cast<double>(gemm.m);
  const auto k = static_cast<double>(gemm.k);
  const auto n = static_cast<double>(gemm.n);
  switch (pass) {
    case model::Pass::Forward:
      return {m, k, n};
    case model::Pass::BackwardInput:
      return {m, n, k};
    case model::Pass::BackwardWeight:
      break;
  }
  return {n, m, k};
}

// Scores without values (an indexer's) are looked up as attention with heads as wide as theirs.
Shape attention_shape(const model::CoreAttention& attention) {
  const auto length = std::sqrt(static_cast<double>(attention.queries) * static_cast<double>(attention.keys));
  return {static_cast<double>(attention.batch),
          length,
          static_cast<double>(attention.heads),
          static_cast<double>(attention.kv_heads),
          static_cast<double>(attention.qk_dim),
          static_cast<double>(attention.v_dim > 0 ? attention.v_dim : attention.qk_dim)};
}

Timed time_of(const Hardware& hardware, const model::Gemm& gemm, model::Pass pass) {
  const Precision precision = precision_in_use(hardware);
  const double peak = hardware.matrix_rate[index_of(precision)];
  const auto groups = static_cast<double>(gemm.groups);
  const Product own = product_of(gemm, pass);
  if (own.m * own.k * own.n * groups == 0) return {};
  const auto [tables, own_tables] = tables_of(hardware, precision);
  auto found = gemm.groups > 1 ? find_grouped(tables, gemm, pass) : find_product(tables, own, pass);
  if (!found)
    return {hardware.gemm.launch + roofline(hardware, own, groups, peak, hardware.gemm.efficiency),
            Basis::Default};
  if (!own_tables) found->hit = false;
  const Basis basis = basis_of(*found);
  const double flops = 2 * groups * own.m * own.k * own.n;
  // Operands that stay in caches may be faster than memory, so that a hit is taken as it is.
  if (found->hit) return {flops / (peak * found->value), basis};
  return {roofline(hardware, own, groups, peak, found->value), basis};
}

Timed time_of(const Hardware& hardware, const model::CoreAttention& attention, model::Pass pass) {
  if (pass == model::Pass::BackwardWeight) return {};
  const bool backward = pass == model::Pass::BackwardInput;
  const double peak = hardware.matrix_rate[index_of(Precision::Bf16)];
  if (!attention.flash)
    return {attention.full_flops() * (backward ? 2 : 1) / (peak * hardware.attention.unfused_efficiency),
            Basis::Default};
  // Tables count causal attention as a whole square. Attention over other pairs takes as long as causal attention over as many.
  const bool as_in_tables = attention.causal && attention.window == 0;
  const double square = as_in_tables ? attention.full_flops() : 2 * attention.flops();
  const double flops = square * (backward ? hardware.attention.backward_factor : 1);
  const Shape shape = attention_shape(attention);
  auto found = hardware.attention.by_direction[backward ? 1 : 0].find(shape);
  if (!found && backward) {
    found = hardware.attention.by_direction[0].find(shape);
    if (found) found->hit = false;
  }
  if (!found) return {flops / (peak * hardware.attention.efficiency), Basis::Default};
  return {flops / (peak * found->value), basis_of(*found)};
}

Timed time_of(const Hardware& hardware, const model::Traffic& traffic, model::Pass pass,
              model::NormKind list) {
  if (pass == model::Pass::BackwardWeight) return {};
  const double bytes = pass == model::Pass::Forward ? traffic.forward : traffic.backward;
  if (bytes == 0) return {};
  const double efficiency = hardware.traffic_efficiency[list == model::NormKind::Layer ? 1 : 0];
  return {bytes / (efficiency * hardware.memory_rate) + traffic.kernels * hardware.kernel_seconds,
          Basis::Default};
}

Timed optimizer(const Hardware& hardware, double bytes) {
  return {bytes / (hardware.optimizer_efficiency * hardware.memory_rate), Basis::Default};
}

}  // namespace pipeloom::hardware
