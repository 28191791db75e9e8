// pipeloom serve [FILE...]: the page that links open in, on the loopback address. The server is a program of its own.

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <pipeloom/link.hpp>
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/sibling.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/links/link.hpp"
#include "study/run/run_link.hpp"

namespace pipeloom::cli::commands {
namespace {

namespace fs = std::filesystem;

struct ServeOptions {
  std::vector<std::string> files;
  std::string port = std::to_string(kServePort);
  std::optional<std::string> site;
  std::optional<std::string> folder;
};

constexpr const char* kServeFooter =
    "\nPrints the address of the page, a link for each FILE, and the address of files below DIR, whose path "
    "holds a\n"
    "random text. Nothing but this machine reaches the server, and nothing is written. Ctrl-C ends it.\n"
    "Exit codes: 0 ended by a signal, 2 wrong input or a port in use, 3 no page or no server was built.\n\n"
    "Examples:\n"
    "  pipeloom serve run.json\n"
    "  pipeloom serve --folder runs --port 0";

void require_folder(const char* option, const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  throw InputError(Where{option},
                   fmt::format("'{}' is no folder that can be read; name one", shortened(path.string(), 80)));
}

fs::path site_of(const ServeOptions& options) {
  if (options.site) {
    require_folder("--site", *options.site);
    if (fs::exists(fs::path(*options.site) / "index.html")) return *options.site;
    throw InputError(Where{"--site"}, fmt::format("'{}' holds no index.html; name the folder of the page",
                                                  shortened(*options.site, 80)));
  }
  if (const auto found = find_data("site", "wasm/site")) return *found;
  throw SystemError(
      "the page is not installed beside this program: unpack the release's archive of the page and name its "
      "folder with "
      "--site, or build it (cmake --preset wasm)");
}

fs::path server_program() {
  if (const auto found = find_sibling("pipeloom-serve", "cli")) return *found;
  throw SystemError(
      "pipeloom-serve is neither next to this program nor on PATH: it was built without cpp-httplib; install "
      "libcpp-httplib-dev and build again, use `python -m pipeloom.play`, or have any web server serve the "
      "page's folder");
}

[[noreturn]] void start(const ServeOptions& options) {
  const int port = parse_count("--port", options.port, 0, 65535);
  const fs::path site = site_of(options);
  if (options.folder) require_folder("--folder", *options.folder);
  std::vector<std::string> arguments = {std::to_string(port), site.string(), options.folder.value_or("")};
  for (const std::string& file : options.files) {
    pipeloom::Request request;
    request.file = file;
    arguments.push_back(shortened(io::shown_name(file), 200));
    arguments.push_back(io::link_text("", study::link_value_of(read_input(request)), std::nullopt));
  }
  become(server_program(), arguments);
}

}  // namespace

Run serve(OptionList& list) {
  auto options = std::make_shared<ServeOptions>();
  list.set_footer(kServeFooter);
  list.positional("FILES", options->files, "FILE",
                  "Configurations, schedules' names or links: a link is printed for each")
      .at_least(0);
  list.option("--port", options->port, "N", "Port of 127.0.0.1; 0 takes any that is free; default 8917");
  list.option("--site", options->site, "DIR",
              "Folder of the page, by default the one that is installed or built");
  list.option("--folder", options->folder, "DIR",
              "Serve the files below DIR too, to be read, below a random path");
  return [options]() -> ExitCode { start(*options); };
}

}  // namespace pipeloom::cli::commands
