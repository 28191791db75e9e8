// pipeloom hardware [NAME]: the devices that have names, or all of one.

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/pages/known_pages.hpp"
#include "sim/io/hardware/hardware_file.hpp"

namespace pipeloom::cli::commands {
namespace {

struct HardwareOptions {
  std::string name;
  OutputOptions output;
  PrintOptions print;
};

ExitCode run_hardware(const HardwareOptions& options) {
  const Screen screen = options.output.screen();
  const bool json = options.print.is("json");
  if (!options.name.empty()) {
    const auto device = io::find_hardware(options.name, Where{"NAME"});
    print(json ? device_json(*device) : device_page(*device, screen));
    return ExitCode::Ok;
  }
  Devices all;
  for (const std::string& name : io::hardware_names()) all.push_back(io::find_hardware(name, Where{"NAME"}));
  print(json ? devices_json(all) : devices_page(all, screen));
  return ExitCode::Ok;
}

}  // namespace

Run hardware(OptionList& list) {
  auto options = std::make_shared<HardwareOptions>();
  list.positional("NAME", options->name, "HARDWARE", "Name or file: show it whole");
  add_print_options(list, options->print, {"table", "json"}, "What is printed");
  add_output_options(list, options->output);
  return [options] { return run_hardware(*options); };
}

}  // namespace pipeloom::cli::commands
