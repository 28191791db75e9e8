// schedule_page.hpp's JSON.

#include "cli/pages/schedule_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/numbers.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/draw/terminal.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/report/metric.hpp"

namespace pipeloom::cli {

namespace {

using schedules::ClosedForm;
using schedules::Generator;

constexpr std::size_t kTextWidth = 100;

/// A fact or an option of a schedule, as the page explains it.
struct Fact {
  std::string name;
  std::string text;
};

std::string chunks_text(const Requirements& needs) {
  if (!needs.chunks_text.empty()) return needs.chunks_text;
  if (needs.min_chunks == needs.max_chunks) return std::to_string(needs.min_chunks);
  const std::string most =
      needs.max_chunks == kMaxIndex ? " or more" : fmt::format(" to {}", needs.max_chunks);
  return fmt::format("{}{}, default {}", needs.min_chunks, most, needs.default_chunks);
}

/// The text with `value` in the place of "{}".
std::string fill(std::string_view text, const std::string& value) {
  std::string out(text);
  if (const auto at = out.find("{}"); at != std::string::npos) out.replace(at, 2, value);
  return out;
}

/// A schedule's own default of an option, as the page text of the option's row needs it.
std::string own_default(const Requirements& needs, Option option) {
  if (option == Option::Slices) return std::to_string(needs.default_slices);
  if (option == Option::Updates) return std::to_string(needs.default_updates);
  if (option == Option::MemoryLimit) return needs.default_memory_limit;
  if (option != Option::Variant) return "";
  return fmt::format("{}; default {}", fmt::join(needs.variants, ", "), needs.variants.front());
}

std::vector<Fact> option_texts(const Requirements& needs) {
  std::vector<Fact> out;
  if (needs.max_chunks > 1) out.push_back({"chunks", chunks_text(needs)});
  for (const io::Key& key : io::config_keys())
    if (key.option && !key.page.empty() && schedules::takes_option(needs, *key.option))
      out.push_back({std::string(key.path), fill(key.page, own_default(needs, *key.option))});
  return out;
}

std::string alias_note(const schedules::Alias& alias) {
  return alias.defaults ? ", with its defaults and rules" : "";
}

std::vector<Fact> facts(const Generator& generator) {
  std::vector<Fact> rows;
  for (const auto& alias : generator.aliases)
    rows.push_back({"also called", fmt::format("{} ({}){}", alias.name, alias.dialect, alias_note(alias))});
  rows.push_back({"needs", generator.requirements.text});
  for (Fact& option : option_texts(generator.requirements)) rows.push_back(std::move(option));
  rows.push_back({"source", generator.source});
  return rows;
}

/// Names on the left, texts on the right, broken between words.
std::string two_columns(const std::vector<Fact>& rows, std::size_t width) {
  std::size_t indent = 0;
  for (const Fact& row : rows) indent = std::max(indent, row.name.size() + 2);
  std::string out;
  for (const Fact& row : rows) out += wrapped(row.text, width, indent).replace(0, row.name.size(), row.name);
  return out;
}

/// "p = 4, m = 8, v = 1", and slices n and updates u where there are several.
std::string letters(const Params& params) {
  std::string text = fmt::format("p = {}, m = {}, v = {}", params.ranks, params.microbatches, params.chunks);
  if (params.slices() > 1) text += fmt::format(", n = {}", params.slices());
  if (params.updates() > 1) text += fmt::format(", u = {}", params.updates());
  return text;
}

std::string picture(const ScheduleExample& example, const Screen& screen) {
  draw::TerminalOptions options;
  options.width = screen.width;
  options.colour = screen.colour;
  options.unicode = screen.unicode;
  options.title = fmt::format("{}; F = 1, B = 2, I = W = 1", letters(example.params));
  return draw::terminal_chart(example.timeline, options);
}

/// 1f1b with the same numbers of ranks and of microbatches per update: most readers know it.
ScheduleExample well_known(const Params& params) {
  const Generator& generator = *schedules::find("1f1b").generator;
  return make_example(generator, {.ranks = params.ranks, .microbatches = params.microbatches});
}

std::string peak_text(const ScheduleExample& example) {
  return fmt::format("{:.4g}", example.peak_microbatches());
}

/// The picture's bubble ratio and memory, so that pages can be compared.
std::string verdict(const Generator& generator, const ScheduleExample& example) {
  std::string out = fmt::format("bubble ratio {}; the fullest rank holds {} microbatches of its layers",
                                percent_text(example.metrics.bubble_ratio), peak_text(example));
  if (generator.name == "1f1b") return out;
  const ScheduleExample other = well_known(example.params);
  return out + fmt::format(" (1f1b: {} and {})", percent_text(other.metrics.bubble_ratio), peak_text(other));
}

std::string measured_text(const std::vector<std::string>& texts) {
  return texts.empty() ? "not measured" : join(texts, " ");
}

std::string closed_form(const Generator& generator, const ClosedForm& form, const ScheduleExample& example,
                        std::size_t width) {
  const FormValues here = values_of(form, example);
  std::string out = fmt::format("  {} = {}\n", form.quantity, form.formula);
  const std::string condition = form.condition.empty() ? "always" : "for " + form.condition;
  if (!here.value.empty())
    return out + wrapped(fmt::format("here {}, simulated {}; holds {}", measured_text(here.value),
                                     measured_text(here.simulated), condition),
                         width, 6);
  out += wrapped(
      fmt::format("does not hold here (simulated {}); holds {}", measured_text(here.simulated), condition),
      width, 6);
  const auto elsewhere = values_elsewhere(generator, form, example);
  if (!elsewhere) return out;
  return out + wrapped(fmt::format("with m = {}: {}, simulated {}", elsewhere->params.microbatches,
                                   measured_text(elsewhere->value), measured_text(elsewhere->simulated)),
                       width, 6);
}

std::string closed_forms(const Generator& generator, const ScheduleExample& example, std::size_t width) {
  std::string out;
  for (const ClosedForm& form : generator.closed_forms) out += closed_form(generator, form, example, width);
  return out;
}

/// The example's parameters for a variant, with the nearest chunks that it takes; nothing if it takes none.
std::optional<Params> params_of_variant(const Generator& generator, const ScheduleExample& example,
                                        const std::string& variant) {
  constexpr int kMostChunks = 8;
  Params params = example.params;
  params.options.variant = variant;
  if (schedules::takes(generator, params)) return params;
  for (params.chunks = 1; params.chunks <= kMostChunks; ++params.chunks)
    if (schedules::takes(generator, params)) return params;
  return std::nullopt;
}

/// The variants side by side.
Table variants(const Generator& generator, const ScheduleExample& example) {
  Table table({{"variant", Align::Left},
               {"chunks", Align::Right},
               {"makespan", Align::Right},
               {"bubble ratio", Align::Right},
               {"microbatches held", Align::Right}});
  for (const std::string& variant : generator.requirements.variants) {
    const auto params = params_of_variant(generator, example, variant);
    if (!params) continue;
    const ScheduleExample run = make_example(generator, *params);
    table.add_row({variant, std::to_string(params->chunks),
                   format_ticks(run.metrics.makespan, TimeUnit::Unit), percent_text(run.metrics.bubble_ratio),
                   peak_text(run)});
  }
  return table;
}

std::string command_text(const Generator& generator, const Params& params) {
  std::string out = fmt::format("pipeloom simulate --schedule {} --ranks {} --microbatches {}",
                                generator.name, params.ranks, params.microbatches);
  if (params.updates() != generator.requirements.default_updates)
    out += fmt::format(" --set options.updates={}", params.updates());
  return out + " --chart";
}

}  // namespace

std::string schedule_page(const Generator& generator, const Screen& screen) {
  const ScheduleExample example = make_example(generator, example_params(generator));
  const std::size_t width = std::min(kTextWidth, static_cast<std::size_t>(screen.width));
  const bool colour = screen.has_colour();
  std::string out = fmt::format("{}: {}\n\n", bold(generator.name, colour), generator.summary);
  out += two_columns(facts(generator), width) + '\n' + wrapped(generator.when_to_use, width) + '\n';
  out += picture(example, screen) + wrapped(verdict(generator, example), width);
  if (!generator.closed_forms.empty())
    out += '\n' + bold("Closed forms, and what the simulation above gives", colour) + '\n' +
           closed_forms(generator, example, width);
  if (generator.requirements.variants.size() > 1)
    out +=
        '\n' + bold("Variants, with the same p and m", colour) + '\n' + variants(generator, example).text();
  return out + "\nTry it: " + command_text(generator, example.params) + '\n';
}

namespace {

using schedules::Generator;

void write_requirements(io::JsonWriter& out, const Requirements& r) {
  out.object().member("text", r.text).member("min_ranks", r.min_ranks).member("even_ranks", r.even_ranks);
  out.member("min_chunks", r.min_chunks).member("max_chunks", r.max_chunks);
  out.member("default_chunks", r.default_chunks).member("even_microbatches", r.even_microbatches);
  out.member("min_microbatches",
             fmt::format("{} * ranks + {}", r.min_microbatches_per_rank, r.min_microbatches_offset));
  out.member("splits_backward", r.splits_backward).member("overlaps", r.overlaps);
  out.member("bidirectional", r.bidirectional).member("shares_output", r.shares_output);
  for (const io::Key& key : io::config_keys()) {
    if (key.noun.empty() || *key.option == Option::Variant || *key.option == Option::File) continue;
    out.member(fmt::format("takes_{}", io::name_of(key)), r.takes.has(*key.option));
    if (*key.option == Option::Slices) out.member("default_slices", r.default_slices);
    if (*key.option == Option::Updates) out.member("default_updates", r.default_updates);
  }
  out.member("needs_terms", r.needs_terms).member("variants", r.variants).close();
}

void write_alias(io::JsonWriter& out, const schedules::Alias& alias) {
  out.object().member("name", alias.name).member("dialect", alias.dialect);
  out.member("has_defaults", static_cast<bool>(alias.defaults)).close();
}

/// One number where all ranks have the same, null where there is none.
void write_numbers(io::JsonWriter& out, const std::vector<std::string>& texts) {
  if (texts.empty()) {
    out.null();
  } else if (texts.size() == 1) {
    out.raw(texts.front());
  } else {
    out.array();
    for (const std::string& text : texts) out.raw(text);
    out.close();
  }
}

void write_form(io::JsonWriter& out, const schedules::ClosedForm& form, const ScheduleExample& example) {
  const FormValues here = values_of(form, example);
  out.object().member("quantity", form.quantity).member("formula", form.formula);
  out.member("condition", form.condition);
  write_numbers(out.key("value"), here.value);
  write_numbers(out.key("simulated"), here.simulated);
  out.close();
}

void write_example(io::JsonWriter& out, const ScheduleExample& example) {
  const Params& params = example.params;
  out.object().member("ranks", params.ranks).member("microbatches", params.microbatches);
  out.member("chunks", params.chunks).member("slices", params.slices()).member("updates", params.updates());
  out.key("makespan").ticks(example.metrics.makespan, TimeUnit::Unit);
  out.key("bubble_ratio").raw(fmt::format("{}", example.metrics.bubble_ratio));
  out.key("peak_microbatches").raw(fmt::format("{}", example.peak_microbatches())).close();
}

void write_schedule(io::JsonWriter& out, const Generator& generator, const ScheduleExample& example) {
  out.object().member("name", generator.name).line(3).member("summary", generator.summary);
  out.line(3).member("source", generator.source).line(3).member("when_to_use", generator.when_to_use);
  out.line(3).key("aliases").array();
  for (const schedules::Alias& alias : generator.aliases) write_alias(out, alias);
  out.close();
  write_requirements(out.line(3).key("requirements"), generator.requirements);
  write_example(out.line(3).key("example"), example);
  out.line(3).key("closed_forms").array();
  for (const schedules::ClosedForm& form : generator.closed_forms) write_form(out, form, example);
  out.close().close();
}

}  // namespace

std::string schedule_json(const Generator& generator) {
  const ScheduleExample example = make_example(generator, example_params(generator));
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) { write_schedule(out, generator, example); });
}

namespace {

using schedules::ClosedForm;
using schedules::Generator;

constexpr int kMostMicrobatches = 64;
constexpr int kMostUpdates = 2;

UniformCosts unit_costs() {
  const Ticks one = ticks_per(TimeUnit::Unit);
  UniformCosts costs;
  costs.forward = one;
  costs.backward = 2 * one;
  costs.backward_input = one;
  costs.backward_weight = one;
  return costs;
}

/// A quantity of the simulated run as the closed forms name them, a rank's or the metric of that name; nothing for others.
std::optional<std::int64_t> simulated(const Metrics& metrics, std::string_view quantity, Rank rank) {
  const RankMetrics& own = metrics.ranks[rank.at()];
  if (quantity == "idle") return own.idle;
  if (quantity == "busy") return own.busy;
  if (quantity == "peak_live") return own.memory.peak_live;
  const study::Metric* metric = study::metric_named(quantity);
  if (metric == nullptr || metric->unit != study::Unit::Time) return std::nullopt;
  const auto value = metric->get(study::RunNumbers{&metrics});
  if (!value) return std::nullopt;
  return static_cast<Ticks>(std::get<TickSum>(*value).value());
}

/// The texts of all ranks, or of one where they are the same; none if a rank has no value.
template <class Value>
std::vector<std::string> texts_of(int ranks, std::string_view quantity, const Value& value) {
  std::vector<std::string> texts;
  for (Rank rank{0}; rank < Rank(ranks); ++rank) {
    const std::optional<std::int64_t> number = value(rank);
    if (!number) return {};
    texts.push_back(quantity.starts_with("peak_") ? std::to_string(*number)
                                                  : format_ticks(*number, TimeUnit::Unit));
  }
  if (std::equal(texts.begin() + 1, texts.end(), texts.begin())) texts.resize(1);
  return texts;
}

bool holds(const ClosedForm& form, const Params& params) {
  return form.value(params, unit_costs(), Rank(0)).has_value();
}

}  // namespace

double ScheduleExample::peak_microbatches() const {
  int peak = 0;
  for (const RankMetrics& rank : metrics.ranks) peak = std::max(peak, rank.memory.peak_live);
  return static_cast<double>(peak) / params.chunks / params.slices();
}

Params example_params(const Generator& generator) {
  Params params;
  schedules::complete(generator, params, std::nullopt);
  params.options.updates = std::min(params.updates(), kMostUpdates);
  while (params.microbatches < kMostMicrobatches && !schedules::takes(generator, params))
    ++params.microbatches;
  return params;
}

ScheduleExample make_example(const Generator& generator, const Params& params) {
  ScheduleExample out;
  out.params = params;
  auto schedule = std::make_shared<const Schedule>(schedules::make(generator, params));
  const Costs costs = uniform_costs(schedule->placement(), unit_costs());
  out.timeline = simulate(schedule, costs);
  out.metrics = measure(out.timeline, costs, default_memory(schedule->placement()), {});
  return out;
}

FormValues values_of(const ClosedForm& form, const ScheduleExample& example) {
  const int ranks = example.params.ranks;
  return {example.params,
          texts_of(ranks, form.quantity,
                   [&](Rank rank) { return form.value(example.params, unit_costs(), rank); }),
          texts_of(ranks, form.quantity,
                   [&](Rank rank) { return simulated(example.metrics, form.quantity, rank); })};
}

std::optional<FormValues> values_elsewhere(const Generator& generator, const ClosedForm& form,
                                           const ScheduleExample& example) {
  for (int distance = 1; distance < kMostMicrobatches; ++distance)
    for (const int m : {example.params.microbatches - distance, example.params.microbatches + distance}) {
      Params params = example.params;
      params.microbatches = m;
      if (m < 1 || m > kMostMicrobatches || !schedules::takes(generator, params)) continue;
      if (holds(form, params)) return values_of(form, make_example(generator, params));
    }
  return std::nullopt;
}

}  // namespace pipeloom::cli
