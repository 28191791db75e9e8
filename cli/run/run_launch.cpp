#include "cli/run/run_launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
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

/// Time that the other processes have after one has failed.
constexpr std::chrono::seconds kGrace{5};

/// Tells a process that --launch local has started it, and by which process.
constexpr const char* kLaunched = "PIPELOOM_LAUNCHED";
/// The descriptor that such a process closes when the ranks have met.
constexpr const char* kMeeting = "PIPELOOM_MEETING";

/// The environment without the variables of launchers, and with this rank's place.
std::vector<std::string> environment_of(int rank, int ranks, std::uint16_t port, int meeting) {
  const std::vector<std::pair<std::string, std::string>> own = {{"RANK", std::to_string(rank)},
                                                                {"WORLD_SIZE", std::to_string(ranks)},
                                                                {"LOCAL_RANK", std::to_string(rank)},
                                                                {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
                                                                {"MASTER_ADDR", "127.0.0.1"},
                                                                {"MASTER_PORT", std::to_string(port)},
                                                                {kLaunched, std::to_string(::getpid())},
                                                                {kMeeting, std::to_string(meeting)}};
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

/// Actions of posix_spawn() in the new process: it inherits one of our descriptors.
class Inherited {
 public:
  explicit Inherited(int descriptor) {
    if (::posix_spawn_file_actions_init(&actions_) != 0 ||
        ::posix_spawn_file_actions_adddup2(&actions_, descriptor, descriptor) != 0)
      throw SystemError("the ranks cannot be started: out of memory");
  }
  ~Inherited() { ::posix_spawn_file_actions_destroy(&actions_); }
  Inherited(const Inherited&) = delete;
  Inherited& operator=(const Inherited&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

pid_t start(int rank, int ranks, std::uint16_t port, int meeting) {
  std::vector<std::string> arguments = own_words("--launch local");
  std::vector<std::string> variables = environment_of(rank, ranks, port, meeting);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  const Inherited inherited(meeting);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", inherited.get(), nullptr, argv.data(), envp.data());
  if (error != 0) throw SystemError(fmt::format("rank {} cannot be started: {}", rank, std::strerror(error)));
  return pid;
}

/// Watches whether the ranks have met: every rank holds one end of a pipe until then. Ranks send no message, and a rank that dies closes its end too.
class MeetingWatch {
 public:
  MeetingWatch() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      throw SystemError(fmt::format("the ranks cannot be started: {}", std::strerror(errno)));
    ours_ = net::Socket(ends[0]);
    theirs_ = net::Socket(ends[1]);
  }
  [[nodiscard]] int for_ranks() const { return theirs_.fd(); }
  /// The ranks have got it.
  void begin() { theirs_ = net::Socket(); }
  [[nodiscard]] bool is_over() const {
    pollfd end{ours_.fd(), 0, 0};
    return ::poll(&end, 1, 0) > 0;
  }

 private:
  net::Socket ours_;
  net::Socket theirs_;
};

/// The processes of a run; those that still live when it goes away are ended.
class Children {
 public:
  Children(int ranks, std::uint16_t port) : children_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank)
      children_[static_cast<std::size_t>(rank)].pid = start(rank, ranks, port, meeting_.for_ranks());
    meeting_.begin();
  }
  /// Stopped first: none of them shall see the others end and tell of that.
  ~Children() {
    signal_all(SIGSTOP);
    signal_all(SIGKILL);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  [[nodiscard]] bool have_met() const { return meeting_.is_over(); }
  void signal_all(int signal) const {
    for (const Child& child : children_)
      if (child.pid > 0) ::kill(child.pid, signal);
  }
  /// Kills stopped processes, which could not end by themselves.
  void kill_stopped() const {
    for (const Child& child : children_)
      if (child.pid > 0 && child.is_stopped) ::kill(child.pid, SIGKILL);
  }
  /// Collects the changes of the children's states since the last call.
  void collect() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;)
      for (Child& child : children_)
        if (child.pid == pid) child.take(status);
  }
  [[nodiscard]] bool any_left() const {
    return std::any_of(children_.begin(), children_.end(), [](const Child& child) { return child.pid > 0; });
  }
  /// Rank 0's if that is not Ok, else the first that is not.
  [[nodiscard]] ExitCode code() const {
    for (const Child& child : children_)
      if (child.code() != ExitCode::Ok) return child.code();
    return ExitCode::Ok;
  }
  /// "rank 2 was ended by signal 9 (Killed)", of the first that was; "" if none was.
  [[nodiscard]] std::string ended_by_signal() const {
    for (std::size_t rank = 0; rank < children_.size(); ++rank)
      if (const Child& child = children_[rank]; child.pid == 0 && WIFSIGNALED(child.status))
        return fmt::format("rank {} was ended by signal {} ({})", rank, WTERMSIG(child.status),
                           ::strsignal(WTERMSIG(child.status)));
    return "";
  }

 private:
  struct Child {
    pid_t pid = 0;  // 0: has ended
    int status = 0;
    bool is_stopped = false;

    void take(int changed) {
      is_stopped = WIFSTOPPED(changed);
      if (is_stopped || WIFCONTINUED(changed)) return;
      status = changed;
      pid = 0;
    }
    [[nodiscard]] ExitCode code() const {
      if (pid > 0) return ExitCode::Ok;
      return WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : ExitCode::DeviceFailed;
    }
  };

  MeetingWatch meeting_;
  std::vector<Child> children_;  // [rank]
};

}  // namespace

void add_launch_options(OptionList& list, LaunchArguments& arguments) {
  list.option("--launch", arguments.launch, "auto|threads|local|env",
              "Ranks are threads, processes started here (local), or processes of a launcher (env: "
              "torchrun, srun, "
              "mpirun); auto: env where one says so, else threads");
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
  const auto launcher = net::variable(kLaunched);
  if (!launcher) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Of a launcher that was gone before, nothing is heard any more.
  if (std::to_string(::getppid()) != *launcher) std::raise(SIGKILL);
}

void tell_launcher_that_all_met() {
  if (!net::variable(kLaunched)) return;
  if (const auto descriptor = net::variable(kMeeting)) ::close(std::stoi(*descriptor));
}

ExitCode launch_locally(int ranks) {
  const Interrupt interrupt;
  Children children(ranks, net::unused_port());
  std::optional<std::chrono::steady_clock::time_point> last;
  for (; children.any_left(); std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    children.collect();
    // In a run rank 0 notices and tells; ranks that still look for each other cannot know of one that never comes.
    if (const std::string death = children.ended_by_signal();
        !death.empty() && !last && !interrupt.flag() && !children.have_met())
      throw SystemError(death + " before the ranks had met; if nobody did that, `dmesg` may tell why");
    const bool is_over = interrupt.flag() || children.code() != ExitCode::Ok;
    if (!is_over) continue;
    if (!last && interrupt.flag()) children.signal_all(children.have_met() ? SIGTERM : SIGKILL);
    if (!last) last = std::chrono::steady_clock::now() + kGrace;
    children.kill_stopped();
    if (std::chrono::steady_clock::now() > *last) children.signal_all(SIGKILL);
  }
  interrupt.end_by_signal();
  return children.code();
}

std::function<void(int, int)> RunProgress::callback() {
  if (!line_.is_on()) return {};
  return [this](int over, int all) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    std::string text = fmt::format("step {} of {}", std::min(over + 1, all), all);
    if (over > 0) text += fmt::format(", {} left", duration_text(passed.count() / over * (all - over)));
    line_.show(text);
  };
}

}  // namespace pipeloom::cli
