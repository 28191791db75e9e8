// Layers, placement and order chosen together (sim/orders/designs).

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "sim/orders/designs/design.hpp"
#include "sim/orders/designs/design_bound.hpp"
#include "sim/orders/entries/entry_times.hpp"
#include "sim/orders/search/search.hpp"
#include "support/catch.hpp"

namespace pipeloom::orders::design_search_test {
namespace {

struct Layer {
  Ticks forward = 0;
  Ticks input = 0;
  Ticks weight = 0;
};

/// Problems of stages whose times are `stage_work(design, stage, first layer)`; messages are free.
using StageWorkOf = std::function<StageWork(const Design&, std::size_t stage, std::size_t first)>;

ProblemOf problems(std::size_t ranks, std::size_t microbatches, bool cut, const StageWorkOf& stage_work) {
  return [=](const Design& design) -> std::optional<Problem> {
    Problem out;
    out.microbatches = microbatches;
    out.cut = cut;
    out.stages_of.resize(ranks);
    std::size_t first = 0;
    for (std::size_t s = 0; s < design.layers.size(); ++s) {
      StageWork work = stage_work(design, s, first);
      work.rank = design.rank[s];
      work.chunk = out.stages_of[work.rank].size();
      out.stages_of[work.rank].push_back(s);
      out.stages.push_back(work);
      first += static_cast<std::size_t>(design.layers[s]);
    }
    out.limit.assign(ranks, kNoLimit);
    set_objective(out, Objective::Makespan);
    return out;
  };
}

/// Stages of layers with times of their own.
ProblemOf of_layers(std::size_t ranks, std::size_t microbatches, const std::vector<Layer>& layers) {
  return problems(ranks, microbatches, true,
                  [layers](const Design& design, std::size_t s, std::size_t first) {
                    StageWork work;
                    for (std::size_t i = first; i < first + static_cast<std::size_t>(design.layers[s]); ++i) {
                      work.forward += layers[i].forward;
                      work.input += layers[i].input;
                      work.weight += layers[i].weight;
                    }
                    return work;
                  });
}

Design loop(int layers, std::size_t ranks, std::size_t chunks) {
  Design out{even_layers(layers, static_cast<int>(ranks * chunks)), {}};
  for (std::size_t s = 0; s < ranks * chunks; ++s) out.rank.push_back(s % ranks);
  return out;
}

nlohmann::json golden(const std::string& name) {
  std::ifstream file(PIPELOOM_GOLDEN_DIR "/designs/" + name);
  REQUIRE(file.is_open());
  return nlohmann::json::parse(file);
}

Ticks replayed(const FoundDesign& found, const ProblemOf& problem_of) {
  return value_of(*problem_of(found.design), found.order).value_or(-1);
}

}  // namespace

TEST_CASE("design search: layers dealt out evenly, those left over in the middle") {
  CHECK(even_layers(10, 4) == std::vector{2, 3, 3, 2});
  CHECK(even_layers(8, 4) == std::vector{2, 2, 2, 2});
  CHECK(even_layers(3, 4) == std::vector{1, 1, 1, 0});  // only the ends are stages without layers
  CHECK(even_layers(2, 4) == std::vector{0, 1, 1, 0});
}

TEST_CASE("design search: two ranks, two microbatches, the better of all splits") {
  // Four layers of F 1, I 2, no W; x on the first stage, y on the last. The last begins at x, has 6 y to do, and the first then 2 x more:
  // 3 x + 6 y, and never less than the first's own 6 x. 2 and 2: 18; 3 and 1: max(15, 18); 1 and 3: 21.
  const std::vector<Layer> layers(4, {1, 2, 0});
  const ProblemOf problem_of = of_layers(2, 2, layers);
  const auto found = search_design({loop(4, 2, 1)}, problem_of,
                                   {.ranks = false, .stages = false, .least_at_ends = 1, .work = 400'000});
  REQUIRE(found);
  CHECK(found->value == 18);
  CHECK(found->design.layers != std::vector{1, 3});
}

TEST_CASE("design search: equal inputs give equal designs on any number of threads") {
  std::vector<Layer> layers;
  for (Ticks i = 0; i < 16; ++i) layers.push_back({3 + i % 3, 4 + i % 5, 2 + i % 2});
  const ProblemOf problem_of = of_layers(4, 6, layers);
  const std::vector<Design> starts = {loop(16, 4, 1), loop(16, 4, 2), loop(16, 4, 3)};
  DesignOptions options{.most_stages = 16, .work = 3'000'000};
  const auto one = search_design(starts, problem_of, options);
  options.threads = 3;
  const auto three = search_design(starts, problem_of, options);
  REQUIRE(one);
  REQUIRE(three);
  CHECK(one->design == three->design);
  CHECK(one->order == three->order);
  CHECK(one->value == three->value);
  CHECK(replayed(*one, problem_of) == one->value);
}

TEST_CASE("design search: what may not change stays") {
  std::vector<Layer> layers;
  for (Ticks i = 0; i < 12; ++i) layers.push_back({1 + i, 2 + i, 1});
  const ProblemOf problem_of = of_layers(3, 6, layers);
  const Design start = loop(12, 3, 2);
  const auto layers_only =
      search_design({start}, problem_of, {.ranks = false, .stages = false, .work = 4'000'000});
  REQUIRE(layers_only);
  CHECK(layers_only->design.rank == start.rank);
  CHECK(layers_only->design.layers != start.layers);  // later layers are longer: earlier stages take more
  const auto same_stages =
      search_design({start}, problem_of, {.stages = false, .most_stages = 12, .work = 4'000'000});
  REQUIRE(same_stages);
  CHECK(same_stages->design.rank.size() == start.rank.size());
  CHECK(same_stages->value * 100 <= layers_only->value * 102);  // more to try, with as much work
  const auto same_layers =
      search_design({start}, problem_of, {.layers = false, .most_stages = 12, .work = 4'000'000});
  REQUIRE(same_layers);
  CHECK(same_layers->design.layers == start.layers);
  CHECK(same_layers->design.rank != start.rank);  // the longest stages are not all last
  CHECK(same_layers->value >= same_stages->value);
  const auto all = search_design({start}, problem_of, {.most_stages = 8, .work = 4'000'000});
  REQUIRE(all);
  CHECK(all->design.layers.size() <= 8);
  CHECK(std::accumulate(all->design.layers.begin(), all->design.layers.end(), 0) == 12);
}

TEST_CASE("design search: a design without room is passed over, and none is no answer") {
  const std::vector<Layer> layers(8, {1, 1, 1});
  const ProblemOf any = of_layers(2, 4, layers);
  const ProblemOf two_stages_at_least = [&](const Design& design) -> std::optional<Problem> {
    return design.layers.size() < 4 ? std::nullopt : any(design);
  };
  const std::vector<Design> starts = {loop(8, 2, 1), loop(8, 2, 2)};
  const DesignOptions options{.most_stages = 8, .work = 400'000};
  const auto found = search_design(starts, two_stages_at_least, options);
  REQUIRE(found);
  CHECK(found->design.layers.size() >= 4);
  CHECK_FALSE(search_design(
      starts, [](const Design&) { return std::optional<Problem>(); }, options));
  CHECK_FALSE(search_design({}, any, options));
}

TEST_CASE("design search: a stage recomputes where its rank has little room, and no other does") {
  // F, I, W of 1 on two ranks; a pass holds 10 and the first rank has room for 10. So one microbatch at a time goes down and back, F F I I W: 5
  // each, 40 in all. A stage that recomputes holds 1 and its I takes 2: the first rank then has 8 * 4 to do without a pause, 32. The
  // second has 8 * 3, which ends with its rank's last W behind a forward at least: doing so there as well makes nothing shorter.
  const ProblemOf problem_of = [](const Design& design) {
    const ProblemOf plain = of_layers(2, 8, {{1, 1, 1}, {1, 1, 1}});
    auto problem = plain(design);
    problem->limit[0] = 10;
    for (std::size_t s = 0; s < 2; ++s) {
      const bool less = !design.recomputes.empty() && design.recomputes[s] == 1;
      problem->stages[s].held = problem->stages[s].kept = less ? 1 : 10;
      problem->stages[s].input += less ? 1 : 0;
    }
    return problem;
  };
  const Design start{{1, 1}, {0, 1}};
  DesignOptions options{.ranks = false, .stages = false, .least_at_ends = 1, .work = 1'000'000};
  const auto without = search_design({start}, problem_of, options);
  REQUIRE(without);
  CHECK(without->value == 40);
  CHECK(without->design.recomputes.empty());
  options.recomputations = 1;
  const auto with = search_design({start}, problem_of, options);
  REQUIRE(with);
  CHECK(with->design.recomputes == std::vector<std::uint8_t>{1, 0});
  CHECK(with->value >= 32);
  CHECK(with->value <= 35);
  CHECK(replayed(*with, problem_of) == with->value);
}

TEST_CASE("design search: what goes to the host is chosen with the order, and fits at every time") {
  // Four ranks in a line, F, I and W of 4, passes of 10 until I and room for two. A pass is 4 * 8 on its way down and up again, so twelve, two at a
  // time, take 12 * 32 / 2 = 192 on the first rank. Copies of 1 fit beside ops of 4: with them a rank has 12 * 12 to do and its way in and out.
  const ProblemOf problem_of = [](const Design& design) {
    auto problem = of_layers(4, 12, std::vector<Layer>(4, {4, 4, 4}))(design);
    std::ranges::fill(problem->limit, 25);
    for (std::size_t s = 0; s < 4; ++s) {
      StageWork& work = problem->stages[s];
      work.held = 10;
      if (design.copied.empty() || design.copied[s] == 0) continue;
      work.is_copied = true;
      work.offload = work.reload = 1;
    }
    return problem;
  };
  const Design start{{1, 1, 1, 1}, {0, 1, 2, 3}};
  DesignOptions options{
      .layers = false, .ranks = false, .stages = false, .least_at_ends = 1, .work = 2'000'000};
  const auto without = search_design({start}, problem_of, options);
  REQUIRE(without);
  CHECK(without->value >= 192);
  options.copies = true;
  const auto with = search_design({start}, problem_of, options);
  REQUIRE(with);
  CHECK(with->design.copied != std::vector<std::uint8_t>{0, 0, 0, 0});
  const auto run = run_entries(*problem_of(with->design), with->order, with->design.copying.prefetch);
  REQUIRE(run);
  CHECK(run->over_limit == 0);
  CHECK(with->fits);
  CHECK(run->value == with->value);
  CHECK(with->value < 192);
}

TEST_CASE("design search: all that recompute do so in one way, whatever happens to stages") {
  std::vector<Layer> layers(12, {2, 2, 1});
  // Of three ways the second is the only one that has room.
  const ProblemOf plain = of_layers(3, 6, layers);
  const ProblemOf problem_of = [&](const Design& design) -> std::optional<Problem> {
    CHECK((design.recomputes.empty() || design.recomputes.size() == design.layers.size()));
    std::size_t used = 0;
    for (const std::uint8_t one : design.recomputes) {
      CHECK((one == 0 || used == 0 || one == used));
      if (one > 0) used = one;
    }
    return used == 2 ? plain(design) : std::nullopt;
  };
  Design start = loop(12, 3, 2);
  start.recomputes.assign(6, 2);
  const auto found =
      search_design({start}, problem_of, {.most_stages = 12, .recomputations = 3, .work = 1'000'000});
  REQUIRE(found);
  CHECK(replayed(*found, problem_of) == found->value);
}

TEST_CASE("design search: it can be stopped, and has an answer then") {
  const std::vector<Layer> layers(40, {10, 11, 7});
  const ProblemOf problem_of = of_layers(4, 32, layers);
  DesignOptions options{.most_stages = 16, .work = 4'000'000'000};
  options.progress = [](Ticks) { return false; };
  const auto found = search_design({loop(40, 4, 2)}, problem_of, options);
  REQUIRE(found);
  CHECK(replayed(*found, problem_of) == found->value);
}

TEST_CASE("design search: public profiles of models, below 1F1B with equal layers and above the work") {
  const nlohmann::json file = golden("simpipe.json");
  for (const auto& profile : file["models"]) {
    CAPTURE(profile["model"].get<std::string>());
    std::vector<Layer> layers;
    Ticks work = 0;
    for (const char letter : profile["sequence"].get<std::string>()) {
      const auto& times = profile["ticks"][std::string(1, letter)];
      layers.push_back({times[0], times[1], times[2]});
      work += layers.back().forward + layers.back().input + layers.back().weight;
    }
    constexpr std::size_t kRanks = 4;
    constexpr std::size_t kMicrobatches = 8;
    const ProblemOf problem_of = of_layers(kRanks, kMicrobatches, layers);
    const int count = static_cast<int>(layers.size());
    // Embedding and head are layers here, so the ends need one.
    const DesignOptions options{.most_stages = 24, .least_at_ends = 1, .work = 12'000'000, .threads = 2};
    const auto found = search_design({loop(count, kRanks, 2), loop(count, kRanks, 3)}, problem_of, options);
    REQUIRE(found);
    CHECK(replayed(*found, problem_of) == found->value);
    const Ticks bound = (work * static_cast<Ticks>(kMicrobatches) + 3) / 4;
    CHECK(bound == profile["work_bound"].get<Ticks>());
    CHECK(found->value >= bound);
    // 8 % above the work of equal ranks at most; 1F1B with equal layers is 38 to 62 % above it.
    CHECK(static_cast<double>(found->value) < 1.08 * static_cast<double>(bound));
    if (profile.contains("one_f_one_b")) CHECK(found->value < profile["one_f_one_b"].get<Ticks>());
    if (profile.contains("octopipe")) CHECK(found->value < profile["octopipe"].get<Ticks>());
  }
}

TEST_CASE("design search: public instances of a joint optimiser, met where they are proven, never above") {
  const nlohmann::json file = golden("slackpipe.json");
  for (const auto& instance : file["instances"]) {
    CAPTURE(instance["id"].get<std::string>());
    const auto list = [&](const char* key, std::size_t s) { return instance[key][s].get<Ticks>(); };
    const StageWorkOf stage_work = [&](const Design& design, std::size_t s, std::size_t) {
      StageWork work;
      work.forward = list("F_slope", s) * design.layers[s] + list("F_bias", s);
      work.input = list("B_slope", s) * design.layers[s] + list("B_bias", s);
      return work;
    };
    const std::size_t ranks = instance["workers"];
    const ProblemOf problem_of = problems(ranks, instance["microbatches"], false, stage_work);
    const Design start = loop(instance["layers"], ranks, instance["stages"].get<std::size_t>() / ranks);
    const DesignOptions options{.ranks = false, .stages = false, .least_at_ends = 1, .work = 6'000'000};
    const auto found = search_design({start}, problem_of, options);
    REQUIRE(found);
    const Problem problem = *problem_of(found->design);
    const auto order = search_order(problem, {{"design", found->order}}, {.work = 2'000'000});
    REQUIRE(order);
    const Ticks best = instance["best"];
    CHECK(order->value <= best);
    if (instance["proven"].get<bool>()) CHECK(order->value == best);
    CHECK(order->bound.value >= instance["work_bound"].get<Ticks>());
  }
}

namespace {

/// The least of the fullest rank's work, over all ways to deal layers out one rank after the other, the first stage on rank 0.
Ticks least_by_trying(const LayerWork& work, const Deal& deal, std::size_t rank, int left, bool one_rank) {
  if (rank == deal.ranks) return left == 0 ? 0 : kMaxTicks;
  const std::size_t last = one_rank ? 0 : 1;
  const std::size_t ends = (rank == 0 ? 1U : 0U) + (rank == last ? 1U : 0U);
  const Ticks plain = deal.stages > ends ? static_cast<Ticks>(deal.stages - ends) * work.other : 0;
  const Ticks besides = plain + (rank == 0 ? work.first : 0) + (rank == last ? work.last : 0);
  Ticks best = kMaxTicks;
  for (int layers = 0; layers <= left; ++layers)
    best = std::min(best, std::max(besides + layers * work.layer,
                                   least_by_trying(work, deal, rank + 1, left - layers, one_rank)));
  return best;
}

}  // namespace

TEST_CASE("design bound: the fullest rank's least work is that of the best of all ways to deal layers out") {
  for (const LayerWork& work : {LayerWork{10, 3, 7, 2}, {10, 0, 25, 0}, {7, 12, 12, 1}, {5, 0, 0, 3}})
    for (const std::size_t ranks : {2U, 3U, 4U})
      for (const std::size_t stages : {1U, 2U, 3U})
        for (const int layers : {1, 5, 6, 9, 11}) {
          Deal deal{.layers = layers, .ranks = ranks, .stages = stages};
          CAPTURE(work.layer, work.first, work.last, work.other, ranks, stages, layers);
          const Ticks together = least_by_trying(work, deal, 0, layers, true);
          const Ticks apart = least_by_trying(work, deal, 0, layers, false);
          CHECK(least_rank_work(work, deal) == std::min(together, apart));
          deal.ends = Ends::OneRank;
          CHECK(least_rank_work(work, deal) == together);
          deal.ends = Ends::TwoRanks;
          CHECK(least_rank_work(work, deal) == apart);
        }
}

TEST_CASE("design bound: what layers and ends take is read off stages, and no design found is below it") {
  // A layer takes 2 + 3 + 2, each stage 1 besides, the first 2 more and the last 5.
  const ProblemOf problem_of = problems(4, 8, true, [](const Design& design, std::size_t s, std::size_t) {
    StageWork work;
    const auto layers = static_cast<Ticks>(design.layers[s]);
    work.forward = 2 * layers + 1 + (s == 0 ? 2 : 0);
    work.input = 3 * layers + (s + 1 == design.layers.size() ? 5 : 0);
    work.weight = 2 * layers;
    return work;
  });
  const Design start = loop(18, 4, 2);
  const LayerWork work = layer_work(start, problem_of);
  CHECK(work.layer == 7);
  CHECK(work.first == 3);
  CHECK(work.last == 6);
  CHECK(work.other == 1);
  // 18 layers on 4 ranks: some rank has 5 of them. Where stages stay, two ranks with 5 have nothing but their two stages besides: 37.
  CHECK(least_rank_work(start, problem_of, true) == 5 * 7 + 2);
  CHECK(least_rank_work(start, problem_of, false) == 5 * 7 + 1);
  const auto found = search_design({start}, problem_of, {.most_stages = 12, .work = 2'000'000});
  REQUIRE(found);
  CHECK(found->value >= 8 * (5 * 7 + 1));
}

}  // namespace pipeloom::orders::design_search_test
