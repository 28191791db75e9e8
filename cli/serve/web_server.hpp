#pragma once

// An HTTP server of files on the loopback address, until a signal asks the program to end.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace pipeloom::cli::serve {

struct Served {
  std::filesystem::path site;    ///< the page and its parts, below "/"
  std::filesystem::path folder;  ///< below "/TOKEN/"; "" for none
  std::string token;             ///< a text that cannot be guessed; "" without a folder
  int port = 0;                  ///< 0: any that is free
};

/// Calls `ready` with the port as soon as requests are taken, and returns after SIGINT, SIGTERM or SIGHUP. REQUIRES: no thread was started, so
/// that none gets the signals in place of this one. Throws InputError if the port is in use or may not be taken.
void serve_until_signal(const Served& served, const std::function<void(int port)>& ready);

}  // namespace pipeloom::cli::serve
