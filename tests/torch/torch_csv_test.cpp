// Files: read(write(x)) is x for every registered schedule in both forms, and what PyTorch's parser lets pass is told.

#include "sim/io/formats/torch_csv.hpp"

#include <map>
#include <sstream>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/torch/dry_run.hpp"
#include "sim/torch/lowering.hpp"
#include "support/catch.hpp"
#include "torch/recorded_lists.hpp"

namespace pipeloom::io::torch_csv_test {
namespace {

template <class Write>
std::string written(const Write& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

std::string text_of(const ActionLists& lists) {
  return written([&](std::ostream& out) { write_torch_actions(out, lists); });
}

/// Cells as files have them, in our text: `;` between ranks.
std::string cells(const std::string& csv) {
  return recorded::rows_text(read_torch_actions(csv, "s").lists);
}

/// Every registered schedule in a few shapes.
template <class Check>
int for_each_schedule(const Check& check) {
  int count = 0;
  for (const auto& generator : schedules::all())
    for (const int p : {2, 4})
      for (const int m : {p, 2 * p, 4 * p}) {
        Params params;
        params.ranks = p;
        params.microbatches = m;
        params.chunks = generator.requirements.default_chunks;
        params.options.updates = generator.requirements.default_updates;
        params.options.slices = equal_slices(generator.requirements.default_slices);
        if (!schedules::refusal(generator, params).empty()) continue;
        const Schedule schedule = schedules::make(generator, params);
        INFO(generator.name << " p=" << p << " m=" << m);
        check(generator, params, schedule);
        ++count;
      }
  return count;
}

/// Slices, and groups that are not one F and one B, have no text.
bool has_text(const Schedule& schedule) {
  try {
    (void)written([&](std::ostream& out) { write_torch_csv(out, schedule); });
  } catch (const InputError&) {
    return false;
  }
  return true;
}

/// Every message once on each side: 3SEND_F1 with 4RECV_F1, 4SEND_B1 with 3RECV_B1.
void check_pairs(const ActionLists& lists, const torch::Homes& homes) {
  std::map<std::pair<std::uint64_t, int>, int> open;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank)
    for (const Action action : lists.row(rank)) {
      if (is_recv(action.kind())) --open[{action.key(), rank.value()}];
      if (!is_send(action.kind())) continue;
      const bool forward = action.kind() == ActionKind::SendForward;
      const Stage to = action.stage() + (forward ? 1 : -1);
      const auto recv = action.as(forward ? ActionKind::RecvForward : ActionKind::RecvBackward, to);
      ++open[{recv.key(), homes.rank_of(to, recv).value()}];
    }
  for (const auto& [recv, count] : open) CHECK(count == 0);
}

}  // namespace

TEST_CASE("torch files: every registered schedule reads back from compute_only, blanks included") {
  const int count = for_each_schedule([](const auto& generator, const auto& params,
                                         const Schedule& schedule) {
    if (!has_text(schedule)) return;
    IdleCells blanks;
    if (generator.idle_cells) blanks = generator.idle_cells(params, schedule);
    const IdleCells* drawn = blanks.empty() ? nullptr : &blanks;
    const std::string csv = written([&](std::ostream& out) { write_torch_csv(out, schedule, drawn); });
    const TorchCsv back = read_torch_csv(csv, "s");
    CHECK(to_actions(back.schedule) == to_actions(schedule));
    if (drawn != nullptr) CHECK(back.idle_cells == blanks);
    CHECK(back.warnings.empty());
    CHECK(written([&](std::ostream& out) { write_torch_csv(out, back.schedule, &back.idle_cells); }) == csv);
  });
  CHECK(count > 60);
}

TEST_CASE(
    "torch files: every registered schedule lowered reads back from compute_comms, every SEND with its "
    "RECV") {
  using torch::Target;
  const torch::LowerOptions choices[] = {{.target = Target::Legacy},
                                         {},
                                         {.target = Target::V213, .defer_receives = true},
                                         {.target = Target::V215, .max_active_stages = 2},
                                         {.merge = true}};
  for_each_schedule([&](const auto&, const auto&, const Schedule& schedule) {
    for (const auto& options : choices) {
      const ActionLists lists = torch::lower(schedule, options);
      const torch::Homes homes(schedule);
      check_pairs(lists, homes);
      CHECK(!torch::dry_run(lists, homes, torch::KeepGrid::No).stuck);
      if (!has_text(schedule)) continue;
      const TorchCsv back = read_torch_comms(text_of(lists), "s");
      CHECK(back.actions == lists);
      CHECK(back.warnings.empty());
      if (!options.merge) CHECK(to_actions(back.schedule) == to_actions(schedule));
    }
  });
}

TEST_CASE("torch files: every recorded list is written as it stands") {
  for (const auto& one : recorded::torch_schedules())
    for (const std::string& kind : one.kinds) {
      const ActionLists lists = one.lists(kind);
      CHECK(read_torch_actions(text_of(lists), "s").lists == lists);
    }
}

TEST_CASE("torch files: what PyTorch lets pass") {
  CHECK(cells("0F0,\t0F1 ,0B0\r\n\"\",1F0\r\n\r\n") == "0F0 0F1 0B0\n- 1F0\n\n");
  CHECK(cells("\"0F0\",\"\",\"0B0\"") == "0F0 - 0B0\n");
  CHECK(cells("0F,0B1,1UNSHARD3,007RESHARD") == "0F 0B1 1UNSHARD 7RESHARD\n");
  CHECK(cells("0F0x,0BW0,0FISH,0SEND_F1!") == "0F0 0B 0F 0SEND_F1\n");
  CHECK(cells("( 0F0 ;; 1B0 )OVERLAP_F_B,(0F1)F,(0UNSHARD;1W0)OVERLAP_F_B") ==
        "(0F0;1B0)OVERLAP_F_B 0F1 (0UNSHARD;1W0)OVERLAP_F_B\n");
}

TEST_CASE("torch files: every leniency is told once, with its place") {
  const auto warnings = [](const std::string& csv) { return read_torch_actions(csv, "f").warnings; };
  using Lines = std::vector<std::string>;
  CHECK(warnings("0F0,,0B0\r\n\"\"\r\n").empty());
  CHECK(warnings("0F0, 0B0") == Lines{"f:1:5: ignored spaces in '0B0'"});
  CHECK(warnings("0F0\n1F") == Lines{"f:2:1: ignored the missing microbatch in '1F'"});
  CHECK(warnings("1UNSHARD3") == Lines{"f:1:1: ignored the number after UNSHARD in '1UNSHARD3'"});
  CHECK(warnings("0F0x") == Lines{"f:1:1: ignored 'x' after the op in '0F0x'"});
  CHECK(warnings("00F0") == Lines{"f:1:1: ignored leading zeros in '00F0'"});
  CHECK(warnings("(0F0;)OVERLAP_F_B") == Lines{"f:1:1: ignored an empty part in '(0F0;)OVERLAP_F_B'"});
  CHECK(warnings("(0F0)F") ==
        Lines{"f:1:1: ignored the type F of a group, taken as OVERLAP_F_B, in '(0F0)F'"});
  CHECK(warnings("\xEF\xBB\xBF"
                 "0F0") ==
        Lines{"f:1:1: ignored a byte order mark, which PyTorch refuses, at the beginning"});
  const auto old = warnings("0F0,0BW0");
  REQUIRE(old.size() == 3);
  CHECK(old[0] ==
        "f:1:5: '0BW0' uses the letters of PyTorch before 2025, where BW was the whole backward and B its "
        "input part: write B for BW and I for B");
}

TEST_CASE("torch files: what PyTorch's parser raises on is an error with its place") {
  for (const char* cell : {"0f0", "F0", "0X0", "3OVERLAP_F_B", "(0F0;1B0)OVERLAP", "(0F0;1B0",
                           "(0F0;x)OVERLAP_F_B", "(0F0;(1B0)OVERLAP_F_B;2F0)OVERLAP_F_B", "-1F0", "()"}) {
    INFO(cell);
    try {
      (void)read_torch_actions(std::string("0F0\n0F1,") + cell, "f");
      FAIL("read");
    } catch (const InputError& error) {
      CHECK(error.where().text() == "f:2:5");
    }
    CHECK(torch_verdict(cell, "f", torch::Form::ComputeOnly).phase == "parse");
  }
}

TEST_CASE("torch files: both forms are told apart by what they hold") {
  CHECK(looks_like_torch_csv("0F0,0B0"));
  CHECK(!looks_like_torch_comms("0F0,0B0"));
  CHECK(looks_like_torch_comms("0UNSHARD,0F0"));
  CHECK(looks_like_torch_comms("0F0,0SEND_F0"));
  CHECK(!looks_like_torch_csv("rank,op,start,end"));
  CHECK(!looks_like_torch_csv("{}"));
}

TEST_CASE("torch files: entries and cells have their places") {
  // Entries are the computations alone, cells are all.
  const std::string text = "0UNSHARD,0F0,0SEND_F0,(0F1;0B0)OVERLAP_F_B\n,1RECV_F0, 1F0\n";
  const SchedulePlaces places(text, "f");
  CHECK(places.of(Rank(0), 0).text() == "f:1:10");
  CHECK(places.of(Rank(0), 1).text() == "f:1:23");
  CHECK(places.of(Rank(1), 0).text() == "f:2:12");
  CHECK(places.of(Rank(1), 1).text() == "f:2:1");
  CHECK(places.of_cell(Rank(0), 2).text() == "f:1:14");
  CHECK(places.of_cell(Rank(1), 0).text() == "f:2:1");
  CHECK(places.of_cell(Rank(1), 2).text() == "f:2:12");
  CHECK(places.of_cell(Rank(7), 0).text() == "f");
}

TEST_CASE("torch files: ops that PyTorch has no text for are refused") {
  for (const char* text : {"0F0 0R0 0B0", "0F0.0 0F0.1 0B0.1 0B0.0", "0F0 (0F1;0I0)OVERLAP 0W0 0I1 0W1"}) {
    INFO(text);
    CHECK(!has_text(parse_schedule(text)));
  }
}

}  // namespace pipeloom::io::torch_csv_test
