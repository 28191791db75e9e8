#include "cli/pages/layout_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cli/numbers.hpp"
#include "sim/base/number_text.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/layout/megatron_layout.hpp"
#include "study/targets/layers_told.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::cli {

namespace {

constexpr std::size_t kStagesShown = 64;

/// Place of a stage: its rank, or both if there are two replicas, and its number among the rank's stages.
struct Home {
  std::vector<int> ranks;
  int chunk = 0;
};

Home home_of(const Placement& placement, Stage stage) {
  Home home;
  for (Replica replica{0}; replica < Replica(placement.replicas()); ++replica)
    home.ranks.push_back(placement.rank_of(stage, replica).value());
  if (placement.replicas() > 1) return home;
  const auto stages = placement.stages_of(Rank(home.ranks.front()));
  home.chunk = static_cast<int>(std::find(stages.begin(), stages.end(), stage) - stages.begin());
  return home;
}

/// Sums over the stages of a rank.
struct RankSum {
  std::vector<int> stages;
  int layers = 0;
  std::int64_t weight = 0;
};

/// Layers of the stage in model order: an encoder's and the decoder's.
int layers_of(const layout::StageContent& content) {
  return content.encoder + content.layers;
}

RankSum sum_of(const LayoutPlan& plan, Rank rank) {
  RankSum sum;
  for (const Stage stage : plan.placement.stages_of(rank)) {
    sum.stages.push_back(stage.value());
    sum.layers += layers_of(plan.contents[stage.at()]);
    if (!plan.weights.empty()) sum.weight += plan.weights[stage.at()];
  }
  return sum;
}

int total_layers(const LayoutPlan& plan) {
  return std::accumulate(plan.contents.begin(), plan.contents.end(), 0,
                         [](int sum, const auto& stage) { return sum + layers_of(stage); });
}

std::string title(const LayoutRequest& request, const LayoutPlan& plan) {
  const auto stages = static_cast<std::size_t>(plan.placement.stages());
  return fmt::format("{}{}, {}, {}; {} split, {} placement, {}\n",
                     plan.schedule.empty() ? "" : plan.schedule + ": ",
                     count_text(static_cast<std::size_t>(total_layers(plan)), "layer"),
                     count_text(stages, "stage"), count_text(static_cast<std::size_t>(request.ranks), "rank"),
                     name_of(request.split), name_of(plan.placement_kind), name_of(request.framework));
}

/// True for the rows in the middle of a long table.
bool is_hidden(std::size_t row, std::size_t rows, bool everything) {
  return !everything && rows > kStagesShown && row >= kStagesShown / 2 && row < rows - kStagesShown / 2;
}

layout::ModuleNames names_of(const LayoutRequest& request) {
  return request.own_names ? *request.own_names : layout::module_names(request.framework, request.critic);
}

std::string stage_table(const LayoutRequest& request, const LayoutPlan& plan, const Screen& screen,
                        bool everything) {
  const bool weighed = !plan.weights.empty();
  std::vector<Column> columns = {
      {"stage", Align::Right}, {"rank", Align::Right}, {"chunk", Align::Right}, {"layers", Align::Right}};
  if (weighed) columns.push_back({"weight", Align::Right});
  columns.push_back({"modules", Align::Left});
  Table table(columns);
  const auto modules = layout::modules_of(plan.contents, names_of(request), true);
  std::size_t hidden = 0;
  for (std::size_t k = 0; k < plan.contents.size(); ++k) {
    if (is_hidden(k, plan.contents.size(), everything)) {
      if (hidden++ == 0) table.add_row(std::vector<std::string>(columns.size(), ".."));
      continue;
    }
    const Home home = home_of(plan.placement, Stage(static_cast<std::int32_t>(k)));
    std::vector<std::string> row = {std::to_string(k), fmt::format("{}", fmt::join(home.ranks, " ")),
                                    std::to_string(home.chunk), std::to_string(layers_of(plan.contents[k]))};
    if (weighed) row.push_back(count_text(static_cast<std::size_t>(plan.weights[k])));
    row.push_back(modules[k].empty() ? "(nothing)" : fmt::format("{}", fmt::join(modules[k], ", ")));
    table.add_row(std::move(row));
  }
  const std::string note =
      hidden == 0 ? "" : fmt::format("{} not shown; -v shows all\n", count_text(hidden, "stage"));
  return table.text(screen.has_colour()) + note;
}

std::string rank_table(const LayoutPlan& plan, const Screen& screen, bool everything) {
  const bool weighed = !plan.weights.empty();
  std::vector<Column> columns = {{"rank", Align::Right}, {"stages", Align::Left}, {"layers", Align::Right}};
  if (weighed) columns.push_back({"weight", Align::Right});
  Table table(columns);
  const auto ranks = static_cast<std::size_t>(plan.placement.ranks());
  for (std::size_t r = 0; r < ranks; ++r) {
    if (is_hidden(r, ranks, everything)) continue;
    const RankSum sum = sum_of(plan, Rank(static_cast<std::int32_t>(r)));
    std::vector<std::string> row = {std::to_string(r), fmt::format("{}", fmt::join(sum.stages, " ")),
                                    std::to_string(sum.layers)};
    if (weighed) row.push_back(count_text(static_cast<std::size_t>(sum.weight)));
    table.add_row(std::move(row));
  }
  return table.text(screen.has_colour());
}

/// "step 893.450 ms instead of 1067.950 ms (16.3 % less); 412 splits simulated".
std::string balance_line(const study::Balanced& balanced) {
  const auto ms = [](Ticks ticks) { return study::time_text(TickSum(ticks), TimeUnit::Millisecond); };
  const double less =
      1.0 - static_cast<double>(balanced.best.step_time) / static_cast<double>(balanced.before.step_time);
  std::string out =
      fmt::format("step {} instead of {} ({} {}); ", ms(balanced.best.step_time),
                  ms(balanced.before.step_time), percent_text(std::abs(less)), less < 0 ? "more" : "less");
  if (balanced.before.peak > 0)
    out += fmt::format("fullest rank {} instead of {}; ", bytes_text(balanced.best.peak),
                       bytes_text(balanced.before.peak));
  if (balanced.best.over > 0)
    out += fmt::format("{} over the limit: no split fits; ", bytes_text(balanced.best.over));
  return out +
         fmt::format("{} simulated\n", count_text(static_cast<std::size_t>(balanced.simulations), "split"));
}

std::vector<int> last_stage_ranks(const LayoutPlan& plan) {
  return home_of(plan.placement, Stage(plan.placement.stages() - 1)).ranks;
}

}  // namespace

std::string layout_page(const LayoutRequest& request, const LayoutPlan& plan, const Screen& screen,
                        bool everything) {
  const auto width = static_cast<std::size_t>(screen.width);
  std::string out = title(request, plan);
  if (request.balanced) out += balance_line(*request.balanced);
  out += '\n' + stage_table(request, plan, screen, everything);
  if (plan.placement.slots() > plan.placement.ranks()) out += '\n' + rank_table(plan, screen, everything);
  const auto last = last_stage_ranks(plan);
  out += fmt::format("\nlast stage       on rank{} {}: loss and outputs are there\n",
                     last.size() > 1 ? "s" : "", fmt::join(last, " and "));
  out += "megatron layout  " + (plan.megatron_refusal.empty() ? plan.megatron_layout : "none") + '\n';
  if (!plan.megatron_refusal.empty()) out += wrapped("no layout string: " + plan.megatron_refusal, width);
  for (const layout::Advice& advice : plan.advice)
    out += wrapped(fmt::format("{}: {}", name_of(advice.level), advice.text), width);
  return out;
}

namespace {

std::vector<std::vector<std::string>> all_modules(const LayoutRequest& request, const LayoutPlan& plan) {
  return layout::modules_of(plan.contents, names_of(request));
}

/// Null for nothing.
void write_name(io::JsonWriter& out, const std::string& name) {
  name.empty() ? out.null() : out.text(name);
}

void write_stages(io::JsonWriter& out, const LayoutRequest& request, const LayoutPlan& plan) {
  const auto modules = all_modules(request, plan);
  const auto first = layout::first_layers(plan.contents);
  out.array();
  for (std::size_t k = 0; k < plan.contents.size(); ++k) {
    const layout::StageContent& content = plan.contents[k];
    const Home home = home_of(plan.placement, Stage(static_cast<std::int32_t>(k)));
    out.line(4).object().member("stage", k).member("ranks", home.ranks).member("chunk", home.chunk);
    out.member("first_layer", first[k]).member("layers", layers_of(content)).member("mtp", content.mtp);
    if (request.encoder > 0) out.member("encoder_layers", content.encoder);
    if (!plan.weights.empty()) out.member("weight", plan.weights[k]);
    out.member("modules", modules[k]).close();
  }
  out.line(2).close();
}

void write_ranks(io::JsonWriter& out, const LayoutPlan& plan) {
  out.array();
  for (Rank rank{0}; rank < Rank(plan.placement.ranks()); ++rank) {
    const RankSum sum = sum_of(plan, rank);
    out.line(4).object().member("rank", rank.value()).member("stages", sum.stages);
    out.member("layers", sum.layers);
    if (!plan.weights.empty()) out.member("weight", sum.weight);
    out.close();
  }
  out.line(2).close();
}

void write_advice(io::JsonWriter& out, const LayoutPlan& plan) {
  out.array();
  for (const layout::Advice& advice : plan.advice)
    out.line(4)
        .object()
        .member("level", name_of(advice.level))
        .member("code", advice.code)
        .member("text", advice.text)
        .close();
  out.line(2).close();
}

void write_score(io::JsonWriter& out, const study::SplitScore& score) {
  out.object()
      .member("layers", score.layers)
      .key("step_time_ms")
      .ticks(score.step_time, TimeUnit::Millisecond);
  out.member("peak_bytes", score.peak).member("over_limit_bytes", score.over).close();
}

void write_balance(io::JsonWriter& out, const study::Balanced& balanced) {
  out.object().member("simulations", balanced.simulations);
  write_score(out.key("before"), balanced.before);
  write_score(out.key("after"), balanced.best);
  out.close();
}

void write_layout(io::JsonWriter& out, const LayoutRequest& request, const LayoutPlan& plan) {
  const int stages = plan.placement.stages();
  out.object().line(2).member("schema_version", 1);
  write_name(out.line(2).key("schedule"), plan.schedule);
  out.member("framework", name_of(request.framework)).member("split", name_of(request.split));
  out.member("placement", name_of(plan.placement_kind)).line(2).member("ranks", request.ranks);
  out.member("chunks", stages / request.ranks).member("num_stages", stages);
  out.member("layers", total_layers(plan)).line(2).member("last_stage_ranks", last_stage_ranks(plan));
  out.line(2).member("microbatches",
                     layout::advised_microbatches(request.ranks, stages, request.microbatches));
  write_name(out.line(2).key("megatron_layout"), plan.megatron_layout);
  if (request.balanced) write_balance(out.line(2).key("balance"), *request.balanced);
  write_stages(out.line(2).key("stages"), request, plan);
  write_ranks(out.line(2).key("per_rank"), plan);
  write_advice(out.line(2).key("advice"), plan);
  out.close(0);
}

}  // namespace

std::string layout_json(const LayoutRequest& request, const LayoutPlan& plan) {
  return io::written_json(io::kReportStyle, [&](io::JsonWriter& out) { write_layout(out, request, plan); }) +
         "\n";
}

/// As the framework takes them: torchtitan has an encoder as one module.
std::vector<std::vector<std::string>> told_modules(const LayoutRequest& request, const LayoutPlan& plan) {
  if (request.encoder == 0 || request.framework != layout::Framework::Torchtitan)
    return all_modules(request, plan);
  if (plan.contents.front().encoder < request.encoder)
    throw InputError(
        Where{"--format"},
        "torchtitan keeps an encoder whole, on the first stage, and this split has its layers on more "
        "than one; print the table instead, or take fewer ranks");
  return study::torchtitan_modules(plan.contents);
}

std::string modules_json(const LayoutRequest& request, const LayoutPlan& plan) {
  const auto lists = told_modules(request, plan);
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) {
                            out.array();
                            bool is_first = true;
                            for (const auto& modules : lists) {
                              if (!std::exchange(is_first, false)) out.line(1);
                              out.value(modules);
                            }
                            out.close();
                          }) +
         "\n";
}

std::string costs_json(const LayoutPlan& plan, const LayerCosts& costs) {
  constexpr std::int64_t kOne = 1'000'000'000;
  const auto write_times = [&](io::JsonWriter& out, Ticks of_layer) {
    out.array();
    for (const layout::StageContent& stage : plan.contents) {
      const std::int64_t work = std::int64_t{layers_of(stage) + stage.mtp} * kOne +
                                (stage.embedding ? costs.embedding : 0) + (stage.head ? costs.head : 0);
      const double estimate =
          static_cast<double>(work) / static_cast<double>(kOne) * static_cast<double>(of_layer);
      if (estimate >= static_cast<double>(kMaxTicks))
        throw InputError(
            fmt::format("the time of a stage with {} layers is too long for the time axis; take smaller "
                        "times or another --time-unit",
                        stage.layers));
      out.ticks(multiply_divide(work, of_layer, kOne), costs.unit);
    }
    out.close();
  };
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) {
                            out.object().member("time_unit", name_of(costs.unit));
                            write_times(out.key("forward"), costs.forward);
                            write_times(out.key("backward"), costs.backward);
                            out.close();
                          }) +
         "\n";
}

}  // namespace pipeloom::cli
