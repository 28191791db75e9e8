// The effective configuration as a table of keys.

#include "study/pages/run_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include <pipeloom/error.hpp>
#include <pipeloom/link.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/draw/terminal.hpp"
#include "sim/draw/words.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/io/links/link.hpp"
#include "study/estimate/estimate_shown.hpp"
#include "study/pages/findings.hpp"
#include "study/plots/cause_bars.hpp"
#include "study/plots/gantt_svg.hpp"
#include "study/plots/memory_svg.hpp"
#include "study/report/run_roots.hpp"
#include "study/report/run_tables.hpp"
#include "study/run/run_link.hpp"
#include "study/text/numbers.hpp"
#include "version.hpp"

namespace pipeloom::study::page {

namespace {

constexpr std::size_t kChartRanks = 16;   ///< with a memory strip or a bar of causes
constexpr std::size_t kTableRanks = 512;  ///< in the table of ranks
constexpr std::size_t kMarkdownRanks = 16;

std::string some_of(std::size_t shown, std::size_t all) {
  return shown == all ? std::string()
                      : fmt::format(" {} of {}: the ends, the extremes and an even spread.", shown,
                                    count_text(all, "rank"));
}

Section timeline_section(const Run& run, Medium medium) {
  Section section{"timeline", "Timeline", {}};
  Figure figure;
  if (medium == Medium::Markdown) {
    figure.text_chart = text_chart(run.timeline);
  } else {
    GanttInput input;
    input.timeline = &run.timeline;
    input.idle = &run.idle;
    if (run.critical_path) input.critical = &run.critical_path->entries;
    input.title = "Timeline of " + (run.simulated() ? run_heading(run) : run.title);
    Gantt gantt = draw_gantt(input);
    section.blocks.emplace_back(std::move(gantt.legend));
    figure = std::move(gantt.figure);
    if (gantt.detail == Detail::Bins)
      figure.caption =
          "There are more ops than a page can hold: a bar is as high as its rank was busy there.";
  }
  section.blocks.emplace_back(std::move(figure));
  return section;
}

Section memory_section(const Run& run) {
  Section section{"memory", counts_activations(*run.memory) ? "Activations" : "Memory", {}};
  const auto ranks = interesting_ranks(*run.metrics, kChartRanks);
  MemoryInput input{&run.timeline, run.memory.get(), ranks};
  Figure figure = draw_memory(input);
  figure.caption =
      counts_activations(*run.memory)
          ? "What is held, in activations of one stage for one microbatch; one scale for all ranks."
          : "Bytes held, weights and optimizer included; one scale for all ranks.";
  figure.caption += some_of(ranks.size(), run.metrics->ranks.size());
  if (!run.memory->limit.empty())
    section.blocks.emplace_back(
        Legend{{{{"memory-swatch"}, "held"}, {{"limit-swatch"}, "limit " + limits_text(*run.memory)}}});
  section.blocks.emplace_back(std::move(figure));
  return section;
}

Section causes_section(const Run& run, Medium medium) {
  Section section{"idle", "Why ranks stand still", {}};
  const auto& all = run.metrics->ranks;
  std::vector<CauseBar> bars;
  const auto ranks = interesting_ranks(*run.metrics, kChartRanks);
  for (const Rank rank : ranks)
    bars.push_back({fmt::format("rank {}", rank.value()), all[rank.at()].idle_causes, run.metrics->makespan});
  if (medium == Medium::Html) {
    Figure figure = draw_cause_bars(bars, run.timeline.unit, "idle-bars");
    figure.caption =
        "Idle time of each rank, with its share of the makespan." + some_of(ranks.size(), all.size());
    section.blocks.emplace_back(cause_legend(bars));
    section.blocks.emplace_back(std::move(figure));
  }
  section.blocks.emplace_back(cause_table(*run.metrics, run.timeline.unit));
  return section;
}

Section ranks_section(const Run& run, Medium medium) {
  const std::size_t most = medium == Medium::Html ? kTableRanks : kMarkdownRanks;
  const auto ranks = interesting_ranks(*run.metrics, std::max(most, kChartRanks));
  const std::string unit(draw::unit_words(run.timeline.unit));
  Section section{"ranks", "Ranks", {}};
  section.blocks.emplace_back(PageTable::of(
      rank_table(run, ranks, false),
      fmt::format("Times in {}.{}", unit, some_of(ranks.size(), run.metrics->ranks.size())), "ranks"));
  return section;
}

Section scenarios_section(const Run& run, const ScenarioSummary& scenarios) {
  Section section{"scenarios", "Steps that vary", {}};
  section.blocks.emplace_back(
      PageTable::of(scenario_times_table(scenarios, run.timeline.unit),
                    scenario_title(scenarios) + ": durations vary as costs.noise says.", "scenarios"));
  section.blocks.emplace_back(
      PageTable::of(sensitivity_table(scenarios, false), "What the step hangs on.", "sensitivities"));
  return section;
}

/// Rates and memory of a model's run; nullopt if the run is of no model, or of measured times alone.
std::optional<Section> model_section(const Run& run) {
  const std::optional<TrainingRates> rates = training_rates(run);
  if (!rates) return std::nullopt;
  Section section{"model", "Rates and memory", {PageTable::of(rates_table(run, rates), "")}};
  const std::vector<RankBytes> ranks = bytes_by_rank(run);
  section.blocks.emplace_back(
      PageTable::of(category_table(run, ranks),
                    "GB that each rank holds when it holds most, by category" +
                        (ranks.size() > kFullestShown
                             ? fmt::format("; the {} fullest of {} ranks.", kFullestShown, ranks.size())
                             : std::string("."))));
  return section;
}

void add_warnings(const Run& run, Page& page) {
  if (run.over_limit)
    page.lead.emplace_back(Paragraph{over_limit_text(*run.over_limit, *run.memory), Tone::Bad});
  for (const std::string& warning : run.warnings) page.lead.emplace_back(Paragraph{warning, Tone::Warning});
}

Page simulated_page(const Run& run, Medium medium, const ScenarioSummary* scenarios) {
  Page page;
  page.title = run_heading(run);
  page.subtitle = run_subtitle(run);
  page.lead.emplace_back(facts_of_run(run));
  const CauseTotals causes = cause_totals(run.idle);
  if (const std::string roots = roots_text(*run.schedule, roots_of(run)); !roots.empty())
    page.lead.emplace_back(Paragraph{fmt::format("What holds it back: {}.", roots)});
  page.lead.emplace_back(Paragraph{largest_cause(causes, run.timeline.unit)});
  add_warnings(run, page);
  page.sections.push_back(timeline_section(run, medium));
  if (medium == Medium::Html && !run.metrics->ranks.empty()) page.sections.push_back(memory_section(run));
  if (auto section = model_section(run)) page.sections.push_back(*std::move(section));
  if (causes.total.total() > 0) page.sections.push_back(causes_section(run, medium));
  page.sections.push_back(ranks_section(run, medium));
  if (scenarios != nullptr) page.sections.push_back(scenarios_section(run, *scenarios));
  Section summary{"numbers", "All numbers", {PageTable::of(summary_table(run), "", "metrics")}};
  if (run.critical_path) summary.blocks.emplace_back(critical_table(run));
  page.sections.push_back(std::move(summary));
  page.sections.push_back({"configuration", "Configuration", {config_table(*run.effective)}, true});
  return page;
}

Page read_page(const Run& run, Medium medium) {
  Page page;
  const Schedule& schedule = *run.schedule;
  page.title = run.title.empty() ? "A timeline" : run.title;
  page.subtitle =
      fmt::format("A timeline that was read: {}, {}, {}; nothing is known of its costs and memory",
                  count_text(static_cast<std::size_t>(schedule.ranks()), "rank"),
                  count_text(static_cast<std::size_t>(schedule.microbatches()), "microbatch"),
                  count_text(schedule.num_ops(), "op"));
  page.lead.emplace_back(facts_of_times(run.timeline));
  page.sections.push_back(timeline_section(run, medium));
  page.sections.push_back(
      {"ranks", "Ranks", {busy_table(run.timeline, medium == Medium::Html ? kTableRanks : kMarkdownRanks)}});
  return page;
}

}  // namespace

void add_link(Page& page, const std::list<Run>& runs, std::string_view base) {
  io::require_base(base);
  if (runs.empty() || runs.size() > 2) return;
  const auto link = link_if_any(runs.front(), runs.size() == 2 ? &runs.back() : nullptr, base);
  if (!link) return;
  page.lead.emplace_back(Reference{
      "Open in the browser", *link,
      base == kServeAddress ? " and change it there, while pipeloom serve runs" : " and change it there"});
}

Page run_page(const Run& run, Medium medium, const ScenarioSummary* scenarios) {
  Page page = run.simulated() ? simulated_page(run, medium, scenarios) : read_page(run, medium);
  page.footer = fmt::format("pipeloom {}", kVersion);
  return page;
}

namespace {

/// True if each of a rank's several stages takes the times given for one, because costs.per has its default: the work then differs from that of
/// a schedule with one stage per rank.
bool repeats_costs(const Run& run) {
  const auto& origins = run.effective->origins;
  return run.effective->chunks.value_or(1) > 1 && run.model == nullptr &&
         std::any_of(origins.begin(), origins.end(), [](const cost::Origin& origin) {
           return origin.first == "costs.per" && origin.second == "default";
         });
}

/// A row for each of the ranks that are worth one, or for each if `everything`.
PageTable ranks_of_answer(const Run& run, bool everything) {
  const std::size_t count = run.metrics->ranks.size();
  const auto ranks = interesting_ranks(*run.metrics, everything ? std::max(count, kRanksShown) : kRanksShown);
  PageTable table = PageTable::of(rank_table(run, ranks, everything), "", "ranks");
  if (ranks.size() < count)
    table.caption = fmt::format("{} of {} ranks: the ends, the extremes and an even spread; -v shows all",
                                ranks.size(), count_text(count));
  return table;
}

}  // namespace

Page run_answer(const Run& run, const ScenarioSummary* scenarios, bool everything) {
  Page page;
  page.title = run_title(run);
  page.lead.emplace_back(PageTable::of(summary_table(run), "", "metrics"));
  if (const std::string roots = roots_text(*run.schedule, roots_of(run)); !roots.empty())
    page.lead.emplace_back(Paragraph{fmt::format("Held back: {}.", roots)});
  if (repeats_costs(run))
    page.lead.emplace_back(Paragraph{fmt::format(
        "Each of a rank's {} stages takes the times given for one: beside schedules with other stages, set "
        "costs.per to \"model\".",
        *run.effective->chunks)});
  page.lead.emplace_back(ranks_of_answer(run, everything));
  if (scenarios == nullptr) return page;
  Section section{"scenarios", scenario_title(*scenarios), {}};
  section.blocks.emplace_back(
      PageTable::of(scenario_times_table(*scenarios, run.timeline.unit), "", "scenarios"));
  section.blocks.emplace_back(PageTable::of(sensitivity_table(*scenarios, everything), "", "sensitivities"));
  page.sections.push_back(std::move(section));
  return page;
}

namespace {

constexpr std::size_t kLongestValue = 120;

std::string origin_of(const io::EffectiveConfig& config, const std::string& key) {
  for (const auto& [path, origin] : config.origins)
    if (path == key) return origin;
  return "given";
}

/// Adds the rows of the value at `path`, "" for the whole; `origin` is no value of the run.
void add_rows(const io::EffectiveConfig& config, const io::Value& value, const std::string& path,
              PageTable& table) {
  if (value.is(io::ValueKind::Object)) {
    for (std::size_t i = 0; i < value.keys().size(); ++i) {
      const std::string& key = value.keys()[i].name;
      if (!path.empty())
        add_rows(config, value.items()[i], path + "." + key, table);
      else if (key != "origin")
        add_rows(config, value.items()[i], key, table);
    }
    return;
  }
  const std::string text =
      value.is(io::ValueKind::String)
          ? value.text()
          : io::written_json(io::kPackedStyle, [&](io::JsonWriter& out) { out.value(value); });
  const std::string origin = origin_of(config, path);
  const Tone tone = origin == "given" ? Tone::Plain : Tone::Muted;
  table.rows.push_back({{path}, {shortened(text, kLongestValue)}, {origin, tone}});
}

}  // namespace

PageTable config_table(const io::EffectiveConfig& config) {
  PageTable table;
  table.caption = "Every value that the run was made with";
  table.columns = {{"key", Align::Left}, {"value", Align::Left}, {"where it comes from", Align::Left}};
  const io::Document effective = io::Document::parse(io::effective_config_text(config), "configuration");
  add_rows(config, effective.root(), "", table);
  return table;
}

}  // namespace pipeloom::study::page
