#pragma once

// Iterations that others measured (tests/golden/forecast), and what their forecasts need.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/model/model.hpp"
#include "sim/model/parameters.hpp"

namespace pipeloom::io::forecast {

inline Document recorded(const std::string& name) {
  const std::string path = std::string(PIPELOOM_GOLDEN_DIR) + "/forecast/" + name;
  return Document::parse(read_file(path), path);
}

inline std::int64_t whole(const Value& row, std::string_view key) {
  return static_cast<std::int64_t>(row.find(key)->number());
}

/// What a stage takes for a microbatch, seconds.
struct StageTime {
  double forward = 0;
  double backward = 0;
};

/// The step of 1F1B over unequal stages: rank r runs min(p - 1 - r, m) forwards, then forward and backward in turns, then the backwards that
/// are left. A message takes `latency`, and no rank's time but what is in the stages.
inline double one_f_one_b(const std::vector<StageTime>& stages, std::int64_t microbatches,
                          double latency = 0) {
  const auto p = static_cast<std::int64_t>(stages.size());
  const auto index = [&](std::int64_t stage, std::int64_t microbatch) {
    return static_cast<std::size_t>(stage * microbatches + microbatch);
  };
  std::vector<double> forward(index(p, 0), -1);
  std::vector<double> backward(index(p, 0), -1);
  struct Place {
    std::int64_t forwards = 0;
    std::int64_t backwards = 0;
    double time = 0;
  };
  std::vector<Place> ranks(stages.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int64_t s = 0; s < p; ++s) {
      Place& at = ranks[static_cast<std::size_t>(s)];
      const StageTime& take = stages[static_cast<std::size_t>(s)];
      while (at.backwards < microbatches) {
        const bool is_forward =
            at.forwards < microbatches && at.forwards - at.backwards <= std::min(p - 1 - s, microbatches);
        const std::int64_t mb = is_forward ? at.forwards : at.backwards;
        double ready = 0;
        if (is_forward) {
          if (s > 0) ready = forward[index(s - 1, mb)];
          if (s > 0 && ready >= 0) ready += latency;
        } else {
          ready = s + 1 < p ? backward[index(s + 1, mb)] : forward[index(s, mb)];
          if (s + 1 < p && ready >= 0) ready += latency;
        }
        if (ready < 0) break;
        at.time = std::max(at.time, ready) + (is_forward ? take.forward : take.backward);
        (is_forward ? forward : backward)[index(s, mb)] = at.time;
        ++(is_forward ? at.forwards : at.backwards);
        moved = true;
      }
    }
  }
  double end = 0;
  for (const Place& rank : ranks) end = std::max(end, rank.time);
  return end;
}

/// The number in a column of a table's row.
inline double at(const Value& table, const Value& row, std::string_view column) {
  const auto& columns = table.find("columns")->items();
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].text() == column) return row.items()[i].number();
  throw InputError("no such column");
}

/// A GPT as Megatron runs it: layer norms, learned positions, head tied to the embedding of 51,200 rows.
inline model::Model gpt_of(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                           std::int64_t sequence) {
  model::Layer layer;
  model::Attention attention;
  attention.heads = attention.kv_heads = heads;
  attention.head_dim = hidden / heads;
  layer.attention = attention;
  layer.mlp = model::Mlp{4 * hidden, false};
  model::Model model;
  model.hidden = hidden;
  model.vocabulary = 51200;
  model.tied = true;
  model.norm = model::NormKind::Layer;
  model.positions = sequence;
  model.sequence = sequence;
  model.kinds = {layer};
  model.layers.assign(static_cast<std::size_t>(layers), 'T');
  return model;
}

/// An iteration of one of vTrain's tables.
struct GptRun {
  model::Model model;
  model::Split split;
  std::int64_t microbatches = 0;
  std::int64_t source_row = 0;
  double seconds = 0;
};

/// Of "multi_node" or "single_node". No sequence parallelism, attention with its scores in memory.
inline std::vector<GptRun> vtrain_runs(const char* name) {
  const Document document = recorded("vtrain.json");
  const Value& table = *document.root().find(name);
  std::vector<GptRun> out;
  for (const Value& row : table.find("rows")->items()) {
    const auto size = [&](std::string_view column) {
      return static_cast<std::int64_t>(at(table, row, column));
    };
    GptRun run;
    run.model = gpt_of(size("layers"), size("hidden"), size("heads"), size("sequence"));
    run.split.pipeline = static_cast<int>(size("p"));
    run.split.tensor = static_cast<int>(size("t"));
    run.split.data = static_cast<int>(size("d"));
    run.split.zero = 0;
    run.split.sequence_parallel = false;
    run.split.flash = false;
    run.split.sequence = size("sequence");
    run.split.micro_batch = size("micro_batch");
    run.microbatches = size("microbatches");
    run.source_row = size("source_row");
    run.seconds = at(table, row, "iteration_ms") / 1000;
    out.push_back(std::move(run));
  }
  return out;
}

/// Bytes of the states of a microbatch that go from stage to stage, in bf16.
inline double states_of(const GptRun& run) {
  return 2.0 * static_cast<double>(run.split.micro_batch * run.split.sequence * run.model.hidden);
}

/// Parameters that a rank of a stage holds.
inline double stage_parameters(const GptRun& run, int stage) {
  const auto& [m, split] = std::pair<const model::Model&, const model::Split&>(run.model, run.split);
  const auto layers = static_cast<std::int64_t>(m.layers.size()) / split.pipeline;
  std::int64_t sum = layers * local_parameters(m, m.kinds[0], split).dense;
  if (stage == 0) sum += local_embedding(m, split) + position_parameters(m);
  if (stage == split.pipeline - 1) sum += local_head(m, split, stage == 0);
  return static_cast<double>(sum);
}

/// Errors of forecasts in percent of what was measured.
struct Errors {
  std::vector<double> percent;

  void add(double measured, double forecast) { percent.push_back((forecast / measured - 1) * 100); }
  [[nodiscard]] std::vector<double> sizes() const {
    std::vector<double> out;
    for (const double error : percent) out.push_back(std::abs(error));
    std::sort(out.begin(), out.end());
    return out;
  }
  [[nodiscard]] double median() const {
    const auto sorted = sizes();
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double error : percent) sum += std::abs(error);
    return sum / static_cast<double>(percent.size());
  }
  [[nodiscard]] double largest() const { return sizes().back(); }
};

/// One line for people who run the test with PIPELOOM_FORECASTS set.
inline void print(const std::string& what, const Errors& errors) {
  if (std::getenv("PIPELOOM_FORECASTS") == nullptr) return;
  std::cout << what << ": " << errors.percent.size() << " rows, median " << errors.median() << " %, mean "
            << errors.mean() << " %, max " << errors.largest() << " %\n";
}

}  // namespace pipeloom::io::forecast
