// What a piece of work takes on a device, by formulas that stand here with round numbers.

#include <cmath>

#include "sim/hardware/hardware.hpp"
#include "support/catch.hpp"

namespace pipeloom::hardware::hardware_times_test {
namespace {

using enum model::Pass;
using enum model::CollectiveKind;

/// 100 TFLOP/s, 1 TB/s, NVLink 200 GB/s and network 20 GB/s, both at half of that, 4 devices in a node.
Hardware round_device() {
  Hardware h;
  h.memory_bytes = 64e9;
  h.memory_rate = 1e12;
  h.matrix_rate = {100e12, 0};
  h.gemm.efficiency = 0.5;
  h.gemm.launch = 10e-6;
  h.attention.efficiency = 0.5;
  h.traffic_efficiency = {0.25, 0.5};
  h.kernel_seconds = 3e-6;
  h.nvlink = {200e9, 5e-6, 0.5};
  h.network = {20e9, 20e-6, 0.5};
  h.devices_per_node = 4;
  return h;
}

model::Gemm gemm(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t groups = 1) {
  return {.what = "fc1", .m = m, .k = k, .n = n, .groups = groups};
}

constexpr double kExact = 1e-12;

}  // namespace

TEST_CASE("a product without a table is the larger of FLOPs and bytes, and a launch") {
  const Hardware h = round_device();
  // 2 x 1000 x 2000 x 5000 = 2e10 FLOPs at 50 TFLOP/s are 400 us; the bytes, 2 x (2e6 + 1e7 + 5e6) = 34 MB, 34 us.
  const auto large = time_of(h, gemm(1000, 2000, 5000), Forward);
  CHECK(large.seconds == Approx(410e-6).epsilon(kExact));
  CHECK(large.basis == Basis::Default);
  // One token: 2e7 FLOPs are 0.4 us, the weights' 2 x 1e7 bytes and 14 kB of operands 20.014 us.
  CHECK(time_of(h, gemm(1, 2000, 5000), Forward).seconds == Approx(10e-6 + 20.014e-6).epsilon(kExact));
  // 8 experts: 8 times the FLOPs in one launch.
  CHECK(time_of(h, gemm(1000, 2000, 5000, 8), BackwardWeight).seconds ==
        Approx(10e-6 + 3200e-6).epsilon(kExact));
  CHECK(time_of(h, gemm(0, 2000, 5000), Forward).seconds == 0);
}

TEST_CASE("a pass asks its own product of the table") {
  const model::Gemm fc1 = gemm(100, 20, 30);
  // Forward [m, k] x [k, n]; dX [m, k] = dY [m, n] x W' [n, k]; dW' [n, k] = dY' [n, m] x X [m, k].
  CHECK(product_of(fc1, Forward).k == 20);
  CHECK(product_of(fc1, BackwardInput).k == 30);
  CHECK(product_of(fc1, BackwardInput).n == 20);
  CHECK(product_of(fc1, BackwardWeight).m == 30);
  CHECK(product_of(fc1, BackwardWeight).k == 100);
  CHECK(product_of(fc1, BackwardWeight).n == 20);

  Hardware h = round_device();
  h.gemm.tables[0].by_pass[0].add({1, 1000, 2000, 5000, 1, 1}, 0.8);
  const auto hit = time_of(h, gemm(1000, 2000, 5000), Forward);
  CHECK(hit.basis == Basis::Table);
  CHECK(hit.seconds == Approx(2e10 / 80e12).epsilon(kExact));
  CHECK(time_of(h, gemm(1001, 2000, 5000), Forward).basis == Basis::Nearest);
  CHECK(time_of(h, gemm(1000, 2000, 5000), BackwardInput).basis == Basis::Default);
}

TEST_CASE("between shapes of a table the three nearest count with 1 over distance squared") {
  ShapeTable table;
  CHECK_FALSE(table.find({1, 8, 8, 8, 1, 1}).has_value());
  table.add({1, 1, 8, 8, 1, 1}, 0.2);
  table.add({1, 4, 8, 8, 1, 1}, 0.5);
  table.add({1, 32, 8, 8, 1, 1}, 0.8);
  table.add({1, 4096, 8, 8, 1, 1}, 1.0);  // the fourth
  // From 8: one doubling to 4, two to 32, three to 1: (0.5 / 1 + 0.8 / 4 + 0.2 / 9) / (1 + 1/4 + 1/9).
  const auto found = table.find({1, 8, 8, 8, 1, 1});
  REQUIRE(found.has_value());
  CHECK_FALSE(found->hit);
  CHECK(found->value == Approx((0.5 + 0.2 + 0.2 / 9) / (1 + 0.25 + 1.0 / 9)).epsilon(kExact));
  CHECK(table.find({1, 4, 8, 8, 1, 1})->hit);
  table.add({1, 4, 8, 8, 1, 1}, 0.9);
  CHECK(table.find({1, 4, 8, 8, 1, 1})->value == 0.5);
  table.add({1, 4, 8, 8, 1, 1}, 0.6, true);
  CHECK(table.find({1, 4, 8, 8, 1, 1})->value == 0.6);
  CHECK(table.find({1, 4, 8, 8, 1, 1})->measured);
  CHECK(table.size() == 4);
}

TEST_CASE("a ladder of m is a straight line between logarithms of times") {
  GemmGrid grid;
  grid.add(64, 64, {{128, 0.2}, {512, 0.8}});
  // Half of the way from 128 to 512 is 256: the mean of the logarithms, sqrt(0.2 x 0.8).
  CHECK(grid.find(256, 64, 64)->value == Approx(0.4).epsilon(kExact));
  CHECK(grid.find(256, 64, 64)->hit);
  // Below it takes as long as 128 does: half the FLOPs, half the efficiency. Above it is as efficient as 512.
  CHECK(grid.find(64, 64, 64)->value == Approx(0.1).epsilon(kExact));
  CHECK(grid.find(1024, 64, 64)->value == 0.8);
  CHECK_FALSE(grid.find(1024, 64, 64)->hit);
  // Two pairs at the distances of one and two doublings: weights 1 and 1/4.
  grid.add(512, 64, {{128, 0.6}});
  CHECK(grid.find(512, 64, 128)->value == Approx((0.8 + 0.6 / 4) / 1.25).epsilon(kExact));
}

TEST_CASE("attention counts the whole square, and 2.5 times as much backward") {
  const Hardware h = round_device();
  const model::CoreAttention attention{
      .batch = 1, .queries = 1000, .keys = 1000, .heads = 10, .kv_heads = 10, .qk_dim = 128, .v_dim = 128};
  // 2 x 1000^2 x 10 x 256 = 5.12e9 FLOPs at 50 TFLOP/s.
  CHECK(time_of(h, attention, Forward).seconds == Approx(102.4e-6).epsilon(kExact));
  CHECK(time_of(h, attention, BackwardInput).seconds == Approx(256e-6).epsilon(kExact));
  CHECK(time_of(h, attention, BackwardWeight).seconds == 0);
  // Not causal: each query sees twice as many keys as the causal mean.
  model::CoreAttention full = attention;
  full.causal = false;
  CHECK(time_of(h, full, Forward).seconds == Approx(204.8e-6).epsilon(kExact));
  // Not flash: the square at 0.4 of the peak, twice that backward, causal or not.
  full.flash = false;
  CHECK(time_of(h, full, Forward).seconds == Approx(128e-6).epsilon(kExact));
  CHECK(time_of(h, full, BackwardInput).seconds == Approx(256e-6).epsilon(kExact));
}

TEST_CASE("attention that has been measured forward alone is 2.5 times as long backward") {
  Hardware h = round_device();
  const model::CoreAttention attention{
      .batch = 1, .queries = 1000, .keys = 1000, .heads = 10, .kv_heads = 10, .qk_dim = 128, .v_dim = 128};
  h.attention.by_direction[0].add(attention_shape(attention), 0.8);
  const auto forward = time_of(h, attention, Forward);
  const auto backward = time_of(h, attention, BackwardInput);
  CHECK(forward.basis == Basis::Table);
  CHECK(backward.basis == Basis::Nearest);
  CHECK(backward.seconds == Approx(2.5 * forward.seconds).epsilon(kExact));
}

TEST_CASE("products in mxfp8 are as near their peak as those in fp8, where they have no table of their own") {
  Hardware h = round_device();
  h.matrix_rate = {100e12, 200e12, 400e12};
  h.precision = hardware::Precision::Mxfp8;
  // 2 x 1000 x 2000 x 5000 = 2e10 FLOPs: without any table half of 400 TFLOP/s, 100 us, and a launch of 10 us.
  CHECK(time_of(h, gemm(1000, 2000, 5000), Forward).seconds == Approx(110e-6).epsilon(kExact));
  h.gemm.tables[1].by_pass[0].add({1, 1000, 2000, 5000, 1, 1}, 0.8, false);
  const auto found = time_of(h, gemm(1000, 2000, 5000), Forward);
  // 2e10 / (0.8 x 400e12): 62.5 us. What was timed in another precision is no hit.
  CHECK(found.seconds == Approx(62.5e-6).epsilon(kExact));
  CHECK(found.basis == Basis::Nearest);
  CHECK(bytes_of(h.precision) == 1.03125);  // a byte, and one for each 32
}

TEST_CASE("scores alone are found in a table of attention") {
  Hardware h = round_device();
  model::CoreAttention known{
      .batch = 1, .queries = 1024, .keys = 1024, .heads = 8, .kv_heads = 8, .qk_dim = 128, .v_dim = 128};
  h.attention.by_direction[0].add(attention_shape(known), 0.5);
  model::CoreAttention scores = known;
  scores.v_dim = 0;
  // One product of heads 128 wide instead of two.
  CHECK(time_of(h, scores, Forward).seconds ==
        Approx(time_of(h, known, Forward).seconds / 2).epsilon(kExact));
}

TEST_CASE("traffic is bytes at a share of the memory's rate, and a time for each kernel") {
  const Hardware h = round_device();
  const model::Traffic norm{.what = "norm", .forward = 1e6, .backward = 2e6, .kernels = 2};
  CHECK(time_of(h, norm, Forward).seconds == Approx(4e-6 + 6e-6).epsilon(kExact));
  CHECK(time_of(h, norm, BackwardInput).seconds == Approx(8e-6 + 6e-6).epsilon(kExact));
  CHECK(time_of(h, norm, BackwardWeight).seconds == 0);
  CHECK(time_of(h, norm, Forward, model::NormKind::Layer).seconds == Approx(2e-6 + 6e-6).epsilon(kExact));
  for (const model::NormKind kind : {model::NormKind::Centered, model::NormKind::Bare})
    CHECK(time_of(h, norm, Forward, kind).seconds == time_of(h, norm, Forward).seconds);
  CHECK(optimizer(h, 8e9).seconds == Approx(10e-3).epsilon(kExact));  // 8 GB at 0.8 x 1 TB/s
}

TEST_CASE("collectives without a table send what a ring sends") {
  Hardware h = round_device();
  h.collective_factor = 2;
  // 4 ranks of one node: 5 us + 2 x 3/4 x 1 GB at 100 GB/s, all times kC.
  CHECK(time_of(h, AllReduce, 1e9, 4, 4).seconds == Approx(2 * (5e-6 + 15e-3)).epsilon(kExact));
  CHECK(time_of(h, AllGather, 1e9, 4, 4).seconds == Approx(2 * (5e-6 + 7.5e-3)).epsilon(kExact));
  // 8 ranks of 2 nodes: 4 adapters at 10 GB/s, 7/8 of the bytes; one doubling of the nodes, once per phase.
  CHECK(time_of(h, ReduceScatter, 1e9, 8, 4).seconds == Approx(20e-6 + 0.875 / 40).epsilon(kExact));
  CHECK(time_of(h, AllReduce, 1e9, 8, 4).seconds == Approx(2 * (20e-6 + 0.875 / 40)).epsilon(kExact));
  // One rank on each of 8 nodes: one adapter.
  CHECK(time_of(h, ReduceScatter, 1e9, 8, 1).seconds == Approx(60e-6 + 0.0875).epsilon(kExact));
  // All-to-all: half leaves the node, over each rank's own adapter.
  CHECK(time_of(h, AllToAll, 1e9, 8, 4).seconds == Approx(20e-6 + 0.05).epsilon(kExact));
  CHECK(time_of(h, AllReduce, 1e9, 1, 1).seconds == 0);
  CHECK(time_of(h, AllReduce, 0, 8, 4).seconds == 0);
}

TEST_CASE("a ring across nodes is not faster than the links inside them") {
  Hardware h = round_device();
  h.network.bytes_per_second = 100e9;  // 4 x 50 GB/s, more than NVLink's 100
  CHECK(time_of(h, ReduceScatter, 1e9, 8, 4).seconds == Approx(20e-6 + 8.75e-3).epsilon(kExact));
}

TEST_CASE("a table of collectives is a straight line between logarithms, in the ranks one of bus times") {
  Hardware h = round_device();
  h.collective_factor = 1.5;
  h.collectives.add(AllReduce, 2, 1e6, 10e-6);
  h.collectives.add(AllReduce, 2, 4e6, 40e-6);
  h.collectives.add(AllReduce, 4, 1e6, 30e-6);
  CHECK(time_of(h, AllReduce, 2e6, 2, 4).seconds == Approx(1.5 * 20e-6).epsilon(kExact));
  CHECK(time_of(h, AllReduce, 2e6, 2, 4).basis == Basis::Table);
  CHECK(time_of(h, AllReduce, 1e3, 2, 4).seconds == Approx(1.5 * 10e-6).epsilon(kExact));
  CHECK(time_of(h, AllReduce, 8e6, 2, 4).seconds == Approx(1.5 * 80e-6).epsilon(kExact));
  CHECK(time_of(h, AllReduce, 8e6, 2, 4).basis == Basis::Nearest);
  // 3 ranks: bus times 10 / 1 and 30 / 1.5 us, their mean 15, times 4/3.
  CHECK(time_of(h, AllReduce, 1e6, 3, 4).seconds == Approx(1.5 * 20e-6).epsilon(kExact));
  CHECK(time_of(h, AllGather, 1e6, 2, 4).basis == Basis::Default);
}

TEST_CASE("messages and the reduction of gradients go over the links they name") {
  const Hardware h = round_device();
  CHECK(message(h, 1e9, false).seconds == Approx(5e-6 + 10e-3).epsilon(kExact));
  CHECK(message(h, 1e9, true).seconds == Approx(20e-6 + 100e-3).epsilon(kExact));
  const double scatter = time_of(h, ReduceScatter, 4e9, 8, 4).seconds;
  const double gather = time_of(h, AllGather, 2e9, 8, 4).seconds;
  CHECK(reduction(h, 4e9, 2e9, 8, 4, true).seconds == Approx(scatter + gather).epsilon(kExact));
  CHECK(reduction(h, 4e9, 2e9, 8, 4, false).seconds == time_of(h, AllReduce, 4e9, 8, 4).seconds);
}

}  // namespace pipeloom::hardware::hardware_times_test
