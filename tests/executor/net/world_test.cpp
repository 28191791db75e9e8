// Who a process is, by what launchers leave in its environment.

#include "executor/net/world.hpp"

#include <map>
#include <optional>
#include <string>

#include <pipeloom/error.hpp>
#include "support/catch.hpp"

namespace pipeloom::executor::net::world_test {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<World> world_in(const Variables& variables) {
  return world_of([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

/// What world_of() says of variables that it refuses.
std::string refusal_of(const Variables& variables) {
  try {
    (void)world_in(variables);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void check_world(const std::optional<World>& world, int rank, int size, int local_rank,
                 const Address& master) {
  REQUIRE(world);
  CHECK(world->rank == rank);
  CHECK(world->size == size);
  CHECK(world->local_rank == local_rank);
  CHECK(world->master == master);
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "29400"},
                             {"GROUP_RANK", "1"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
const Variables kHydra = {
    {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "3"}, {"MPI_LOCALNRANKS", "4"}};
const Variables kSrun = {{"SLURM_PROCID", "6"},
                         {"SLURM_STEP_NUM_TASKS", "8"},
                         {"SLURM_LOCALID", "2"},
                         {"SLURM_STEP_NUM_NODES", "2"},
                         {"SLURM_LAUNCH_NODE_IPADDR", "10.1.0.3"}};

}  // namespace

TEST_CASE("no launcher, no rank") {
  CHECK_FALSE(world_in({}));
  CHECK_FALSE(world_in({{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "1"}, {"LOCAL_RANK", "0"}}));
  CHECK_FALSE(world_in({{"RANK", ""}, {"WORLD_SIZE", ""}}));
  // A batch script under Slurm is no rank.
  CHECK_FALSE(world_in({{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NTASKS", "16"}}));
}

TEST_CASE("torchrun") {
  check_world(world_in(kTorchrun), 5, 8, 1, {"node0", 29400});
  // Its agent may listen at the port itself.
  check_world(world_in(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})), 5, 8, 1,
              {"node0", 29401});
  check_world(world_in(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})), 5, 8, 1,
              {"node0", 29400});
}

TEST_CASE("by hand on one machine, two words are enough") {
  check_world(world_in({{"RANK", "1"}, {"WORLD_SIZE", "2"}}), 1, 2, 0, {"127.0.0.1", 29500});
  check_world(world_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_PORT", "65535"}}), 0, 1, 0,
              {"127.0.0.1", 65535});
}

TEST_CASE("mpirun of Open MPI, on one machine and on two") {
  check_world(world_in(kOpenMpi), 2, 4, 0, {"127.0.0.1", 29500});
  const Variables two = with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  check_world(world_in(with(two, {{"MASTER_ADDR", "::1"}})), 2, 4, 0, {"::1", 29500});
  CHECK(
      refusal_of(two) ==
      "OMPI_COMM_WORLD_LOCAL_SIZE is 2 and OMPI_COMM_WORLD_SIZE is 4: the ranks are on several machines, and "
      "MASTER_ADDR is not set; set it to the name or address of rank 0's machine, as all others reach it");
}

TEST_CASE("mpirun of MPICH and its kin") {
  check_world(world_in(kHydra), 3, 4, 3, {"127.0.0.1", 29500});
  check_world(world_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), 0, 2, 0, {"127.0.0.1", 29500});
}

TEST_CASE("srun: rank 0 is where srun was called, unless all are on one machine") {
  check_world(world_in(kSrun), 6, 8, 2, {"10.1.0.3", 29500});
  check_world(world_in(with(kSrun, {{"SLURM_STEP_NUM_NODES", "1"}})), 6, 8, 2, {"127.0.0.1", 29500});
  check_world(world_in(with(kSrun, {{"MASTER_ADDR", "node3"}, {"MASTER_PORT", "4000"}})), 6, 8, 2,
              {"node3", 4000});
  CHECK_FALSE(refusal_of(with(kSrun, {{"SLURM_LAUNCH_NODE_IPADDR", ""}})).empty());
}

TEST_CASE("the first launcher that says rank and size counts") {
  Variables all = with(with(kSrun, kHydra), kOpenMpi);
  CHECK(world_in(all)->rank == 2);
  CHECK(world_in(with(all, kTorchrun))->rank == 5);
  // A pod of Kubernetes has one without the other.
  CHECK(world_in(with(all, {{"WORLD_SIZE", "64"}}))->rank == 2);
}

TEST_CASE("half a rank is none") {
  CHECK(refusal_of({{"RANK", "1"}}) ==
        "RANK is set, WORLD_SIZE is not; a rank needs both: start the ranks with torchrun, srun or mpirun, "
        "or set "
        "WORLD_SIZE too, or neither");
  CHECK_THAT(refusal_of({{"WORLD_SIZE", "2"}}),
             Catch::Matchers::StartsWith("WORLD_SIZE is set, RANK is not; "));
  CHECK_THAT(refusal_of({{"PMI_RANK", "2"}}),
             Catch::Matchers::StartsWith("PMI_RANK is set, PMI_SIZE is not; "));
  CHECK_THAT(refusal_of({{"SLURM_STEP_NUM_TASKS", "2"}}),
             Catch::Matchers::StartsWith("SLURM_STEP_NUM_TASKS is set, SLURM_PROCID is not; "));
}

TEST_CASE("a variable that says nonsense is named with what it may say") {
  const std::string rest = "; start the ranks with torchrun, srun or mpirun, or correct it";
  for (const std::string wrong : {"x", "-1", "1.5", " 1", "99999999999", "2x"}) {
    INFO(wrong);
    CHECK(refusal_of(with(kTorchrun, {{"RANK", wrong}})) ==
          "RANK is '" + wrong + "'; allowed are whole numbers from 0 to 1048576" + rest);
    CHECK(refusal_of(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_RANK", wrong}})) ==
          "OMPI_COMM_WORLD_LOCAL_RANK is '" + wrong + "'; allowed are whole numbers from 0 to 1048576" +
              rest);
  }
  CHECK(refusal_of(with(kTorchrun, {{"WORLD_SIZE", "0"}})) ==
        "WORLD_SIZE is '0'; allowed are whole numbers from 1 to 1048576" + rest);
  for (const std::string port : {"0", "65536", "http"})
    CHECK(refusal_of(with(kTorchrun, {{"MASTER_PORT", port}})) ==
          "MASTER_PORT is '" + port + "'; allowed are whole numbers from 1 to 65535" + rest);
  CHECK(refusal_of(with(kTorchrun, {{"MASTER_PORT", "65535"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}})) ==
        "MASTER_PORT is '65535'; allowed are whole numbers from 1 to 65534" + rest);
}

TEST_CASE("a rank beyond the size is refused") {
  CHECK(refusal_of({{"RANK", "4"}, {"WORLD_SIZE", "4"}}) ==
        "RANK is 4 and WORLD_SIZE is 4; allowed are ranks from 0 to 3; correct one of them");
}

TEST_CASE("the environment of this process") {
  CHECK(variable("PATH"));
  CHECK_FALSE(variable("PIPELOOM_NOBODY_SETS_THIS"));
}

}  // namespace pipeloom::executor::net::world_test
