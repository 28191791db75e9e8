// The worked example of docs/adding-a-schedule.md: the page shows the code that is compiled here, and it is
// right.

#include <fstream>
#include <iterator>

#include "schedules/generator.hpp"
#include "schedules/recorded.hpp"
#include "sim/text.hpp"
#include "sim/validate.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules {

Generator looped_bfs();  // documented_example.cpp

namespace {

std::string source_text(const std::string& path) {
  std::ifstream file(std::string(PIPELOOM_SOURCE_DIR) + "/" + path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("documented example: the page shows the compiled code") {
  const std::string page = source_text("docs/adding-a-schedule.md");
  const std::string code = source_text("tests/schedules/documented_example.cpp");
  CHECK(page.find("```cpp\n" + code + "```\n") != std::string::npos);
}

TEST_CASE("documented example: PyTorch's LoopedBFS order on 2 ranks with 2 chunks and 2 microbatches") {
  const Schedule schedule = make(looped_bfs(), {.ranks = 2, .microbatches = 2, .chunks = 2});
  CHECK(queue_text(schedule, Rank(0)) == "0F0 0F1 2F0 2F1 2B1 2B0 0B1 0B0");
  CHECK(queue_text(schedule, Rank(1)) == "1F0 1F1 3F0 3F1 3B1 3B0 1B1 1B0");
}

TEST_CASE("documented example: legal everywhere, with the closed forms it declares") {
  const Generator generator = looped_bfs();
  const UniformCosts costs = {.forward = 3, .backward = 5};
  for (const int p : {1, 2, 3, 5})
    for (const int m : {1, 2, 3, 5, 8})
      for (const int v : {1, 2, 3}) {
        const Params params{.ranks = p, .microbatches = m, .chunks = v};
        const Schedule schedule = make(generator, params);
        CHECK(validate(schedule).empty());
        const Totals totals = recorded::evaluate(schedule, uniform_costs(schedule.placement(), costs));
        for (const ClosedForm& form : generator.closed_forms)
          for (Rank rank{0}; rank < Rank(p); ++rank) {
            const auto value = form.value(params, costs, rank);
            if (!value) continue;
            CHECK(*value == (form.quantity == "makespan" ? totals.makespan : totals.peak_live[rank.at()]));
          }
      }
}

}  // namespace pipeloom::schedules
