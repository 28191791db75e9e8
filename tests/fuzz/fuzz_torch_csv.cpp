// Any bytes as a PyTorch schedule file: read, validate, and if it is sound, simulate it and write it back.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/io/formats/torch_csv.hpp"
#include "tests/fuzz/schedule_round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeloom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::check_reader([text] { return io::read_torch_csv(text, "schedule.csv").schedule; });
  return 0;
}
