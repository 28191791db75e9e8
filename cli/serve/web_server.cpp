#include "cli/serve/web_server.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <pipeloom/error.hpp>
#include "cli/serve/static_files.hpp"

namespace pipeloom::cli::serve {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kPolicy = "Content-Security-Policy";

// The page runs its own scripts and its own module, and reaches nothing but its own folder.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; font-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";
// A user's file is looked at, and never runs.
constexpr const char* kFilePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

constexpr int kOk = 200;
constexpr int kNotFound = 404;
constexpr int kWrongMethod = 405;
constexpr int kNoRange = 416;
constexpr int kMisdirected = 421;

void answer(Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + '\n', "text/plain; charset=utf-8");
}

void set_policy(Response& response, const char* policy) {
  response.headers.erase(kPolicy);
  response.set_header(kPolicy, policy);
}

void send_file(Response& response, const std::shared_ptr<const OpenFile>& file, std::string_view path) {
  response.status = kOk;
  const std::string type(media_type(path));
  if (file->size() == 0) return response.set_content("", type);
  response.set_content_provider(
      file->size(), type, [file](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        std::array<char, std::size_t{1} << 16> block;
        const std::size_t got = file->read(offset, std::span(block).first(std::min(length, block.size())));
        return got > 0 && sink.write(block.data(), got);
      });
}

class Site {
 public:
  explicit Site(const Served& served) : site_(served.site) {
    if (served.folder.empty()) return;
    folder_.emplace(served.folder);
    prefix_ = '/' + served.token + '/';
  }

  void handle(const Request& request, Response& response) const {
    if (!is_loopback_host(request.get_header_value("Host")))
      return answer(response, kMisdirected,
                    "this server answers on the loopback address alone, under that name");
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      return answer(response, kWrongMethod, "files can be read here, and nothing else");
    }
    if (!request.ranges.empty()) return answer(response, kNoRange, "files are sent whole; ask without Range");
    find(request.path, response);
  }

 private:
  void find(const std::string& path, Response& response) const {
    const bool is_of_folder = folder_ && path.starts_with(prefix_);
    const std::string name = is_of_folder  ? path.substr(prefix_.size())
                             : path == "/" ? "index.html"
                                           : path.substr(1);
    const auto file = is_of_folder ? folder_->open(name) : site_.open(name);
    if (!file) return answer(response, kNotFound, "there is no such file here");
    set_policy(response, is_of_folder ? kFilePolicy : kPagePolicy);
    send_file(response, file, name);
  }

  Folder site_;
  std::optional<Folder> folder_;
  std::string prefix_;
};

/// Only the address may be taken again at once; httplib's own options would let a second server share the port.
void take_address_again(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

void configure(httplib::Server& server, const Site& site) {
  server.set_socket_options(take_address_again);
  server.set_keep_alive_timeout(1);  // seconds: an open connection holds up the end no longer
  server.set_default_headers({{"Cross-Origin-Opener-Policy", "same-origin"},
                              {"Cross-Origin-Embedder-Policy", "require-corp"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {kPolicy, kFilePolicy},
                              {"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cache-Control", "no-cache"}});
  server.set_pre_routing_handler([&site](const Request& request, Response& response) {
    site.handle(request, response);
    return httplib::Server::HandlerResponse::Handled;
  });
}

/// Those that ask programs to end, but for what the parent process ignores (nohup).
sigset_t signals_to_wait_for() {
  sigset_t out;
  sigemptyset(&out);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&out, signal);
  }
  return out;
}

int bind(httplib::Server& server, int port) {
  if (port == 0) return server.bind_to_any_port(kLoopback);
  return server.bind_to_port(kLoopback, port) ? port : -1;
}

}  // namespace

void serve_until_signal(const Served& served, const std::function<void(int port)>& ready) {
  const sigset_t ends = signals_to_wait_for();
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // threads inherit it
  const Site site(served);
  httplib::Server server;
  configure(server, site);
  const int port = bind(server, served.port);
  if (port <= 0)
    throw InputError(Where{"--port"},
                     fmt::format("port {} of {} is in use or may not be taken; give another, or 0 for any "
                                 "that is free",
                                 served.port, kLoopback));
  std::thread listener([&server] { server.listen_after_bind(); });
  ready(port);
  int signal = 0;
  ::sigwait(&ends, &signal);
  server.stop();
  listener.join();
}

}  // namespace pipeloom::cli::serve
