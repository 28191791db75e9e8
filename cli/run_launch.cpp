#include "cli/run_launch.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/sibling.hpp"

extern char** environ;

namespace pipeloom::cli {
namespace {

namespace net = executor::net;

/// How long processes have after one has failed.
constexpr std::chrono::seconds kGrace{5};

/// Tells a process that --launch local has started it.
constexpr const char* kLaunched = "PIPELOOM_LAUNCHED";

/// The environment without what launchers set, and with this rank's place.
std::vector<std::string> environment_of(int rank, int ranks, std::uint16_t port) {
  const std::vector<std::pair<std::string, std::string>> own = {{"RANK", std::to_string(rank)},
                                                                {"WORLD_SIZE", std::to_string(ranks)},
                                                                {"LOCAL_RANK", std::to_string(rank)},
                                                                {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
                                                                {"MASTER_ADDR", "127.0.0.1"},
                                                                {"MASTER_PORT", std::to_string(port)},
                                                                {kLaunched, "1"}};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    bool is_ours = false;
    for (const auto& [name, value] : own) is_ours = is_ours || text.starts_with(name + "=");
    if (!is_ours) variables.emplace_back(text);
  }
  for (const auto& [name, value] : own) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

pid_t start(int rank, int ranks, std::uint16_t port) {
  std::vector<std::string> arguments = own_words("--launch local");
  std::vector<std::string> variables = environment_of(rank, ranks, port);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), envp.data());
  if (error != 0) throw SystemError(fmt::format("rank {} cannot be started: {}", rank, std::strerror(error)));
  return pid;
}

/// The processes of a run; those that still live when it goes away are ended.
class Children {
 public:
  Children(int ranks, std::uint16_t port) {
    for (int rank = 0; rank < ranks; ++rank) pids_.push_back(start(rank, ranks, port));
    statuses_.resize(pids_.size());
  }
  ~Children() { signal_all(SIGKILL); }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  void signal_all(int signal) const {
    for (const pid_t pid : pids_)
      if (pid > 0) ::kill(pid, signal);
  }
  /// Those that have ended since the last time.
  void collect() {
    for (std::size_t rank = 0; rank < pids_.size(); ++rank)
      if (pids_[rank] > 0 && ::waitpid(pids_[rank], &statuses_[rank], WNOHANG) == pids_[rank])
        pids_[rank] = 0;
  }
  [[nodiscard]] bool any_left() const {
    for (const pid_t pid : pids_)
      if (pid > 0) return true;
    return false;
  }
  [[nodiscard]] ExitCode code_of(std::size_t rank) const {
    if (pids_[rank] > 0) return ExitCode::Ok;
    return WIFEXITED(statuses_[rank]) ? static_cast<ExitCode>(WEXITSTATUS(statuses_[rank]))
                                      : ExitCode::DeviceFailed;
  }
  /// Rank 0's if that is not Ok, else the first that is not.
  [[nodiscard]] ExitCode code() const {
    for (std::size_t rank = 0; rank < pids_.size(); ++rank)
      if (code_of(rank) != ExitCode::Ok) return code_of(rank);
    return ExitCode::Ok;
  }

 private:
  std::vector<pid_t> pids_;  // 0: has ended
  std::vector<int> statuses_;
};

}  // namespace

void add_launch_options(CLI::App& app, LaunchArguments& arguments) {
  app.add_option("--launch", arguments.launch,
                 "Ranks are threads, processes started here (local), or processes of a launcher (env: "
                 "torchrun, srun, "
                 "mpirun); auto: env where one says so, else threads")
      ->type_name("auto|threads|local|env");
}

Launch launch_of(const LaunchArguments& arguments, const net::Environment& environment) {
  require_choice("--launch", arguments.launch, {"auto", "threads", "local", "env"});
  if (arguments.launch == "threads") return {};
  const bool is_child = environment(kLaunched).has_value();
  if (arguments.launch == "local" && !is_child) return {.where = Launch::Where::Local, .world = {}};
  auto world = net::world_of(environment);
  if (arguments.launch == "auto" && !(world && world->size > 1)) return {};
  if (!world)
    throw InputError(Where{"--launch"},
                     "env needs RANK, WORLD_SIZE and MASTER_ADDR, as torchrun sets them, or srun's or "
                     "mpirun's; or use local");
  return {.where = Launch::Where::Elsewhere, .world = std::move(world)};
}

void end_with_launcher() {
  if (net::variable(kLaunched)) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

ExitCode launch_locally(int ranks) {
  const Interrupt interrupt;
  Children children(ranks, net::unused_port());
  std::optional<std::chrono::steady_clock::time_point> last;
  for (; children.any_left(); std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    children.collect();
    const bool is_over = interrupt.flag() || children.code() != ExitCode::Ok;
    if (!is_over) continue;
    if (!last && interrupt.flag()) children.signal_all(SIGTERM);
    if (!last) last = std::chrono::steady_clock::now() + kGrace;
    if (std::chrono::steady_clock::now() > *last) children.signal_all(SIGKILL);
  }
  interrupt.end_by_signal();
  return children.code();
}

}  // namespace pipeloom::cli
