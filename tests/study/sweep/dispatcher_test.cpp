#include "study/sweep/run/dispatcher.hpp"

#include "support/catch.hpp"

namespace dispatcher_test {

using pipeloom::sweep::Dispatcher;

TEST_CASE("pieces are handed out in order, to whoever asks") {
  Dispatcher pieces(3, 6);
  CHECK(pieces.hand_out(1) == 3u);
  CHECK(pieces.hand_out(2) == 4u);
  CHECK(pieces.hand_out(1) == 5u);
  CHECK_FALSE(pieces.hand_out(2).has_value());
  CHECK(pieces.held_by(1) == 2);
  pieces.finish(1, 3);
  CHECK(pieces.held_by(1) == 1);
}

TEST_CASE("what a lost worker had goes to others before anything new") {
  Dispatcher pieces(0, 10);
  CHECK(pieces.hand_out(1) == 0u);
  CHECK(pieces.hand_out(1) == 1u);
  CHECK(pieces.hand_out(2) == 2u);
  pieces.finish(1, 0);
  CHECK(pieces.lose(1) == 1);
  CHECK(pieces.held_by(1) == 0);
  CHECK(pieces.most_losses() == 1);
  CHECK(pieces.hand_out(2) == 1u);
  CHECK(pieces.hand_out(2) == 3u);
  CHECK(pieces.lose(1) == 0);
}

TEST_CASE("while nothing new may be handed out, lost pieces are") {
  Dispatcher pieces(0, 10);
  CHECK(pieces.hand_out(1) == 0u);
  CHECK_FALSE(pieces.hand_out(2, true).has_value());
  pieces.lose(1);
  CHECK(pieces.hand_out(2, true) == 0u);
}

TEST_CASE("a worker that was given up too early still helps") {
  Dispatcher pieces(0, 10);
  CHECK(pieces.hand_out(1) == 0u);
  pieces.lose(1);
  pieces.finish(1, 0);
  CHECK(pieces.hand_out(2) == 1u);
  CHECK(pieces.most_losses() == 0);
}

TEST_CASE("a piece that kills its workers is known by its losses") {
  Dispatcher pieces(0, 10);
  for (int worker = 1; worker <= 3; ++worker) {
    CHECK(pieces.hand_out(worker) == 0u);
    pieces.lose(worker);
  }
  CHECK(pieces.hand_out(4) == 0u);
  CHECK(pieces.hand_out(4) == 1u);
  pieces.lose(4);
  CHECK(pieces.most_losses() == 4);
  CHECK(pieces.most_lost_piece() == 0);
  pieces.finish(5, 0);
  CHECK(pieces.most_losses() == 1);
}

}  // namespace dispatcher_test
