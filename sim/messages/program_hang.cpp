#include "sim/messages/program_hang.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/schedule.hpp>
#include "sim/wait_graph.hpp"

namespace pipeloom {
namespace {

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

/// "RECV_F of stage 3 microbatch 1 from rank 1".
std::string action_text(const MessageInfo& message, bool is_send) {
  const int step = message.to.value() - message.from.value();
  const int stage = message.producer.stage().value() + (is_send ? 0 : step);
  return fmt::format("{}_{} of stage {} microbatch {}{} {} rank {}", is_send ? "SEND" : "RECV",
                     message.is_forward() ? 'F' : 'B', stage, message.producer.microbatch().value(),
                     message.producer.is_sliced() ? fmt::format(" slice {}", message.producer.slice()) : "",
                     is_send ? "to" : "from", (is_send ? message.to_rank : message.from_rank).value());
}

std::string wait_text(const WaitNode<NeededMessage>& node, const Program& program) {
  const NeededMessage& needs = node.needs;
  std::string text = fmt::format("rank {} waits in {}", node.rank.value(),
                                 action_text(program.messages()[needs.message], needs.is_send));
  if (needs.behind != kNoMessage) {
    const MessageInfo& first = program.messages()[needs.behind];
    text += fmt::format(" (queued on rank {} behind {})", needs.queue_of.value(),
                        action_text(first, first.from_rank == needs.queue_of));
  }
  if (node.missing) text += fmt::format(", which rank {} never posts", node.on.value());
  return text;
}

}  // namespace

ProgramHang explain_stuck(const Program& program, const MessageFlow& flow,
                          const std::vector<StuckRank>& stuck, std::size_t entries_done) {
  const auto count = static_cast<std::uint32_t>(program.messages().size());
  ProgramHang hang;
  hang.done = entries_done;
  for (const StuckRank& rank : stuck) {
    const std::uint32_t message = rank.waits.message;
    WaitNode<NeededMessage> node;
    node.rank = rank.rank;
    node.at = rank.instruction;
    node.needs.message = message % count;
    node.needs.is_send = rank.waits.is_send;
    // The message that must move first: this one, or the one at the head of a queue that it stands in.
    std::uint32_t first = message;
    Rank own = rank.rank;
    if (flow.is_posted(message, true) && flow.is_posted(message, false)) {
      const auto ahead = flow.ahead_of(message);
      first = ahead.message;
      own = ahead.rank;
      if (first != message) {
        node.needs.behind = first % count;
        node.needs.queue_of = own;
      }
    }
    const MessageInfo& info = program.messages()[first % count];
    const bool lacks_send = info.from_rank != own;
    node.on = lacks_send ? info.from_rank : info.to_rank;
    if (!flow.is_posted(first, lacks_send)) {
      std::size_t from = program.instructions(node.on).size();
      for (const StuckRank& other : stuck)
        if (other.rank == node.on) from = other.instruction;
      node.missing = !posts_later(program, node.on, from, first % count);
    }
    hang.nodes.push_back(node);
  }
  hang.cycle = cycle_of(hang.nodes);
  return hang;
}

std::vector<std::string> wait_lines(const ProgramHang& hang, const Program& program) {
  return wait_lines(hang, [&](const WaitNode<NeededMessage>& node) { return wait_text(node, program); });
}

std::string describe(const ProgramHang& hang, const Program& program) {
  constexpr std::size_t kMostShown = 8;
  const auto lines = wait_lines(hang, program);
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostShown); ++i)
    text += (i == 0 ? "" : i < hang.cycle.size() ? " " : "; ") + lines[i];
  if (lines.size() > kMostShown) text += fmt::format(" ... {} more ranks", lines.size() - kMostShown);
  return text;
}

}  // namespace pipeloom
