#include "sim/torch/hang.hpp"

#include <string>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/torch/lowering.hpp"
#include "support/catch.hpp"

namespace pipeloom::torch::hang_test {
namespace {

/// Two ranks, two stages, two microbatches, as the lowering writes it.
constexpr const char* kWhole =
    "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 | 1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 "
    "1SEND_B1";

const Homes kTwo({Rank(0), Rank(1)}, 2);

std::string without(std::string text, const std::string& word) {
  return text.erase(text.find(word + " "), word.size() + 1);
}

Stuck stuck_of(const ActionLists& lists) {
  const auto run = dry_run(lists, kTwo);
  REQUIRE(run.stuck);
  return *run.stuck;
}

}  // namespace

TEST_CASE("torch: the whole program comes to its end") {
  CHECK_FALSE(dry_run(parse_action_lists(kWhole), kTwo).stuck);
}

TEST_CASE("torch: a missing send is named and put in behind what it sends") {
  const ActionLists lists = parse_action_lists(without(kWhole, "0SEND_F1"));
  const Stuck stuck = stuck_of(lists);
  const ActionHang hang = explain_hang(lists, kTwo, stuck);
  CHECK(hang.cycle.empty());
  CHECK(wait_lines(hang, lists, kTwo) ==
        std::vector<std::string>{
            "rank 1 waits in RECV_F of stage 1 microbatch 1 from rank 0, but rank 0 has no 0SEND_F1 ahead",
            "rank 0 waits in RECV_B of stage 0 microbatch 1 from rank 1"});
  const auto edit = find_edit(lists, kTwo, stuck);
  REQUIRE(edit);
  CHECK(describe(*edit, lists) == "on rank 0, insert 0SEND_F1 at position 3, behind 0F1");
  CHECK(edited(lists, *edit) == parse_action_lists(kWhole));
}

TEST_CASE("torch: a missing receive is put in where its rank got stuck") {
  const ActionLists lists = parse_action_lists(without(kWhole, "1RECV_F1"));
  const Stuck stuck = stuck_of(lists);
  const auto edit = find_edit(lists, kTwo, stuck);
  REQUIRE(edit);
  CHECK(describe(*edit, lists) == "on rank 1, insert 1RECV_F1 at position 4, behind 1SEND_B0");
  CHECK(edited(lists, *edit) == parse_action_lists(kWhole));
}

TEST_CASE("torch: crossed receives are a cycle, and the shortest move ends it") {
  // Rank 0 wants the first gradient before it sends 0F1; rank 1 wants 0F1 before it goes backward.
  const ActionLists lists = parse_action_lists(
      "0F0 0SEND_F0 0RECV_B0 0F1 0SEND_F1 0B0 0RECV_B1 0B1 | 1RECV_F0 1F0 1RECV_F1 1F1 1B0 1SEND_B0 1B1 "
      "1SEND_B1");
  const Stuck stuck = stuck_of(lists);
  const ActionHang hang = explain_hang(lists, kTwo, stuck);
  CHECK(wait_lines(hang, lists, kTwo) ==
        std::vector<std::string>{
            "rank 0 waits in RECV_B of stage 0 microbatch 0 from rank 1, which",
            "rank 1 waits in RECV_F of stage 1 microbatch 1 from rank 0: the cycle closes"});
  // 0RECV_B0 goes behind 0F1 and 0SEND_F1: over two cells. On rank 1 1SEND_B0 would have to pass three.
  const auto edit = find_edit(lists, kTwo, stuck);
  REQUIRE(edit);
  CHECK(describe(*edit, lists) == "on rank 0, move 0RECV_B0 from position 2 to 4, behind 0SEND_F1");
}

TEST_CASE("torch: what stands behind its own use is said so") {
  const ActionLists lists = parse_action_lists("0F0 0SEND_F0 0RECV_B0 0B0 | 1F0 1RECV_F0 1B0 1SEND_B0");
  const Homes one({Rank(0), Rank(1)}, 1);
  const auto run = dry_run(lists, one);
  REQUIRE(run.stuck);
  const ActionHang hang = explain_hang(lists, one, *run.stuck);
  CHECK(wait_lines(hang, lists, one).front() ==
        "rank 1 waits in 1F0, which needs its own 1RECV_F0 behind it: the cycle closes");
  const auto edit = find_edit(lists, one, *run.stuck);
  REQUIRE(edit);
  CHECK(describe(*edit, lists) == "on rank 1, move 1RECV_F0 from position 1 to 0, in front of 1F0");
}

TEST_CASE("torch: any one message taken out of a lowered schedule is found and put back") {
  int hanging = 0;
  for (const char* name : {"1f1b", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble"}) {
    const auto [generator, alias] = schedules::find(name);
    Params params{.ranks = 3, .microbatches = 6, .chunks = generator->requirements.default_chunks};
    const Schedule schedule = schedules::make(*generator, params);
    const ActionLists whole = lower(schedule, {});
    const Homes homes(schedule);
    for (std::size_t skip = 0; skip < whole.num_actions(); ++skip) {
      if (!is_transfer(whole.actions()[skip].kind())) continue;
      ActionLists lists;
      for (Rank rank{0}; rank < Rank(whole.ranks()); ++rank) {
        lists.begin_rank();
        for (std::size_t i = whole.row_begin(rank); i < whole.row_end(rank); ++i)
          if (i != skip) lists.add(whole.actions()[i]);
      }
      const auto run = dry_run(lists, homes);
      if (!run.stuck) continue;  // a send that nobody misses, because its receive is the one left out
      INFO(name << ", without " << to_text(whole.actions()[skip]));
      ++hanging;
      const auto edit = find_edit(lists, homes, *run.stuck);
      REQUIRE(edit);
      REQUIRE(edit->kind == ListEdit::Kind::Insert);
      REQUIRE(edit->action == whole.actions()[skip]);
      REQUIRE_FALSE(dry_run(edited(lists, *edit), homes).stuck);
    }
  }
  CHECK(hanging > 200);
}

}  // namespace pipeloom::torch::hang_test
