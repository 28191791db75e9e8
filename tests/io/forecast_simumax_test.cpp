// Training iterations that SimuMax's authors measured on 8 B200 (tests/golden/forecast/simumax.json), forecast from shapes, tables and two numbers:
// eM, the share of the memory's rate that elementwise traffic gets, and kC, the factor on collectives.

#include <map>
#include <set>

#include "io/forecast_rows.hpp"
#include "sim/hardware/layer_time.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::forecast_simumax_test {
namespace {

using namespace forecast;
using hardware::Hardware;
using hardware::WorkTime;
using model::Pass;

constexpr double kStepEnd = 2e-3;     // seconds of the step's end that no formula covers
constexpr double kAdamBytes = 34;     // per parameter of the rank's share
constexpr double kGradientBytes = 8;  // per parameter that the rank holds: set to zero, scaled

model::Model model_of(const Value& shape, std::int64_t layers) {
  model::Model model;
  model.hidden = whole(shape, "hidden");
  model.vocabulary = whole(shape, "vocab");
  model.sequence = 4096;
  model::Layer dense;
  if (shape.find("attention") != nullptr) {
    dense.latent_attention = model::LatentAttention{.heads = whole(shape, "heads"),
                                                    .q_rank = whole(shape, "q_lora_rank"),
                                                    .kv_rank = whole(shape, "kv_lora_rank"),
                                                    .nope_dim = whole(shape, "qk_head_dim"),
                                                    .rope_dim = whole(shape, "qk_rope_head_dim"),
                                                    .v_dim = whole(shape, "v_head_dim")};
  } else {
    model::Attention attention;
    attention.heads = whole(shape, "heads");
    attention.kv_heads = whole(shape, "kv_heads");
    attention.head_dim = whole(shape, "head_dim");
    dense.attention = attention;
  }
  model::Layer experts = dense;
  dense.mlp = model::Mlp{whole(shape, "ffn_hidden"), true};
  model.kinds = {dense};
  model.layers.assign(static_cast<std::size_t>(layers), 'T');
  if (shape.find("experts") == nullptr) return model;
  model::Experts routed;
  routed.experts = whole(shape, "experts");
  routed.top_k = whole(shape, "topk");
  routed.ffn = whole(shape, "moe_ffn_hidden");
  routed.shared_ffn = whole(shape, "shared_expert_ffn_hidden");
  experts.experts = routed;
  experts.letter = 'E';
  model.kinds.push_back(experts);
  const auto first = static_cast<std::size_t>(whole(shape, "dense_layers"));
  for (std::size_t i = first; i < model.layers.size(); ++i) model.layers[i] = 'E';
  return model;
}

/// A measured configuration.
struct Run {
  model::Model model;
  model::Split split;
  std::int64_t microbatches = 0;
  std::int64_t configuration = 0;
  double seconds = 0;
};

std::vector<Run> runs() {
  const Document document = recorded("simumax.json");
  std::vector<Run> out;
  for (const Value& row : document.root().find("rows")->items()) {
    Run run;
    run.model =
        model_of(*document.root().find("models")->find(row.find("model")->text()), whole(row, "layers"));
    run.split.pipeline = static_cast<int>(whole(row, "p"));
    run.split.tensor = static_cast<int>(whole(row, "t"));
    run.split.data = static_cast<int>(whole(row, "d"));
    run.split.context = static_cast<int>(whole(row, "cp"));
    run.split.expert = static_cast<int>(whole(row, "ep"));
    run.split.sequence = whole(row, "sequence");
    run.split.micro_batch = whole(row, "micro_batch");
    run.microbatches = whole(row, "microbatches");
    run.configuration = whole(row, "configuration_index");
    run.seconds = row.find("measured_ms")->number() / 1000;
    out.push_back(std::move(run));
  }
  return out;
}

/// Layers of a stage, embedding on the first and head on the last.
struct Stage {
  WorkTime time;
  model::Parameters parameters;
};

Stage stage_of(const Hardware& h, const Run& run, int stage) {
  Stage out;
  const auto& [m, split] = std::pair<const model::Model&, const model::Split&>(run.model, run.split);
  const std::size_t layers = m.layers.size() / static_cast<std::size_t>(split.pipeline);
  for (std::size_t i = 0; i < layers; ++i) {
    const model::Layer& layer = *m.find(m.layers[static_cast<std::size_t>(stage) * layers + i]);
    out.time += layer_time(h, work_of(m, layer, split), split, m.norm);
    out.parameters += local_parameters(m, layer, split);
  }
  if (stage == 0) {
    out.time += work_time(h, embedding_work(m, split), split, m.norm);
    out.parameters.dense += local_embedding(m, split) + position_parameters(m);
  }
  if (stage == split.pipeline - 1) {
    out.time += work_time(h, head_work(m, split), split, m.norm);
    out.parameters.dense += local_head(m, split, false);
  }
  return out;
}

/// Reduce-scatter of gradients in fp32, all-gather of weights in bf16, Adam on the rank's share (ZeRO-1).
double end_of_step(const Hardware& h, const Run& run, const model::Parameters& parameters) {
  const int replicas = run.split.data * run.split.context;
  const int expert_replicas = replicas * run.split.tensor / run.split.expert;
  const auto dense = static_cast<double>(parameters.dense);
  const auto experts = static_cast<double>(parameters.experts);
  const double reduced =
      reduction(h, 4 * dense, 2 * dense, replicas, replicas, true).seconds +
      reduction(h, 4 * experts, 2 * experts, expert_replicas, expert_replicas, true).seconds;
  const double own = dense / replicas + experts / expert_replicas;
  return reduced + optimizer(h, kAdamBytes * own + kGradientBytes * (dense + experts)).seconds + kStepEnd;
}

double forecast_of(const Hardware& h, const Run& run) {
  std::vector<StageTime> stages;
  double end = 0;
  const auto tokens = static_cast<double>(run.split.sequence * run.split.micro_batch / run.split.context);
  const double sent = 2 * tokens * static_cast<double>(run.model.hidden) / run.split.tensor;
  const double sending = run.split.pipeline > 1 ? message(h, sent, false).seconds : 0;
  for (int s = 0; s < run.split.pipeline; ++s) {
    const Stage stage = stage_of(h, run, s);
    const double fixed = h.launch.pass_seconds + sending;
    stages.push_back(
        {stage.time[Pass::Forward].total() + fixed,
         stage.time[Pass::BackwardInput].total() + stage.time[Pass::BackwardWeight].total() + fixed});
    end = std::max(end, end_of_step(h, run, stage.parameters));
  }
  return one_f_one_b(stages, run.microbatches) + end;
}

Hardware with(Hardware h, double traffic_efficiency, double collective_factor) {
  h.traffic_efficiency[0] = traffic_efficiency;
  h.collective_factor = collective_factor;
  return h;
}

Errors errors_of(const Hardware& h, const std::vector<Run>& rows) {
  Errors errors;
  for (const Run& run : rows) errors.add(run.seconds, forecast_of(h, run));
  return errors;
}

/// eM and kC with the least mean error over some rows.
Hardware fitted(const Hardware& h, const std::vector<Run>& rows) {
  double best = 1e9;
  Hardware out = h;
  for (double traffic = 0.16; traffic < 0.5; traffic *= 1.05)
    for (double collectives = 1; collectives < 2.2; collectives += 0.06) {
      const Hardware tried = with(h, traffic, collectives);
      const double mean = errors_of(tried, rows).mean();
      if (mean < best) {
        best = mean;
        out = tried;
      }
    }
  return out;
}

}  // namespace

TEST_CASE("forecast: SimuMax's iterations on B200 with the preset's two numbers") {
  const auto b200 = find_hardware("b200", {});
  const auto rows = runs();
  REQUIRE(rows.size() == 29);
  for (const Run& run : rows) check(run.model, run.split, {});
  const Errors errors = errors_of(*b200, rows);
  print("SimuMax, preset", errors);
  if (std::getenv("PIPELOOM_FORECASTS") != nullptr)
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::cout << "  " << rows[i].configuration << " m " << rows[i].microbatches << " measured "
                << rows[i].seconds << " s, " << errors.percent[i] << " %\n";
  CHECK(errors.median() <= 2.5);
  CHECK(errors.largest() <= 6);
}

TEST_CASE("forecast: SimuMax's iterations, the two numbers fitted on one half and tested on the other") {
  const auto b200 = find_hardware("b200", {});
  const auto rows = runs();
  std::set<std::int64_t> indices;
  for (const Run& run : rows) indices.insert(run.configuration);
  std::map<std::int64_t, int> half_of;
  int next = 0;
  for (const std::int64_t index : indices) half_of[index] = next++ % 2;
  std::vector<Run> halves[2];
  for (const Run& run : rows) halves[half_of[run.configuration]].push_back(run);
  Errors errors;
  for (const int fit : {0, 1}) {
    const Hardware h = fitted(*b200, halves[fit]);
    const Errors tested = errors_of(h, halves[1 - fit]);
    print("SimuMax, eM " + std::to_string(h.traffic_efficiency[0]) + " kC " +
              std::to_string(h.collective_factor),
          tested);
    errors.percent.insert(errors.percent.end(), tested.percent.begin(), tested.percent.end());
  }
  print("SimuMax, two halves", errors);
  CHECK(errors.median() <= 2.5);
  CHECK(errors.largest() <= 6);
}

}  // namespace pipeloom::io::forecast_simumax_test
