// 1F1B of two ranks and two microbatches, through the installed headers and libraries.

#include <cstdio>
#include <memory>
#include <string>

#include "sim/costs.hpp"
#include "sim/simulator.hpp"
#include "sim/text.hpp"
#include "version.hpp"

int main() {
  const auto schedule = std::make_shared<const pipeloom::Schedule>(
      pipeloom::parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1"));
  const pipeloom::Timeline timeline =
      pipeloom::simulate(schedule, pipeloom::default_costs(schedule->placement()));

  // (m + p - 1)(F + B) with p = m = 2, F = 1, B = 2
  const pipeloom::Ticks expected = 9 * pipeloom::ticks_per(pipeloom::TimeUnit::Unit);
  const pipeloom::Ticks makespan = pipeloom::span_of(timeline).length();
  std::printf("pipeloom %s: makespan %s\n", std::string(pipeloom::kVersion).c_str(),
              pipeloom::format_ticks(makespan, pipeloom::TimeUnit::Unit).c_str());
  return makespan == expected ? 0 : 1;
}
