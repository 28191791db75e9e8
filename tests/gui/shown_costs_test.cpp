#include "gui/model/edit/shown_costs.hpp"

#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace shown_costs_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

const KindSet kFB = {OpKind::Forward, OpKind::Backward};
const Assignments kPlain = {{"schedule", "\"1f1b\""}, {"ranks", "4"}, {"microbatches", "8"}};

Assignments with(Assignments base, const Assignments& more) {
  for (const auto& [path, value] : more) base[path] = value;
  return base;
}

}  // namespace

TEST_CASE("the first duration that is given keeps the others at the defaults that held") {
  const Assignments forward = with(kPlain, {{"costs.forward", "1.7"}});
  CHECK(with_shown_costs(kPlain, forward, "costs.forward", kFB) == with(forward, {{"costs.backward", "2"}}));
  const KindSet halves = {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight};
  const Assignments input = with(kPlain, {{"costs.backward_input", "1.5"}});
  CHECK(with_shown_costs(kPlain, input, "costs.backward_input", halves) ==
        with(input, {{"costs.forward", "1"}, {"costs.backward_weight", "1"}}));
  // Where one was given already, the others hold no default that an edit could end.
  const Assignments given = with(kPlain, {{"costs.backward", "3"}});
  CHECK(with_shown_costs(given, with(given, {{"costs.forward", "2"}}), "costs.forward", kFB).size() == 5);
  // Other keys hold alone, and a model gives all durations.
  const Assignments latency = with(kPlain, {{"costs.transfer.latency", "0.5"}});
  CHECK(with_shown_costs(kPlain, latency, "costs.transfer.latency", kFB) == latency);
  const Assignments model = with(kPlain, {{"costs.model", "\"llama3-70b\""}});
  const Assignments modelled = with(model, {{"costs.forward", "2"}});
  CHECK(with_shown_costs(model, modelled, "costs.forward", kFB) == modelled);
}

TEST_CASE("a duration that is left out is at its default, or follows from the others") {
  const Assignments both = with(kPlain, {{"costs.forward", "1.7"}, {"costs.backward", "3"}});
  CHECK(without_key(both, "costs.forward") == with(both, {{"costs.forward", "1"}}));
  // B at 2 is the default: with F back at its own nothing is given any more.
  const Assignments usual = with(kPlain, {{"costs.forward", "1.7"}, {"costs.backward", "2"}});
  CHECK(without_key(usual, "costs.forward") == kPlain);
  // W is B - I, and R is F.
  const Assignments split =
      with(both, {{"costs.backward_input", "2"}, {"costs.backward_weight", "1"}, {"costs.recompute", "1.7"}});
  CHECK_FALSE(without_key(split, "costs.backward_weight").contains("costs.backward_weight"));
  CHECK_FALSE(without_key(split, "costs.recompute").contains("costs.recompute"));
  CHECK(without_key(split, "ranks").size() == split.size() - 1);
}

TEST_CASE("fields of a configuration that is not on screen show the durations that would hold") {
  CHECK(default_cost(kPlain, "costs.forward") == "1");
  CHECK(default_cost(kPlain, "costs.backward") == "2");
  CHECK(default_cost(kPlain, "ranks").empty());
  Assignments given = kPlain;
  given["costs.forward"] = "3";
  CHECK(default_cost(given, "costs.backward").empty());
}

TEST_CASE("every ready configuration takes a first edit of any duration that has a field") {
  const std::vector<std::string>& names = preset_names();
  REQUIRE(names.size() > 5);
  std::size_t edits = 0;
  for (const std::string& name : names) {
    Session session;
    auto& config = session.part<ConfigModel>();
    try {
      config.load_preset(session, name);
    } catch (const InputError&) {
      continue;  // no configuration of a run: a device, a model
    }
    settle(session);
    if (!config.problem().empty() || session.runs.empty() || session.runs[0].run->ranks() > 32) continue;
    const KindSet kinds = session.runs[0].run->schedule->kinds();
    for (const KindRow& row : kKinds) {
      if (!kinds.has(row.kind) || config.is_set(std::string(row.cost_key))) continue;
      config.set(session, std::string(row.cost_key), "1");
      settle(session);
      INFO(name << ": " << row.cost_key << ": " << config.problem());
      CHECK(config.problem().empty());
      config.undo(session);
      settle(session);
      ++edits;
    }
  }
  CHECK(edits > 0);
}

TEST_CASE("the example's forward alone moves the step by what it says") {
  Session session;
  auto& config = session.part<ConfigModel>();
  settle(session);
  REQUIRE(run_command(session, "set", "costs.forward 1.7"));
  settle(session);
  CHECK(config.problem().empty());
  CHECK(config.value("costs.backward") == "2");
  // (m + p - 1) (F + B) = 11 * 3.7
  CHECK(session.runs[0].run->metrics->makespan == 407 * kOne / 10);
  config.undo(session);
  settle(session);
  CHECK(config.assignments() == kPlain);
  CHECK(session.runs[0].run->metrics->makespan == 33 * kOne);
}

}  // namespace shown_costs_test
