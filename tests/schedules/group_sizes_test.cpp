// options.group_size as a list: a size for each group of the interleaved schedules.

#include <string>
#include <vector>

#include "schedules/generator.hpp"
#include "schedules/recorded.hpp"
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::group_sizes_test {
namespace {

Params params(int p, int m, GroupSize size) {
  return {.ranks = p, .microbatches = m, .chunks = 2, .options = {.group_size = std::move(size)}};
}

std::string why_not(const std::string& name, const Params& params) {
  return refusal(*find(name).generator, params);
}

/// Every way to write m as a sum of positive numbers, order kept.
std::vector<std::vector<int>> compositions(int m) {
  if (m == 0) return {{}};
  std::vector<std::vector<int>> all;
  for (int first = 1; first <= m; ++first)
    for (std::vector<int>& rest : compositions(m - first)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  return all;
}

}  // namespace

TEST_CASE("a list of equal groups and a shorter last one is the number", "[schedules]") {
  CHECK(GroupSize(std::vector{5, 5, 3}).number() == 5);
  CHECK(GroupSize(std::vector{5}).number() == 5);
  CHECK(GroupSize(std::vector{5, 4, 4}).number() == std::nullopt);
  CHECK(GroupSize(std::vector{4, 5}).number() == std::nullopt);
  CHECK(GroupSize(5).text() == "5");
  CHECK(GroupSize(std::vector{5, 4, 4}).text() == "[5, 4, 4]");
  for (const std::string name : {"interleaved-1f1b", "interleaved-1f1b-overlap", "interleaved-zb"}) {
    INFO(name);
    CHECK(make(*find(name).generator, params(4, 13, std::vector{5, 5, 3})) ==
          make(*find(name).generator, params(4, 13, 5)));
  }
}

TEST_CASE("the remainder in the first group, as Paddle's dynamic interleaving has it", "[schedules]") {
  // 13 = (4 + 1) + 4 + 4 on 4 ranks: no rank waits in between, so that the idle time is that of whole groups, (p - 1)(F + B),
  // and m v (F + B) + (p - 1)(F + B) = 29 * 3. Rank r holds 2(3 - r) + 5 + 1 passes.
  const Schedule schedule = make(*find("interleaved-1f1b").generator, params(4, 13, std::vector{5, 4, 4}));
  const Totals totals =
      recorded::evaluate(schedule, uniform_costs(schedule.placement(), {.forward = 1, .backward = 2}));
  CHECK(totals.makespan == 29 * 3);
  CHECK(totals.peak_live == std::vector<std::int32_t>{12, 10, 8, 6});
  CHECK_THAT(
      queue_text(schedule, Rank(3)),
      Catch::StartsWith("3F0 3F1 3F2 3F3 3F4 7F0 7B0 7F1 7B1 7F2 7B2 7F3 7B3 7F4 7B4 3F5 3B0 3F6 3B1 3F7"));
}

TEST_CASE("lists that are taken run, and those that are refused hang", "[schedules]") {
  int taken = 0;
  int refused = 0;
  for (const std::string name : {"interleaved-1f1b", "interleaved-1f1b-overlap", "interleaved-zb"})
    for (int p = 1; p <= 4; ++p)
      for (int m = 1; m <= 8; ++m)
        for (const std::vector<int>& sizes : compositions(m)) {
          const Generator& generator = *find(name).generator;
          const Params one = params(p, m, sizes);
          Emission unused;
          const bool hangs = find_hang(generator.emit(one, {}, unused)).has_value();
          INFO(name << " p = " << p << ", m = " << m << ", " << one.options.group_size->text());
          CHECK(refusal(generator, one).empty() == !hangs);
          CHECK(takes(generator, one) == !hangs);
          CHECK(may_take(generator, one));  // only a hang is against these
          ++(hangs ? refused : taken);
        }
  CHECK(taken > 1000);
  CHECK(refused > 100);
}

TEST_CASE("variants of interleaved orders are refused where they hang, and only there", "[schedules]") {
  int refused = 0;
  for (const std::string name : {"interleaved-1f1b", "interleaved-1f1b-overlap", "interleaved-zb"})
    for (const std::string& variant : find(name).generator->requirements.variants)
      for (int p = 1; p <= 4; ++p)
        for (int v = 1; v <= 3; ++v)
          for (int n = 1; n <= 2 * p + 2; ++n)
            for (int m = 1; m <= 3 * n + 2; ++m) {
              const Generator& generator = *find(name).generator;
              const Params one{.ranks = p,
                               .microbatches = m,
                               .chunks = v,
                               .options = {.group_size = n, .variant = variant}};
              Emission unused;
              const bool hangs = find_hang(generator.emit(one, {}, unused)).has_value();
              INFO(name << ' ' << variant << " p = " << p << ", m = " << m << ", v = " << v << ", N = " << n);
              // One forward more makes some short groups run that its rule refuses.
              if (variant == "long-warmup")
                CHECK_FALSE((generator.accepts(one) && hangs));
              else
                CHECK(generator.accepts(one) == !hangs);
              refused += hangs ? 1 : 0;
            }
  CHECK(refused > 300);
}

TEST_CASE("what requirements alone refuse needs no run", "[schedules]") {
  const Generator& generator = *find("interleaved-1f1b").generator;
  const Params short_sum = params(4, 13, std::vector{5, 4, 3});  // 12 of 13 microbatches
  CHECK_FALSE(may_take(generator, short_sum));
  CHECK_FALSE(takes(generator, short_sum));
  const Params hanging = params(4, 8, std::vector{3, 2, 3});
  CHECK(may_take(generator, hanging));
  CHECK_FALSE(takes(generator, hanging));
}

TEST_CASE("what is wrong with a list is said, and what to write instead", "[schedules]") {
  CHECK(
      why_not("interleaved-1f1b", params(4, 13, std::vector{5, 4, 3})) ==
      "interleaved-1f1b needs groups with a sum of microbatches = 13, not [5, 4, 3] with 12; try [5, 4, 4]");
  CHECK(why_not("interleaved-1f1b", params(4, 13, std::vector{5, 0, 8})) ==
        "interleaved-1f1b needs a group_size from 1 to 1048576, not [5, 0, 8]; try 7 or 9");
  CHECK_THAT(why_not("interleaved-1f1b", params(4, 8, std::vector{3, 2, 3})),
             Catch::Contains("group_size = [3, 2, 3], microbatches = 8 would hang (rank "));
  CHECK(why_not("grouped-interleaved", params(4, 8, std::vector{4, 4})) ==
        "grouped-interleaved needs one number as group_size, not [4, 4]; try 3");
  CHECK_THROWS_WITH(recorded::make_named("megatron-interleaved", params(4, 13, std::vector{5, 4, 4})),
                    Catch::Contains("Megatron-LM refuses this: it has one group size; give a number"));
}

}  // namespace pipeloom::schedules::group_sizes_test
