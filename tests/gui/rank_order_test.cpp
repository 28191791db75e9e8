// Ranks in another order than by number: what moves, what follows, what a file may hold.

#include "gui/model/run/rank_order.hpp"

#include <vector>

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/rank_drop.hpp"
#include "gui/model/session/command.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace rank_order_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

using Ranks = std::vector<int>;

namespace {

/// Three ranks, one op each.
constexpr const char* kThree = "0F0 | 1F0 | 2F0";

ChartLayout laid_out(Session& session) {
  ChartLayout layout;
  lay_out_chart(session, {0, 0, 1000, 600}, 1, layout);
  return layout;
}

Ranks rows_of(const ChartLayout& layout) {
  Ranks out;
  for (const ChartRow& row : layout.rows) out.push_back(row.rank.value());
  return out;
}

/// In the middle of a rank's row.
double middle_of(const ChartLayout& layout, std::uint64_t run, int rank) {
  const ChartRow& row = *layout.row_of(run, Rank(rank));
  return row.all.y + row.all.height / 2;
}

}  // namespace

TEST_CASE("a rank that moves shifts those between, and what stands by number is forgotten") {
  RankOrder order;
  CHECK(order.by_number());
  order.move(3, 1, 5);
  CHECK(order.of(5) == Ranks{0, 3, 1, 2, 4});
  CHECK(order.listed() == Ranks{0, 3, 1, 2});
  // A smaller run has its own ranks in the same order, a larger one the rest behind.
  CHECK(order.of(2) == Ranks{0, 1});
  CHECK(order.of(3) == Ranks{0, 1, 2});
  CHECK(order.of(7) == Ranks{0, 3, 1, 2, 4, 5, 6});
  order.move(3, 3, 5);
  CHECK(order.by_number());
}

TEST_CASE("places of a smaller run leave the ranks that it does not have where they are") {
  RankOrder order;
  order.move(3, 0, 4);
  CHECK(order.of(4) == Ranks{3, 0, 1, 2});
  order.move(1, 0, 2);
  CHECK(order.of(2) == Ranks{1, 0});
  CHECK(order.of(4) == Ranks{3, 1, 0, 2});
}

TEST_CASE("an order has each of its ranks once") {
  RankOrder order;
  order.move(1, 0, 2);
  for (const Ranks& wrong : {Ranks{0, 0}, Ranks{0, 2}, Ranks{-1, 0}, Ranks{1}}) {
    CHECK_FALSE(order.take(wrong));
    CHECK(order.listed() == Ranks{1, 0});
  }
  CHECK(order.take({0, 2, 1, 3}));
  CHECK(order.listed() == Ranks{0, 2, 1});
}

TEST_CASE("rows, hits and pinned ranks follow the order", "[chart]") {
  Session session;
  const RunPtr run = open_in(session, run_of(kThree));
  session.view.order.move(2, 0, 3);
  ChartLayout layout = laid_out(session);
  CHECK(rows_of(layout) == Ranks{2, 0, 1});
  for (int rank = 0; rank < 3; ++rank) {
    const double y = middle_of(layout, run->id, rank);
    CHECK(layout.hit(30, y).rank == Rank(rank));
  }
  CHECK(layout.row_of(run->id, Rank(2))->all.y < layout.row_of(run->id, Rank(0))->all.y);
  session.view.hidden = {0};
  layout = laid_out(session);
  CHECK(rows_of(layout) == Ranks{2, 1});
  CHECK(layout.row_of(run->id, Rank(0)) == nullptr);
  session.view.hidden.clear();
  session.view.pinned = {1, 2};
  CHECK(rows_of(laid_out(session)) == Ranks{2, 1, 0});
}

TEST_CASE("a rank is dropped between the rows around the pointer", "[chart]") {
  Session session;
  const RunPtr run = open_in(session, run_of(kThree));
  const ChartLayout layout = laid_out(session);
  const auto drop = [&](int rank, double y) {
    return drop_of(session.view, layout, layout.hit(30, middle_of(layout, run->id, rank)), y);
  };
  // From below it takes the place of the row whose middle it reaches, from above too.
  REQUIRE(drop(2, middle_of(layout, run->id, 0)));
  CHECK(drop(2, middle_of(layout, run->id, 0))->place == 0);
  CHECK(drop(0, middle_of(layout, run->id, 2))->place == 2);
  CHECK(drop(0, middle_of(layout, run->id, 1))->place == 1);
  CHECK(drop(0, middle_of(layout, run->id, 1))->y == layout.row_of(run->id, Rank(2))->all.y);
  // Beside itself it stays.
  CHECK_FALSE(drop(1, middle_of(layout, run->id, 1)));
  CHECK_FALSE(drop(1, middle_of(layout, run->id, 0) + 1));
  // Far below: the last place.
  CHECK(drop(0, 5000)->place == 2);
}

TEST_CASE("ranks move by commands, past those that are hidden") {
  Session session;
  open_in(session, run_of(kThree));
  session.view.hidden = {1};
  run_command(session, "move-rank-up", "2");
  CHECK(session.view.order.of(3) == Ranks{2, 0, 1});
  run_command(session, "move-rank-up", "2");
  CHECK(session.view.order.of(3) == Ranks{2, 0, 1});
  run_command(session, "move-rank", "1 0");
  CHECK(session.view.order.of(3) == Ranks{1, 2, 0});
  for (const char* wrong : {"", "1", "3 0", "0 3", "a 0", "0 -1"}) {
    run_command(session, "move-rank", wrong);
    CHECK(session.message.kind == MessageKind::Problem);
    CHECK(session.view.order.of(3) == Ranks{1, 2, 0});
  }
  run_command(session, "reset-rank-order", "");
  CHECK(session.view.order.by_number());
}

}  // namespace rank_order_test
