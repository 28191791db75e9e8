// Grid::config patches configurations that were read once. Whatever the grid, that must be what reading the whole document gives.

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "study/sweep/grid/grid.hpp"
#include "support/catch.hpp"

namespace grid_template_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

/// All of a configuration as text, places included.
class Dump {
 public:
  explicit Dump(const io::Config& config) {
    add("schedule", config.schedule, config.place_of("schedule"));
    add("ranks", config.ranks, config.place_of("ranks"));
    add("microbatches", config.microbatches, config.place_of("microbatches"));
    add("chunks", config.chunks.value_or(-1), config.place_of("chunks"));
    add_options(config.options);
    add_costs(config.costs);
    add_transfer(config.costs.transfer);
    const cost::MemorySpec& memory = config.memory;
    for (const auto* numbers : {&memory.activation, &memory.released_at_input, &memory.static_bytes,
                                &memory.receive, &memory.stash, &memory.logits})
      add_numbers(*numbers);
    if (memory.limit)
      for (const Bytes bytes : memory.limit->bytes) add("limit", bytes, memory.limit->where);
    add("step",
        fmt::format("{} {} {}", static_cast<int>(config.step.rule), config.step.optimizer, config.step.count),
        {});
    for (const io::Key& key : io::config_keys()) {
      const bool given = config.given.has(io::id_of(key));
      const bool has_place = key.group == io::KeyClass::Shape || key.group == io::KeyClass::Option;
      add(std::string(key.path).c_str(), given, has_place ? config.place_of(key.path) : Where());
    }
    for (const std::string& warning : config.warnings) add("warning", warning, {});
  }
  std::string text;

 private:
  template <class Value>
  void add(const char* name, const Value& value, const Where& where) {
    text += fmt::format("{} {} @{}\n", name, value, where.text());
  }

  void add_options(const ScheduleOptions& options) {
    add("group_size", options.group_size ? options.group_size->largest() : -1, {});
    for (const auto weight : options.slices) add("slice", weight, {});
    add("waves", options.waves.value_or(-1), {});
    add("updates", options.updates.value_or(-1), {});
    add("variant", options.variant, {});
    add("file", options.file, {});
    add("recompute",
        fmt::format("{} {} {}", options.recompute.on, options.recompute.keep,
                    fmt::join(options.recompute.stages, ",")),
        {});
    add("offload",
        fmt::format("{} {} {} {} {}", options.offload.on, options.offload.chunks.value_or(-1),
                    options.offload.prefetch, options.offload.min_gap,
                    fmt::join(options.offload.stages, ",")),
        {});
    add("forward_only", options.forward_only, {});
  }

  void add_numbers(const cost::StageNumbers& numbers) {
    add(numbers.key.c_str(),
        fmt::format("{} {} {}", static_cast<int>(numbers.form), numbers.scalar,
                    numbers.fallback.value_or(-1)),
        numbers.where);
    for (const auto number : numbers.array) add("entry", number, {});
    for (const auto& one : numbers.exceptions)
      add("exception", fmt::format("{} {}", one.stage, one.number), one.where);
  }

  void add_costs(const cost::CostSpec& costs) {
    add("costs", fmt::format("{} {}", name_of(costs.unit), name_of(costs.per)), costs.where);
    for (const auto& numbers : costs.duration) {
      add("duration", numbers.has_value(), {});
      if (numbers) add_numbers(*numbers);
    }
    add("overlap", costs.overlap.has_value(), {});
    if (costs.overlap) {
      add("rule",
          fmt::format("{} {} {}", static_cast<int>(costs.overlap->rule), costs.overlap->factor,
                      costs.overlap->saving),
          {});
      add_numbers(costs.overlap->duration);
    }
    for (const auto* scales : {&costs.rank_scale, &costs.stage_scale, &costs.microbatch_scale}) {
      add("scales", scales->table.has_value(), scales->where);
      for (const auto scale : scales->array) add("scale", scale, {});
    }
  }

  void add_transfer(const cost::TransferSpec& transfer) {
    add("transfer",
        fmt::format("{} {} {} {} {} {}", name_of(transfer.model), transfer.queue, transfer.plan,
                    transfer.ahead, transfer.bytes, transfer.ranks_per_node.value_or(-1)),
        transfer.plan_where);
    for (const auto* link : {&transfer.link, &transfer.intra, &transfer.inter})
      add("link", fmt::format("{} {}", link->latency.value_or(-1), link->bits_per_second.value_or(-1)), {});
  }
};

template <class Make>
std::string outcome(const Make& make) {
  try {
    return Dump(make()).text;
  } catch (const InputError& error) {
    return error.line();
  }
}

void require_same(const std::string& text, std::uint64_t most) {
  CAPTURE(text);
  const Grid grid = Grid::parse(text, "some/folder/grid.json");
  Combination combination;
  for (std::uint64_t i = 0; i < grid.combinations(); i += 1 + grid.combinations() / most) {
    if (!grid.combination(i, combination)) continue;
    const std::string patched = outcome([&] { return grid.config(combination); });
    const std::string read = outcome([&] { return io::read_run_config(grid.document(combination).root()); });
    REQUIRE(patched == read);
  }
}

/// Some keys and values of all kinds: exact, rounded (1e-12 s is a tick, 1e-13 is not), refused.
const std::vector<std::pair<std::string, std::string>> kAxes = {
    {"schedule", R"(["1f1b", "custom", "Interleaved1F1B", "zb1p"])"},
    {"ranks", "[4, 0, 1.5, 8.0, 1048577, -0]"},
    {"ranks", R"({"from": 0, "to": 4, "step": 2})"},
    {"microbatches", R"({"from": 8, "to": 32, "factor": 2})"},
    {"chunks", "[1, 2, -1]"},
    {"options", R"([{"group_size": 2}, {"waves": 1, "variant": "a"}])"},
    {"options.group_size", "[2, 1e3, 0]"},
    {"options.forward_only", "[true, false]"},
    {"costs", R"([{"time_unit": "s", "forward": 1e-12}, {"backward": [1, 2], "transfer": {"latency": 3}}])"},
    {"costs.time_unit", R"(["s", "unit", "ns"])"},
    {"costs.forward", R"([1, 0.0000000001, 1e-13, [1, 2], {"default": 1, "stages": {"1": 2}}, -1, 5e9])"},
    {"costs.backward", R"({"from": 0.1, "to": 0.3, "steps": 4})"},
    {"costs.backward_input", "[1.5, 2]"},
    {"costs.backward_weight", R"({"from": -1, "to": 1, "step": 1})"},
    {"costs.overlapped", R"(["sum", {"factor": 0.5}, 3])"},
    {"costs.rank_scale.1", "[1.25, 0.0000000001, -1]"},
    {"costs.microbatch_scale", "[[1, 2], []]"},
    {"costs.transfer.latency", "[0, 0.25, 1e-10]"},
    {"costs.transfer.bytes", "[1, 0.5, 1e18]"},
    {"costs.transfer.model", R"(["latency", "blocking"])"},
    {"memory.activation_bytes", "[37, [1, 2], 1.5]"},
    {"memory.released_at_input", "[21]"},
    {"memory.static_bytes", R"({"from": 0, "to": 8e10, "steps": 3})"},
    {"memory.limit_bytes", "[null, 1000, 1.5]"},
    {"step.optimizer", "[0, 2.5, -1]"},
    {"step.count", "[1, 2]"},
};

const std::vector<std::string> kBases = {
    R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"rank_scale": [1, 1]}})",
    R"({"costs": {"rank_scale": [1, 2, 3], "time_unit": "ms", "forward": [1, 2], "backward": 2}, "chunks": 2})",
    R"({"schedule": "gpipe", "ranks": 2, "costs": {"rank_scale": [1, 1], "transfer": {"intra": {"latency": 1}}}, "memory": {"limit_bytes": 7}})",
    R"({"schedule": "gpipe", "ranks": 2, "microbatches": 3, "costs": {"rank_scale": [1, 1], "time_unit": "us"},
        "memory": {"activation_bytes": [1, 2]}, "step": {"rule": "post-validation"}, "options": {"group_size": 4}})",
};

}  // namespace

TEST_CASE("a patched configuration is the one that is read") {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    std::string axes;
    std::vector<std::string> taken;
    for (std::size_t i = 0, count = 1 + random() % 4; i < count; ++i) {
      const auto& [key, values] = kAxes[random() % kAxes.size()];
      bool clashes = false;
      for (const std::string& other : taken)
        clashes |= other == key || other.rfind(key + ".", 0) == 0 || key.rfind(other + ".", 0) == 0;
      if (clashes) continue;
      taken.push_back(key);
      axes += (axes.empty() ? "\"" : ", \"") + key + "\": " + values;
    }
    const std::string derive = random() % 4 == 0 ? R"(, "derive": {"memory.stash_bytes": "2*3"})"
                               : random() % 3 == 0 && axes.find("\"costs\"") == std::string::npos
                                   ? R"(, "derive": {"costs.reload": "1/3"})"
                                   : "";
    require_same(
        "{\"base\": " + kBases[random() % kBases.size()] + ",\n\"axes\": {" + axes + "}" + derive + "}", 40);
  }
}

TEST_CASE("derived values are patched too") {
  require_same(R"({"base": {"schedule": "1f1b"}, "zip": [{"ranks": [4, 8], "chunks": [1, 3]}], "derive":
      {"microbatches": "ranks * chunks / 2 - 6", "costs.forward": "1 / ranks", "costs.backward": "chunks - 2", "options.group_size": "ranks / 8"}})",
               9);
  require_same(
      R"({"base": {"ranks": 2, "microbatches": 2}, "axes": {"ranks": [1, 2]}, "derive": {"schedule": "'zb-h1'", "chunks": "'a'"}})",
      9);
}

TEST_CASE("places in arrays are patched") {
  require_same(
      R"({"base": {"schedule": "1f1b", "ranks": 2, "microbatches": 2, "costs": {"time_unit": "ms", "forward": [1, 2],
      "rank_scale": [1, 1], "microbatch_scale": [1, 1.5]}}, "axes": {"costs.forward.1": [3, 0.25, 1e-12, -2], "costs.rank_scale.0":
      {"from": 1, "to": 2, "steps": 4}, "costs.microbatch_scale.1": [0, 7]}})",
      99);
}

}  // namespace grid_template_test
