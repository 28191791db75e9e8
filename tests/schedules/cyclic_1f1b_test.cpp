// Cyclic 1F1B against its rule, read a second time without thought for speed; what a limit does to it, and what it is for.

#include <algorithm>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/recorded.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::cyclic_1f1b_test {
namespace {

using namespace schedules;

Schedule make_cyclic(const Terms& terms, const Params& params) {
  Emission said;
  return make(*find("cyclic-1f1b").generator, params, terms, said);
}

/// The letters of a rank's queue, whose microbatches must count up for each of them.
std::string letters(const Schedule& schedule, Rank rank) {
  std::string text;
  int forwards = 0;
  int backwards = 0;
  for (const Op op : schedule.queue(rank)) {
    const bool forward = op.kind() == OpKind::Forward;
    CHECK(op.microbatch() == Microbatch((forward ? forwards : backwards)++));
    text += letter_of(op.kind());
  }
  return text;
}

/// The rule with counts alone: every cycle looks at what was ready at its beginning, on every rank. `most` microbatches fit each.
std::vector<std::string> read_again(int microbatches, const std::vector<int>& most) {
  const std::size_t p = most.size();
  std::vector<std::string> queues(p);
  std::vector<int> to_forward(p, 0);
  std::vector<int> to_backward(p, 0);
  std::vector<int> live(p, 0);
  to_forward[0] = microbatches;
  for (bool more = true; more;) {
    more = false;
    const std::vector<int> forwards = to_forward;
    const std::vector<int> backwards = to_backward;
    for (std::size_t r = 0; r < p; ++r) {
      if (backwards[r] > 0) {
        queues[r] += 'B';
        --to_backward[r];
        --live[r];
        if (r > 0) ++to_backward[r - 1];
        more = true;
      }
      if (forwards[r] > 0 && live[r] < most[r]) {
        queues[r] += 'F';
        --to_forward[r];
        ++live[r];
        ++(r + 1 < p ? to_forward[r + 1] : to_backward[r]);
        more = true;
      }
    }
  }
  return queues;
}

}  // namespace

TEST_CASE("cyclic-1f1b: two ranks that hold two microbatches, cycle by cycle") {
  // cycle    0   1    2     3    4    5     6   7
  // rank 0  F0  F1    -  B0 F2 B1 F3  -    B2  B3
  // rank 1   -  F0 B0 F1    B1   F2  B2 F3 B3
  Terms terms = uniform_terms(Placement::linear(2), {});
  terms.memory.limit = {2, 2};
  const Schedule schedule = make_cyclic(terms, {.ranks = 2, .microbatches = 4});
  CHECK(letters(schedule, Rank(0)) == "FFBFBFBB");
  CHECK(letters(schedule, Rank(1)) == "FBFBFBFB");
}

TEST_CASE("cyclic-1f1b: without a limit it is eager-1f1b") {
  for (const int p : {1, 2, 3, 5, 8})
    for (const int m : {1, 2, 5, 9, 30}) {
      const Params params{.ranks = p, .microbatches = m};
      CHECK(recorded::make_named("cyclic-1f1b", params) == recorded::make_named("eager-1f1b", params));
    }
}

TEST_CASE("cyclic-1f1b: its rule read again, under any limits by rank") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    test::Random random(seed);
    const int p = static_cast<int>(random.between(1, 8));
    const int m = static_cast<int>(random.between(1, 24));
    Terms terms = uniform_terms(Placement::linear(p), {});
    std::vector<int> most;
    for (std::size_t r = 0; r < terms.memory.activation.size(); ++r) {
      most.push_back(static_cast<int>(random.between(1, 2 * p)));
      terms.memory.activation[r] = random.between(1, 9);
      // One byte short of the next microbatch at most.
      terms.memory.limit.push_back(terms.memory.activation[r] * most.back() +
                                   random.between(0, terms.memory.activation[r] - 1));
    }
    const Schedule schedule = make_cyclic(terms, {.ranks = p, .microbatches = m});
    CHECK(validate(schedule).empty());
    const auto expected = read_again(m, most);
    const Totals totals = recorded::evaluate(schedule, terms.costs);
    for (Rank rank{0}; rank < Rank(p); ++rank) {
      CHECK(letters(schedule, rank) == expected[rank.at()]);
      CHECK(totals.peak_live[rank.at()] <= most[rank.at()]);
    }
  }
}

TEST_CASE("cyclic-1f1b: microbatches of unequal length cost less than in 1f1b") {
  const Params params{.ranks = 4, .microbatches = 24};
  Terms terms = uniform_terms(Placement::linear(4), {.forward = 10, .backward = 20});
  for (int k = 0; k < params.microbatches; ++k)
    terms.costs.microbatch_scale.push_back(k % 4 == 0 ? 3 * kUnitScale : kUnitScale);
  const Ticks plain = recorded::evaluate(recorded::make_named("1f1b", params), terms.costs).makespan;
  const Ticks cyclic = recorded::evaluate(make_cyclic(terms, params), terms.costs).makespan;
  // Six long microbatches and 18 short ones are 36 of 30; the last rank starts no earlier than behind three long forwards.
  CHECK(cyclic >= 36 * 30 + 3 * 30);
  CHECK(cyclic < plain);
}

TEST_CASE("cyclic-1f1b: a limit without room for a microbatch is refused, with what it takes") {
  Terms terms = uniform_terms(Placement::linear(2), {});
  terms.memory.activation = {1, 3};
  Params params{.ranks = 2, .microbatches = 3};
  params.options.memory_limit.bytes = 2;
  CHECK_THROWS_WITH(make_cyclic(terms, params),
                    "cyclic-1f1b has no order within 0.7 activations of a stage on every rank: rank 1 needs "
                    "1 activation of "
                    "a stage for one microbatch; raise options.memory_limit or memory.limit_bytes");
}

}  // namespace pipeloom::cyclic_1f1b_test
