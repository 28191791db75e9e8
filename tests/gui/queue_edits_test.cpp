#include "gui/model/edit/queue_edits.hpp"

#include <memory>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "support/catch.hpp"

namespace queue_edits_test {

using namespace pipeloom;
using namespace pipeloom::gui;

namespace {

std::shared_ptr<const Schedule> share(const char* text) {
  return std::make_shared<const Schedule>(parse_schedule(text));
}

std::string text(const QueueEdits& edits, int rank) {
  return queue_text(edits.snapshot().build(), Rank(rank));
}

constexpr Stage kFirst{0};

Op f(int k) {
  return forward(kFirst, Microbatch(k));
}

}  // namespace

TEST_CASE("an entry moves to a position, and what stands between moves up") {
  QueueEdits edits(share("0F0 0F1 0B0 0B1"));
  edits.move(Rank(0), f(0), 2);
  CHECK(text(edits, 0) == "0F1 0B0 0F0 0B1");
  edits.move(Rank(0), f(0), 0);
  CHECK(text(edits, 0) == "0F0 0F1 0B0 0B1");
  CHECK(edits.num_edits() == 2);
  CHECK(edits.last_edit() == "move 0F0 on rank 0 from 2 to 0");
}

TEST_CASE("a group moves as one entry, and positions count it once") {
  QueueEdits edits(share("0F0 (0F1;0B0)OVERLAP_F_B 0B1"));
  CHECK(edits.num_entries(Rank(0)) == 3);
  CHECK(edits.find(Rank(0), f(1)) == QueueEntry{1, 1, 3});
  CHECK(edits.find(Rank(0), backward(kFirst, Microbatch(1))) == QueueEntry{2, 3, 4});
  edits.move(Rank(0), f(1), 0);
  CHECK(text(edits, 0) == "(0F1;0B0)OVERLAP_F_B 0F0 0B1");
  edits.move(Rank(0), backward(kFirst, Microbatch(1)), 0);
  CHECK(text(edits, 0) == "0B1 (0F1;0B0)OVERLAP_F_B 0F0");
}

TEST_CASE("to its own place nothing moves, behind the end nothing can") {
  QueueEdits edits(share("0F0 0B0"));
  edits.move(Rank(0), f(0), 0);
  CHECK(edits.num_edits() == 0);
  CHECK_THROWS_AS(edits.move(Rank(0), f(0), 2), InputError);
  CHECK_THROWS_AS(edits.move(Rank(0), f(5), 0), InputError);
  CHECK_THROWS_AS(edits.move(Rank(1), f(0), 0), InputError);
  CHECK_FALSE(edits.can_undo());
}

TEST_CASE("a W is taken out of its queue, or out of its group, and put elsewhere") {
  const Op w = backward_weight(kFirst, Microbatch(0));
  QueueEdits edits(share("0F0 0F1 0I0 (0W0;0I1)OVERLAP 0W1"));
  edits.remove_weight(Rank(0), w);
  CHECK(text(edits, 0) == "0F0 0F1 0I0 0I1 0W1");
  CHECK(edits.removed_weights() == std::vector<std::pair<Rank, Op>>{{Rank(0), w}});
  CHECK_THROWS_AS(edits.remove_weight(Rank(0), w), InputError);
  CHECK_THROWS_AS(edits.remove_weight(Rank(0), f(0)), InputError);
  edits.insert_weight(Rank(0), w, 5);
  CHECK(text(edits, 0) == "0F0 0F1 0I0 0I1 0W1 0W0");
  CHECK(edits.removed_weights().empty());
  CHECK_THROWS_AS(edits.insert_weight(Rank(0), w, 0), InputError);  // stands there already
  CHECK_THROWS_AS(edits.insert_weight(Rank(0), backward_weight(kFirst, Microbatch(2)), 0), InputError);
}

TEST_CASE("a W goes to the rank of its stage only") {
  QueueEdits edits(share("0F0 0I0 0W0 | 1F0 1I0 1W0"));
  const Op w = backward_weight(kFirst, Microbatch(0));
  edits.remove_weight(Rank(0), w);
  CHECK_THROWS_AS(edits.insert_weight(Rank(1), w, 0), InputError);
}

TEST_CASE("neighbours become a group with its forward first, and a group falls apart") {
  QueueEdits edits(share("0F0 0B0 0F1 0B1"));
  edits.join_next(Rank(0), backward(kFirst, Microbatch(0)));
  CHECK(text(edits, 0) == "0F0 (0F1;0B0)OVERLAP_F_B 0B1");
  edits.split(Rank(0), f(1));
  CHECK(text(edits, 0) == "0F0 0F1 0B0 0B1");
  CHECK_THROWS_AS(edits.split(Rank(0), f(1)), InputError);
  CHECK_THROWS_AS(edits.join_next(Rank(0), backward(kFirst, Microbatch(1))), InputError);
}

TEST_CASE("undo and redo walk through every edit, and a new one forgets what was undone") {
  const auto base = share("0F0 0F1 0I0 0W0 0I1 0W1");
  QueueEdits edits(base);
  edits.move(Rank(0), backward_weight(kFirst, Microbatch(0)), 4);
  edits.join_next(Rank(0), f(0));
  edits.remove_weight(Rank(0), backward_weight(kFirst, Microbatch(1)));
  const Schedule last = edits.snapshot().build();
  for (int i = 0; i < 3; ++i) edits.undo();
  CHECK_FALSE(edits.can_undo());
  CHECK(edits.snapshot().build() == *base);
  for (int i = 0; i < 3; ++i) edits.redo();
  CHECK_FALSE(edits.can_redo());
  CHECK(edits.snapshot().build() == last);
  edits.undo();
  edits.move(Rank(0), f(0), 1);
  CHECK_FALSE(edits.can_redo());
}

}  // namespace queue_edits_test
