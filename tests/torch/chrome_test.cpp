// PyTorch's own trace of a schedule calls I and overlapped pairs communication and makes every action one long. Ours does neither.

#include <nlohmann/json.hpp>

#include <set>
#include <sstream>

#include <pipeloom/costs.hpp>
#include "schedules/generator.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/formats/chrome_trace.hpp"
#include "support/catch.hpp"

namespace pipeloom::chrome_test {

TEST_CASE("torch: in a trace I, W and overlapped pairs are computations, with their own lengths") {
  for (const char* name : {"InterleavedZeroBubble", "DualPipeV"}) {
    INFO(name);
    const auto found = schedules::find(name);
    Params params;
    params.chunks = 2;
    if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
    const auto schedule = std::make_shared<const Schedule>(schedules::make(*found.generator, params));
    std::ostringstream out;
    io::write_chrome_trace(out, simulate(schedule, default_costs(schedule->placement())),
                           default_memory(schedule->placement()));
    std::set<std::string> categories;
    std::set<double> lengths;
    std::size_t ops = 0;
    const auto trace = nlohmann::json::parse(out.str());
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      categories.insert(event["cat"]);
      lengths.insert(event["dur"].get<double>());
      ++ops;
    }
    CHECK(ops == schedule->num_ops());
    CHECK(categories.contains("I"));
    CHECK(!categories.contains("transfer"));
    // F, I and W are 1; an overlapped pair, F and B, is 3.
    CHECK((lengths.size() > 1) == schedule->has_groups());
  }
}

}  // namespace pipeloom::chrome_test
