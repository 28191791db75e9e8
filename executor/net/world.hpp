#pragma once

// The rank of this process and the place of the others, as launchers set them in the environment, and the first meeting of all.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "executor/net/socket.hpp"

namespace pipeloom::executor::net {

/// More than any machine has.
inline constexpr int kMostRanks = 1 << 20;

struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< among the processes of this machine: which GPU to take
  Address master;      ///< rank 0, as every rank may reach it
  /// Called by meet() when all have met; may be empty.
  std::function<void()> met = {};
};

/// Looks up one variable; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
[[nodiscard]] std::optional<std::string> variable(const std::string& name);

/// The first of these whose rank and size are both set; an empty variable is one that is not set:
///
///   launcher          rank                  size                  local rank                  ranks of this machine
///   torchrun, by hand RANK                  WORLD_SIZE            LOCAL_RANK (0)              LOCAL_WORLD_SIZE
///   mpirun (Open MPI) OMPI_COMM_WORLD_RANK  OMPI_COMM_WORLD_SIZE  OMPI_COMM_WORLD_LOCAL_RANK  OMPI_COMM_WORLD_LOCAL_SIZE
///   mpirun (Hydra)    PMI_RANK              PMI_SIZE              MPI_LOCALRANKID (0)         MPI_LOCALNRANKS
///   srun              SLURM_PROCID          SLURM_STEP_NUM_TASKS  SLURM_LOCALID               all, where SLURM_STEP_NUM_NODES is 1
///
/// The master is MASTER_ADDR; else 127.0.0.1 where the ranks of this machine are all ranks; else under srun SLURM_LAUNCH_NODE_IPADDR;
/// else 127.0.0.1 where the launcher does not set how many are on this machine. Its port is MASTER_PORT, else 29500, and the next one where
/// TORCHELASTIC_USE_AGENT_STORE is "True": torchrun's agent then listens at MASTER_PORT itself.
///
/// Returns nullopt if no launcher sets a rank; SLURM_PROCID alone sets none, since Slurm sets it in batch scripts too. Throws InputError
/// naming the variable for a text that is no number, rank >= size, one of rank and size without the other, a port outside 1 to 65535, or
/// ranks on several machines without a master.
[[nodiscard]] std::optional<World> world_of(const Environment& environment);

/// Something that all ranks must agree on: "schedule", "zb-h1, p=4, m=8: 3f7a..". The first that differs is named.
struct Agreement {
  std::string name;
  std::string value;
  friend bool operator==(const Agreement&, const Agreement&) = default;
};

/// All connections of a rank to the others. They do not block.
struct Meeting {
  World world;
  /// [rank] at rank 0, its own not open; at the others only [0] is open.
  std::vector<Socket> control;
  /// [rank] to each peer; those of others and its own are not open.
  std::vector<Socket> data;
};

/// Rank 0 listens at the master's port and the others call it; it checks that each rank comes once, that all have the same
/// size and the same agreements, in the same version of this protocol, and tells each rank where the others listen; then every pair
/// of peers connects, the higher rank calling the lower. A random number made by rank 0 keeps strangers and other runs out. No call
/// returns before rank 0 knows that all pairs are connected. A size of 1 needs no network.
///
/// `peers`: the ranks with which this one exchanges data, in any order. REQUIRES: a is a peer of b where b is one of a.
///
/// Others reach a rank's machine by the address that rank 0 saw; ranks that rank 0 saw at a loopback address are on its own machine,
/// and others reach them, and rank 0, by master.host, whatever that means to each. Data listeners take any free port.
///
/// Throws NetworkError on every rank that is there, before the deadline, naming the rank and the reason: a taken port, ranks that did
/// not come ("rank 2 did not come to node0:29500 within 30 s"), two processes that both claim rank 1, another size, the first agreement
/// that differs ("rank 2 has another schedule: 1f1b, p=4, m=8; rank 0 has zb-h1, p=4, m=8"), ranks that cannot reach each other, a process
/// at the address that is no rank of this run. Rank 0 gives up somewhat earlier than the deadline (a quarter of the time, at most 1 s), so
/// that all have its reason; those that come up to a second later too. A stranger that calls rank 0 is refused; no rank waits for it.
/// Looking up a name takes as long as the system takes.
[[nodiscard]] Meeting meet(const World& world, const std::vector<Agreement>& agreements,
                           const std::vector<int>& peers, Deadline deadline);

}  // namespace pipeloom::executor::net
