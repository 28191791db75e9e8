#pragma once

// Which rank this process is and where the others are, as launchers say it in the environment, and the first meeting of all.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/net/socket.hpp"

namespace pipeloom::executor::net {

struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< among the processes of this machine: which GPU to take
  Address master;      ///< rank 0, as every rank may reach it
};

/// Looks up one variable; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
[[nodiscard]] std::optional<std::string> variable(const std::string& name);

/// The first of these whose rank and size are both set:
///
///   launcher          rank                  size                  local rank
///   torchrun, by hand RANK                  WORLD_SIZE            LOCAL_RANK (0)
///   mpirun (Open MPI) OMPI_COMM_WORLD_RANK  OMPI_COMM_WORLD_SIZE  OMPI_COMM_WORLD_LOCAL_RANK
///   mpirun (Hydra)    PMI_RANK              PMI_SIZE              MPI_LOCALRANKID (0)
///   srun              SLURM_PROCID          SLURM_STEP_NUM_TASKS  SLURM_LOCALID
///
/// The master is MASTER_ADDR, else under srun SLURM_LAUNCH_NODE_IPADDR, else 127.0.0.1 where all ranks are local (LOCAL_WORLD_SIZE or
/// OMPI_COMM_WORLD_LOCAL_SIZE equals the size, or neither is set); its port MASTER_PORT, else 29500.
///
/// Nothing if no launcher says a rank. Throws InputError naming the variable for what is no number, rank >= size, one of rank and
/// size without the other, a port outside 1 to 65535, or ranks on several machines without MASTER_ADDR.
[[nodiscard]] std::optional<World> world_of(const Environment& environment);

/// Something that all ranks must agree on: "schedule", "zb-h1, p=4, m=8: 3f7a..". The first that differs is named.
struct Agreement {
  std::string name;
  std::string value;
  friend bool operator==(const Agreement&, const Agreement&) = default;
};

/// All connections of a rank to the others.
struct Meeting {
  World world;
  /// To rank 0; at rank 0 [rank], its own not open.
  std::vector<Socket> control;
  /// [rank] to each one, its own not open.
  std::vector<Socket> data;
};

/// Rank 0 listens at the master's port and the others call it; it checks that each rank comes once, that all have the same
/// size and the same agreements, in the same version of this protocol, and tells everybody where the others listen; then every pair
/// connects, the higher rank calling the lower. A random number made by rank 0 keeps strangers and other runs out.
///
/// Throws NetworkError on every rank that is there, before the deadline, naming the rank and the reason: a taken port, ranks that did
/// not come ("rank 2 did not come to node0:29500 within 30 s"), two processes that both say they are rank 1, another size, the first agreement
/// that differs ("rank 2 has another schedule: 1f1b, p=4, m=8; rank 0 has zb-h1, p=4, m=8"), somebody at the address who is
/// no rank of this run. A stranger who calls rank 0 is sent away and waited no longer for than a second.
[[nodiscard]] Meeting meet(const World& world, const std::vector<Agreement>& agreements, Deadline deadline);

}  // namespace pipeloom::executor::net
