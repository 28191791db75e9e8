#include "sim/messages/program_deadlock.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/text.hpp"

namespace pipeloom {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

bool posts_later(const Program& program, Rank rank, std::size_t from, MessageId message) {
  const auto list = program.instructions(rank);
  for (std::size_t at = from; at < list.size(); ++at) {
    if (list[at].code != Program::Code::Post) continue;
    const auto batch = program.batch(list[at].index);
    if (std::any_of(batch.begin(), batch.end(), [&](const Endpoint& end) { return end.message == message; }))
      return true;
  }
  return false;
}

/// Follows each blocked rank to the one it waits for until one comes up twice.
std::vector<std::size_t> cycle_of(const std::vector<BlockedWait>& blocked) {
  const auto next = [&](std::size_t i) {
    if (blocked[i].never_posted) return kNobody;
    for (std::size_t j = 0; j < blocked.size(); ++j)
      if (blocked[j].rank == blocked[i].on) return j;
    return kNobody;
  };
  for (std::size_t start = 0; start < blocked.size(); ++start) {
    std::vector<std::size_t> path;
    for (std::size_t at = start; at != kNobody; at = next(at)) {
      const auto again = std::find(path.begin(), path.end(), at);
      if (again != path.end()) return {again, path.end()};
      path.push_back(at);
    }
  }
  return {};
}

/// "RECV_F of stage 3 microbatch 1 from rank 1".
std::string action_text(const MessageInfo& message, bool is_send) {
  const int step = message.to.value() - message.from.value();
  const int stage = message.producer.stage().value() + (is_send ? 0 : step);
  return fmt::format("{}_{} of stage {} microbatch {}{} {} rank {}", is_send ? "SEND" : "RECV",
                     message.is_forward() ? 'F' : 'B', stage, message.producer.microbatch().value(),
                     message.producer.is_sliced() ? fmt::format(" slice {}", message.producer.slice()) : "",
                     is_send ? "to" : "from", (is_send ? message.to_rank : message.from_rank).value());
}

std::string wait_text(const BlockedWait& blocked, const Program& program) {
  std::string text = fmt::format("rank {} waits in {}", blocked.rank.value(),
                                 action_text(program.messages()[blocked.message], blocked.is_send));
  if (blocked.behind != kNoMessage) {
    const MessageInfo& first = program.messages()[blocked.behind];
    text += fmt::format(" (queued on rank {} behind {})", blocked.queue_of.value(),
                        action_text(first, first.from_rank == blocked.queue_of));
  }
  if (blocked.never_posted) text += fmt::format(", which rank {} never posts", blocked.on.value());
  return text;
}

}  // namespace

ProgramDeadlock explain_stuck(const Program& program, const MessageFlow& flow,
                              const std::vector<StuckRank>& stuck, std::size_t entries_done) {
  const auto count = static_cast<std::uint32_t>(program.messages().size());
  ProgramDeadlock deadlock;
  deadlock.entries_done = entries_done;
  for (const StuckRank& rank : stuck) {
    const std::uint32_t message = rank.waits.message;
    BlockedWait blocked;
    blocked.rank = rank.rank;
    blocked.instruction = rank.instruction;
    blocked.message = message % count;
    blocked.is_send = rank.waits.is_send;
    // The message that must move first: this one, or the one at the head of a queue that it stands in.
    std::uint32_t first = message;
    Rank own = rank.rank;
    if (flow.is_posted(message, true) && flow.is_posted(message, false)) {
      const auto ahead = flow.ahead_of(message);
      first = ahead.message;
      own = ahead.rank;
      if (first != message) {
        blocked.behind = first % count;
        blocked.queue_of = own;
      }
    }
    const MessageInfo& info = program.messages()[first % count];
    const bool lacks_send = info.from_rank != own;
    blocked.on = lacks_send ? info.from_rank : info.to_rank;
    if (!flow.is_posted(first, lacks_send)) {
      std::size_t from = program.instructions(blocked.on).size();
      for (const StuckRank& other : stuck)
        if (other.rank == blocked.on) from = other.instruction;
      blocked.never_posted = !posts_later(program, blocked.on, from, first % count);
    }
    deadlock.blocked.push_back(blocked);
  }
  deadlock.cycle = cycle_of(deadlock.blocked);
  return deadlock;
}

std::vector<std::string> wait_lines(const ProgramDeadlock& deadlock, const Program& program) {
  std::vector<std::size_t> order = deadlock.cycle;
  for (std::size_t i = 0; i < deadlock.blocked.size(); ++i)
    if (std::find(deadlock.cycle.begin(), deadlock.cycle.end(), i) == deadlock.cycle.end())
      order.push_back(i);
  // Without a cycle it all begins at a message that is never posted.
  std::stable_partition(order.begin() + static_cast<std::ptrdiff_t>(deadlock.cycle.size()), order.end(),
                        [&](std::size_t i) { return deadlock.blocked[i].never_posted; });
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool in_cycle = i < deadlock.cycle.size();
    const char* rest = !in_cycle ? "" : i + 1 == deadlock.cycle.size() ? ": the cycle closes" : ", which";
    lines.push_back(wait_text(deadlock.blocked[order[i]], program) + rest);
  }
  return lines;
}

std::string describe(const ProgramDeadlock& deadlock, const Program& program) {
  constexpr std::size_t kMostShown = 8;
  const auto lines = wait_lines(deadlock, program);
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostShown); ++i)
    text += (i == 0 ? "" : i < deadlock.cycle.size() ? " " : "; ") + lines[i];
  if (lines.size() > kMostShown) text += fmt::format(" ... {} more ranks", lines.size() - kMostShown);
  return text;
}

}  // namespace pipeloom
