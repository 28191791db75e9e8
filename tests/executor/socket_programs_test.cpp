// Every schedule between ranks that share nothing but sockets: order, gradients, times, faults.

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "executor/layers/gradient_check.hpp"
#include "executor/process/socket_exchange.hpp"
#include "executor/run/busy_work.hpp"
#include "executor/runs.hpp"
#include "executor/small_layers.hpp"
#include "executor/socket_runs.hpp"
#include "schedules/flavours.hpp"
#include "sim/messages/message_plans.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::socket_programs_test {
namespace {

constexpr std::array kQueues = {QueueDiscipline::PerPair, QueueDiscipline::PerRank,
                                QueueDiscipline::PerDirection, QueueDiscipline::None};

RunOptions delayed(QueueDiscipline queue, bool handshake) {
  RunOptions options{.warmup_steps = 0, .steps = 2};
  options.queue = queue;
  options.handshake = handshake;
  options.checksums = true;
  options.timeout_seconds = 20;
  options.before_instruction = random_delays(5, 40);
  return options;
}

/// The first message whose times are in an impossible order; "" if none is.
std::string acausal(const RunResult& run, bool handshake) {
  for (std::size_t i = 0; i < run.messages.size(); ++i) {
    const MeasuredMessage& message = run.messages[i];
    const bool is_right = message.sent <= message.started && message.started <= message.done &&
                          (!handshake || message.received <= message.started);
    if (!is_right) return "message " + std::to_string(i);
  }
  return "";
}

/// False: the simulator already says that it hangs with this queue.
bool runs_rightly(const Program& program, const RunOptions& options, std::size_t unread_bytes) {
  Layers layers(small(Arithmetic::Integer));
  try {
    const RunResult run = run_on_sockets(program, layers, options, {.unread_bytes = unread_bytes});
    CHECK(disorder(run.timeline) == "");
    CHECK(acausal(run, options.handshake) == "");
    CHECK(first_mismatch(reference_of(small(Arithmetic::Integer), sizes_of(program.schedule())),
                         collect_gradients(program.schedule(), run.gradients)) == "");
    return true;
  } catch (const ScheduleError&) {
    return false;
  }
}

/// Runs what must fail.
std::string failure_of(const Program& program, const RunOptions& options, const SocketRunOptions& sockets) {
  BusyWork work(uniform_costs(program.schedule().placement(), {.forward = 0,
                                                               .backward = 0,
                                                               .backward_input = 0,
                                                               .backward_weight = 0,
                                                               .unit = TimeUnit::Millisecond}),
                {.message_elements = 4});
  try {
    static_cast<void>(run_on_sockets(program, work, options, sockets));
  } catch (const RunFailed& failure) {
    return failure.what();
  }
  return "the run did not fail";
}

}  // namespace

TEST_CASE("ranks exchange with their neighbours and with who holds the same stages, and both know it") {
  const auto peers = [](const Program& program, int rank) {
    BusyWork work(uniform_costs(program.schedule().placement(), {.forward = 1, .backward = 1}), {});
    return ranks_to_exchange_with(*make_plan(program, work, {}), Rank(rank));
  };
  using Ranks = std::vector<int>;
  const Program chain = async_program("1f1b", 8, 8);
  CHECK(peers(chain, 0) == Ranks{1});
  CHECK(peers(chain, 3) == Ranks{2, 4});
  // The last stage of rank 7's first chunk sends to rank 0's second.
  const Program ring = async_program("interleaved-1f1b", 8, 8, 2);
  CHECK(peers(ring, 0) == Ranks{1, 7});
  // Rank r has stages r and 7-r, and so does rank 7-r.
  const Program both_ways = async_program("dualpipe", 8, 16);
  for (int rank = 0; rank < 8; ++rank) {
    const Ranks found = peers(both_ways, rank);
    CHECK(std::count(found.begin(), found.end(), 7 - rank) == 1);
    CHECK(found.size() <= 3);
    for (const int other : found) {
      const Ranks back = peers(both_ways, other);
      CHECK(std::count(back.begin(), back.end(), rank) == 1);
    }
  }
}

TEST_CASE("sockets: every schedule on 2 and 4 ranks, under every queue, with and without handshake") {
  const int p = GENERATE(2, 4);
  int turn = 0;
  int runs = 0;
  for (const schedules::Generator& generator : schedules::runnable())
    for (const auto& params : schedules::small_flavours(generator, p, {p, 2 * p + 2})) {
      const Program program = async_program(generator, params);
      // Two of the eight ways for each, others for the next.
      for (const int way : {turn, turn + 3}) {
        const QueueDiscipline queue = kQueues.at(static_cast<std::size_t>(way % 4));
        const bool handshake = way / 4 % 2 == 0;
        INFO(schedules::describe(generator, params)
             << ", queue " << static_cast<int>(queue) << ", handshake " << handshake);
        runs += runs_rightly(program, delayed(queue, handshake), 100) ? 1 : 0;
      }
      ++turn;
    }
  CHECK(runs >= 40);
}

TEST_CASE("sockets: blocking programs run") {
  const bool handshake = GENERATE(true, false);
  for (const char* name : {"1f1b", "interleaved-1f1b", "zbv", "dualpipe", "gpipe"})
    for (const QueueDiscipline queue : kQueues) {
      INFO(name << ", queue " << static_cast<int>(queue));
      const auto schedule =
          async_program(name, 4, 8, schedules::find(name).generator->requirements.min_chunks)
              .shared_schedule();
      CHECK(runs_rightly(step_blocking(schedule), delayed(queue, handshake), 1));
    }
}

TEST_CASE("sockets: a tensor that is damaged ends the run where it arrives") {
  const Program program = async_program("zb-h1", 4, 8);
  RunOptions options = delayed(QueueDiscipline::PerPair, GENERATE(true, false));
  options.in_transit = [&](MessageId message, int step, Payload& payload) {
    if (step == 1 && program.messages()[message].producer == forward(Stage(2), Microbatch(3)))
      payload.values[3] = -1;
  };
  const std::string what = failure_of(program, options, {});
  INFO(what);
  CHECK(what.find("rank 3 failed in step 1 at ") == 0);
  CHECK(what.find("the output of 2F3 from rank 2 in step 1 was damaged on its way") != std::string::npos);
}

TEST_CASE("sockets: a connection that is cut ends the run, wherever it happens") {
  const Program program = async_program("dualpipe", 2, 4);
  for (Rank rank{0}; rank < Rank(2); ++rank)
    for (std::size_t at = 0; at < program.instructions(rank).size(); at += 3) {
      SocketRunOptions sockets;
      sockets.before_instruction = [&](Rank r, std::size_t i, const auto& cut) {
        if (r == rank && i == at) cut(Rank(0), Rank(1));
      };
      const std::string what = failure_of(program, {.warmup_steps = 0, .steps = 2}, sockets);
      INFO(what);
      CHECK(what.find(": lost rank ") != std::string::npos);
    }
}

TEST_CASE("sockets: a rank that throws ends the run of all") {
  const Program program = async_program("1f1b", 4, 4);
  SocketRunOptions sockets;
  sockets.before_instruction = [](Rank rank, std::size_t at, const auto&) {
    if (rank == Rank(2) && at == 5) throw std::runtime_error("out of memory");
  };
  const std::string what = failure_of(program, {.warmup_steps = 0, .steps = 1}, sockets);
  INFO(what);
  CHECK(what.find("rank 2 failed in step 0 at ") == 0);
  CHECK(what.find(": out of memory") != std::string::npos);
}

}  // namespace pipeloom::executor::socket_programs_test
