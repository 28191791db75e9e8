// 1F1B of four ranks and eight microbatches, through the installed headers and libraries.

#include <cstdio>
#include <memory>
#include <string>

#include "schedules/generator.hpp"
#include "sim/costs.hpp"
#include "sim/engine/simulator.hpp"
#include "study/run/evaluate.hpp"
#include "version.hpp"

int main() {
  const pipeloom::schedules::Params params{.ranks = 4, .microbatches = 8};
  const auto found = pipeloom::schedules::find("1f1b");
  const auto schedule =
      std::make_shared<const pipeloom::Schedule>(pipeloom::schedules::make(*found.generator, params));
  const pipeloom::Timeline timeline =
      pipeloom::simulate(schedule, pipeloom::default_costs(schedule->placement()));

  // (m + p - 1)(F + B) with m = 8, p = 4, F = 1, B = 2
  const pipeloom::Ticks expected = (8 + 4 - 1) * (1 + 2) * pipeloom::ticks_per(pipeloom::TimeUnit::Unit);
  const pipeloom::Ticks makespan = pipeloom::span_of(timeline).length();
  std::printf("pipeloom %s: makespan %s\n", std::string(pipeloom::kVersion).c_str(),
              pipeloom::format_ticks(makespan, pipeloom::TimeUnit::Unit).c_str());
  return makespan == expected ? 0 : 1;
}
