#include "cli/pages/schedule_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/numbers.hpp"
#include "cli/pages/schedule_example.hpp"
#include "cli/table.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/draw/terminal.hpp"
#include "sim/io/config/key.hpp"

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

/// What a schedule's own default of an option is, as its row's page text wants it.
std::string own_default(const Requirements& needs, Option option) {
  if (option == Option::Slices) return std::to_string(needs.default_slices);
  if (option == Option::Updates) return std::to_string(needs.default_updates);
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

/// 1f1b with as many ranks and microbatches per update: what most readers know.
ScheduleExample well_known(const Params& params) {
  const Generator& generator = *schedules::find("1f1b").generator;
  return make_example(generator, {.ranks = params.ranks, .microbatches = params.microbatches});
}

std::string peak_text(const ScheduleExample& example) {
  return fmt::format("{:.4g}", example.peak_microbatches());
}

/// What the picture costs, so that pages compare.
std::string verdict(const Generator& generator, const ScheduleExample& example) {
  std::string out = fmt::format("bubble ratio {}; the fullest rank holds {} microbatches of its layers",
                                ratio_text(example.metrics.bubble_ratio), peak_text(example));
  if (generator.name == "1f1b") return out;
  const ScheduleExample other = well_known(example.params);
  return out + fmt::format(" (1f1b: {} and {})", ratio_text(other.metrics.bubble_ratio), peak_text(other));
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
  if (schedules::refusal(generator, params).empty()) return params;
  for (params.chunks = 1; params.chunks <= kMostChunks; ++params.chunks)
    if (schedules::refusal(generator, params).empty()) return params;
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
                   format_ticks(run.metrics.makespan, TimeUnit::Unit), ratio_text(run.metrics.bubble_ratio),
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

}  // namespace pipeloom::cli
