#include "executor/socket_runs.hpp"

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/process/socket_exchange.hpp"
#include "executor/run/rank_threads.hpp"
#include "executor/run/run_outcome.hpp"
#include "executor/socket_mesh.hpp"

namespace pipeloom::executor {
namespace {

class SharedBarrier : public Barrier {
 public:
  explicit SharedBarrier(std::shared_ptr<ThreadBarrier> shared) : shared_(std::move(shared)) {}
  [[nodiscard]] bool arrive_and_wait() override { return shared_->arrive_and_wait(); }
  void stop() override { shared_->stop(); }

 private:
  std::shared_ptr<ThreadBarrier> shared_;
};

/// [rank]; weak, since a state owns the exchange that tells it of a lost connection.
using States = std::vector<std::weak_ptr<RunState>>;

void fail_all(const States& states, const Failure& failure) {
  for (const auto& weak : states)
    if (const auto state = weak.lock()) state->fail(failure);
}

}  // namespace

RunResult run_on_sockets(const Program& program, Work& work, RunOptions options,
                         const SocketRunOptions& sockets) {
  auto mesh = socket_mesh(program.schedule().ranks());
  std::vector<std::vector<int>> fds(mesh.size());
  for (std::size_t r = 0; r < mesh.size(); ++r)
    for (const net::Socket& socket : mesh[r]) fds[r].push_back(socket.fd());
  const std::function<void(Rank, Rank)> cut = [&](Rank a, Rank b) {
    ::shutdown(fds[a.at()][b.at()], SHUT_RDWR);
  };
  if (sockets.before_instruction)
    options.before_instruction = [&](Rank rank, std::size_t at) {
      sockets.before_instruction(rank, at, cut);
    };
  const auto plan = make_plan(program, work, options);
  const auto barrier = std::make_shared<ThreadBarrier>(program.schedule().ranks());
  const auto known = std::make_shared<States>(mesh.size());
  std::deque<net::Loop> loops(mesh.size());
  std::vector<std::shared_ptr<RunState>> states;
  std::vector<SocketExchange*> exchanges;
  for (Rank rank{0}; rank.at() < mesh.size(); ++rank) {
    const auto lost = [known, rank](Rank peer, const std::string& reason) {
      if (const auto state = (*known)[rank.at()].lock())
        state->fail(rank, "lost rank " + std::to_string(peer.value()) + ": " + reason);
    };
    auto exchange = std::make_unique<SocketExchange>(plan, rank, loops[rank.at()], std::move(mesh[rank.at()]),
                                                     lost, sockets.unread_bytes);
    exchanges.push_back(exchange.get());
    states.push_back(std::make_shared<RunState>(plan, work, std::vector<Rank>{rank}, std::move(exchange),
                                                std::make_unique<SharedBarrier>(barrier)));
    states.back()->on_failure([known](const Failure& failure) { fail_all(*known, failure); });
    (*known)[rank.at()] = states.back();
  }
  for (net::Loop& loop : loops) loop.start();
  std::vector<std::thread> processes;
  for (Rank rank{0}; rank.at() < states.size(); ++rank)
    processes.emplace_back([&, rank] { run_threads(states[rank.at()], {rank}); });
  for (std::thread& process : processes) process.join();
  for (SocketExchange* exchange : exchanges) exchange->finish();

  std::vector<RankRecord> records;
  for (Rank rank{0}; rank.at() < states.size(); ++rank) records.push_back(states[rank.at()]->record_of(rank));
  if (const auto failure = states.front()->failure()) throw failure_of(*plan, records, *failure);
  return result_of(*plan, std::move(records));
}

}  // namespace pipeloom::executor
