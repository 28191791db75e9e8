// pipeloom models [NAME]: the models that have names, or all of one.

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/pages/known_pages.hpp"
#include "sim/io/models/find_model.hpp"

namespace pipeloom::cli::commands {
namespace {

struct ModelsOptions {
  std::string name;
  OutputOptions output;
  PrintOptions print;
};

ExitCode run_models(const ModelsOptions& options) {
  const Screen screen = options.output.screen();
  const bool json = options.print.is("json");
  if (!options.name.empty()) {
    const model::Model model = io::find_model(options.name, Where{"NAME"});
    options.output.warn(model.warnings);
    print(json ? model_json(model) : model_page(model, screen));
    return ExitCode::Ok;
  }
  std::vector<model::Model> all;
  for (const std::string& name : io::model_names()) all.push_back(io::find_model(name, Where{"NAME"}));
  print(json ? models_json(all) : models_page(all, screen));
  return ExitCode::Ok;
}

}  // namespace

Run models(OptionList& list) {
  auto options = std::make_shared<ModelsOptions>();
  list.positional("NAME", options->name, "MODEL", "Name or file: show it whole");
  add_print_options(list, options->print, {"table", "json"}, "What is printed");
  add_output_options(list, options->output);
  return [options] { return run_models(*options); };
}

}  // namespace pipeloom::cli::commands
