#include "study/layouts/layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "study/layouts/bounds.hpp"
#include "study/layouts/shown/layouts_shown.hpp"
#include "study/plan/candidates.hpp"
#include "study/run/assignments.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/make_schedule.hpp"
#include "study/run/model_costs.hpp"
#include "study/run/training.hpp"
#include "study/targets/refusals.hpp"
#include "support/catch.hpp"

namespace layouts_test {

using namespace pipeloom;
using study::ExclusionCounts;
using study::Fixed;
using study::LayoutOptions;
using study::LayoutPlan;
using study::ParallelLayout;

namespace {

/// A model on devices, and the options of a plan.
struct Grid {
  std::string model;
  std::string hardware;
  int devices = 8;
  int global_batch = 32;
  int sequence = 4096;
  const char* target = nullptr;
  Fixed fixed = {};
};

io::Config workload_of(const Grid& grid) {
  return study::config_of({{"ranks", "1"},
                           {"microbatches", std::to_string(grid.global_batch)},
                           {"schedule", "\"1f1b\""},
                           {"costs.model", fmt::format("\"{}\"", grid.model)},
                           {"costs.hardware", fmt::format("\"{}\"", grid.hardware)},
                           {"costs.seq", std::to_string(grid.sequence)},
                           {"costs.global_batch", std::to_string(grid.global_batch)}});
}

LayoutOptions options_of(const Grid& grid) {
  LayoutOptions out;
  out.devices = grid.devices;
  out.fixed = grid.fixed;
  if (grid.target != nullptr) out.target = &study::target_named(grid.target);
  return out;
}

/// Small enough to be simulated whole.
std::vector<Grid> grids() {
  return {{"llama3-8b", "h100", 8, 16},
          {"llama3-8b", "h100", 8, 16, 8192, "megatron"},
          {"llama3-8b", "a100", 16, 16, 4096, "torchtitan"},
          {"llama3-70b", "h200", 32, 16, 2048, "megatron", {{"micro_batch", 1}}},
          {"llama3-70b", "b200", 16, 8, 4096, nullptr, {{"micro_batch", 1}, {"cp", 1}}},
          {"mixtral-8x7b", "h200", 16, 16, 4096, "megatron", {{"micro_batch", 1}, {"cp", 1}}},
          {"qwen3-30b-a3b", "h100", 8, 16, 4096, "megatron", {{"micro_batch", 1}, {"cp", 1}}},
          {"qwen3-30b-a3b", "gb200", 8, 16, 4096, nullptr, {{"micro_batch", 2}, {"cp", 1}, {"tp", 1}}},
          {"gpt3-175b", "mi300x", 64, 32, 2048, "torch", {{"micro_batch", 1}, {"cp", 1}, {"tp", 8}}},
          {"seed-oss-36b", "h100", 12, 24, 4096, "megatron", {{"micro_batch", 1}, {"cp", 1}}}};
}

std::int64_t sum_of(const ExclusionCounts& counts) {
  std::int64_t out = 0;
  for (const study::Excluded excluded : study::kExcluded) out += counts.of(excluded);
  return out;
}

std::string text_of(const LayoutPlan& plan) {
  std::string out;
  for (std::size_t i = 0; i < plan.layouts.size(); ++i) {
    const ParallelLayout& layout = plan.layouts[i];
    out += fmt::format("{} {} {} {} {} {} {}\n", study::split_text(layout), layout.order, layout.chunks,
                       layout.micro_batch, study::recompute_text(layout), name_of(layout.devices),
                       plan.plan.candidates[i].step_time);
  }
  return out;
}

study::SpaceOf space_of(const Grid& grid, const estimate::Setting& setting) {
  return {.model = setting.model.get(),
          .hardware = setting.hardware.get(),
          .split = setting.split,
          .devices = grid.devices,
          .global_batch = grid.global_batch,
          .fixed = grid.fixed,
          .target = grid.target == nullptr ? nullptr : &study::target_named(grid.target)};
}

estimate::Setting setting_of(const io::Config& config) {
  const schedules::Generator& generator = *schedules::find("1f1b").generator;
  return study::model_costs(config, Placement::linear(1), generator.requirements)->setting;
}

}  // namespace

TEST_CASE("layouts found by bounds are those of a simulation of all", "[layouts]") {
  std::size_t simulated = 0;
  std::size_t of_all = 0;
  for (const Grid& grid : grids()) {
    INFO(grid.model << " on " << grid.devices << " " << grid.hardware);
    LayoutOptions options = options_of(grid);
    const LayoutPlan bounded = study::make_layouts(workload_of(grid), options);
    options.simulates_all = true;
    const LayoutPlan all = study::make_layouts(workload_of(grid), options);
    CHECK(text_of(bounded) == text_of(all));
    CHECK(bounded.space.points == all.space.points);
    CHECK(all.space.excluded.of(study::Excluded::Slower) == 0);
    CHECK(bounded.simulated <= all.simulated);
    simulated += bounded.simulated;
    of_all += all.simulated;
  }
  CHECK(simulated * 3 < of_all);
}

TEST_CASE("no layout's run is shorter, or holds less, than its bound", "[layouts]") {
  std::size_t tried = 0;
  for (const Grid& grid : grids()) {
    INFO(grid.model << " on " << grid.devices << " " << grid.hardware);
    const io::Config base = workload_of(grid);
    const estimate::Setting setting = setting_of(base);
    study::Space space = study::space_of(space_of(grid, setting));
    REQUIRE(!space.layouts.empty());
    study::LayoutBounds bounds(setting);
    const std::size_t stride = space.layouts.size() / 40 + 1;
    for (std::size_t i = 0; i < space.layouts.size(); i += stride) {
      const ParallelLayout& layout = space.layouts[i];
      const io::Config config =
          study::config_of(base, layout, bounds.layers_of(layout, layout.pipeline * layout.chunks));
      study::SchedulePlan plan;
      try {
        plan = study::name_schedule(config);
      } catch (const ScheduleError&) {
        continue;  // Megatron-LM's own rule for the size
      }
      if (!schedules::takes(*plan.found.generator, plan.params)) continue;
      INFO(study::split_text(layout) << " " << layout.order << " " << layout.chunks << " "
                                     << study::recompute_text(layout));
      const Run run = study::totals_of(config, {}, study::Depth::Metrics);
      const double step = static_cast<double>(run.metrics->step_time) / 1e12;
      const study::LayoutBound bound = bounds.of_stages(layout, *plan.found.generator, plan.params);
      CHECK(bounds.mean_work(layout) <= step);
      CHECK(bound.step <= step);
      CHECK(bound.step >= 0.3 * step);
      Bytes peak = 0;
      for (const RankMetrics& rank : run.metrics->ranks) peak = std::max(peak, rank.memory.peak_bytes);
      CHECK(bound.peak <= run.memory->in_bytes(peak));
      CHECK(bound.peak >= 0.3 * run.memory->in_bytes(peak));
      ++tried;
    }
  }
  CHECK(tried > 150);
}

TEST_CASE("each layout of a space uses all devices and makes up the global batch, and counts add up",
          "[layouts]") {
  for (const Grid& grid : grids()) {
    const estimate::Setting setting = setting_of(workload_of(grid));
    const study::Space space = study::space_of(space_of(grid, setting));
    CHECK(space.points == std::ssize(space.layouts) + sum_of(space.excluded));
    for (const ParallelLayout& layout : space.layouts) {
      CHECK(layout.tensor * layout.context * layout.pipeline * layout.data == grid.devices);
      CHECK(layout.microbatches * layout.micro_batch * layout.data == grid.global_batch);
      CHECK(layout.tensor * layout.context * layout.data % layout.expert == 0);
    }
  }
  // 8 = tp x cp x pp x dp in 20 ways; tp and cp up to 8 divide heads and tokens of Llama-3 8B.
  Grid grid{"llama3-8b", "h100", 8, 8, 4096, "megatron", {{"micro_batch", 1}, {"chunks", 1}}};
  const study::Space space = study::space_of(space_of(grid, setting_of(workload_of(grid))));
  // On p ranks a stage has 32 / p layers, of which 1, 2, 4, .. below all may run again: 5, 4, 3 and 2 numbers for p = 1, 2, 4, 8. None, core_attn, mlp and all may run
  // again as well. Of p = 1, 2, 4, 8 there are 10, 6, 3 and 1 splits; without a pipeline ZeRO 3 is tried beside 1, but not on 8 tensor ranks alone.
  CHECK(space.points == (10 + 9) * (4 + 5) + 6 * (4 + 4) + 3 * (4 + 3) + 1 * (4 + 2));
}

TEST_CASE("a plan of layouts counts what it left out, and its rows are runs of their configurations",
          "[layouts]") {
  const Grid grid{"llama3-8b", "h100", 8, 32, 8192, "megatron"};
  const LayoutPlan plan = study::make_layouts(workload_of(grid), options_of(grid));
  REQUIRE(plan.layouts.size() == plan.plan.candidates.size());
  REQUIRE(plan.layouts.size() == 5);
  CHECK(sum_of(plan.space.excluded) <= plan.space.points);
  for (std::size_t i = 0; i < plan.layouts.size(); ++i) {
    const study::PlanCandidate& row = plan.plan.candidates[i];
    const Run again =
        study::evaluate(study::config_of(study::assignments_of(row.config)), {}, study::Depth::Metrics);
    CHECK(again.metrics->step_time == row.step_time);
    CHECK(row.peak <= static_cast<double>(*plan.plan.room.usable));
    // What is exposed, idle and at the end is a part of the step.
    const study::Exposed exposed = study::exposed_of(row);
    const double sum = exposed.tensor + exposed.context + exposed.expert + exposed.pipeline + exposed.data +
                       exposed.optimizer;
    CHECK(sum > 0);
    CHECK(sum < 1);
    CHECK((exposed.tensor > 0) == (plan.layouts[i].tensor > 1));
    CHECK((exposed.context > 0) == (plan.layouts[i].context > 1));
    if (i > 1) CHECK(row.step_time >= plan.plan.candidates[i - 1].step_time);
  }
}

TEST_CASE(
    "the recommended layout is within two percent of the fastest, and holds no more than others of these",
    "[layouts]") {
  for (const Grid& grid : grids()) {
    INFO(grid.model << " on " << grid.devices << " " << grid.hardware);
    const LayoutPlan plan = study::make_layouts(workload_of(grid), options_of(grid));
    if (plan.layouts.empty()) continue;
    const auto& rows = plan.plan.candidates;
    const Ticks shortest = std::ranges::min_element(rows, {}, &study::PlanCandidate::step_time)->step_time;
    const double most = 1.02 * static_cast<double>(shortest);
    CHECK(static_cast<double>(rows.front().step_time) <= most);
    const double part = static_cast<double>(*plan.plan.room.device) / 10;
    for (const study::PlanCandidate& row : rows)
      if (static_cast<double>(row.step_time) <= most) CHECK(rows.front().peak < row.peak + part);
  }
}

TEST_CASE("rows of a target are taken by it, and lines to paste have the layout's sizes", "[layouts]") {
  const Grid grid{"llama3-70b", "h100", 64, 64, 8192, "megatron", {{"pp", 8}}};
  const LayoutPlan plan = study::make_layouts(workload_of(grid), options_of(grid));
  REQUIRE(plan.plan.to_run.size() == 1);
  const ParallelLayout& first = plan.layouts.front();
  const std::string& text = plan.plan.to_run.front().to_run.text;
  for (const auto& [option, size] :
       {std::pair("--tensor-model-parallel-size", first.tensor),
        std::pair("--pipeline-model-parallel-size", first.pipeline),
        std::pair("--context-parallel-size", first.context),
        std::pair("--micro-batch-size", first.micro_batch), std::pair("--global-batch-size", 64)})
    CHECK(text.find(fmt::format("{} {}", option, size)) != std::string::npos);
  REQUIRE(plan.elsewhere);
  CHECK(plan.elsewhere->change < 0);
  for (const study::Target* target : plan.elsewhere->targets) CHECK(target->name != "megatron");
}

TEST_CASE("fixed sizes are those of every row", "[layouts]") {
  const Grid grid{"llama3-70b", "h100", 64, 64, 4096, "megatron", {{"tp", 4}, {"cp", 1}, {"micro_batch", 2}}};
  const LayoutPlan plan = study::make_layouts(workload_of(grid), options_of(grid));
  REQUIRE(!plan.layouts.empty());
  for (const ParallelLayout& layout : plan.layouts) {
    CHECK(layout.tensor == 4);
    CHECK(layout.context == 1);
    CHECK(layout.micro_batch == 2);
  }
}

TEST_CASE("sizes that no plan tries by itself may be fixed", "[layouts]") {
  // 3 samples, and 9 chunks, whose largest stage has three layers as that of 7 chunks on 4 ranks of 80 layers: both are looked at alone.
  const Grid grid{"llama3-70b",
                  "h200",
                  32,
                  48,
                  4096,
                  "megatron",
                  {{"pp", 4}, {"cp", 1}, {"micro_batch", 3}, {"chunks", 9}}};
  const LayoutPlan plan = study::make_layouts(workload_of(grid), options_of(grid));
  REQUIRE(!plan.layouts.empty());
  for (const ParallelLayout& layout : plan.layouts) {
    CHECK(layout.micro_batch == 3);
    CHECK(layout.chunks == 9);
  }
}

TEST_CASE("tensor ranks stay in a node unless they are fixed", "[layouts]") {
  Grid grid{"llama3-70b", "h100", 64, 64, 4096, "megatron", {{"pp", 4}, {"cp", 1}}};
  for (const ParallelLayout& layout : study::make_layouts(workload_of(grid), options_of(grid)).layouts)
    CHECK(layout.tensor <= 8);
  grid.fixed["tp"] = 16;
  for (const ParallelLayout& layout : study::make_layouts(workload_of(grid), options_of(grid)).layouts)
    CHECK(layout.tensor == 16);
}

TEST_CASE(
    "devices are numbered with data last too, where stages then share a node and Megatron-core takes it",
    "[layouts]") {
  const Grid grid{"qwen3-30b-a3b", "h100", 32, 32, 4096, "megatron", {{"micro_batch", 1}}};
  const estimate::Setting setting = setting_of(workload_of(grid));
  study::SpaceOf of = space_of(grid, setting);
  std::size_t others = 0;
  for (const ParallelLayout& layout : study::space_of(of).layouts) {
    if (layout.devices == DeviceOrder::PipelineLast) continue;
    ++others;
    CHECK(layout.devices == DeviceOrder::DataLast);
    // A node of eight holds stages of it; Megatron-core's meshes are equal.
    CHECK(layout.tensor * layout.context < 8);
    CHECK(layout.pipeline > 1);
    CHECK(layout.expert == layout.tensor * layout.context);
  }
  CHECK(others > 0);
  // What a node holds whole has no order.
  of.devices = 8;
  for (const ParallelLayout& layout : study::space_of(of).layouts)
    CHECK(layout.devices == DeviceOrder::PipelineLast);
  // One that is said is that of all.
  of.devices = 32;
  of.order = DeviceOrder::DataLast;
  const auto said = study::space_of(of).layouts;
  CHECK_FALSE(said.empty());
  for (const ParallelLayout& layout : said) CHECK(layout.devices == DeviceOrder::DataLast);
}

TEST_CASE("a row whose stages share a node says so, in its configuration too", "[layouts]") {
  const Grid grid{
      "llama3-8b", "h100", 16, 16, 4096, "megatron", {{"tp", 2}, {"pp", 2}, {"cp", 1}, {"micro_batch", 1}}};
  io::Config workload = workload_of(grid);
  workload.costs.model.order = DeviceOrder::DataLast;
  io::mark_given(workload, "costs.order");
  const LayoutPlan plan = make_layouts(workload, options_of(grid));
  REQUIRE_FALSE(plan.layouts.empty());
  for (std::size_t i = 0; i < plan.layouts.size(); ++i) {
    CHECK(plan.layouts[i].devices == DeviceOrder::DataLast);
    CHECK(plan.plan.candidates[i].config.costs.model.order == DeviceOrder::DataLast);
    CHECK(plan.plan.candidates[i].config.given.has("costs.order"));
  }
  CHECK(study::layouts_json(plan, false, 0).find(R"("order": "tp-cp-ep-pp-dp")") != std::string::npos);
}

TEST_CASE("hidden exchanges of a kind of ranks count for these alone", "[layouts]") {
  const auto exposed = [](const std::string& hidden) {
    study::Assignments given = {{"ranks", "2"},
                                {"microbatches", "8"},
                                {"schedule", "\"1f1b\""},
                                {"costs.model", "\"mixtral-8x7b\""},
                                {"costs.hardware", "\"h200\""},
                                {"costs.tp", "2"},
                                {"costs.cp", "2"},
                                {"costs.dp", "2"},
                                {"costs.ep", "4"}};
    if (!hidden.empty()) given[hidden] = "0.75";
    const Run run = study::evaluate(study::config_of(given), {}, study::Depth::Metrics);
    estimate::Exchanged sum = {};
    for (const estimate::Stage& stage : run.model->costs.estimate.stages)
      for (std::size_t group = 0; group < sum.size(); ++group) sum[group] += stage.exchanged[group];
    return std::pair(sum, run.model->costs.step_end.reduction);
  };
  const auto [all, reduction] = exposed("");
  constexpr std::array kKeys = {"costs.hidden.tp", "costs.hidden.cp", "costs.hidden.ep"};
  for (std::size_t key = 0; key < kKeys.size(); ++key) {
    const auto [some, same] = exposed(kKeys[key]);
    for (std::size_t group = 0; group < kKeys.size(); ++group)
      CHECK_THAT(some[group], Catch::Matchers::WithinRel((group == key ? 0.25 : 1.0) * all[group], 1e-9));
    CHECK(same == reduction);
  }
  CHECK_THAT(exposed("costs.hidden.dp").second, Catch::Matchers::WithinRel(0.25 * reduction, 1e-9));
}

TEST_CASE("orders of ranks that Megatron-core 0.19.2 takes are those that it was recorded to take",
          "[layouts]") {
  // findings/megatron_rank_order.sh: 16 ranks in pipelines of 2.
  struct Recorded {
    const char* model;
    int tensor;
    int context;
    int expert;
    bool is_taken;
  };
  constexpr std::array<Recorded, 6> kRecorded = {{{"llama3-8b", 2, 1, 1, true},
                                                  {"llama3-8b", 2, 2, 1, false},
                                                  {"llama3-8b", 1, 2, 1, false},
                                                  {"mixtral-8x7b", 2, 1, 2, true},
                                                  {"mixtral-8x7b", 2, 1, 4, false},
                                                  {"mixtral-8x7b", 2, 2, 4, true}}};
  const study::Target& megatron = study::target_named("megatron");
  for (const Recorded& one : kRecorded) {
    const estimate::Setting setting = setting_of(workload_of({one.model, "h100"}));
    model::Split split = setting.split;
    split.pipeline = 2;
    split.tensor = one.tensor;
    split.context = one.context;
    split.expert = one.expert;
    split.data = 8 / one.tensor / one.context;
    CHECK(study::split_refusal(megatron, *setting.model, split).empty());
    split.order = DeviceOrder::DataLast;
    CHECK(study::split_refusal(megatron, *setting.model, split).empty() == one.is_taken);
    split.order = DeviceOrder::PipelineFirst;
    CHECK_FALSE(study::split_refusal(megatron, *setting.model, split).empty());
    CHECK(study::split_refusal(study::target_named("torch"), *setting.model, split).empty());
  }
}

TEST_CASE("a search of layouts that is ended says so, and has what was found", "[layouts]") {
  const Grid grid{"llama3-70b", "h100", 64, 64, 4096};
  LayoutOptions options = options_of(grid);
  int asked = 0;
  options.progress = [&](const std::string&) { return ++asked < 3; };
  const LayoutPlan plan = study::make_layouts(workload_of(grid), options);
  CHECK(plan.ended);
  CHECK(plan.space.excluded.of(study::Excluded::NotTried) > 0);
  CHECK(plan.space.excluded.of(study::Excluded::Slower) == 0);
}

TEST_CASE("layouts do not depend on the number of threads", "[layouts]") {
  const Grid grid{"llama3-70b", "h100", 64, 64, 4096};
  LayoutOptions options = options_of(grid);
  const std::string one = text_of(study::make_layouts(workload_of(grid), options));
  options.threads = 4;
  CHECK(text_of(study::make_layouts(workload_of(grid), options)) == one);
}

TEST_CASE("plans of layouts that cannot be made say why", "[layouts]") {
  const auto message = [](io::Config config, const LayoutOptions& options) -> std::string {
    try {
      (void)study::make_layouts(std::move(config), options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const Grid grid{"llama3-8b", "h100", 8, 16};
  io::Config no_model = workload_of(grid);
  no_model.costs.model.model.clear();
  CHECK(message(no_model, options_of(grid)).find("name one") != std::string::npos);
  io::Config no_batch = workload_of(grid);
  no_batch.costs.model.global_batch.reset();
  CHECK(message(no_batch, options_of(grid)).find("--global-batch") != std::string::npos);
  LayoutOptions odd = options_of(grid);
  odd.fixed["tp"] = 3;
  CHECK(message(workload_of(grid), odd).find("tp=3") != std::string::npos);
}

}  // namespace layouts_test
