#include "support/event_engine.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "sim/analysis/validate.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/wait_for.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::event_engine_test {
namespace {

/// The latency model, with a diary.
class Diary final : public Network {
 public:
  explicit Diary(const Costs& costs) : latency_(costs) {}
  Ticks post(const Message& message, Ticks now) override {
    text_ += (text_.empty() ? "" : ", ") + to_text(message.producer) + " " +
             std::to_string(message.from_rank.value()) + ">" + std::to_string(message.to_rank.value()) +
             " at " + std::to_string(now);
    in_order_ = in_order_ && now >= last_;
    last_ = now;
    return latency_.post(message, now);
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool in_order() const { return in_order_; }

 private:
  LatencyNetwork latency_;
  std::string text_;
  Ticks last_ = 0;
  bool in_order_ = true;
};

/// A network of one wire: messages follow each other, `length` each.
class OneWire final : public Network {
 public:
  explicit OneWire(Ticks length) : length_(length) {}
  Ticks post(const Message&, Ticks now) override { return free_ = std::max(free_, now) + length_; }

 private:
  Ticks length_;
  Ticks free_ = 0;
};

Timeline times_of_events(const std::shared_ptr<const Schedule>& schedule, const Costs& costs,
                         Network& network) {
  auto outcome = simulate_events(schedule, costs, network);
  REQUIRE(std::holds_alternative<Timeline>(outcome));
  return std::get<Timeline>(std::move(outcome));
}

}  // namespace

TEST_CASE("every tensor that leaves a rank is posted once, in time order") {
  const auto schedule = test::scene("0F0 0B0 | 1F0 1B0");
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 2, .backward = 3, .delay = 10});
  Diary diary(costs);
  CHECK(test::times_of(times_of_events(schedule, costs, diary)) ==
        "0F0 0-2, 0B0 27-30, 1F0 12-14, 1B0 14-17");
  CHECK(diary.text() == "0F0 0>1 at 2, 1B0 1>0 at 17");
}

TEST_CASE("tensors that stay on their rank are no messages") {
  const auto schedule = test::scene("0F0 1F0 1B0 0B0");
  const Costs costs = uniform_costs(schedule->placement(), {});
  Diary diary(costs);
  (void)times_of_events(schedule, costs, diary);
  CHECK(diary.text().empty());
}

TEST_CASE("messages may wait for each other") {
  // F = 1 on both ranks, one wire, 5 per message: 0F0 leaves at 1 and arrives at 6; 0F1 leaves at 2, waits, arrives at 11.
  const auto schedule = test::scene("0F0 0F1 | 1F0 1F1");
  OneWire wire(5);
  CHECK(test::times_of(times_of_events(schedule, uniform_costs(schedule->placement(), {}), wire)) ==
        "0F0 0-1, 0F1 1-2, 1F0 6-7, 1F1 11-12");
}

TEST_CASE("events and cursors find the same times on random problems") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto [schedule, costs] = test::random_problem(2'500'000 + seed);
    INFO("seed " << seed);
    Diary diary(costs);
    const Timeline events = times_of_events(schedule, costs, diary);
    const Timeline cursors = simulate(schedule, costs);
    REQUIRE(events.start == cursors.start);
    REQUIRE(events.end == cursors.end);
    REQUIRE(diary.in_order());
  }
}

TEST_CASE("events hang exactly where cursors do") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto problem = test::random_problem(2'600'000 + seed, {.group_percent = 15});
    test::Random random(seed);
    const auto schedule = std::make_shared<const Schedule>(
        test::with_swapped_ops(random, *problem.schedule, 1 + random.below(3)));
    if (!validate_structure(*schedule).empty()) continue;
    INFO("seed " << seed);
    LatencyNetwork network(problem.costs);
    const auto outcome = simulate_events(schedule, problem.costs, network);
    const auto* hang = std::get_if<ScheduleHang>(&outcome);
    const auto expected = find_hang(*schedule);
    REQUIRE((hang != nullptr) == expected.has_value());
    if (hang == nullptr) continue;
    REQUIRE(hang->done == expected->done);
    REQUIRE(describe(*hang, *schedule) == describe(*expected, *schedule));
  }
}

}  // namespace pipeloom::event_engine_test
