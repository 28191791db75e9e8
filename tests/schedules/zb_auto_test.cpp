// The automatic zero-bubble orders: what the public scheduler was recorded to find, what the paper prints, and what holds for any
// costs and limits.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/activation_limit.hpp"
#include "schedules/recorded.hpp"
#include "schedules/zb_auto_order.hpp"
#include "sim/torch/lowering.hpp"
#include "support/catch.hpp"
#include "support/message_pairs.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::zb_auto_test {
namespace {

using namespace schedules;
using test::Random;

struct Made {
  Schedule schedule;
  Emission said;
};

Made make_under(const std::string& name, const Terms& terms, Params params) {
  const Found found = find(name);
  const auto limit = params.options.memory_limit;
  if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
  if (limit.given()) params.options.memory_limit = limit;
  Emission said;
  Schedule schedule = make(*found.generator, params, terms, said);
  return {std::move(schedule), std::move(said)};
}

std::string refusal_of(const std::string& name, const Terms& terms, const Params& params) {
  try {
    (void)make_under(name, terms, params);
    return "";
  } catch (const ScheduleError& error) {
    return error.what();
  }
}

/// F = I = W = 1, no transfers; a pass holds 2 bytes, 1 of them from I to W.
Terms unit_terms(const Placement& placement) {
  Terms terms{uniform_costs(placement, {}), default_memory(placement)};
  std::fill(terms.memory.activation.begin(), terms.memory.activation.end(), 2);
  std::fill(terms.memory.released_at_input.begin(), terms.memory.released_at_input.end(), 1);
  return terms;
}

MemoryLimit microbatches(double count) {
  return {.bytes = {}, .microbatches = static_cast<Scale>(std::llround(count * kUnitScale))};
}

std::vector<Ticks> windows_of(const Totals& totals) {
  std::vector<Ticks> window;
  for (std::size_t r = 0; r < totals.busy.size(); ++r)
    window.push_back(totals.last_end[r] - totals.first_start[r]);
  return window;
}

Ticks cost_of(const Schedule& schedule, const Costs& costs) {
  const auto window = windows_of(recorded::evaluate(schedule, costs));
  return *std::max_element(window.begin(), window.end());
}

/// The paper's rate, 1 - m (F + I + W) / cost, as it prints it.
double printed_rate(const nlohmann::json& row, const std::string& name) {
  const int p = row["p"];
  const int m = row["m"];
  const bool v = name == "zbv-auto";
  const Placement placement = v ? Placement::wave(p, 2) : Placement::linear(p);
  const Ticks input = row["t_b"];
  const Ticks weight = row["t_w"];
  const UniformCosts costs{.forward = row["t_f"],
                           .backward = input + weight,
                           .backward_input = input,
                           .backward_weight = weight,
                           .delay = row["t_comm"]};
  Terms terms{uniform_costs(placement, costs), default_memory(placement)};
  // Sequences of 1024, heads of 128: activations to the part that W needs are as 37 to 16 (34 h + 5 a s to 32 h).
  std::fill(terms.memory.activation.begin(), terms.memory.activation.end(), 37);
  std::fill(terms.memory.released_at_input.begin(), terms.memory.released_at_input.end(), 37 - 16);
  const Made made = make_under(name, terms, {.ranks = p, .microbatches = m, .chunks = v ? 2 : 1});
  const auto work = static_cast<double>((v ? 2 : 1) * m * (costs.forward + input + weight));
  return std::round((1 - work / static_cast<double>(cost_of(made.schedule, terms.costs))) * 1e4) / 1e4;
}

/// Every stage its own times and bytes, delays between ranks.
Terms random_terms(Random& random, const Placement& placement) {
  Terms terms{uniform_costs(placement, {.delay = 1}), default_memory(placement)};
  const Ticks spread = random.between(0, 100);
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(placement.slots()); ++slot) {
    for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight})
      terms.costs.duration[index_of(kind)][slot] = random.between(50, 50 + spread);
    for (auto* delay : {&terms.costs.forward_delay, &terms.costs.backward_delay})
      if ((*delay)[slot] > 0) (*delay)[slot] = random.between(0, spread);
    terms.memory.activation[slot] = random.between(1, 40);
    terms.memory.released_at_input[slot] = random.between(0, terms.memory.activation[slot]);
  }
  return terms;
}

void check_sound(const Schedule& schedule, const Terms& terms, const std::vector<Bytes>& limit) {
  REQUIRE(validate(schedule).empty());
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    CHECK(recorded::most_held(terms.memory, schedule.queue(rank)) <= limit[rank.at()]);
  const auto rank_of = [&](Stage stage, Microbatch) { return schedule.placement().rank_of(stage); };
  CHECK(test::mispaired(torch::lower(schedule), rank_of).empty());
}

}  // namespace

TEST_CASE("zb-auto: recorded orders, times, memory, and the costs of all settings") {
  const auto cases = recorded::zero_bubble_cases("zb_auto");
  REQUIRE(cases.size() == 312);
  for (const auto& one : cases) {
    INFO(one.id);
    const Terms terms = one.terms(Placement::linear(one.params.ranks));
    const std::vector<Bytes> limit(static_cast<std::size_t>(one.params.ranks), one.limit.value());
    ZbAutoSearch search(terms, one.params.microbatches, limit);
    std::vector<Ticks> costs;
    for (std::size_t setting = 0; setting < kZbAutoSettings.size(); ++setting)
      costs.push_back(search.play(setting).value().cost);
    CHECK(costs == one.setting_costs);
    CHECK(search.best().value().cost == one.cost);
    Params params = one.params;
    params.options.memory_limit = MemoryLimit{.bytes = one.limit, .microbatches = {}};
    recorded::check_zero_bubble_case(one, make_under("zb-auto", terms, params).schedule);
  }
}

TEST_CASE("zb-auto: recorded orders of unequal stages") {
  const auto cases = nlohmann::json::parse(recorded::read_text("zerobubble/zb_auto_unequal.json"));
  REQUIRE(cases.size() == 10);
  for (const auto& one : cases) {
    INFO(one["id"].get<std::string>());
    const int p = one["p"];
    const Placement placement = Placement::linear(p);
    Terms terms{uniform_costs(placement, {.delay = one["t_comm"]}), default_memory(placement)};
    terms.costs.duration[index_of(OpKind::Forward)] = one["t_f"].get<std::vector<Ticks>>();
    terms.costs.duration[index_of(OpKind::BackwardInput)] = one["t_b"].get<std::vector<Ticks>>();
    terms.costs.duration[index_of(OpKind::BackwardWeight)] = one["t_w"].get<std::vector<Ticks>>();
    terms.memory.activation = one["mem_f"].get<std::vector<Bytes>>();
    for (std::size_t r = 0; r < terms.memory.activation.size(); ++r)
      terms.memory.released_at_input[r] = -one["mem_b"][r].get<Bytes>();
    const auto limit = one["mem_limit"].get<std::vector<Bytes>>();
    ZbAutoSearch search(terms, one["m"], limit);
    std::vector<Ticks> costs;
    for (std::size_t setting = 0; setting < kZbAutoSettings.size(); ++setting)
      costs.push_back(search.play(setting).value().cost);
    CHECK(costs == one["combo_costs"].get<std::vector<Ticks>>());
    Terms limited = terms;  // one limit per rank, as memory.limit_bytes gives it
    limited.memory.limit = limit;
    const Made made = make_under("zb-auto", limited, {.ranks = p, .microbatches = one["m"]});
    for (Rank rank{0}; rank < Rank(p); ++rank)
      CHECK(queue_text(made.schedule, rank) ==
            recorded::zero_bubble_text(one["orders"][rank.at()], placement, rank));
    const Totals totals = recorded::evaluate(made.schedule, terms.costs);
    CHECK(totals.makespan == one["makespan"].get<Ticks>());
    CHECK(windows_of(totals) == one["stage_window"].get<std::vector<Ticks>>());
    for (Rank rank{0}; rank < Rank(p); ++rank)
      CHECK(recorded::most_held(terms.memory, made.schedule.queue(rank)) ==
            one["peak_mem"][rank.at()].get<Bytes>());
  }
}

TEST_CASE("zb-auto: the paper's bubble rates of tables 5 and 8, to four digits") {
  int rates = 0;
  for (const auto& row : nlohmann::json::parse(recorded::read_text("zerobubble/published_auto.json")))
    for (const auto& [name, rate] : row["bubble_rate"].items()) {
      INFO(row["model"].get<std::string>() << " m = " << row["m"].get<int>() << " " << name);
      CHECK(printed_rate(row, name) == Approx(rate.get<double>()).margin(1e-9));
      ++rates;
    }
  CHECK(rates == 15);  // ZB-1p and ZB-2p of six rows, ZB-V of three
}

TEST_CASE("zb-auto: the names of the papers") {
  CHECK(find("zb-1p").generator->name == "zb-auto");
  CHECK(find("ZB-2P").generator->name == "zb-auto");
  CHECK(find("zb1p").generator->name == "zb-h1");  // the seed simulator's word
  CHECK_THROWS_AS(find("zb_1p"), InputError);      // could be either
  const Terms terms = unit_terms(Placement::linear(4));
  const Params params{.ranks = 4, .microbatches = 12};
  CHECK(make_under("zb-1p", terms, params).said.limit ==
        "4 microbatches, 4 activations of a stage on every rank");
  CHECK(make_under("zb-2p", terms, params).said.limit ==
        "8 microbatches, 8 activations of a stage on every rank");
  CHECK(make_under("zb-auto", terms, params).schedule == make_under("zb-1p", terms, params).schedule);
}

TEST_CASE("zb-auto: where the limit comes from") {
  const Placement placement = Placement::linear(2);
  Terms terms = unit_terms(placement);
  terms.memory.activation = {10, 6};
  const auto limit_of = [&](const Params& params) {
    return activation_limit(params, placement, terms.memory).bytes;
  };
  Params params{.ranks = 2, .microbatches = 8};
  CHECK(limit_of(params) == std::vector<Bytes>{20, 20});  // p of the larger of the first two ranks
  terms.memory.limit = {50, 40};
  terms.memory.static_bytes = {7, 5};
  terms.memory.receive = {2, 2};
  terms.memory.logits = {0, 3};
  CHECK(limit_of(params) == std::vector<Bytes>{50 - 7 - 2, 40 - 5 - 2 - 3});
  params.options.memory_limit = MemoryLimit{.bytes = 33, .microbatches = {}};
  CHECK(limit_of(params) == std::vector<Bytes>{33, 33});
  {
    // Without sizes, and with times for all of a rank's layers, two chunks hold half of an activation each: 3 are 6 halves.
    const Placement v = Placement::wave(2, 2);
    MemoryModel halves = default_memory(v);
    halves.parts = halves.passes = 2;
    params.options.memory_limit = MemoryLimit{.bytes = 3, .microbatches = {}};
    const ActivationLimit limit = activation_limit(params, v, halves);
    CHECK(limit.bytes == std::vector<Bytes>{6, 6});
    CHECK(limit.text == "3 activations of a stage on every rank");
    halves.activation.assign(4, 1'000'000'000);
    halves.parts = 1;
    params.options.memory_limit = microbatches(1);
    CHECK(activation_limit(params, v, halves).text ==
          "1 microbatch, 2.0 GB (1.9 GiB) of activations on every rank");
  }
  params.options.memory_limit = microbatches(1.55);
  CHECK(limit_of(params) == std::vector<Bytes>{15, 15});  // 15.5, rounded down
  params.options.memory_limit = {};
  terms.memory.limit = {50, 10};
  CHECK(refusal_of("zb-auto", terms, params) ==
        // Of 10 each: the largest activation counts as one.
        "memory.limit_bytes (1 activation of a stage) leaves nothing for activations on rank 1: static, "
        "receive "
        "and logits bytes take 1 activation of a stage; "
        "raise the limit, or use more ranks");
  // On a V a rank holds both chunks of a microbatch.
  CHECK(microbatch_bytes(Placement::wave(2, 2), unit_terms(Placement::wave(2, 2)).memory) == 4);
}

TEST_CASE("zb-auto: the closed form holds for every limit of p microbatches or more") {
  const ClosedForm form = find("zb-auto").generator->closed_forms.front();
  for (const int p : {1, 2, 3, 4, 6, 8})
    for (const int m : {1, 2, 3, 4, 7, 8, 15, 16, 24})
      for (int k = p; k <= 2 * p + 1; ++k) {
        INFO("p = " << p << ", m = " << m << ", k = " << k);
        const Terms terms = unit_terms(Placement::linear(p));
        const Params params{.ranks = p, .microbatches = m, .options = {.memory_limit = microbatches(k)}};
        const Schedule schedule = make_under("zb-auto", terms, params).schedule;
        CHECK(cost_of(schedule, terms.costs) ==
              form.value(params, {.forward = 1, .backward = 2, .backward_input = 1, .backward_weight = 1},
                         Rank(0)));
      }
}

TEST_CASE("zb-auto: one setting by name, and the name of the one that won") {
  const Terms terms = unit_terms(Placement::linear(4));
  Params params{.ranks = 4, .microbatches = 12, .options = {.memory_limit = microbatches(8)}};
  const Made best = make_under("zb-auto", terms, params);
  CHECK(best.said.setting == "ttt");  // no bubble is left: nothing is cheaper
  CHECK(cost_of(best.schedule, terms.costs) == 12 * 3);
  for (const auto name : kZbAutoNames) {
    params.options.variant = name;
    const Made made = make_under("zb-auto", terms, params);
    CHECK(made.said.setting == name);
    CHECK(cost_of(made.schedule, terms.costs) >= cost_of(best.schedule, terms.costs));
  }
}

TEST_CASE("zb-auto: limits that are too low are refused or warned about, with one that will do") {
  const Terms terms = unit_terms(Placement::linear(8));
  Params params{.ranks = 8, .microbatches = 24};
  CHECK(make_under("zb-auto", terms, params).said.warnings.empty());
  params.options.memory_limit = MemoryLimit{.bytes = 1, .microbatches = {}};
  CHECK(refusal_of("zb-auto", terms, params) ==
        "zb-auto has no order within 0.5 activations of a stage on every rank; the least limit that has one "
        "is 1 "
        "microbatch (1 activation of a stage): set options.memory_limit.microbatches = 1");
  params.options.memory_limit = microbatches(2);
  const Made poor = make_under("zb-auto", terms, params);
  REQUIRE(poor.said.warnings.size() == 1);
  const std::string& warning = poor.said.warnings.front();
  INFO(warning);
  CHECK(warning.find("zb-auto gives a poor order within 2 microbatches") == 0);
  // The limit that it names gives a good order: no warning, at most 5 % above that of p microbatches.
  const auto at = warning.find("times that of ") + 14;
  const int named = std::stoi(warning.substr(at));
  CHECK(named > 2);
  CHECK(named <= 8);
  params.options.memory_limit = microbatches(named);
  CHECK(make_under("zb-auto", terms, params).said.warnings.empty());
}

TEST_CASE("zbv-auto: under p activations it names the schedule that works") {
  const Terms terms = unit_terms(Placement::wave(8, 2));
  Params params{.ranks = 8, .microbatches = 24, .chunks = 2, .options = {.memory_limit = microbatches(6)}};
  CHECK(
      refusal_of("zbv-auto", terms, params) ==
      // Each of 4 bytes: both of a rank's stages, of which one is an activation.
      "zbv-auto needs room for 8 microbatches (16 activations of a stage) on every rank, and the limit is 6 "
      "microbatches, 12 activations of a stage on every rank; v-half, which holds 5 microbatches (10 "
      "activations "
      "of a stage), runs within it; or raise the limit");
  params.options.memory_limit = microbatches(4.5);
  CHECK(refusal_of("zbv-auto", terms, params)
            .find("v-min, which holds 4 microbatches (8 activations of a stage), runs within it") !=
        std::string::npos);
  params.options.memory_limit = microbatches(3);
  CHECK(refusal_of("zbv-auto", terms, params)
            .find("v-half holds 5 microbatches (10 activations of a stage) and v-min 4") !=
        std::string::npos);
}

TEST_CASE("automatic orders: sums that overflow are refused") {
  Terms terms = unit_terms(Placement::linear(2));
  terms.costs.duration[index_of(OpKind::Forward)][1] = kMaxTicks / 8;
  CHECK(refusal_of("zb-auto", terms, {.ranks = 2, .microbatches = 8}) ==
        "the times of all ops add up to too much; use smaller numbers or a larger costs.time_unit");
  terms = unit_terms(Placement::linear(2));
  terms.memory.activation[0] = kMaxTicks / 8;
  CHECK(refusal_of("zb-auto", terms, {.ranks = 2, .microbatches = 8}) ==
        "the activations of all microbatches add up to too many bytes; use smaller numbers");
}

TEST_CASE("automatic orders: legal, within their limit at every instant, messages in order, for any costs") {
  int made = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    const int p = static_cast<int>(random.between(1, 16));
    const int m = static_cast<int>(random.between(1, random.chance(20) ? 64 : 24));
    const bool v = random.chance(50);
    const Placement placement = v ? Placement::wave(p, 2) : Placement::linear(p);
    const Terms terms = random_terms(random, placement);
    // Of the largest microbatch of any rank: what the first two hold may be less than one elsewhere.
    Bytes largest = 0;
    for (Rank rank{0}; rank < Rank(p); ++rank) {
      Bytes own = 0;
      for (const Slot slot : placement.slots_of(rank)) own += terms.memory.activation[slot.at()];
      largest = std::max(largest, own);
    }
    const Bytes limit = largest * random.between(v ? p : 1, 2 * p + 1);
    const Params params{.ranks = p,
                        .microbatches = m,
                        .chunks = v ? 2 : 1,
                        .options = {.memory_limit = {.bytes = limit, .microbatches = {}}}};
    const Made order = make_under(v ? "zbv-auto" : "zb-auto", terms, params);
    check_sound(order.schedule, terms, std::vector<Bytes>(static_cast<std::size_t>(p), limit));
    ++made;
  }
  CHECK(made == 400);
}

}  // namespace pipeloom::zb_auto_test
