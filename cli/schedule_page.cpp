#include "cli/schedule_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/table.hpp"
#include "sim/draw/terminal.hpp"
#include "sim/metrics.hpp"
#include "sim/simulator.hpp"

namespace pipeloom::cli {
namespace {

using schedules::ClosedForm;
using schedules::Generator;
using schedules::Params;

constexpr int kMostMicrobatches = 64;
constexpr int kMostUpdates = 2;
constexpr std::size_t kTextWidth = 100;

/// F 1, B 2, I 1, W 1 in units: what a configuration without costs means.
UniformCosts unit_costs() {
  const Ticks one = ticks_per(TimeUnit::Unit);
  UniformCosts costs;
  costs.forward = one;
  costs.backward = 2 * one;
  costs.backward_input = one;
  costs.backward_weight = one;
  return costs;
}

struct Example {
  Params params;
  Timeline timeline;
  Metrics metrics;
};

Example make_example(const Generator& generator) {
  Example out;
  out.params = example_params(generator);
  auto schedule = std::make_shared<const Schedule>(schedules::make(generator, out.params));
  const Costs costs = uniform_costs(schedule->placement(), unit_costs());
  out.timeline = simulate(schedule, costs);
  out.metrics = measure(out.timeline, costs, default_memory(schedule->placement()), {});
  return out;
}

/// A quantity of the simulated run by its metric's name, as the closed forms name them; nothing for others.
std::optional<std::int64_t> simulated(const Metrics& metrics, std::string_view quantity, Rank rank) {
  const RankMetrics& own = metrics.ranks[rank.at()];
  if (quantity == "makespan") return metrics.makespan;
  if (quantity == "max_window") return metrics.max_window;
  if (quantity == "ideal_time") return metrics.ideal_time;
  if (quantity == "idle") return own.idle;
  if (quantity == "busy") return own.busy;
  if (quantity == "peak_live") return own.memory.peak_live;
  return std::nullopt;
}

bool is_count(std::string_view quantity) {
  return quantity.starts_with("peak_");
}

std::string value_text(std::optional<std::int64_t> value, std::string_view quantity) {
  if (!value) return "-";
  return is_count(quantity) ? std::to_string(*value) : format_ticks(*value, TimeUnit::Unit);
}

/// The values of all ranks, or one where all are the same.
template <class Value>
std::string rank_values(const Params& params, std::string_view quantity, const Value& value) {
  std::vector<std::string> texts;
  for (Rank rank{0}; rank < Rank(params.ranks); ++rank) texts.push_back(value_text(value(rank), quantity));
  const bool same = std::equal(texts.begin() + 1, texts.end(), texts.begin());
  return same ? texts.front() : fmt::format("{}", fmt::join(texts, " "));
}

std::string closed_forms(const Generator& generator, const Example& example, std::size_t width) {
  const UniformCosts costs = unit_costs();
  std::string out;
  for (const ClosedForm& form : generator.closed_forms) {
    const auto value = rank_values(example.params, form.quantity,
                                   [&](Rank rank) { return form.value(example.params, costs, rank); });
    const auto measured = rank_values(example.params, form.quantity, [&](Rank rank) {
      return simulated(example.metrics, form.quantity, rank);
    });
    out += fmt::format("  {} = {}\n", form.quantity, form.formula);
    const std::string condition = form.condition.empty() ? "always" : "for " + form.condition;
    out +=
        value == "-"
            ? wrapped(fmt::format("holds {}: not here; simulated {}", condition, measured), width, 6)
            : wrapped(fmt::format("here {}, simulated {}; holds {}", value, measured, condition), width, 6);
  }
  return out;
}

/// "p = 4, m = 8, v = 1", and slices n and updates u where there are several.
std::string letters(const Params& params) {
  std::string text = fmt::format("p = {}, m = {}, v = {}", params.ranks, params.microbatches, params.chunks);
  if (params.slices > 1) text += fmt::format(", n = {}", params.slices);
  if (params.updates > 1) text += fmt::format(", u = {}", params.updates);
  return text;
}

Table facts(const Generator& generator) {
  Table table({{"", Align::Left}, {"", Align::Left}});
  for (const auto& alias : generator.aliases)
    table.add_row({"also called", fmt::format("{} ({}){}", alias.name, alias.dialect,
                                              alias.defaults ? ", with its own defaults" : "")});
  table.add_row({"needs", generator.requirements.text});
  table.add_row({"source", generator.source});
  return table;
}

}  // namespace

Params example_params(const Generator& generator) {
  Params params;
  params.chunks = generator.requirements.default_chunks;
  params.slices = generator.requirements.default_slices;
  params.updates = std::min(generator.requirements.default_updates, kMostUpdates);
  while (params.microbatches < kMostMicrobatches && !schedules::refusal(generator, params).empty())
    ++params.microbatches;
  return params;
}

std::string schedule_page(const Generator& generator, const Screen& screen) {
  const Example example = make_example(generator);
  const std::size_t width = std::min(kTextWidth, static_cast<std::size_t>(screen.width));
  const bool colour = screen.has_colour();
  draw::TerminalOptions options;
  options.width = screen.width;
  options.colour = screen.colour;
  options.unicode = screen.unicode;
  options.title = fmt::format("{}; F = 1, B = 2, I = W = 1", letters(example.params));

  std::string out = fmt::format("{}: {}\n\n", bold(generator.name, colour), generator.summary);
  out += facts(generator).text() + '\n' + wrapped(generator.when_to_use, width) + '\n';
  out += draw::terminal_chart(example.timeline, options);
  if (!generator.closed_forms.empty())
    out += '\n' + bold("Closed forms, and what the simulation above gives", colour) + '\n' +
           closed_forms(generator, example, width);
  return out;
}

}  // namespace pipeloom::cli
