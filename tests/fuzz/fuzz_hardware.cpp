// Hardware files: whatever is read tells a time of every piece of work, and none is negative or endless.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pipeloom/error.hpp>
#include "sim/hardware/hardware.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/model/work.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace pipeloom;

void require_time(const hardware::Timed& time) {
  fuzz::require(std::isfinite(time.seconds) && time.seconds >= 0);
}

void time_collectives(const hardware::Hardware& device) {
  for (const auto kind : {model::CollectiveKind::AllReduce, model::CollectiveKind::AllGather,
                          model::CollectiveKind::ReduceScatter, model::CollectiveKind::AllToAll})
    for (const int ranks : {1, 2, 8, 64}) require_time(hardware::time_of(device, kind, 1e6, ranks, 8));
  for (const bool across : {false, true}) require_time(hardware::message(device, 1e6, across));
  require_time(hardware::optimizer(device, 1e9));
  require_time(hardware::reduction(device, 1e9, 5e8, 16, 8, true));
}

void time_work(const hardware::Hardware& device) {
  model::CoreAttention attention;
  attention.batch = 1;
  attention.queries = attention.keys = 4096;
  attention.heads = 32;
  attention.kv_heads = 8;
  attention.qk_dim = attention.v_dim = 128;
  const model::Gemm gemm{"qkv", 4096, 4096, 6144, 1};
  const model::Gemm grouped{"expert fc1", 512, 4096, 4096, 8};
  const model::Traffic traffic{"norm", 1e7, 2e7, 2};
  for (const auto pass : {model::Pass::Forward, model::Pass::BackwardInput, model::Pass::BackwardWeight}) {
    require_time(hardware::time_of(device, gemm, pass));
    require_time(hardware::time_of(device, grouped, pass));
    require_time(hardware::time_of(device, attention, pass));
    for (const auto list : {model::NormKind::Rms, model::NormKind::Layer})
      require_time(hardware::time_of(device, traffic, pass, list));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const io::Document document = io::Document::parse(text, "hardware.json");
    const hardware::Hardware device = io::read_hardware(document.root());
    time_work(device);
    time_collectives(device);
  } catch (const InputError& error) {
    fuzz::require_one_line(error.line());
  }
  return 0;
}
