// The search for orders against published settings, an integer program under slow links, and hand-made schedules on unequal stages.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "schedules/recorded.hpp"
#include "sim/orders/search/search.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::order_peers_test {
namespace {

using orders::Objective;

orders::FoundOrder searched(const orders::Problem& problem, std::int64_t work,
                            const std::vector<orders::StartOrder>& starts = {}) {
  auto found = orders::search_order(problem, starts, {.work = work});
  REQUIRE(found);
  CHECK(value_of(problem, found->order) == found->value);
  CHECK(keeps_limits(problem, found->order));
  CHECK(found->bound.value <= found->value);
  return std::move(*found);
}

/// Sequences of 1024, heads of 128: activations to the part that W needs are as 37 to 16 (34 h + 5 a s to 32 h).
constexpr Bytes kHeld = 37;
constexpr Bytes kKept = 16;

Terms linear_terms(int ranks, const std::array<std::vector<Ticks>, 3>& fbw, Ticks delay) {
  Terms terms = uniform_terms(Placement::linear(ranks), {.delay = delay});
  terms.costs.duration[index_of(OpKind::Forward)] = fbw[0];
  terms.costs.duration[index_of(OpKind::BackwardInput)] = fbw[1];
  terms.costs.duration[index_of(OpKind::BackwardWeight)] = fbw[2];
  for (std::size_t s = 0; s < fbw[0].size(); ++s)
    terms.costs.duration[index_of(OpKind::Backward)].at(s) = fbw[1][s] + fbw[2][s];
  std::ranges::fill(terms.memory.activation, kHeld);
  std::ranges::fill(terms.memory.released_at_input, kHeld - kKept);
  return terms;
}

}  // namespace

TEST_CASE("order peers: the bubble rates of the zero-bubble paper's table 5 are reached without its orders") {
  int rates = 0;
  for (const auto& row : nlohmann::json::parse(recorded::read_text("zerobubble/published_auto.json")))
    for (const auto& [name, rate] : row["bubble_rate"].items()) {
      if (name == "zbv-auto") continue;
      const int p = row["p"];
      const Ticks m = row["m"];
      const auto all = [&](const char* key) {
        return std::vector<Ticks>(static_cast<std::size_t>(p), row[key].get<Ticks>());
      };
      const Terms terms = linear_terms(p, {all("t_f"), all("t_b"), all("t_w")}, row["t_comm"]);
      const std::vector<Bytes> limit(static_cast<std::size_t>(p), (name == "zb-1p" ? 1 : 2) * p * kHeld);
      const auto problem =
          orders::make_problem(Placement::linear(p), static_cast<int>(m), terms, limit, Objective::Window);
      const auto found = searched(problem, 2'000'000);
      const Ticks work = m * (row["t_f"].get<Ticks>() + row["t_b"].get<Ticks>() + row["t_w"].get<Ticks>());
      const double bubble = 1 - static_cast<double>(work) / static_cast<double>(found.value);
      INFO(row["model"].get<std::string>() << " m = " << m << " " << name);
      CHECK(std::round(bubble * 10'000) / 10'000 <= rate.get<double>() + 1e-9);
      ++rates;
    }
  CHECK(rates == 12);
}

TEST_CASE("order peers: slow links, no order is longer than what an integer program found in half a minute") {
  const auto recorded = nlohmann::json::parse(recorded::read_text("measured/pipemorph.json"));
  constexpr double kTicks = 1e6;  // the recorded times have nine digits, the steps eight
  int proven = 0;
  double gain = 0;
  for (const auto& one : recorded["instances"]) {
    const auto ticks = [&](const char* key) {
      std::vector<Ticks> out;
      for (const auto& time : one[key]) out.push_back(std::llround(time.get<double>() * kTicks));
      return out;
    };
    const int p = one["ranks"];
    const Terms terms = linear_terms(p, {ticks("F"), ticks("B"), ticks("W")},
                                     std::llround(one["latency"].get<double>() * kTicks));
    const auto problem =
        orders::make_problem(Placement::linear(p), one["microbatches"], terms, {}, Objective::Makespan);
    const auto found = searched(problem, 1'000'000);
    const double step = static_cast<double>(found.value) / kTicks;
    INFO("instance " << one["instance"].get<int>());
    // Eight digits of the step: 1e-7 of it.
    CHECK(step <= one["ilp_step"].get<double>() * (1 + 1e-7));
    proven += found.proven ? 1 : 0;
    gain += 1 - step / one["ilp_step"].get<double>();
  }
  REQUIRE(recorded["instances"].size() == 67);
  CHECK(proven >= 60);
  CHECK(gain / 67 >= 0);
}

namespace {

/// Factors of each rank's times, of five kinds in turn: a heavy last stage; all a little or rather unequal; one slow rank; a light first and
/// a heavy last stage.
std::vector<double> factors(int kind, int p, test::Random& random) {
  std::vector<double> out(static_cast<std::size_t>(p), 1.0);
  const auto percent = [&](int low, int high) {
    return static_cast<double>(random.between(low, high)) / 100;
  };
  if (kind == 0) out.back() = percent(120, 180);
  if (kind == 1)
    for (double& factor : out) factor = percent(90, 110);
  if (kind == 2)
    for (double& factor : out) factor = percent(75, 125);
  if (kind == 3) out[static_cast<std::size_t>(random.below(p))] = 1.3;
  if (kind == 4) {
    out.front() = percent(60, 80);
    out.back() = percent(120, 150);
  }
  return out;
}

struct Unequal {
  Terms terms;
  int p = 0;
  int m = 0;
  std::vector<Bytes> limit;
};

Unequal unequal(int i) {
  test::Random random(static_cast<std::uint64_t>(100 + i));
  Unequal out;
  out.p = std::array{4, 8, 16}[static_cast<std::size_t>(i % 3)];
  out.m = static_cast<int>(random.between(2 * out.p, 5 * out.p));
  const int halves = 2 + random.below(3);  // 1, 1.5 or 2 times p activations
  out.limit.assign(static_cast<std::size_t>(out.p), halves * out.p * kHeld / 2);
  const std::vector<double> by = factors(i % 5, out.p, random);
  const auto times = [&](double base) {
    std::vector<Ticks> ticks;
    for (const double factor : by) ticks.push_back(std::llround(base * factor));
    return ticks;
  };
  out.terms = linear_terms(out.p, {times(1000), times(1040), times(760)}, 40);
  return out;
}

/// ZB-H1, ZB-H2 and 1F1B with split backwards.
std::vector<orders::StartOrder> orders_by_hand(const orders::Problem& problem, const Unequal& one) {
  std::vector<orders::StartOrder> out;
  for (const char* name : {"zb-h1", "zb-h2", "1f1b"}) {
    const Schedule schedule = recorded::make_named(name, {.ranks = one.p, .microbatches = one.m});
    auto order = orders::order_of(problem, schedule);
    REQUIRE(order);
    out.push_back({name, std::move(*order)});
  }
  return out;
}

/// The least of those that keep the limit.
Ticks best_of(const orders::Problem& problem, const std::vector<orders::StartOrder>& all) {
  Ticks best = kMaxTicks;
  for (const orders::StartOrder& one : all)
    if (keeps_limits(problem, one.order)) best = std::min(best, value_of(problem, one.order).value());
  REQUIRE(best < kMaxTicks);
  return best;
}

}  // namespace

TEST_CASE("order peers: 50 pipelines of unequal stages against the best order by hand", "[quality]") {
  double avoided = 0;
  double gap = 0;
  for (int i = 0; i < 50; ++i) {
    INFO("case " << i);
    const Unequal one = unequal(i);
    auto problem =
        orders::make_problem(Placement::linear(one.p), one.m, one.terms, one.limit, Objective::Window);
    const auto by_hand = orders_by_hand(problem, one);
    const Ticks hand = best_of(problem, by_hand);
    const auto window = searched(problem, 1'500'000, by_hand);
    CHECK(window.value <= hand);
    // Of the time above what no order can go below, the share that the search saves.
    const auto over = static_cast<double>(hand - window.bound.value);
    avoided += over == 0 ? 1 : static_cast<double>(hand - window.value) / over;
    set_objective(problem, Objective::Makespan);
    gap += searched(problem, 1'500'000, by_hand).gap();
  }
  INFO("avoided " << avoided / 50 << ", gap " << gap / 50);
  CHECK(avoided / 50 >= 0.95);
  CHECK(gap / 50 <= 0.001);
}

}  // namespace pipeloom::order_peers_test
