// The work of a layer as terms of its time.

#include "sim/hardware/layer_time.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace pipeloom::hardware::layer_time_test {
namespace {

using model::Pass;

constexpr double kExact = 1e-12;

/// 100 TFLOP/s, 1 TB/s, NVLink 100 GB/s without latency, 8 devices in a node; every efficiency 1.
Hardware plain_device() {
  Hardware h;
  h.memory_bytes = 64e9;
  h.memory_rate = 1e12;
  h.matrix_rate = {100e12, 0};
  h.gemm.efficiency = 1;
  h.attention.efficiency = 1;
  h.traffic_efficiency = {0.5, 1};
  h.nvlink.bytes_per_second = 100e9;
  h.network.bytes_per_second = 10e9;
  return h;
}

/// A product of 2e12 FLOPs (20 ms), traffic of 1 and 2 GB (1 and 2 ms), an all-reduce of 1 GB over 2 ranks forward and backward (10 ms).
model::Work plain_work() {
  model::Work work;
  work.gemms.push_back({"fc1", 10'000, 10'000, 10'000, 1});
  work.traffic.push_back({"norm", 1e9, 2e9, 1});
  work.collectives.push_back({"mlp", model::CollectiveKind::AllReduce, model::Group::Tensor, 1e9, {1, 1, 0}});
  return work;
}

model::Split two_ranks() {
  model::Split split;
  split.tensor = 2;
  return split;
}

}  // namespace

TEST_CASE("a layer's time is the sum of its terms, and says what each is based on") {
  const WorkTime time = work_time(plain_device(), plain_work(), two_ranks(), model::NormKind::Layer);
  CHECK(time[Pass::Forward][Term::Gemm] == Approx(20e-3).epsilon(kExact));
  CHECK(time[Pass::Forward][Term::Elementwise] == Approx(1e-3).epsilon(kExact));
  CHECK(time[Pass::Forward][Term::Collectives] == Approx(10e-3).epsilon(kExact));
  CHECK(time[Pass::Forward].total() == Approx(31e-3).epsilon(kExact));
  CHECK(time[Pass::BackwardInput].total() == Approx(32e-3).epsilon(kExact));
  CHECK(time[Pass::BackwardWeight].total() == Approx(20e-3).epsilon(kExact));
  CHECK(time.total() == Approx(83e-3).epsilon(kExact));
  // The other list of bytes has half the efficiency.
  const WorkTime rms = work_time(plain_device(), plain_work(), two_ranks(), model::NormKind::Rms);
  CHECK(rms[Pass::Forward][Term::Elementwise] == Approx(2e-3).epsilon(kExact));

  const auto defaults = static_cast<std::size_t>(Basis::Default);
  CHECK(time.counts[static_cast<std::size_t>(Term::Gemm)][defaults] == 3);
  CHECK(time.counts[static_cast<std::size_t>(Term::Elementwise)][defaults] == 2);
  CHECK(time.counts[static_cast<std::size_t>(Term::Collectives)][defaults] == 2);
  CHECK(name_of(Term::Collectives) == "collectives");
  CHECK(name_of(Basis::Nearest) == "nearest");
}

TEST_CASE("a floor under a layer binds where little is computed") {
  Hardware h = plain_device();
  h.launch.layer_floor = 60e-3;
  h.launch.floor_growth = 0.5;
  h.launch.sharpness = 2;
  const model::Work work = plain_work();
  const WorkTime time = layer_time(h, work, two_ranks(), model::NormKind::Layer);
  // Two tensor ranks: 60 x 1.5 / 3 = 30 ms a pass. W: sqrt(20^2 + 30^2).
  CHECK(time[Pass::BackwardWeight].total() == Approx(std::sqrt(1300.0) * 1e-3).epsilon(kExact));
  CHECK(time[Pass::BackwardWeight][Term::Launch] == Approx(std::sqrt(1300.0) * 1e-3 - 20e-3).epsilon(kExact));
  CHECK(time[Pass::BackwardWeight][Term::Gemm] == Approx(20e-3).epsilon(kExact));
  h.launch.layer_floor = 0;
  CHECK(layer_time(h, work, two_ranks(), model::NormKind::Layer).total() == Approx(83e-3).epsilon(kExact));
}

TEST_CASE("ranks of a node are numbered tensor, context, data") {
  const Hardware h = plain_device();
  model::Split split;
  split.tensor = 4;
  split.context = 4;
  split.data = 16;
  split.expert = 32;
  const auto check = [&](model::Group group, int ranks, int per_node) {
    const GroupSize size = group_of(h, split, group);
    CHECK(size.ranks == ranks);
    CHECK(size.per_node == per_node);
  };
  check(model::Group::Tensor, 4, 4);
  check(model::Group::Context, 4, 2);  // 8 devices, 4 of them apart
  check(model::Group::Data, 64, 2);    // replicas times the context's ranks
  check(model::Group::Expert, 32, 8);
  split.tensor = 16;
  check(model::Group::Tensor, 16, 8);
  check(model::Group::Data, 64, 1);
}

}  // namespace pipeloom::hardware::layer_time_test
