// pipeloom schema [NAME]: JSON Schemas.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "sim/io/config_keys.hpp"
#include "sim/io/schemas.hpp"

namespace pipeloom::cli::commands {
namespace {

struct SchemaOptions {
  std::string name;
  bool keys = false;
};

std::string list_of_schemas() {
  std::string out;
  for (const std::string& name : io::schema_names()) out += name + '\n';
  return out;
}

ExitCode run_schema(const SchemaOptions& options) {
  if (options.keys)
    print(io::config_keys_help());
  else
    print(options.name.empty() ? list_of_schemas() : io::schema_text(options.name));
  return ExitCode::Ok;
}

}  // namespace

Run schema(CLI::App& app) {
  auto options = std::make_shared<SchemaOptions>();
  app.add_option("NAME", options->name, "Which schema; without a name they are listed")->type_name("SCHEMA");
  app.add_flag("--keys", options->keys, "Explain every key of a configuration instead");
  return [options] { return run_schema(*options); };
}

}  // namespace pipeloom::cli::commands
