// What `validate` and the window say of PyTorch's files.

#include "study/report/torch_page.hpp"

#include <pipeloom/error.hpp>
#include "sim/io/formats/torch_csv.hpp"
#include "study/report/hang_page.hpp"
#include "support/catch.hpp"

namespace pipeloom::study::torch_page_test {
namespace {

/// Two ranks, two stages, two microbatches, as 2.15 lowers them.
const std::string kFirst =
    "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0WAIT_SEND_F0,0RECV_B1,0B1,0WAIT_SEND_F1,0REDUCE_GRAD,"
    "0WAIT_REDUCE_GRAD,0RESHARD\n";
const std::string kSecond =
    "1UNSHARD,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_GRAD,1WAIT_REDUCE_GRAD,1RESHARD,"
    "1WAIT_SEND_B0,1WAIT_SEND_B1\n";

TorchFindings of(const std::string& text, std::optional<torch::Target> target = {}) {
  const bool lowered = io::looks_like_torch_comms(text);
  return *examine_torch(text, "f", lowered ? "torch-comms" : "torch-compute", {}, target);
}

std::vector<std::string> codes(const TorchFindings& found) {
  std::vector<std::string> out;
  for (const torch::Lint& lint : found.lints) out.push_back(lint.code);
  return out;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

/// Names of the releases that load the file and run it right.
std::string releases(const TorchFindings& found) {
  std::string out;
  for (const ReleaseVerdict& release : found.releases)
    if (release.ok()) out += std::string(torch::name_of(release.target)) + ' ';
  return out;
}

using Codes = std::vector<std::string>;

}  // namespace

TEST_CASE("torch page: a message where the pipeline ends is told, and nothing else is said of messages") {
  for (const char* text :
       {"0RECV_F0,0F0,0B0\n", "0F0,0B0,0RECV_B0\n", "0F0,0F1,0B0,0B1,0SEND_F0\n", "0F0,0SEND_B0,0B0\n"}) {
    INFO(text);
    const auto found = of(text, torch::Target::Legacy);
    CHECK(codes(found) == Codes{"no-peer"});
    CHECK_FALSE(found.dry_run);
    CHECK(lowered_hang_page(found.lists, found.verdict.rank_of_stage, true).empty());
    CHECK(torch_page(found, true).find("meet") == std::string::npos);
  }
  const auto blamed =
      of("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1RECV_B0,1B0,1SEND_B0\n", torch::Target::Legacy);
  REQUIRE(codes(blamed) == Codes{"no-peer"});
  CHECK(blamed.lints[0].message ==
        "rank 1, step 2: 1RECV_B0: stage 1 is the last one, so nobody sends this message; leave it out");
}

TEST_CASE("torch page: a message within a rank") {
  const auto found = of("0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0\n", torch::Target::Legacy);
  CHECK(codes(found) == Codes{"no-peer", "no-peer"});
}

TEST_CASE("torch page: which releases load a file") {
  CHECK(releases(of("0F0,0B0\n1F0,1B0\n")) == "legacy 2.10 2.13 2.14 2.15 ");
  const auto newest = of(kFirst + kSecond);
  CHECK(releases(newest) == "2.15 ");
  CHECK(newest.ok());
  CHECK(torch_page(newest, false)
            .starts_with("PyTorch 2.15: loads it (compute_comms, p=2, m=2, stages=2); its "
                         "messages meet after "));
  const auto older = of("0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD\n");
  CHECK(releases(older) == "2.10 2.13 2.14 ");
  CHECK(older.ok());
  CHECK(older.releases.back().verdict.exception == "ValueError");
  CHECK(older.releases.back().verdict.message ==
        "rank 0, step 4: 0REDUCE_GRAD has no 0WAIT_REDUCE_GRAD behind it; add it");
  const auto oldest = of("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
  CHECK(releases(oldest) == "legacy ");
  CHECK(oldest.ok());
  CHECK_FALSE(of("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", torch::Target::V213).ok());
}

TEST_CASE("torch page: releases before 2.15 take a wait for a W") {
  const auto found = of(kFirst + kSecond, torch::Target::V214);
  CHECK(found.verdict.phase == "validate");
  CHECK(found.verdict.exception == "AssertionError");
}

TEST_CASE("torch page: 2.15 lowers no computation that sends twice") {
  for (const char* text : {"0F0,0F0,0B0\n1F0,1B0\n", "0F0,0B0\n1F0,1B0,1B0\n"}) {
    const auto found = of(text);
    CHECK(releases(found) == "legacy 2.10 2.13 2.14 ");
    CHECK(found.releases.back().verdict.exception == "AssertionError");
  }
}

TEST_CASE("torch page: the last stage's forwards come in microbatch order") {
  const auto found = of("0F1,0F0,0B1,0B0\n1F1,1F0,1B1,1B0\n");
  REQUIRE(codes(found) == Codes{"forward-order"});
  CHECK(found.lints[0].rank == Rank(1));
  CHECK(codes(of("0F1,0F0,0B1,0B0\n1F1,1B1,1F0,1B0\n")) == Codes{"forward-order"});
  // Another stage may take any order.
  CHECK(of("0F1,0F0,0B1,0B0\n1F0,1F1,1B1,1B0\n").ok());
}

TEST_CASE("torch page: gradients are reduced once, behind the last backward") {
  const std::string reduce = "0REDUCE_GRAD,0WAIT_REDUCE_GRAD,";
  CHECK(codes(of(replaced(kFirst, reduce, "") + kSecond)) == Codes{"reduce-missing"});
  CHECK(codes(of(replaced(kFirst, reduce, reduce + reduce) + kSecond)) == Codes{"reduce-twice"});
  CHECK(codes(of(replaced(replaced(kFirst, reduce, ""), "0RECV_B1", reduce + "0RECV_B1") + kSecond)) ==
        Codes{"reduce-early"});
}

TEST_CASE("torch page: a reduction before there are gradients scales nothing and matters with FSDP") {
  // As 2.15.0 trains it: gradients are as those of the unsplit model.
  const std::string reduce = "0REDUCE_GRAD,0WAIT_REDUCE_GRAD,";
  const auto found = of(replaced(kFirst, "0RECV_B0", reduce + "0RECV_B0") + kSecond);
  CHECK(codes(found) == Codes{"reduce-unused"});
  CHECK(found.where_wrong() == " with FSDP");
  CHECK(study::torch_page(found, false)
            .find("2.15: loads it (compute_comms, p=2, m=2, stages=2) and fails with FSDP") !=
        std::string::npos);
  // It does not stand for the one that is missing.
  const auto missing = of(replaced(replaced(kFirst, reduce, ""), "0RECV_B0", reduce + "0RECV_B0") + kSecond);
  CHECK(codes(missing) == Codes{"reduce-unused", "reduce-missing"});
}

TEST_CASE("torch page: an order that only a communicator of one queue hangs on") {
  // 0RECV_B0 stands before the sends that its gradient waits for.
  const auto found = of(replaced(replaced(kFirst, "0RECV_B0,", ""), "0F0", "0RECV_B0,0F0") + kSecond);
  CHECK(found.hangs());
  CHECK(found.posted_runs);
  CHECK(found.where_wrong() == " on a communicator that keeps order (NCCL); gloo runs it");
  CHECK_FALSE(found.ok());
  const auto lost = of(replaced(kFirst, "0RECV_B0,0B0", "0B0") + kSecond);
  CHECK(lost.where_wrong().empty());
}

TEST_CASE("torch page: parameters that are not gathered matter with FSDP") {
  const auto dropped = of(kFirst + replaced(kSecond, "1UNSHARD,", ""));
  CHECK(codes(dropped) == Codes{"compute-sharded"});
  CHECK(dropped.where_wrong() == " with FSDP");
  CHECK_FALSE(dropped.ok());
}

TEST_CASE("torch page: parameters freed early are one error, which names the cause") {
  const auto early =
      of(replaced(replaced(kFirst, ",0RESHARD", ""), "0SEND_F0", "0RESHARD,0SEND_F0") + kSecond);
  REQUIRE(codes(early) == Codes{"compute-sharded"});
  CHECK(early.lints[0].message ==
        "rank 0, step 4: 0F1: the parameters of its stage were freed at step 2, and no 0UNSHARD stands "
        "between; add it");
}

TEST_CASE("torch page: a forward of the first stage that stands twice does no harm in a lowered file") {
  const std::string text = replaced(kFirst, "0F0", "0F0,0F0") + kSecond;
  const auto found = of(text);
  const auto diagnostics = validate(io::read_torch_comms(text, "f").schedule);
  REQUIRE(diagnostics.size() == 1);
  CHECK(found.is_harmless(diagnostics[0]));
  CHECK(found.ok());
}

TEST_CASE("torch page: a message that is received as another one") {
  // 1 sends two gradients, 0 receives them in the other order; each computation still finds what it waits for.
  const auto found =
      of("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B1,0RECV_B0,0B0,0B1\n1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,"
         "1SEND_B1\n",
         torch::Target::Legacy);
  REQUIRE(codes(found) == Codes{"mispaired"});
  CHECK(found.lints[0].message ==
        "rank 0, step 4: message 1 from rank 1 to rank 0 is sent as 1SEND_B0 and received as 0RECV_B1");
}

TEST_CASE("torch files: every cell that is refused") {
  const auto errors = io::torch_cell_errors("0F0,x,0B0\n1F0,1B,1Q0\n", "f", torch::Form::ComputeOnly);
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].where().text() == "f:1:5");
  CHECK(errors[1].where().text() == "f:2:5");
  CHECK(errors[2].where().text() == "f:2:8");
}

}  // namespace pipeloom::study::torch_page_test
