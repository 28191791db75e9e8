#include "executor/net/world.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"

namespace pipeloom::executor::net {
namespace {

constexpr int kDefaultPort = 29500;

struct Launcher {
  const char* rank;
  const char* size;
  const char* local_rank;
  /// Ranks of this machine, or where `counts_nodes` the machines of the run.
  const char* local;
  bool counts_nodes;
  /// Variable with the host of rank 0, used if MASTER_ADDR is not set; null: there is none.
  const char* master;
  /// The rank is also set where nothing was launched: in batch scripts.
  bool rank_alone;
};

constexpr std::array<Launcher, 4> kLaunchers = {{
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", false, nullptr, false},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", false, nullptr, false},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", false, nullptr, false},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_NUM_NODES", true,
     "SLURM_LAUNCH_NODE_IPADDR", true},
}};

/// Variables of the environment of one process. An empty variable counts as not set.
class Settings {
 public:
  explicit Settings(const Environment& environment) : environment_(environment) {}

  [[nodiscard]] std::optional<std::string> text(const std::string& name) const {
    std::optional<std::string> value = environment_(name);
    if (value && value->empty()) value.reset();
    return value;
  }

  [[nodiscard]] std::optional<int> number(const std::string& name, int least, int most) const {
    const std::optional<std::string> value = text(name);
    if (!value) return std::nullopt;
    int number = 0;
    const char* end = value->data() + value->size();
    const auto [last, error] = std::from_chars(value->data(), end, number);
    if (error != std::errc() || last != end || number < least || number > most)
      throw InputError(name + " is '" + shortened(*value, 80) + "'; allowed are whole numbers from " +
                       std::to_string(least) + " to " + std::to_string(most) +
                       "; start the ranks with torchrun, srun or mpirun, or correct it");
    return number;
  }

 private:
  const Environment& environment_;
};

/// The launcher that sets rank and size. Throws InputError if none does and one sets only one of them.
const Launcher* launcher_of(const Settings& settings) {
  for (const Launcher& one : kLaunchers)
    if (settings.text(one.rank) && settings.text(one.size)) return &one;
  for (const Launcher& one : kLaunchers) {
    const bool has_rank = settings.text(one.rank).has_value();
    if (has_rank == settings.text(one.size).has_value() || (has_rank && one.rank_alone)) continue;
    const std::string set = has_rank ? one.rank : one.size;
    const std::string unset = has_rank ? one.size : one.rank;
    throw InputError(set + " is set, " + unset +
                     " is not; a rank needs both: start the ranks with torchrun, srun or mpirun, or set " +
                     unset + " too, or neither");
  }
  return nullptr;
}

/// Throws InputError if no variable says on which of several machines rank 0 is.
std::string master_host(const Settings& settings, const Launcher& launcher, int size) {
  if (const auto host = settings.text("MASTER_ADDR")) return *host;
  const int all_here = launcher.counts_nodes ? 1 : size;
  const std::optional<int> local = settings.number(launcher.local, 1, kMostRanks);
  // A launcher that counts machines has counted them: its own address need not be rank 0's.
  if (local && *local == all_here) return "127.0.0.1";
  if (launcher.master != nullptr)
    if (const auto host = settings.text(launcher.master)) return *host;
  if (!local) return "127.0.0.1";
  throw InputError(std::string(launcher.local) + " is " + std::to_string(*local) + " and " + launcher.size +
                   " is " + std::to_string(size) +
                   ": the ranks are on several machines, and MASTER_ADDR is not set; set it to the name or "
                   "address of rank 0's machine, as all others reach it");
}

std::uint16_t master_port(const Settings& settings) {
  constexpr int kMost = std::numeric_limits<std::uint16_t>::max();
  // torchrun itself listens at the port that it announces.
  const bool next = settings.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  const int port = settings.number("MASTER_PORT", 1, next ? kMost - 1 : kMost).value_or(kDefaultPort);
  return static_cast<std::uint16_t>(next ? port + 1 : port);
}

}  // namespace

std::optional<std::string> variable(const std::string& name) {
  // No code here changes the environment while threads run.
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<World> world_of(const Environment& environment) {
  const Settings settings(environment);
  const Launcher* launcher = launcher_of(settings);
  if (launcher == nullptr) return std::nullopt;
  World world;
  world.size = *settings.number(launcher->size, 1, kMostRanks);
  world.rank = *settings.number(launcher->rank, 0, kMostRanks);
  if (world.rank >= world.size)
    throw InputError(std::string(launcher->rank) + " is " + std::to_string(world.rank) + " and " +
                     launcher->size + " is " + std::to_string(world.size) + "; allowed are ranks from 0 to " +
                     std::to_string(world.size - 1) + "; correct one of them");
  world.local_rank = settings.number(launcher->local_rank, 0, kMostRanks).value_or(0);
  world.master = {master_host(settings, *launcher, world.size), master_port(settings)};
  return world;
}

}  // namespace pipeloom::executor::net
