// The program `pipeloom-serve`: the server under `pipeloom serve`, which checks the options and starts it. A program of its own, so that pipeloom
// starts without the libraries of an HTTP server.
//
//   pipeloom-serve PORT SITE FOLDER [NAME FRAGMENT]...      FOLDER "" for none; a line for each NAME

#include <fmt/format.h>

#include <charconv>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/console.hpp"
#include "cli/serve/web_server.hpp"
#include "sim/io/json/process.hpp"

namespace pipeloom::cli::serve {
namespace {

/// 128 bits from the system, in hexadecimal.
std::string make_token() {
  std::random_device source;
  std::string out;
  for (int i = 0; i < 4; ++i) out += fmt::format("{:08x}", source());
  return out;
}

void tell(const std::vector<std::string>& words, const Served& served, int port) {
  const std::string address = fmt::format("http://127.0.0.1:{}/", port);
  std::string out = address + '\n';
  for (std::size_t i = 4; i + 1 < words.size(); i += 2)
    out += fmt::format("{}  {}{}\n", words[i], address, words[i + 1]);
  if (!served.folder.empty())
    out += fmt::format("{}  {}#u={}/NAME\n", served.folder.string(), address, served.token);
  print(out);
  say("Ctrl-C ends it.\n");
}

ExitCode run(const std::vector<std::string>& words) {
  Served served;
  if (words.size() < 4) throw InputError("this program is started by `pipeloom serve`; use that");
  std::from_chars(words[1].data(), words[1].data() + words[1].size(), served.port);
  served.site = words[2];
  served.folder = words[3];
  if (!served.folder.empty()) served.token = make_token();
  serve_until_signal(served, [&](int port) { tell(words, served, port); });
  return ExitCode::Ok;
}

ExitCode run_and_tell(const std::vector<std::string>& words) {
  try {
    return run(words);
  } catch (const Error& error) {
    say(error.line() + '\n');
    return error.exit_code();
  } catch (const std::exception& error) {
    say(fmt::format("error: the server failed: {}\n", error.what()));
    return ExitCode::DeviceFailed;
  }
}

}  // namespace
}  // namespace pipeloom::cli::serve

int main(int argc, char** argv) {
  pipeloom::io::prepare_process();
  return static_cast<int>(pipeloom::cli::serve::run_and_tell(std::vector<std::string>(argv, argv + argc)));
}
