#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/numbers.hpp"
#include "cli/pages/known_pages.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"

namespace pipeloom::cli {
namespace {

/// The counts of a model; nothing of one that has measured times and no sizes.
struct Counts {
  std::int64_t parameters = 0;  ///< without MTP layers
  std::int64_t active = 0;
  std::int64_t mtp = 0;
};
std::optional<Counts> counts_of(const model::Model& model) {
  if (!model::has_sizes(model)) return std::nullopt;
  const std::int64_t mtp = model::mtp_parameters(model).all();
  return Counts{model::parameters_of(model) - mtp, model::active_parameters_of(model), mtp};
}

std::string number_text(std::int64_t number) {
  return count_text(static_cast<std::size_t>(number));
}
std::string rate_of(std::int64_t number) {
  return study::rate_text(static_cast<double>(number));
}

/// The same beside the whole number, unless that is short by itself.
std::string short_rate(std::int64_t number) {
  return number < 1'000'000 ? "" : rate_of(number);
}

/// A source up to its first semicolon outside of brackets: what the list has room for.
std::string short_source(const std::string& source) {
  int open = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    open += source[i] == '(' ? 1 : source[i] == ')' ? -1 : 0;
    if (source[i] == ';' && open == 0) return source.substr(0, i);
  }
  return source;
}

std::int64_t layers_of(const model::Model& model, const model::Layer& kind) {
  return std::count(model.layers.begin(), model.layers.end(), kind.letter);
}

Table kinds_table(const model::Model& model) {
  Table table({{"kind"}, {"layer"}, {"layers", Align::Right}, {"parameters each", Align::Right}});
  for (const model::Layer& kind : model.kinds)
    table.add_row({std::string(1, kind.letter), kind.name, number_text(layers_of(model, kind)),
                   number_text(model::parameters_of(model, kind).all())});
  return table;
}

void write_counts(io::JsonWriter& out, const model::Model& model) {
  const std::optional<Counts> counts = counts_of(model);
  const auto member = [&](std::string_view key, std::int64_t Counts::*number) {
    out.key(key);
    if (counts)
      out.number((*counts).*number);
    else
      out.null();
  };
  member("parameters", &Counts::parameters);
  member("active_parameters", &Counts::active);
  member("mtp_parameters", &Counts::mtp);
}

void write_model(io::JsonWriter& out, const model::Model& model) {
  out.object().member("name", model.name);
  write_counts(out, model);
  out.member("layers", std::ssize(model.layers)).member("mtp_layers", model.mtp);
  out.member("hidden", model.hidden).member("vocabulary", model.vocabulary).member("tied", model.tied);
  out.member("context", model.sequence).member("source", model.source);
  out.key("kinds").array();
  for (const model::Layer& kind : model.kinds) {
    out.object().member("kind", std::string(1, kind.letter)).member("name", kind.name);
    out.member("layers", layers_of(model, kind));
    out.member("parameters", model::parameters_of(model, kind).all()).close();
  }
  out.close().close();
}

}  // namespace

std::string models_page(const std::vector<model::Model>& models, const Screen& screen) {
  Table table({{"model"},
               {"parameters", Align::Right},
               {"active", Align::Right},
               {"layers", Align::Right},
               {"context", Align::Right},
               {"source"}});
  for (const model::Model& model : models) {
    const std::optional<Counts> counts = counts_of(model);
    table.add_row({model.name, counts ? rate_of(counts->parameters) : "",
                   counts && counts->active != counts->parameters ? rate_of(counts->active) : "",
                   std::to_string(model.layers.size()), number_text(model.sequence),
                   short_source(model.source)});
  }
  return table.text(screen.has_colour()) +
         "\n`pipeloom models NAME` shows one whole. Anywhere a model is named, a file may stand instead: a "
         "Hugging "
         "Face\nconfig.json, Megatron-LM's arguments, or one of ours.\n";
}

std::string models_json(const std::vector<model::Model>& models) {
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) {
                            out.object().line(2).member("schema_version", 1).line(2).key("models").array();
                            for (const model::Model& model : models) write_model(out.line(4), model);
                            out.close(2).close(0);
                          }) +
         '\n';
}

std::string model_page(const model::Model& model, const Screen& screen) {
  const auto width = static_cast<std::size_t>(screen.width);
  std::string out = bold(printable(model.name), screen.has_colour()) + '\n';
  out += study::wrapped("source: " + printable(model.source), width, 2) + '\n';
  Table facts({{""}, {"", Align::Right}, {""}});
  if (const std::optional<Counts> counts = counts_of(model)) {
    facts.add_row({"parameters", number_text(counts->parameters), short_rate(counts->parameters)});
    if (counts->active != counts->parameters)
      facts.add_row({"  of these active", number_text(counts->active), short_rate(counts->active)});
    if (model.mtp > 0)
      facts.add_row(
          {fmt::format("  besides, in {}", count_text(static_cast<std::size_t>(model.mtp), "MTP layer")),
           number_text(counts->mtp), short_rate(counts->mtp)});
  }
  facts.add_row({"layers", number_text(std::ssize(model.layers)), ""});
  facts.add_row({"hidden", number_text(model.hidden), ""});
  facts.add_row(
      {"vocabulary", number_text(model.vocabulary), model.tied ? "embedding and head are tied" : ""});
  facts.add_row({"context", number_text(model.sequence), "tokens of a sample, where nothing else is said"});
  out += facts.text() + '\n' + kinds_table(model).text(screen.has_colour());
  return out + '\n' + study::wrapped("order: " + printable(model.layers), width, 0);
}

std::string model_json(const model::Model& model) {
  return io::written_json(io::kReportStyle, [&](io::JsonWriter& out) { write_model(out, model); }) + '\n';
}

}  // namespace pipeloom::cli
