// Orders that PyTorch's, torchtitan's, AReaL's and Megatron-core's own code ran, as hashes: the generators give the same ones.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

#include "schedules/generator.hpp"
#include "sim/text.hpp"
#include "study/document/sha256.hpp"
#include "support/catch.hpp"

namespace pipeloom::recorded_orders_test {
namespace {

nlohmann::json read_golden(const std::string& framework) {
  std::ifstream in(std::string(PIPELOOM_GOLDEN_DIR) + "/targets/" + framework + ".json");
  REQUIRE(in.good());
  return nlohmann::json::parse(in);
}

/// A rank's ops as PyTorch's CSV spells them, joined by one space.
std::string row_of(const Schedule& schedule, Rank rank) {
  std::string row;
  for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                 [&](std::size_t begin, std::size_t end) {
                   row += (row.empty() ? "" : " ") + entry_text(schedule, begin, end);
                 });
  return row;
}

/// As tests/targets/real/orders.py writes it: the first 16 hex digits over the rows joined by one line feed.
std::string digest_of(const Schedule& schedule) {
  std::string text;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    text += (rank == Rank{0} ? "" : "\n") + row_of(schedule, rank);
  const auto bytes = study::page::sha256(text);
  return fmt::format("{:02x}", fmt::join(bytes.begin(), bytes.begin() + 8, ""));
}

std::string digest_of(const std::string& name, Params params) {
  const auto found = schedules::find(name);
  if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
  return digest_of(schedules::make(*found.generator, params));
}

Params params_of(const nlohmann::json& one) {
  Params params{.ranks = one["p"], .microbatches = one["m"], .chunks = one["v"]};
  if (one.contains("group_size")) params.options.group_size = one["group_size"].get<int>();
  return params;
}

/// Compares each recorded order of a framework with the generator's and returns how many there are.
template <typename NameOf>
int check_orders(const std::string& framework, const NameOf& name_of) {
  const nlohmann::json record = read_golden(framework);
  int compared = 0;
  for (const nlohmann::json& one : record["cases"]) {
    if (!one.contains("sha256") || !one.contains("p")) continue;
    INFO(framework << ' ' << one.dump());
    CHECK(digest_of(name_of(one), params_of(one)) == one["sha256"].get<std::string>());
    ++compared;
  }
  return compared;
}

std::string class_of(const nlohmann::json& one) {
  return one["schedule"];
}

std::string megatron_schedule(const nlohmann::json& one) {
  if (one["v"] == 1) return "1f1b";
  return one.contains("overlapped") ? "interleaved-1f1b-overlap" : "interleaved-1f1b";
}

}  // namespace

// Counts are those of the records: 51 sizes (2, 3, 4, 8 ranks; 2 to 3p + 1 microbatches), less what a framework refuses.
TEST_CASE("targets: orders of PyTorch's classes are those of its names") {
  CHECK(check_orders("torch", class_of) == 51 + 42 + 4 * 51 + 2 * 4 * 39 + 51 + 25);
}

TEST_CASE("targets: orders that torchtitan's and AReaL's own builders make are those of PyTorch's names") {
  CHECK(check_orders("torchtitan", class_of) == 51 + 42 + 3 * 51 + 2 * 3 * 39 + 51 + 25);
  CHECK(check_orders("areal", class_of) == 42 + 2 * 3 * 39 + 51);
}

TEST_CASE(
    "targets: orders that Megatron-core's loops run are those of interleaved 1F1B with its group size") {
  int legal = 0;  // p <= N <= m, and a last group of at least p microbatches
  for (const int p : {2, 3, 4, 8})
    for (int m = 2; m <= 3 * p + 1; ++m)
      for (int n = p; n <= m; ++n) legal += m % n == 0 || m % n >= p ? 1 : 0;
  CHECK(check_orders("megatron", megatron_schedule) ==
        51 + (3 + 1) * legal);  // 3 numbers of chunks, and pairs of 2 chunks
}

}  // namespace pipeloom::recorded_orders_test
