#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number_text.hpp"
#include "study/estimate/estimate_shown.hpp"
#include "study/estimate/terms.hpp"
#include "study/text/numbers.hpp"
#include "study/text/table.hpp"

namespace pipeloom::study {
namespace {

using estimate::Category;

}  // namespace

Table rates_table(const Run& run, const std::optional<TrainingRates>& known) {
  Table table({{""}, {"", Align::Right}, {""}});
  const Metrics& metrics = *run.metrics;
  const auto row = [&](const char* name, std::string value, std::string note) {
    table.add_row({name, std::move(value), std::move(note)});
  };
  row("step time", time_text(TickSum(metrics.step_time), run.timeline.unit), "estimate");
  row("bubble", percent_text(metrics.bubble_ratio), "idle time of ranks before the step's end");
  if (!known) return table;
  const TrainingRates& rates = *known;
  row("tokens per second", rate_text(rates.tokens_per_s),
      fmt::format("{} tokens a step", count_text(static_cast<std::size_t>(rates.terms.tokens))));
  row("  of each GPU", rate_text(rates.tokens_per_s_per_gpu),
      count_text(static_cast<std::size_t>(rates.terms.devices), "GPU"));
  if (rates.mfu)
    row("MFU", percent_text(*rates.mfu),
        fmt::format("{} FLOPs a token, nothing that runs again", rate_text(rates.terms.flops_per_token)));
  if (rates.hfu && *rates.hfu != *rates.mfu) row("HFU", percent_text(*rates.hfu), "with what is recomputed");
  if (rates.gpu_hours) row("GPU hours", rate_text(*rates.gpu_hours), "for the budget of tokens");
  return table;
}

namespace {

/// Passes that the table of stages has a column for.
std::vector<OpKind> shown_passes(const EstimatedRun& run) {
  std::vector<OpKind> out = {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight};
  if (shares_head(run.costs().setting)) out.insert(out.end(), {OpKind::Output, OpKind::OutputWeight});
  return out;
}

std::string stage_name(const std::vector<estimate::Stage>& stages, std::size_t first, std::size_t last) {
  std::string name = first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
  if (stages[first].embedding) name += ", embedding";
  if (stages[first].head) name += ", head";
  return name;
}

/// Stages that are alike are one row.
Table stage_table(const EstimatedRun& run) {
  const std::vector<OpKind> passes = shown_passes(run);
  std::vector<Column> columns = {{"stages"}, {"layers", Align::Right}};
  for (const OpKind pass : passes) columns.push_back({fmt::format("{} ms", letter_of(pass)), Align::Right});
  columns.push_back({"parameters", Align::Right});
  Table table(std::move(columns));
  const auto& stages = run.costs().estimate.stages;
  const auto ms = [&](std::size_t stage, OpKind pass) {
    return fmt::format("{:.3f}", static_cast<double>(pass_ticks(run, stage, pass)) / 1e9);
  };
  const auto alike = [&](std::size_t a, std::size_t b) {
    return stages[a].layers == stages[b].layers && stages[a].dense == stages[b].dense &&
           std::all_of(passes.begin(), passes.end(), [&](OpKind pass) { return ms(a, pass) == ms(b, pass); });
  };
  for (std::size_t first = 0; first < stages.size();) {
    std::size_t last = first;
    while (last + 1 < stages.size() && alike(first, last + 1)) ++last;
    const estimate::Stage& stage = stages[first];
    std::vector<std::string> cells = {stage_name(stages, first, last),
                                      std::to_string(stage.layers + stage.mtp)};
    for (const OpKind pass : passes) cells.push_back(ms(first, pass));
    cells.push_back(stage.dense > 0 ? rate_text(static_cast<double>(stage.dense + stage.experts)) : "-");
    table.add_row(std::move(cells));
    first = last + 1;
  }
  return table;
}

/// Of a column.
std::string short_name(Category category) {
  if (category == Category::UntilInput) return "until I";
  if (category == Category::UntilWeight) return "until W";
  return std::string(estimate::name_of(category));
}

std::string gigabytes(Bytes bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / 1e9);
}

}  // namespace

Table category_table(const Run& run, const std::vector<RankBytes>& all) {
  std::vector<std::size_t> ranks(all.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r] = r;
  if (ranks.size() > kFullestShown) {
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](std::size_t a, std::size_t b) { return all[a].peak > all[b].peak; });
    ranks.resize(kFullestShown);
    std::sort(ranks.begin(), ranks.end());
  }
  std::vector<Category> categories;
  for (std::size_t i = 0; i < estimate::kCategories; ++i)
    if (std::any_of(all.begin(), all.end(),
                    [i](const RankBytes& rank) { return rank.categories.bytes[i] != 0; }))
      categories.push_back(static_cast<Category>(i));
  std::vector<Column> columns = {{"rank", Align::Right},
                                 {"GB", Align::Right},
                                 {"GiB", Align::Right},
                                 {"headroom GB", Align::Right},
                                 {"at"}};
  for (const Category category : categories) columns.push_back({short_name(category), Align::Right});
  Table table(std::move(columns));
  for (const std::size_t r : ranks) {
    const RankBytes& rank = all[r];
    std::vector<std::string> cells = {std::to_string(r), gigabytes(rank.peak),
                                      fmt::format("{:.2f}", static_cast<double>(rank.peak) / (1 << 30)),
                                      rank.headroom ? gigabytes(*rank.headroom) : "-",
                                      to_text(run.schedule->ops()[rank.peak_op])};
    for (const Category category : categories) cells.push_back(gigabytes(rank.categories.of(category)));
    table.add_row(std::move(cells));
  }
  return table;
}

namespace {

Table term_table(const EstimatedRun& run) {
  Table table({{fmt::format("rank {}, the busiest", busiest_rank(run).value())},
               {"time", Align::Right},
               {"of the step", Align::Right},
               {"numbers from"}});
  for (const StepTerm& term : step_terms(run)) {
    std::string found;
    for (std::size_t basis = 0; basis < hardware::kBases; ++basis)
      if (term.found[basis] > 0)
        found += fmt::format("{}{} {}", found.empty() ? "" : ", ",
                             hardware::name_of(static_cast<hardware::Basis>(basis)), term.found[basis]);
    table.add_row({term.name,
                   time_text(TickSum(static_cast<Ticks>(term.seconds * 1e12)), TimeUnit::Millisecond),
                   percent_text(term.share), found});
  }
  return table;
}

std::string title(const EstimatedRun& run) {
  const estimate::Setting& setting = run.costs().setting;
  std::string out = setting.model->name;
  if (run.rates) out += fmt::format(": {} parameters", rate_text(static_cast<double>(run.rates->parameters)));
  if (run.rates && run.rates->active_parameters != run.rates->parameters)
    out += fmt::format(" ({} active)", rate_text(static_cast<double>(run.rates->active_parameters)));
  if (setting.hardware != nullptr)
    out += fmt::format(", on {:.0f} {}", run.run.model->training.devices, setting.hardware->name);
  return out;
}

}  // namespace

std::string over_limit_text(const EstimatedRun& run) {
  const auto fullest = std::min_element(
      run.ranks.begin(), run.ranks.end(),
      [](const RankBytes& a, const RankBytes& b) { return a.headroom.value_or(0) < b.headroom.value_or(0); });
  if (fullest == run.ranks.end() || fullest->headroom.value_or(0) >= 0) return "";
  const Bytes limit = fullest->peak + *fullest->headroom;
  const auto& held = fullest->categories;
  const Bytes lasting =
      held.of(Category::Weights) + held.of(Category::Gradients) + held.of(Category::Optimizer);
  const char* help = lasting > limit
                         ? "weights, gradients and optimizer alone are more: take more ranks, tp, ep or ZeRO"
                         : "take more ranks or tp, a smaller micro_batch, recomputation, or a schedule with "
                           "fewer live activations";
  return fmt::format("over the memory limit: rank {} needs {} at {}, {} more than its {}; {}",
                     fullest - run.ranks.begin(), bytes_text(fullest->peak),
                     to_text(run.run.schedule->ops()[fullest->peak_op]), bytes_text(-*fullest->headroom),
                     bytes_text(limit), help);
}

page::Page estimate_page(const EstimatedRun& run, bool everything) {
  using page::PageTable;
  page::Page out;
  out.title = title(run);
  out.subtitle = run_title(run.run);
  out.lead = {PageTable::of(rates_table(run.run, run.rates), "", "rates"),
              PageTable::of(stage_table(run), "", "stages")};
  if (!run.ranks.empty()) {
    PageTable ranks = PageTable::of(category_table(run.run, run.ranks), "", "ranks");
    if (run.ranks.size() > kFullestShown)
      ranks.caption =
          fmt::format("the {} fullest of {} ranks; --json has all", kFullestShown, run.ranks.size());
    out.lead.emplace_back(std::move(ranks));
  }
  out.lead.emplace_back(PageTable::of(term_table(run), "", "terms"));
  page::List origins;
  if (everything)
    for (const auto& [key, text] : origins_of(run)) origins.items.push_back(fmt::format("{}: {}", key, text));
  else
    origins.items = {"every number's origin: --json, or -v"};
  out.lead.emplace_back(std::move(origins));
  return out;
}

}  // namespace pipeloom::study
