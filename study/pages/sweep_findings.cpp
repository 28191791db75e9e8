#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/text_tools.hpp"
#include "study/answers/select.hpp"
#include "study/pages/sweep_page.hpp"
#include "study/plots/sweep_map.hpp"
#include "study/plots/sweep_scatter.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
namespace {

using sweep::FrontPoint;
using sweep::ResultTable;
using sweep::Row;

/// As many limits are named in the answer.
constexpr std::size_t kLimits = 4;
constexpr std::size_t kMaxConditions = 64;

std::vector<Row> chosen_rows(const ResultTable& table, const std::vector<std::string>& conditions) {
  const Where where{"--where"};
  if (conditions.size() > kMaxConditions)
    throw InputError(where, fmt::format("there are {} conditions; at most {} are read: join some with &&",
                                        conditions.size(), kMaxConditions));
  std::vector<sweep::RowFilter> filters;
  for (const std::string& text : conditions) filters.emplace_back(table, text, where);
  return select_rows(table, filters);
}

void require_key(const ResultTable& table, const std::string& name, const char* option) {
  std::vector<std::string> keys;
  for (const auto& key : table.keys()) keys.push_back(key.name);
  if (!name.empty() && std::find(keys.begin(), keys.end(), name) == keys.end())
    throw InputError::unknown_name(Where{option}, "key of this result", shortened(name, 64), keys);
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The question, completed from the result.
struct Asked {
  std::vector<std::string> metrics;  ///< one, or two and more
  sweep::ValueUnits units;
  std::vector<Row> rows;
  /// Set if points differ in values that are given, not decided: the ranking is of these.
  std::optional<sweep::Decisions> decisions;
  Front front;

  [[nodiscard]] const ResultTable& ranked(const ResultTable& table) const {
    return decisions ? decisions->table : table;
  }
  [[nodiscard]] const std::vector<Row>& ranked_rows() const { return decisions ? decisions->rows : rows; }
  [[nodiscard]] bool has_choice() const { return !decisions || decisions->table.rows() > 1; }
};

std::vector<std::string> asked_metrics(const ResultTable& table, const std::vector<std::string>& named) {
  std::vector<std::string> out = named;
  for (const std::string& name : out) {
    const sweep::Column& column = table.metric(name, {"--metric"});
    if (std::count(out.begin(), out.end(), name) > 1)
      throw InputError(Where{"--metric"}, fmt::format("{} is named twice; name it once", name));
    if (!column.is_number())
      throw InputError(
          Where{"--metric"},
          fmt::format("{} has texts among its values, which have no order; name a metric of numbers", name));
  }
  if (out.empty() && !default_metric(table).empty()) out.push_back(default_metric(table));
  if (out.size() == 1)
    if (const std::string other = default_other_metric(table, out[0]); !other.empty()) out.push_back(other);
  return out;
}

Asked asked_of(const ResultTable& table, const SweepQuestion& question) {
  Asked out{.metrics = asked_metrics(table, question.metrics),
            .units = table.units(),
            .rows = chosen_rows(table, question.where),
            .decisions = {},
            .front = {}};
  for (const std::string& key : question.decided) require_key(table, key, "--decide");
  out.decisions = decisions_of(table, out.rows, question.over, question.decided);
  if (out.metrics.size() < 2 || !out.has_choice()) return out;
  const std::vector<FrontPoint> front = pareto_front(out.ranked(table), out.ranked_rows(), out.metrics);
  out.front = {front.size(), spread_over(front, Front::kMaxDrawn), spread_over(front, Front::kMaxNamed)};
  return out;
}

std::string text_of(const ResultTable& table, const Asked& asked, std::size_t metric, Row row) {
  const std::string& name = asked.metrics[metric];
  return metric_text(name, table.metric(name, {}), row, asked.units);
}

std::string best_word(std::string_view metric) {
  return sweep::less_is_better(metric) ? "lowest" : "highest";
}

/// "Lowest bubble_ratio: 0.03 with zb-h2, ranks 4 (peak_bytes 12 GiB). With at most 6 GiB: 0.05 with ..."
std::string headline(const ResultTable& table, const Asked& asked, const std::vector<FrontPoint>& steps) {
  const Row best = steps.front().row;
  std::string word = best_word(asked.metrics[0]);
  word[0] = static_cast<char>(word[0] - 'a' + 'A');
  std::string out = fmt::format("{} {}: {} with {}", word, asked.metrics[0], text_of(table, asked, 0, best),
                                table.title(best));
  if (asked.metrics.size() < 2) return out + '.';
  out += fmt::format(" ({} {})", asked.metrics[1], text_of(table, asked, 1, best));
  if (steps.front().equals > 0)
    out += fmt::format(", {} as good", count_text(steps.front().equals, "more point"));
  for (std::size_t i = 1; i < steps.size(); ++i)
    out += fmt::format("{} {}: {} with {}",
                       i > 1                                     ? ";"
                       : sweep::less_is_better(asked.metrics[1]) ? ". With at most"
                                                                 : ". With at least",
                       text_of(table, asked, 1, steps[i].row), text_of(table, asked, 0, steps[i].row),
                       table.title(steps[i].row));
  return out + '.';
}

Facts facts_of(const ResultTable& table, const Asked& asked, const std::vector<FrontPoint>& steps) {
  Facts out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Row row = steps[i].row;
    std::string label = fmt::format("{} {}", best_word(asked.metrics[0]), asked.metrics[0]);
    if (i > 0)
      label = fmt::format("with {} {} {}", asked.metrics[1],
                          sweep::less_is_better(asked.metrics[1]) ? "up to" : "from",
                          text_of(table, asked, 1, row));
    out.facts.push_back({label, text_of(table, asked, 0, row), table.title(row)});
  }
  return out;
}

/// Keys that the grid calculates from those of its axes.
std::string derived_keys(const ResultTable& table) {
  std::string out;
  for (const auto& key : table.keys())
    if (table.is_derived(key.name)) out += (out.empty() ? "" : ", ") + key.name;
  return shortened(out, 400);
}

/// The option that ranks points by a time that the result has.
std::string ranking_by_time(const ResultTable& table) {
  for (const auto& named : table.metrics())
    if (sweep::metric_unit(named.name) == study::Unit::Time)
      return fmt::format(" --metric {} ranks them by time.", named.name);
  return "";
}

/// Remarks that the reader needs before trusting the rest.
void add_remarks(const ResultTable& table, const SweepQuestion& question, const Asked& asked,
                 std::vector<Block>& lead) {
  const sweep::Header& header = table.header();
  if (header.shard)
    lead.emplace_back(Paragraph{
        fmt::format("This is shard {} only: {} of {}. `pipeloom merge` joins the shards.",
                    header.shard->text(), count_text(table.rows()), count_text(header.points, "point")),
        Tone::Warning});
  else if (table.rows() < header.points)
    lead.emplace_back(
        Paragraph{fmt::format("The sweep is not finished: {} of {} are here. `pipeloom sweep --resume` "
                              "goes on.",
                              count_text(table.rows()), count_text(header.points, "point")),
                  Tone::Warning});
  if (!question.where.empty()) {
    std::string all;
    for (const std::string& text : question.where) all += (all.empty() ? "" : " and ") + shortened(text, 200);
    lead.emplace_back(
        Paragraph{fmt::format("Only points where {}: {}.", all, count_text(asked.rows.size()))});
  }
  if (const std::string derived = derived_keys(table); !derived.empty())
    lead.emplace_back(Paragraph{"Derived from the axes: " + derived + '.', Tone::Muted});
  if (question.metrics.empty() && !asked.metrics.empty() && asked.metrics[0] == "bubble_ratio")
    lead.emplace_back(Paragraph{
        fmt::format("Points differ in their work, so that their times do not compare; they are ranked by "
                    "bubble_ratio.{}",
                    ranking_by_time(table)),
        Tone::Muted});
}

/// Says what was ranked, if that is not single points.
void add_environments(const Asked& asked, const SweepQuestion& question, std::vector<Block>& lead) {
  if (!asked.decisions || !asked.has_choice()) return;
  const sweep::Decisions& found = *asked.decisions;
  std::string text = fmt::format(
      "Ranked by the {} over {} ({}): what a run is given is not chosen. --over {} ranks by the {}, --decide "
      "KEY makes a key a choice.",
      name_of(question.over), count_text(found.environments, "environment"),
      shortened(fmt::format("{}", fmt::join(found.keys, ", ")), 200),
      name_of(question.over == sweep::Over::Mean ? sweep::Over::Worst : sweep::Over::Mean),
      name_of(question.over == sweep::Over::Mean ? sweep::Over::Worst : sweep::Over::Mean));
  const std::size_t fewer = found.table.rows() - found.rows.size();
  if (fewer > 0)
    text += fmt::format(" Left out: {} with an answer in fewer of them than others.",
                        count_text(fewer, "choice"));
  if (found.answered < found.environments)
    text += fmt::format(" None has an answer in more than {}.", count_text(found.answered));
  lead.emplace_back(Paragraph{text, Tone::Muted});
}

/// The grid varies given keys only.
std::string no_choice_text(const Asked& asked, const SweepQuestion& question) {
  const sweep::Decisions& found = *asked.decisions;
  std::string out = fmt::format("Nothing to choose: points differ in {} alone, which a run is given",
                                shortened(fmt::format("{}", fmt::join(found.keys, ", ")), 200));
  for (const std::string& metric : asked.metrics)
    out +=
        fmt::format("; {} {}: {}", name_of(question.over), metric,
                    text_of(found.table, asked, static_cast<std::size_t>(&metric - asked.metrics.data()), 0));
  return out + ". --decide KEY makes a key a choice.";
}

void add_front(const ResultTable& table, const Asked& asked, const std::string& id,
               std::vector<Section>& out) {
  if (asked.metrics.size() < 2 || asked.front.all == 0) return;
  Section section{
      id + "-front", fmt::format("What is best in {} and {}", asked.metrics[0], asked.metrics[1]), {}};
  if (asked.metrics.size() > 2) section.heading = "What nothing else beats";
  std::string caption = fmt::format(
      "{} on the Pareto front of {}: no other is better in one without being worse in "
      "another.",
      count_text(asked.front.all), count_text(asked.ranked_rows().size(), "point"));
  if (asked.metrics.size() == 2) {
    Scatter picture = scatter(table, asked.ranked_rows(), asked.front,
                              {asked.metrics[1], asked.metrics[0], series_key(table), id + "-scatter"});
    if (picture.merged) caption += " A larger mark is several points, the larger the more.";
    section.blocks.emplace_back(Figure{std::move(picture.svg), caption});
  }
  std::string said =
      asked.front.all > asked.front.named.size()
          ? fmt::format("{} of the front's {}, evenly spread", count_text(asked.front.named.size()),
                        count_text(asked.front.all, "point"))
          : "The Pareto front";
  section.blocks.emplace_back(front_table(table, asked.front.named, asked.metrics, std::move(said)));
  out.push_back(std::move(section));
}

void add_map(const ResultTable& table, const SweepQuestion& question, const Asked& asked,
             const std::string& id, std::vector<Section>& out) {
  if (asked.metrics.empty()) return;
  require_key(table, question.x, "--x");
  require_key(table, question.y, "--y");
  require_key(table, question.winner, "--winner");
  const auto map = winner_map(table, asked.rows, {question.x, question.y, question.winner, asked.metrics[0]});
  if (!map) return;
  Section section{id + "-map", fmt::format("Which {} wins where", map->what), {}};
  std::string caption = fmt::format("The {} with the {} {}{}{}.", map->what, best_word(map->metric),
                                    map->metric, map->y.key.empty() ? "" : " of each " + map->y.key + " and ",
                                    map->y.key.empty() ? " of each " + map->x.key : map->x.key);
  for (const std::string& note : zip_notes(table)) caption += ' ' + note;
  caption += map_signs(*map);
  for (const sweep::MapAxis* axis : {&map->x, &map->y})
    if (axis->left_out > 0)
      caption += fmt::format(" {} of {} are left out.", count_text(axis->left_out, "value"), axis->key);
  section.blocks.emplace_back(Figure{map_svg(table, *map), std::move(caption), map_text(*map)});
  section.blocks.emplace_back(wins_table(*map));
  out.push_back(std::move(section));
}

void add_best(const ResultTable& all, const SweepQuestion& question, const Asked& asked,
              const std::string& id, std::vector<Section>& out) {
  // The best choice in each environment is an answer; the best environment is none.
  const bool by_environment = asked.decisions && holds(asked.decisions->keys, question.group_by);
  if (asked.metrics.empty() || asked.rows.empty() || (!by_environment && !asked.has_choice())) return;
  const ResultTable& table = by_environment ? all : asked.ranked(all);
  const std::vector<Row>& ranked = by_environment ? asked.rows : asked.ranked_rows();
  Section section{id + "-best", fmt::format("Best points by {}", asked.metrics[0]), {}};
  if (question.group_by.empty()) {
    const std::size_t most = question.top == 0 ? SweepQuestion::kTop : question.top;
    const auto best = best_rows(table, ranked, asked.metrics[0], std::min(most, kMaxTableRows));
    section.blocks.emplace_back(points_table(table, best, asked.metrics));
  } else {
    require_key(table, question.group_by, "--group-by");
    section.heading += " for each " + question.group_by;
    const std::size_t most = question.top == 0 ? 1 : question.top;
    std::vector<Row> rows;
    for (const auto& group : best_of_groups(table, ranked, question.group_by, asked.metrics[0], most))
      rows.insert(rows.end(), group.best.begin(), group.best.end());
    const std::size_t left_out = rows.size() - std::min(rows.size(), kMaxTableRows);
    rows.resize(rows.size() - left_out);
    section.blocks.emplace_back(grouped_table(table, rows, question.group_by, asked.metrics));
    if (left_out > 0)
      section.blocks.emplace_back(Paragraph{
          fmt::format("{} more are left out; --where chooses.", count_text(left_out)), Tone::Muted});
  }
  out.push_back(std::move(section));
}

void add_rest(const ResultTable& table, const Asked& asked, const std::string& id,
              std::vector<Section>& out) {
  if (!asked.metrics.empty()) {
    const auto found = sensitivities(table, asked.rows, asked.metrics[0]);
    if (!found.empty())
      out.push_back(
          {id + "-keys", "What matters", {sensitivity_table(found, asked.metrics[0], asked.units)}});
  }
  Section statuses{id + "-statuses", "Points without an answer", {status_table(table)}};
  if (!table.errors().empty()) statuses.blocks.emplace_back(error_table(table));
  statuses.folded = table.errors().empty();
  out.push_back(std::move(statuses));
  Section swept{id + "-grid", "What was swept", {axes_table(table)}};
  for (const auto& notes : {zip_notes(table), derived_notes(table)})
    for (const std::string& note : notes) swept.blocks.emplace_back(Paragraph{note});
  swept.blocks.emplace_back(Paragraph{"The configuration below all points:"});
  swept.blocks.emplace_back(Code{base_text(table.header().base_json)});
  swept.folded = true;
  out.push_back(std::move(swept));
}

std::string subtitle_of(const ResultTable& table, const std::string& name) {
  return fmt::format("{}: {}, {} ok; grid {}, swept by pipeloom {}", name, count_text(table.rows(), "point"),
                     count_text(table.status_counts()[0]), table.header().grid, table.header().version);
}

}  // namespace

SweepFindings sweep_findings(const ResultTable& table, const std::string& name, const SweepQuestion& question,
                             const std::string& id) {
  const Asked asked = asked_of(table, question);
  SweepFindings out;
  std::string keys;
  for (const std::string& key : varying_keys(table)) keys += (keys.empty() ? "" : ", ") + key;
  out.title = keys.empty() ? "Sweep" : "Sweep of " + shortened(keys, 120);
  out.subtitle = subtitle_of(table, name);
  const ResultTable& ranked = asked.ranked(table);
  std::vector<FrontPoint> steps;
  if (asked.metrics.size() == 2) steps = spread_over(asked.front.points, kLimits);
  if (steps.empty() && !asked.metrics.empty() && asked.has_choice())
    for (const Row row : best_rows(ranked, asked.ranked_rows(), asked.metrics[0], 1))
      steps.push_back({row, 0});
  if (!asked.has_choice())
    out.lead.emplace_back(Paragraph{no_choice_text(asked, question)});
  else if (steps.empty())
    out.lead.emplace_back(Paragraph{asked.rows.empty() && !question.where.empty()
                                        ? "No point fits the conditions."
                                        : "No point has an answer.",
                                    Tone::Bad});
  else
    out.lead.emplace_back(Paragraph{headline(ranked, asked, steps)});
  add_environments(asked, question, out.lead);
  add_remarks(table, question, asked, out.lead);
  if (!steps.empty()) out.lead.emplace_back(facts_of(ranked, asked, steps));
  add_front(ranked, asked, id, out.sections);
  add_map(table, question, asked, id, out.sections);
  add_best(table, question, asked, id, out.sections);
  add_rest(table, asked, id, out.sections);
  return out;
}

}  // namespace pipeloom::study::page
