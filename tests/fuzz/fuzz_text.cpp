// Any bytes as the one-line text of a schedule.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pipeloom/schedule.hpp>
#include "tests/fuzz/schedule_round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeloom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::check_reader([text] { return parse_schedule(text); });
  return 0;
}
