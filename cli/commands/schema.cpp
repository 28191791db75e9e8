// pipeloom schema [NAME]: JSON Schemas.

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_writer.hpp"
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
  return io::written_json(io::kReportStyle,
                          [](io::JsonWriter& out) {
                            out.object().member("schema_version", 1);
                            out.member("schemas", study::schema_names()).close();
                          }) +
         "\n";
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

Run schema(OptionList& list) {
  auto options = std::make_shared<SchemaOptions>();
  list.positional("NAME", options->name, "SCHEMA", "Which schema; without a name they are listed");
  list.flag("--keys", options->keys, "Explain every key of a configuration instead");
  add_print_options(list, options->print, {"table", "json"},
                    "What is printed: the list, or --keys, for people or as JSON; a schema is JSON anyway");
  return [options] { return run_schema(*options); };
}

}  // namespace pipeloom::cli::commands
