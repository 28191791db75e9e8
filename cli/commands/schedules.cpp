// pipeloom schedules [NAME]: the list of schedules, and the page of one.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/schedule_page.hpp"
#include "cli/table.hpp"
#include "sim/io/json_text.hpp"

namespace pipeloom::cli::commands {
namespace {

using schedules::Generator;

constexpr std::size_t kIndent = 4;

struct SchedulesOptions {
  std::string name;
  OutputOptions output;
  bool json = false;
};

std::string alias_names(const Generator& generator) {
  std::string out;
  for (const auto& alias : generator.aliases) out += (out.empty() ? "" : ", ") + alias.name;
  return out;
}

std::string block(const Generator& generator, const Screen& screen) {
  const auto width = static_cast<std::size_t>(screen.width);
  std::string out = bold(generator.name, screen.has_colour()) + '\n';
  out += wrapped(generator.summary, width, kIndent);
  out += wrapped("needs: " + generator.requirements.text, width, kIndent);
  if (!generator.aliases.empty()) out += wrapped("also called: " + alias_names(generator), width, kIndent);
  return out + wrapped("source: " + generator.source, width, kIndent);
}

std::string list_of_schedules(const Screen& screen) {
  std::string out;
  for (const Generator& generator : schedules::all()) out += block(generator, screen);
  return out + "\n`pipeloom schedules NAME` shows picture and formulas of one.\n";
}

void append_member(std::string& out, std::string_view key, std::string_view text) {
  out += fmt::format("\"{}\": ", key);
  io::append_json_string(out, text);
}

std::string requirements_json(const schedules::Requirements& r) {
  std::string out = "{";
  append_member(out, "text", r.text);
  return out +
         fmt::format(
             ", \"min_ranks\": {}, \"even_ranks\": {}, \"min_chunks\": {}, \"max_chunks\": {}, "
             "\"default_chunks\": {}, \"even_microbatches\": {}, \"min_microbatches\": \"{} * ranks + {}\", "
             "\"splits_backward\": {}, \"overlaps\": {}, \"bidirectional\": {}, \"takes_group_size\": {}}}",
             r.min_ranks, r.even_ranks, r.min_chunks, r.max_chunks, r.default_chunks, r.even_microbatches,
             r.min_microbatches_per_rank, r.min_microbatches_offset, r.splits_backward, r.overlaps,
             r.bidirectional, r.takes_group_size);
}

std::string aliases_json(const Generator& generator) {
  std::string out = "[";
  for (const auto& alias : generator.aliases) {
    out += &alias == generator.aliases.data() ? "{" : ", {";
    append_member(out, "name", alias.name);
    append_member(out += ", ", "dialect", alias.dialect);
    out += '}';
  }
  return out + "]";
}

std::string closed_forms_json(const Generator& generator) {
  std::string out = "[";
  for (const auto& form : generator.closed_forms) {
    out += &form == generator.closed_forms.data() ? "{" : ", {";
    append_member(out, "quantity", form.quantity);
    append_member(out += ", ", "formula", form.formula);
    append_member(out += ", ", "condition", form.condition);
    out += '}';
  }
  return out + "]";
}

std::string as_json(const Generator& generator) {
  std::string out = "{";
  append_member(out, "name", generator.name);
  append_member(out += ",\n   ", "summary", generator.summary);
  append_member(out += ",\n   ", "source", generator.source);
  append_member(out += ",\n   ", "when_to_use", generator.when_to_use);
  out += ",\n   \"aliases\": " + aliases_json(generator);
  out += ",\n   \"requirements\": " + requirements_json(generator.requirements);
  return out + ",\n   \"closed_forms\": " + closed_forms_json(generator) + "}";
}

std::string list_as_json() {
  std::string out = "{\n  \"schema_version\": 1,\n  \"schedules\": [";
  for (const Generator& generator : schedules::all()) {
    out += &generator == schedules::all().data() ? "\n  " : ",\n  ";
    out += as_json(generator);
  }
  return out + "\n  ]\n}\n";
}

ExitCode run_schedules(const SchedulesOptions& options) {
  const Screen screen = options.output.screen();
  if (options.name.empty()) {
    print(options.json ? list_as_json() : list_of_schedules(screen));
    return ExitCode::Ok;
  }
  const Generator& generator = *schedules::find(options.name).generator;
  print(options.json ? as_json(generator) + "\n" : schedule_page(generator, screen));
  return ExitCode::Ok;
}

}  // namespace

Run schedules(CLI::App& app) {
  auto options = std::make_shared<SchedulesOptions>();
  app.add_option("NAME", options->name, "Name or alias: show its page")->type_name("SCHEDULE");
  app.add_flag("--json", options->json, "Print names, requirements and formulas as JSON");
  add_output_options(app, options->output);
  return [options] { return run_schedules(*options); };
}

}  // namespace pipeloom::cli::commands
