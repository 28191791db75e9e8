#include "cli/pages/layout_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cli/numbers.hpp"
#include "cli/table.hpp"
#include "sim/io/json/json_text.hpp"

namespace pipeloom::cli {
namespace {

constexpr std::size_t kStagesShown = 64;

/// Where a stage is: its rank, or both where there are two replicas, and which of the rank's stages it is.
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

RankSum sum_of(const LayoutPlan& plan, Rank rank) {
  RankSum sum;
  for (const Stage stage : plan.placement.stages_of(rank)) {
    sum.stages.push_back(stage.value());
    sum.layers += plan.contents[stage.at()].layers;
    if (!plan.weights.empty()) sum.weight += plan.weights[stage.at()];
  }
  return sum;
}

int total_layers(const LayoutPlan& plan) {
  return std::accumulate(plan.contents.begin(), plan.contents.end(), 0,
                         [](int sum, const auto& stage) { return sum + stage.layers; });
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

std::string stage_table(const LayoutRequest& request, const LayoutPlan& plan, const Screen& screen,
                        bool everything) {
  const bool weighed = !plan.weights.empty();
  std::vector<Column> columns = {
      {"stage", Align::Right}, {"rank", Align::Right}, {"chunk", Align::Right}, {"layers", Align::Right}};
  if (weighed) columns.push_back({"weight", Align::Right});
  columns.push_back({"modules", Align::Left});
  Table table(columns);
  const auto names = layout::module_names(request.framework, request.critic);
  const auto modules = layout::modules_of(plan.contents, names, true);
  std::size_t hidden = 0;
  for (std::size_t k = 0; k < plan.contents.size(); ++k) {
    if (is_hidden(k, plan.contents.size(), everything)) {
      if (hidden++ == 0) table.add_row(std::vector<std::string>(columns.size(), ".."));
      continue;
    }
    const Home home = home_of(plan.placement, Stage(static_cast<std::int32_t>(k)));
    std::vector<std::string> row = {std::to_string(k), fmt::format("{}", fmt::join(home.ranks, " ")),
                                    std::to_string(home.chunk), std::to_string(plan.contents[k].layers)};
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

std::vector<int> last_stage_ranks(const LayoutPlan& plan) {
  return home_of(plan.placement, Stage(plan.placement.stages() - 1)).ranks;
}

}  // namespace

std::string layout_page(const LayoutRequest& request, const LayoutPlan& plan, const Screen& screen,
                        bool everything) {
  const auto width = static_cast<std::size_t>(screen.width);
  std::string out = title(request, plan) + '\n' + stage_table(request, plan, screen, everything);
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

/// ["layers.4", "layers.5"].
std::string list_json(const std::vector<std::string>& modules) {
  std::vector<std::string> names;
  for (const std::string& module : modules) names.push_back(io::json_string(module));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

std::vector<std::vector<std::string>> all_modules(const LayoutRequest& request, const LayoutPlan& plan) {
  return layout::modules_of(plan.contents, layout::module_names(request.framework, request.critic));
}

std::string stages_json(const LayoutRequest& request, const LayoutPlan& plan) {
  const auto modules = all_modules(request, plan);
  const auto first = layout::first_layers(plan.contents);
  std::string out;
  for (std::size_t k = 0; k < plan.contents.size(); ++k) {
    const layout::StageContent& content = plan.contents[k];
    const Home home = home_of(plan.placement, Stage(static_cast<std::int32_t>(k)));
    out += fmt::format(
        "{}\n    {{\"stage\": {}, \"ranks\": [{}], \"chunk\": {}, \"first_layer\": {}, \"layers\": {}, "
        "\"mtp\": {}, ",
        k == 0 ? "" : ",", k, fmt::join(home.ranks, ", "), home.chunk, first[k], content.layers, content.mtp);
    if (!plan.weights.empty()) out += fmt::format("\"weight\": {}, ", plan.weights[k]);
    out += fmt::format("\"modules\": {}}}", list_json(modules[k]));
  }
  return out;
}

std::string ranks_json(const LayoutPlan& plan) {
  std::string out;
  for (Rank rank{0}; rank < Rank(plan.placement.ranks()); ++rank) {
    const RankSum sum = sum_of(plan, rank);
    out += fmt::format("{}\n    {{\"rank\": {}, \"stages\": [{}], \"layers\": {}", rank == Rank(0) ? "" : ",",
                       rank.value(), fmt::join(sum.stages, ", "), sum.layers);
    if (!plan.weights.empty()) out += fmt::format(", \"weight\": {}", sum.weight);
    out += '}';
  }
  return out;
}

std::string advice_json(const LayoutPlan& plan) {
  std::string out;
  for (const layout::Advice& advice : plan.advice)
    out += fmt::format("{}\n    {{\"level\": {}, \"code\": {}, \"text\": {}}}",
                       &advice == plan.advice.data() ? "" : ",", io::json_string(name_of(advice.level)),
                       io::json_string(advice.code), io::json_string(advice.text));
  return out;
}

}  // namespace

std::string layout_json(const LayoutRequest& request, const LayoutPlan& plan) {
  const int stages = plan.placement.stages();
  std::string out = "{\n  \"schema_version\": 1,\n";
  out += fmt::format("  \"schedule\": {}, \"framework\": {}, \"split\": {}, \"placement\": {},\n",
                     plan.schedule.empty() ? "null" : io::json_string(plan.schedule),
                     io::json_string(name_of(request.framework)), io::json_string(name_of(request.split)),
                     io::json_string(name_of(plan.placement_kind)));
  out += fmt::format("  \"ranks\": {}, \"chunks\": {}, \"num_stages\": {}, \"layers\": {},\n", request.ranks,
                     stages / request.ranks, stages, total_layers(plan));
  out += fmt::format("  \"last_stage_ranks\": [{}],\n", fmt::join(last_stage_ranks(plan), ", "));
  out += fmt::format("  \"microbatches\": {},\n",
                     layout::advised_microbatches(request.ranks, stages, request.microbatches));
  out += fmt::format("  \"megatron_layout\": {},\n",
                     plan.megatron_layout.empty() ? "null" : io::json_string(plan.megatron_layout));
  out += "  \"stages\": [" + stages_json(request, plan) + "\n  ],\n";
  out += "  \"per_rank\": [" + ranks_json(plan) + "\n  ],\n";
  return out + "  \"advice\": [" + advice_json(plan) + "\n  ]\n}\n";
}

std::string modules_json(const LayoutRequest& request, const LayoutPlan& plan) {
  std::vector<std::string> stages;
  for (const auto& modules : all_modules(request, plan)) stages.push_back(list_json(modules));
  return fmt::format("[{}]\n", fmt::join(stages, ",\n "));
}

std::string costs_json(const LayoutPlan& plan, const LayerCosts& costs) {
  constexpr std::int64_t kOne = 1'000'000'000;
  const auto times = [&](Ticks of_layer) {
    std::vector<std::string> texts;
    for (const layout::StageContent& stage : plan.contents) {
      const std::int64_t work = std::int64_t{stage.layers + stage.mtp} * kOne +
                                (stage.embedding ? costs.embedding : 0) + (stage.head ? costs.head : 0);
      const double estimate =
          static_cast<double>(work) / static_cast<double>(kOne) * static_cast<double>(of_layer);
      if (estimate >= static_cast<double>(kMaxTicks))
        throw InputError(
            fmt::format("the time of a stage with {} layers is too long for the time axis; take smaller "
                        "times or another --time-unit",
                        stage.layers));
      texts.push_back(format_ticks(multiply_divide(work, of_layer, kOne), costs.unit));
    }
    return fmt::format("[{}]", fmt::join(texts, ", "));
  };
  return fmt::format("{{\"time_unit\": {}, \"forward\": {}, \"backward\": {}}}\n",
                     io::json_string(name_of(costs.unit)), times(costs.forward), times(costs.backward));
}

}  // namespace pipeloom::cli
