#include "executor/process/process_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "executor/process/crew.hpp"
#include "executor/process/letters.hpp"
#include "executor/process/socket_exchange.hpp"
#include "executor/run/rank_threads.hpp"
#include "executor/run/run_outcome.hpp"
#include "executor/run/run_plan.hpp"

namespace pipeloom::executor {
namespace {

using std::chrono::milliseconds;

/// Round trips to compare clocks: the shortest of this many is hardly ever a disturbed one.
constexpr int kRoundTrips = 50;
/// Time that ranks have after a failure to send their records.
constexpr milliseconds kPatience{2000};

milliseconds timeout_of(const RunOptions& options) {
  return milliseconds(static_cast<milliseconds::rep>(std::max(1.0, 1000 * options.timeout_seconds)));
}

std::string digest_of(const Program& program) {
  std::uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a
  for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank)
    for (const char letter : program_text(program, rank) + "|")
      sum = (sum ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return fmt::format("{:016x}", sum);
}

std::vector<net::Agreement> all_agreements(const RunPlan& plan, std::vector<net::Agreement> agreements) {
  const RunOptions& options = plan.options;
  agreements.push_back({"program", digest_of(plan.program)});
  agreements.push_back(
      {"run", fmt::format("{} warm-up and {} timed steps, timeout {} s, queue {}, groups {}, {}, {}",
                          options.warmup_steps, options.steps, options.timeout_seconds,
                          static_cast<int>(options.queue), static_cast<int>(options.groups),
                          options.checksums ? "checksums" : "no checksums",
                          options.handshake ? "handshake" : "no handshake")});
  return agreements;
}

/// Ranks on CPUs, tensors over sockets.
class SocketEngine : public ProcessEngine {
 public:
  [[nodiscard]] std::vector<int> peers(const RunPlan& plan, Rank own) const override {
    return ranks_to_exchange_with(plan, own);
  }
  [[nodiscard]] std::unique_ptr<Exchange> make_exchange(
      std::shared_ptr<const RunPlan> plan, Rank own, net::Loop& loop, std::vector<net::Socket> data,
      std::function<void(Rank, const std::string&)> lost) override {
    auto exchange =
        std::make_unique<SocketExchange>(std::move(plan), own, loop, std::move(data), std::move(lost));
    exchange_ = exchange.get();
    return exchange;
  }
  [[nodiscard]] bool connect(Crew& /*crew*/, RunState& /*state*/) override { return true; }
  void run(RunState& state, Rank rank) override { run_rank(state, rank); }
  void finish() override { exchange_->finish(); }

 private:
  SocketExchange* exchange_ = nullptr;
};

/// Everything that one process of a run consists of. Shared with its rank's thread, which may outlive the run after a failure.
class Process {
 public:
  Process(const std::shared_ptr<const RunPlan>& plan, Work& work, net::Meeting meeting,
          std::shared_ptr<ProcessEngine> engine)
      : engine_(std::move(engine)),
        loop_(std::make_unique<net::Loop>()),
        crew_(*loop_, meeting.world, std::move(meeting.control), plan->clock, timeout_of(plan->options)),
        state_(plan, work, {crew_.rank()}, make_exchange(plan, std::move(meeting.data)),
               std::make_unique<CrewBarrier>(crew_)) {
    state_.knows_all(crew_.is_coordinator());
    crew_.attach(state_);
    loop_->start();
  }
  /// First the thread that uses all the rest.
  ~Process() { loop_.reset(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] Crew& crew() { return crew_; }
  [[nodiscard]] RunState& state() { return state_; }
  [[nodiscard]] ProcessEngine& engine() { return *engine_; }

 private:
  std::unique_ptr<Exchange> make_exchange(const std::shared_ptr<const RunPlan>& plan,
                                          std::vector<net::Socket> data) {
    return engine_->make_exchange(
        plan, crew_.rank(), *loop_, std::move(data),
        [this](Rank rank, const std::string& why) { crew_.complain(rank, "its process ended: " + why); });
  }

  std::shared_ptr<ProcessEngine> engine_;
  std::unique_ptr<net::Loop> loop_;
  Crew crew_;
  RunState state_;
};

net::Bytes clock_bytes(const ClockOffset& clock) {
  net::Writer out;
  out.i64(clock.offset).i64(clock.error).i64(clock.at);
  return std::move(out).take();
}

ClockOffset clock_from(const net::Bytes& bytes) {
  net::Reader in(bytes);
  ClockOffset clock;
  clock.offset = in.i64();
  clock.error = in.i64();
  clock.at = in.i64();
  in.end();
  return clock;
}

/// Returns how far the coordinator's clock is ahead; nullopt if the run has failed.
std::optional<ClockOffset> compare_clocks(Process& process) {
  Crew& crew = process.crew();
  const RunClock& clock = process.state().clock();
  const auto coordinators = crew.broadcast(identity_of(clock));
  if (!coordinators) return {};
  const auto exact = same_machine_offset(clock, *coordinators);
  const auto measured = crew.align(exact ? 0 : kRoundTrips);  // all together, also ranks that measure nothing
  return exact && measured ? exact : measured;
}

/// The rank's record on the coordinator's clock.
RankRecord aligned_record(Process& process, const ClockOffset& before, const ClockOffset& after) {
  RankRecord record = process.state().record_of(process.crew().rank());
  change_clock(record, [&](Ticks time) { return time + offset_at(before, after, time); });
  return record;
}

/// [rank]; times and messages of all are rank 0's.
std::vector<RankRecord> records_from(const std::vector<net::Bytes>& all, const RunPlan& plan) {
  std::vector<RankRecord> records(all.size());
  for (Rank rank{0}; rank.at() < all.size(); ++rank) {
    if (all[rank.at()].empty()) continue;
    records[rank.at()] = record_from(all[rank.at()], plan, rank);
    if (rank != Rank(0)) move_times(records[rank.at()], records.front());
  }
  return records;
}

/// Puts together the records that are left of the run, then throws.
[[noreturn]] void fail(Process& process, const ClockOffset& before) {
  const RunPlan& plan = process.state().plan();
  const Rank rank = process.crew().rank();
  RankRecord own = aligned_record(process, before, before);
  const auto all = process.crew().say_goodbye(to_bytes(own, plan, rank), kPatience);
  const Failure failure = process.state().failure().value();
  if (process.crew().is_coordinator()) throw failure_of(plan, records_from(all, plan), failure);
  throw ProcessFailed(failure_of(plan, {std::move(own)}, failure), process.crew().is_told());
}

/// Ends the run at every rank when the last step is over. Returns nullopt if the run has failed.
std::optional<ProcessResult> conclude(Process& process, const ClockOffset& before) {
  Crew& crew = process.crew();
  const RunPlan& plan = process.state().plan();
  const auto after = compare_clocks(process);
  if (!after) return {};
  process.engine().finish();
  const RankRecord own = aligned_record(process, before, *after);
  const auto clocks = crew.gather(clock_bytes(*after));
  if (!clocks || !crew.barrier()) return {};  // one share after the other
  const auto records = crew.gather(to_bytes(own, plan, crew.rank()));
  if (!records || !crew.part()) return {};
  ProcessResult result;
  if (!crew.is_coordinator()) return result;
  result.all = result_of(plan, records_from(*records, plan));
  for (const net::Bytes& clock : *clocks) result.clocks.push_back(clock_from(clock));
  return result;
}

}  // namespace

ProcessResult run_as_process(const Program& program, Work& work, const RunOptions& options,
                             const net::World& world, const std::vector<net::Agreement>& agreements) {
  return run_as_process(program, work, options, world, agreements, std::make_shared<SocketEngine>());
}

ProcessResult run_as_process(const Program& program, Work& work, const RunOptions& options,
                             const net::World& world, const std::vector<net::Agreement>& agreements,
                             std::shared_ptr<ProcessEngine> engine) {
  const auto plan = make_plan(program, work, options);
  if (world.size != program.schedule().ranks())
    throw InputError(Where{"WORLD_SIZE"},
                     fmt::format("found {} processes; the schedule has {} ranks: start as many", world.size,
                                 program.schedule().ranks()));
  net::Meeting meeting =
      net::meet(world, all_agreements(*plan, agreements), engine->peers(*plan, Rank(world.rank)),
                std::chrono::steady_clock::now() + timeout_of(options));
  const auto process = std::make_shared<Process>(plan, work, std::move(meeting), std::move(engine));
  const auto before = compare_clocks(*process);
  if (!before) fail(*process, {});
  if (!process->engine().connect(process->crew(), process->state())) fail(*process, *before);
  run_threads({process, &process->state()}, {process->crew().rank()},
              [&engine = process->engine()](RunState& state, Rank rank) { engine.run(state, rank); });
  if (process->state().failure()) fail(*process, *before);
  auto result = conclude(*process, *before);
  if (!result) fail(*process, *before);
  return *std::move(result);
}

}  // namespace pipeloom::executor
