// Products of counts: none comes out small, whatever an index has bits.

#include "sim/base/table_size.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include <pipeloom/error.hpp>
#include <pipeloom/op.hpp>
#include "support/catch.hpp"

namespace pipeloom::table_size_test {

constexpr auto kMost64 = std::numeric_limits<std::int64_t>::max();

TEST_CASE("a product of counts is 64 bits wide whatever its factors are", "[table_size]") {
  STATIC_REQUIRE(count_of_cells(3, 4, 5) == 60);
  // 2^12 stages and 2^20 microbatches: 2^32, of which 32 bits keep nothing.
  STATIC_REQUIRE(count_of_cells(std::int32_t{1} << 12, std::uint32_t{1} << 20) == std::int64_t{1} << 32);
  STATIC_REQUIRE(count_of_cells(std::int64_t{1} << 40, std::int64_t{1} << 40) == kMost64);
  STATIC_REQUIRE(count_of_cells(std::int64_t{1} << 40, std::int64_t{1} << 40, 0) == 0);
}

TEST_CASE("where an index has 32 bits, a table of 2^31 cells is refused and one of 2^31 - 1 is not",
          "[table_size]") {
  STATIC_REQUIRE(table_size<std::uint32_t>(std::int32_t{1} << 11, (std::int32_t{1} << 20) - 1) ==
                 2'147'481'600U);
  STATIC_REQUIRE(table_size<std::uint32_t>(std::numeric_limits<std::int32_t>::max()) == 2'147'483'647U);
  CHECK_THROWS_AS(table_size<std::uint32_t>(1 << 11, 1 << 20), TooLargeError);
  CHECK_THROWS_AS(table_size<std::uint32_t>(1 << 12, 1 << 20), TooLargeError);
  try {
    (void)table_size<std::uint32_t>(1 << 12, 1 << 20);
    FAIL("was allowed");
  } catch (const TooLargeError& error) {
    CHECK(std::string(error.what()).find("a table of 4294967296 cells") != std::string::npos);
    CHECK(error.exit_code() == ExitCode::BadInput);
  }
}

TEST_CASE("where an index has 64 bits, the most stages and microbatches of the formats make a size",
          "[table_size]") {
  STATIC_REQUIRE(table_size<std::uint64_t>(kMaxIndex, kMaxIndex, 16) ==
                 16 * std::uint64_t{kMaxIndex} * std::uint64_t{kMaxIndex});
}

}  // namespace pipeloom::table_size_test
