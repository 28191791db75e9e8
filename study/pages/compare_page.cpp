// The page of several runs.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include <pipeloom/schedule.hpp>
#include "study/explain/shown/explain_runs.hpp"
#include "study/explain/shown/explain_table.hpp"
#include "study/pages/findings.hpp"
#include "study/pages/run_page.hpp"
#include "study/plots/cause_bars.hpp"
#include "study/plots/gantt_svg.hpp"
#include "study/report/run_roots.hpp"
#include "study/text/numbers.hpp"
#include "version.hpp"

namespace pipeloom::study::page {
namespace {

constexpr std::size_t kOpsShown = 25;
constexpr std::size_t kOpsInMarkdown = 5;

/// A run, and the page's name for it.
struct Side {
  const Run* run = nullptr;
  std::string title;
};
using Runs = std::vector<Side>;

std::string file_of(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return name.empty() ? path : name;
}

std::string value_text(const MetricRow& row, double value, TimeUnit unit,
                       const MemoryModel* memory = nullptr) {
  if (row.unit == Unit::Time) return time_text(static_cast<Ticks>(value), unit);
  if (row.unit == Unit::Ratio) return percent_text(value);
  if (row.unit == Unit::Bytes)
    return memory == nullptr ? bytes_text(static_cast<Bytes>(value)) : memory_text_of_bytes(*memory, value);
  return row.unit == Unit::PerSecond ? rate_text(value) : fmt::format("{}", value);
}

/// The runs by file names without their folders, where these tell them apart.
Runs sides_of(std::span<const Run* const> runs) {
  std::set<std::string> seen;
  for (const Run* run : runs) seen.insert(file_of(run->title));
  Runs sides;
  for (const Run* run : runs)
    sides.push_back({run, seen.size() == runs.size() ? file_of(run->title) : run->title});
  return sides;
}

/// Good if a metric of a run is better than the baseline's, Bad if worse.
Tone tone_of(const MetricRow& row, double before, double after) {
  if (row.better == Better::Neither || before == after) return Tone::Plain;
  return (after < before) == (row.better == Better::Lower) ? Tone::Good : Tone::Bad;
}

std::string change_of(const MetricRow& row, std::size_t run) {
  const double before = *row.values[0];
  const double after = *row.values[run];
  if (before == after) return "same";
  const auto relative = row.relative(run);
  const std::string_view word = tone_of(row, before, after) == Tone::Good  ? ", better"
                                : tone_of(row, before, after) == Tone::Bad ? ", worse"
                                                                           : "";
  return (relative ? change_text(*relative) : std::string("new")) + std::string(word);
}

PageTable metrics_table(const Runs& runs, const std::vector<MetricRow>& rows) {
  PageTable table;
  table.caption = "The first run is the baseline. Changes say whether the run is better or worse.";
  table.name = "metrics";
  table.sortable = false;
  table.columns = {{"metric", Align::Left}};
  for (std::size_t run = 0; run < runs.size(); ++run) {
    table.columns.push_back({runs[run].title, Align::Right});
    if (run > 0) table.columns.push_back({"change", Align::Right});
  }
  for (const MetricRow& row : rows) {
    std::vector<Cell> cells = {{std::string(row.name)}};
    for (std::size_t run = 0; run < runs.size(); ++run) {
      cells.push_back({row.values[run] ? value_text(row, *row.values[run], runs[0].run->timeline.unit,
                                                    runs[run].run->memory.get())
                                       : "-"});
      if (run == 0) continue;
      const bool both = row.values[0] && row.values[run];
      cells.push_back(both ? Cell{change_of(row, run), tone_of(row, *row.values[0], *row.values[run])}
                           : Cell{});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

const MetricRow& row_named(const std::vector<MetricRow>& rows, std::string_view name) {
  return *std::find_if(rows.begin(), rows.end(), [name](const MetricRow& row) { return row.name == name; });
}

/// Each run's makespan, with its change.
Facts makespans(const Runs& runs, const std::vector<MetricRow>& rows) {
  const MetricRow& makespan = row_named(rows, "makespan");
  const MetricRow& bubble = row_named(rows, "bubble_ratio");
  Facts facts;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    Fact fact{runs[run].title, "", "", Tone::Plain};
    fact.value =
        makespan.values[run] ? value_text(makespan, *makespan.values[run], runs[0].run->timeline.unit) : "-";
    fact.note = run == 0                                     ? "the baseline"
                : makespan.values[run] && makespan.values[0] ? change_of(makespan, run)
                                                             : "another clock";
    if (run > 0 && makespan.values[run] && makespan.values[0])
      fact.tone = tone_of(makespan, *makespan.values[0], *makespan.values[run]);
    if (bubble.values[run]) fact.note += fmt::format("; bubble ratio {}", percent_text(*bubble.values[run]));
    facts.facts.push_back(std::move(fact));
  }
  return facts;
}

/// Span that covers all runs on the baseline's clock; a run on another clock has a scale of its own.
Span common_span(const Runs& runs) {
  Span span = whole_span(runs[0].run->timeline);
  for (const auto& [run, title] : runs)
    if (same_clock(runs[0].run->timeline, run->timeline)) {
      // Units of seconds share their ticks: one picosecond.
      const Span one = whole_span(run->timeline);
      span.start = std::min(span.start, one.start);
      span.end = std::max(span.end, one.end);
    }
  return span;
}

/// "zb-h1.json: zb-h1 on 4 ranks, 8 microbatches".
std::string heading_of(const Run& run, const std::string& title, bool baseline) {
  return fmt::format("{}{}: {}", title, baseline ? " (baseline)" : "",
                     run.simulated() ? run_heading(run) : "a timeline that was read");
}

Section timelines(const Runs& runs, Medium medium) {
  Section section{"timelines", "Timelines", {}};
  const Span common = common_span(runs);
  bool all_on_one_clock = true;
  for (std::size_t index = 0; index < runs.size(); ++index) {
    const Run& run = *runs[index].run;
    Figure figure;
    section.blocks.emplace_back(Paragraph{heading_of(run, runs[index].title, index == 0)});
    if (medium == Medium::Markdown) {
      figure.text_chart = text_chart(run.timeline);
      section.blocks.emplace_back(std::move(figure));
      continue;
    }
    const bool same = same_clock(runs[0].run->timeline, run.timeline);
    all_on_one_clock = all_on_one_clock && same;
    GanttInput input;
    input.timeline = &run.timeline;
    input.idle = &run.idle;
    if (run.critical_path) input.critical = &run.critical_path->entries;
    if (same) input.range = common;
    input.id = fmt::format("gantt-{}", index);
    input.link = same ? "time" : input.id;
    input.title = "Timeline of " + runs[index].title;
    Gantt gantt = draw_gantt(input);
    section.blocks.emplace_back(std::move(gantt.legend));
    section.blocks.emplace_back(std::move(gantt.figure));
  }
  if (medium == Medium::Html)
    section.blocks.emplace_back(
        Paragraph{all_on_one_clock ? "All timelines have one scale and zoom together."
                                   : "Timelines on the baseline's clock have one scale and zoom together.",
                  Tone::Muted});
  return section;
}

/// Bars of runs whose causes are known and whose clock is the baseline's; nothing if these are fewer than two.
std::optional<Section> causes(const Runs& runs, Medium medium) {
  std::vector<CauseBar> bars;
  PageTable table;
  table.caption = "Idle time by cause, summed over ranks";
  table.columns = {{"run", Align::Left}};
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    table.columns.push_back({std::string(name_of(static_cast<IdleCause>(i))), Align::Right});
  table.columns.push_back({"all", Align::Right});
  const TimeUnit unit = runs[0].run->timeline.unit;
  for (const auto& [run, title] : runs) {
    if (run->idle.empty() || !same_clock(runs[0].run->timeline, run->timeline)) continue;
    const CauseTotals totals = cause_totals(run->idle);
    bars.push_back({title, totals.total,
                    TickSum::times(span_of(run->timeline).length(), run->timeline.schedule->ranks())});
    std::vector<Cell> cells = {{title}};
    for (std::size_t i = 0; i < kIdleCauses; ++i)
      cells.push_back({time_text(totals.total.of(static_cast<IdleCause>(i)), unit)});
    cells.push_back({time_text(totals.total.total(), unit)});
    table.rows.push_back(std::move(cells));
  }
  if (bars.size() < 2) return std::nullopt;
  Section section{"idle", "Why ranks stand still", {}};
  if (medium == Medium::Html) {
    section.blocks.emplace_back(cause_legend(bars));
    Figure figure = draw_cause_bars(bars, unit, "idle-bars");
    figure.caption = "Idle time of all ranks together, with its share of all time.";
    section.blocks.emplace_back(std::move(figure));
  }
  section.blocks.emplace_back(std::move(table));
  return section;
}

/// The ops of one run that differ most from the baseline's.
PageTable ops_table(const Side& side, const OpComparison& ops, std::size_t most) {
  PageTable table;
  table.caption = fmt::format("{}: ops that differ most in their {}", side.title,
                              ops.durations_differ ? "duration" : "start");
  table.name = "ops of " + side.title;
  table.columns = {
      {"op", Align::Left}, {"rank", Align::Right}, {"start", Align::Right}, {"duration", Align::Right}};
  const TimeUnit unit = side.run->timeline.unit;
  for (std::size_t i = 0; i < std::min(most, ops.largest.size()); ++i) {
    const OpDifference& difference = ops.largest[i];
    table.rows.push_back(
        {{to_text(side.run->timeline.schedule->ops()[difference.in_b])},
         {fmt::format("{}", side.run->timeline.schedule->rank_of_op(difference.in_b).value())},
         {explain::signed_time(difference.start, unit)},
         {explain::signed_time(difference.duration, unit)}});
  }
  return table;
}

/// Idle time of ranks by cause that differs most from the baseline's; nullopt if nothing differs, or idle times are not known.
std::optional<PageTable> changed_causes_table(const Run& baseline, const Side& side, std::size_t most) {
  if (baseline.idle.empty() || side.run->idle.empty()) return std::nullopt;
  const auto changes = cause_changes(cause_totals(baseline.idle), cause_totals(side.run->idle), most);
  if (changes.empty()) return std::nullopt;
  const TimeUnit unit = baseline.timeline.unit;
  PageTable table;
  table.caption = side.title + ": idle time that differs most";
  table.name = "idle time of " + side.title;
  table.columns = {{"rank", Align::Right},
                   {"idle", Align::Left},
                   {"before", Align::Right},
                   {"after", Align::Right},
                   {"change", Align::Right}};
  for (const CauseChange& change : changes)
    table.rows.push_back({{fmt::format("{}", change.rank)},
                          {std::string(name_of(change.cause))},
                          {time_text(change.before, unit)},
                          {time_text(change.after, unit)},
                          {explain::signed_time(change.change(), unit)}});
  return table;
}

/// The causes that hold each run back.
List roots_list(const Runs& runs) {
  List list;
  for (const auto& [run, title] : runs)
    if (const std::string roots = roots_text(*run->timeline.schedule, roots_of(*run)); !roots.empty())
      list.items.push_back(fmt::format("{} is held back: {}.", title, roots));
  return list;
}

/// Remarks about each run, for above its numbers.
List remarks_list(const Runs& runs, const std::vector<OpComparison>& ops) {
  List list;
  for (std::size_t run = 1; run < runs.size(); ++run)
    for (const std::string& line :
         remarks(*runs[0].run, *runs[run].run, ops[run - 1], {runs[0].title, runs[run].title}))
      list.items.push_back(runs.size() > 2 ? fmt::format("{}: {}", runs[run].title, line) : line);
  return list;
}

/// For each run but the first, how its ops differ.
std::vector<OpComparison> compared_ops(const Runs& runs, std::size_t most) {
  std::vector<OpComparison> out;
  for (std::size_t run = 1; run < runs.size(); ++run)
    out.push_back(compare_ops(runs[0].run->timeline, runs[run].run->timeline, 0, 0, most));
  return out;
}

/// Causes of the difference between the baseline and a measured run of its ops; empty where there is nothing to explain. `page` gets the
/// largest as a sentence of its lead, unless it is null.
std::vector<Block> explained(const Runs& runs, const Side& side, Page* page) {
  const auto found = explain::explanation_between(*runs[0].run, *side.run);
  if (!found || found->causes.empty()) return {};
  const bool has_headings = page != nullptr;
  std::vector<Block> out = explanation_blocks(
      *found, has_headings ? fmt::format("{}: {}", side.title, explain::headline_of(*found))
                           : fmt::format("{}: causes of the difference; {}", side.title,
                                         explain::headline_of(*found)));
  for (const std::string& warning : found->warnings) out.emplace_back(Paragraph{warning, Tone::Warning});
  if (page != nullptr)
    page->lead.emplace_back(Paragraph{
        fmt::format("{}: largest cause of the difference: {}, {}", side.title, found->causes[0].text,
                    explain::signed_time(found->causes[0].amount, found->unit))});
  return out;
}

void add_explanations(const Runs& runs, Page& page) {
  Section section{"explained", "Where the difference comes from", {}};
  for (std::size_t run = 1; run < runs.size(); ++run)
    std::ranges::move(explained(runs, runs[run], &page), std::back_inserter(section.blocks));
  if (!section.blocks.empty()) page.sections.push_back(std::move(section));
}

void add_differences(const Runs& runs, Medium medium, Page& page) {
  Section section{"ops", "Ops that differ", {}};
  const std::size_t most = medium == Medium::Html ? kOpsShown : kOpsInMarkdown;
  const std::vector<OpComparison> ops = compared_ops(runs, most);
  page.lead.emplace_back(remarks_list(runs, ops));
  for (std::size_t run = 1; run < runs.size(); ++run)
    if (!ops[run - 1].largest.empty() && same_clock(runs[0].run->timeline, runs[run].run->timeline))
      section.blocks.emplace_back(ops_table(runs[run], ops[run - 1], most));
  if (!section.blocks.empty()) page.sections.push_back(std::move(section));
}

std::string title_of(const Runs& runs) {
  return runs.size() == 2 ? fmt::format("{} against {}", runs[1].title, runs[0].title)
                          : fmt::format("{} and {}", runs[0].title, count_text(runs.size() - 1, "other run"));
}

}  // namespace

Page compare_page(const std::list<Run>& loaded, Medium medium) {
  std::vector<const Run*> pointers;
  for (const Run& run : loaded) pointers.push_back(&run);
  const Runs runs = sides_of(pointers);
  const auto rows = compare_metrics(pointers);
  Page page;
  page.title = title_of(runs);
  page.subtitle = "A comparison; the first run is the baseline";
  page.lead.emplace_back(makespans(runs, rows));
  page.sections.push_back(timelines(runs, medium));
  page.sections.push_back({"metrics", "Metrics", {metrics_table(runs, rows)}});
  if (auto section = causes(runs, medium)) page.sections.push_back(std::move(*section));
  if (List roots = roots_list(runs); !roots.items.empty()) page.lead.emplace_back(std::move(roots));
  add_explanations(runs, page);
  add_differences(runs, medium, page);
  for (const auto& [run, title] : runs) {
    if (!run->simulated()) continue;
    if (run->over_limit)
      page.lead.emplace_back(
          Paragraph{fmt::format("{}: rank {} is over the memory limit", title, run->over_limit->rank.value()),
                    Tone::Bad});
    for (const std::string& warning : run->warnings)
      page.lead.emplace_back(Paragraph{fmt::format("{}: {}", title, warning), Tone::Warning});
  }
  page.footer = fmt::format("pipeloom {}", kVersion);
  return page;
}

Page compare_answer(std::span<const Run* const> loaded, std::size_t most) {
  const Runs runs = sides_of(loaded);
  const std::vector<OpComparison> ops = compared_ops(runs, most);
  Page page;
  page.title = title_of(runs);
  page.lead.emplace_back(remarks_list(runs, ops));
  PageTable metrics = metrics_table(runs, compare_metrics(loaded));
  metrics.caption.clear();
  page.lead.emplace_back(std::move(metrics));
  if (List roots = roots_list(runs); !roots.items.empty()) page.lead.emplace_back(std::move(roots));
  for (std::size_t run = 1; run < runs.size(); ++run) {
    if (!same_clock(runs[0].run->timeline, runs[run].run->timeline)) continue;
    std::ranges::move(explained(runs, runs[run], nullptr), std::back_inserter(page.lead));
    if (auto table = changed_causes_table(*runs[0].run, runs[run], most))
      page.lead.emplace_back(std::move(*table));
    if (!ops[run - 1].largest.empty()) page.lead.emplace_back(ops_table(runs[run], ops[run - 1], most));
  }
  return page;
}

}  // namespace pipeloom::study::page
