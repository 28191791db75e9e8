// Orders as PyTorch prints them: lists a rank, dicts of lists, grids of steps.

#include <string>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/io/formats/formats.hpp"
#include "support/catch.hpp"

namespace torch_printed_test {

using namespace pipeloom;

namespace {

/// Found by content; queues of all ranks.
std::string queues_of(const std::string& text) {
  const io::Imported read = io::read_schedule(text, "printed.txt");
  std::string out;
  for (Rank rank{0}; rank < Rank(read.schedule->ranks()); ++rank)
    out += (rank == Rank(0) ? "" : " | ") + queue_text(*read.schedule, rank);
  return out;
}

std::string error_of(const std::string& text) {
  try {
    (void)queues_of(text);
  } catch (const InputError& error) {
    return error.line();
  }
  return "no error";
}

const std::string kOrder = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";

}  // namespace

TEST_CASE("lists that PyTorch prints are an order", "[formats]") {
  CHECK(queues_of("[0F0, 0F1, None, 0B0, None, 0B1]\n[None, 1F0, 1B0, 1F1, 1B1]\n") == kOrder);
  CHECK(queues_of("[0F0,0F1,None,0B0,None,0B1]\r\n[None,1F0,1B0,1F1,1B1]\r\n") == kOrder);
  // print(schedule.pipeline_order)
  CHECK(queues_of("{0: [0F0, 0F1, None, 0B0, None, 0B1], 1: [None, 1F0, 1B0, 1F1, 1B1]}\n") == kOrder);
  CHECK(queues_of("{1: [None, 1F0, 1B0, 1F1, 1B1],\n 0: [0F0, 0F1, None, 0B0, None, 0B1]}\n") == kOrder);
  CHECK(queues_of("[0F0, (0F1;3B0)OVERLAP_F_B, 3F0]\n[1F0, 2F0]\n")
            .starts_with("0F0 (0F1;3B0)OVERLAP_F_B 3F0 |"));
  CHECK(error_of("[0F0, 0F1\n") ==
        "printed.txt: error: a list has no ']': copy the rest of what was printed");
  CHECK(error_of("{0: [0F0], 2: [2F0]}").find("the list of rank 1 is missing") != std::string::npos);
}

TEST_CASE("a grid that PyTorch prints is an order", "[formats]") {
  CHECK(queues_of("=========== ALL_RANK_ACTIONS ===========\n"
                  "         Rank 0  Rank 1 \n"
                  "Step 00: 0F0     None   \n"
                  "Step 01: 0F1     1F0    \n"
                  "Step 02: None    1B0    \n"
                  "Step 03: 0B0     1F1    \n"
                  "Step 04: None    1B1    \n"
                  "Step 05: 0B1     None   \n") == kOrder);
  // What _format_pipeline_order() of 2.15 makes of it, with blanks of nothing.
  CHECK(queues_of("        Rank 0 Rank 1\n"
                  "Step 0: 0F0          \n"
                  "Step 1: 0F1    1F0   \n"
                  "Step 2:        1B0    <-- ERROR HERE\n"
                  "Step 3: 0B0    1F1   \n"
                  "Step 4:        1B1   \n"
                  "Step 5: 0B1          \n") == kOrder);
  // Where an editor has taken blanks off the ends of lines.
  CHECK(queues_of(
            "        Rank 0 Rank 1\nStep 0: 0F0\nStep 1: 0F1    1F0\nStep 2:        1B0\nStep 3: 0B0    1F1\n"
            "Step 4:        1B1\nStep 5: 0B1\n") == kOrder);
  CHECK(error_of("        Rank 0 Rank 1\nStep 0\n").find("copy the whole grid") != std::string::npos);
}

}  // namespace torch_printed_test
