#include "sim/draw/rows.hpp"

#include "sim/draw/words.hpp"
#include "support/catch.hpp"

namespace rows_test {

using namespace pipeloom;
using namespace pipeloom::draw;

namespace {

TEST_CASE("ranks share rows where there are more than rows", "[rows]") {
  const RankRows rows(Rank(2), Rank(12), 4);  // 10 ranks in 4 rows: 3 a row, and 1 in the last
  REQUIRE(rows.count() == 4);
  CHECK(rows.row(0, 7, 20).first == Rank(2));
  CHECK(rows.row(0, 7, 20).ranks() == 3);
  CHECK(rows.row(3, 7, 20).first == Rank(11));
  CHECK_FALSE(rows.row(3, 7, 20).is_shared());
  CHECK(rows.row_of(Rank(4)) == 0);
  CHECK(rows.row_of(Rank(5)) == 1);
  CHECK(RankRows(Rank(0), Rank(10), 10.5).count() == 10);
  CHECK(RankRows(Rank(0), Rank(10), 9.5).count() == 5);  // 2 a row
}

TEST_CASE("rows too low for numbers are named at round ones", "[rows]") {
  const RankRows rows(Rank(0), Rank(100), 100);
  const auto named = [&](int row, double pitch) { return rows.is_named(rows.row(row, 0, pitch), pitch, 8); };
  CHECK(named(1, 10));  // 8 and 2 of air fit
  // 10 / 4 pixels are 2.5 rows, 5 when rounded.
  CHECK(named(0, 4));
  CHECK_FALSE(named(4, 4));
  CHECK(named(5, 4));
  // Rows of 3 ranks: 10 pixels are 3 ranks, 5 when rounded; a row is named when a multiple came since the row before.
  const RankRows shared(Rank(0), Rank(30), 10);
  CHECK_FALSE(shared.is_named(shared.row(1, 0, 10), 10, 8));  // 1 to 3 holds no multiple of 5
  CHECK(shared.is_named(shared.row(2, 0, 10), 10, 8));        // 4 to 6 holds 5
}

TEST_CASE("neither an op nor a gap vanishes in a bar", "[rows]") {
  CHECK(bar_height(0, 12) == 0);
  CHECK(bar_height(0.001, 12) == 1);
  CHECK(bar_height(0.5, 12) == 6);
  CHECK(bar_height(0.999, 12) == 11);
  CHECK(bar_height(1, 12) == 12);
}

TEST_CASE("an op's number names the slice where there are any", "[words]") {
  CHECK(op_number(forward(Stage(1), Microbatch(12))) == "12");
  CHECK(op_number(forward(Stage(1), Microbatch(12)).with_slice(3)) == "12.3");
}

}  // namespace

}  // namespace rows_test
