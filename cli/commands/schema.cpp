// pipeloom schema [NAME]: JSON Schemas.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/report/schemas.hpp"

namespace pipeloom::cli::commands {
namespace {

struct SchemaOptions {
  std::string name;
  bool keys = false;
  PrintOptions print;
};

std::string list_of_schemas() {
  std::string out;
  for (const std::string& name : study::schema_names()) out += name + '\n';
  return out;
}

std::string schemas_as_json() {
  std::string out;
  for (const std::string& name : study::schema_names()) {
    out += out.empty() ? "{\"schema_version\": 1, \"schemas\": [" : ", ";
    io::append_json_string(out, name);
  }
  return out + "]}\n";
}

ExitCode run_schema(const SchemaOptions& options) {
  const bool json = options.print.is("json");
  if (options.keys)
    print(json ? io::config_keys_json() : io::config_keys_help());
  else if (options.name.empty())
    print(json ? schemas_as_json() : list_of_schemas());
  else
    print(study::schema_text(options.name));
  return ExitCode::Ok;
}

}  // namespace

Run schema(CLI::App& app) {
  auto options = std::make_shared<SchemaOptions>();
  app.add_option("NAME", options->name, "Which schema; without a name they are listed")->type_name("SCHEMA");
  app.add_flag("--keys", options->keys, "Explain every key of a configuration instead");
  add_print_options(app, options->print, {"table", "json"},
                    "What is printed: the list, or --keys, for people or as JSON; a schema is JSON anyway");
  return [options] { return run_schema(*options); };
}

}  // namespace pipeloom::cli::commands
