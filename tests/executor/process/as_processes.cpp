#include "executor/process/as_processes.hpp"

#include <cstdint>
#include <thread>

#include "executor/net/socket.hpp"

namespace pipeloom::executor {
namespace {

Outcome run_one(const ProcessSetup& setup, Work& work, Rank rank, std::uint16_t port) {
  Outcome out;
  const net::World world{.rank = rank.value(),
                         .size = setup.world_size,
                         .local_rank = rank.value(),
                         .master = {"127.0.0.1", port}};
  try {
    out.result = setup.run ? setup.run(setup, world)
                           : run_as_process(setup.program, work, setup.options, world, setup.agreements);
  } catch (const RunFailed& failure) {
    out.error = failure.what();
    out.is_run_failed = true;
    out.last_actions = failure.last_actions();
    out.partial = failure.partial();
    if (const auto* elsewhere = dynamic_cast<const ProcessFailed*>(&failure))
      out.is_told = elsewhere->is_told();
  } catch (const std::exception& error) {
    out.error = error.what();
  }
  return out;
}

}  // namespace

std::vector<Outcome> run_as_processes(const Program& program, Work& work, const RunOptions& options,
                                      const std::function<void(Rank, ProcessSetup&)>& change) {
  const int ranks = program.schedule().ranks();
  const std::uint16_t port = net::unused_port();
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank rank{0}; rank < Rank(ranks); ++rank)
    threads.emplace_back([&, rank] {
      ProcessSetup setup{program, options, {{"work", "the test's"}}, ranks};
      change(rank, setup);
      outcomes[rank.at()] = run_one(setup, work, rank, port);
    });
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

}  // namespace pipeloom::executor
