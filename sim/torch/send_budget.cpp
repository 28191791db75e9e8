#include "sim/torch/send_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/torch/lowering.hpp"

namespace pipeloom::torch {
namespace {

/// A cell that is no wait for a send, counted over all rows.
using Node = std::uint32_t;
constexpr Node kNone = ~Node{0};

/// The order of cells: those of a row one after another, a receive after its send, and the cells after a wait
/// after the receive that is waited for. Waits themselves are no nodes, since they move.
class Precedence {
 public:
  void add_node(bool ends_row) {
    ends_row_.push_back(ends_row ? 1 : 0);
    receive_of_.push_back(kNone);
    waiting_for_.push_back(kNone);
  }
  void end_row() {
    if (!ends_row_.empty()) ends_row_.back() = 1;
  }
  [[nodiscard]] Node size() const { return static_cast<Node>(ends_row_.size()); }

  void set_receive(Node send, Node receive) { receive_of_[send] = receive; }
  [[nodiscard]] Node receive_of(Node send) const { return receive_of_[send]; }
  /// Sets the first cell after the wait for the send of `receive`; kNone at the end of a row.
  void set_waiting(Node receive, Node blocker) { waiting_for_[receive] = blocker; }

  /// Puts all nodes into an order that respects every edge; false if there is none.
  bool number() {
    std::vector<std::uint32_t> left(size(), 0);
    for (Node node = 0; node < size(); ++node) for_each_successor(node, [&](Node next) { ++left[next]; });
    std::vector<Node> ready;
    ready.reserve(size());
    for (Node node = 0; node < size(); ++node)
      if (left[node] == 0) ready.push_back(node);
    number_.assign(size(), 0);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      number_[ready[i]] = static_cast<std::uint32_t>(i);
      for_each_successor(ready[i], [&](Node next) {
        if (--left[next] == 0) ready.push_back(next);
      });
    }
    seen_.assign(size(), 0);
    return ready.size() == size();
  }
  [[nodiscard]] bool is_numbered_before(Node a, Node b) const { return number_[a] < number_[b]; }

  /// True if `from` is done before `to` whatever the ranks' speeds. Looks only at the cells numbered between them.
  [[nodiscard]] bool leads(Node from, Node to) {
    if (!is_numbered_before(from, to)) return from == to;
    ++stamp_;
    open_.assign(1, from);
    bool found = false;
    while (!open_.empty() && !found) {
      const Node node = open_.back();
      open_.pop_back();
      for_each_successor(node, [&](Node next) {
        found = found || next == to;
        if (!is_numbered_before(next, to) || seen_[next] == stamp_) return;
        seen_[next] = stamp_;
        open_.push_back(next);
      });
    }
    return found;
  }

 private:
  template <class Fn>
  void for_each_successor(Node node, const Fn& fn) const {
    if (ends_row_[node] == 0) fn(node + 1);
    if (receive_of_[node] != kNone) fn(receive_of_[node]);
    if (waiting_for_[node] != kNone) fn(waiting_for_[node]);
  }

  std::vector<std::uint8_t> ends_row_;
  std::vector<Node> receive_of_;   // [send]
  std::vector<Node> waiting_for_;  // [receive]
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> seen_;  // the question that saw the node last
  std::uint32_t stamp_ = 0;
  std::vector<Node> open_;
};

class SendBudget {
 public:
  SendBudget(const ActionLists& lists, const Homes& homes, int most)
      : lists_(lists),
        homes_(homes),
        most_(static_cast<std::size_t>(most)),
        messages_(2 * homes.pairs()),
        was_moved_(2 * homes.pairs(), 0) {
    find_nodes();
    if (!order_.number())
      throw ScheduleError("the sends, receives and waits of this schedule wait for each other in a circle");
  }

  ActionLists limited() {
    out_.reserve(lists_.num_actions());
    Node node = 0;
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank) {
      out_.begin_rank();
      open_.clear();
      const auto row = lists_.row(rank);
      for_each_cell(row, [&](std::size_t first, std::size_t last) {
        if (is_send_wait(row[first].kind())) return pass_wait(row[first]);
        if (is_send(row[first].kind())) {
          make_room(rank, node, row[first]);
          open_.push_back(row[first]);
        }
        out_.add_cell(row.subspan(first, last - first));
        ++node;
      });
    }
    return std::move(out_);
  }

 private:
  struct Message {
    Node receive = kNone;
    Node behind_wait = kNone;  // kNone: the wait ends its row
  };

  /// Index of the message of a SEND, the RECV that meets it, or the wait for it.
  [[nodiscard]] std::size_t id_of(Action action) const {
    const ActionKind kind = action.kind();
    const bool forward = kind == ActionKind::SendForward || kind == ActionKind::RecvForward ||
                         kind == ActionKind::WaitSendForward;
    const Action send = is_recv(kind) ? action.as(ActionKind::SendForward, *homes_.peer_of(action)) : action;
    return 2 * homes_.pair_of(send) + (forward ? 0 : 1);
  }
  [[nodiscard]] Message& message_of(Action action) { return messages_[id_of(action)]; }

  void find_nodes() {
    std::vector<std::pair<Node, Action>> sends;
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank) {
      const auto row = lists_.row(rank);
      std::vector<std::size_t> waits;  // since the last node
      for_each_cell(row, [&](std::size_t first, std::size_t) {
        const Action action = row[first];
        if (is_send_wait(action.kind())) {
          waits.push_back(id_of(action));
          return;
        }
        const Node node = order_.size();
        for (const std::size_t id : waits) messages_[id].behind_wait = node;
        waits.clear();
        if (is_send(action.kind())) sends.emplace_back(node, action);
        if (is_recv(action.kind())) message_of(action).receive = node;
        order_.add_node(false);
      });
      order_.end_row();
    }
    for (const auto& [node, send] : sends) {
      const Message& message = message_of(send);
      order_.set_receive(node, message.receive);
      order_.set_waiting(message.receive, message.behind_wait);
    }
  }

  void pass_wait(Action wait) {
    if (was_moved_[id_of(wait)] != 0) return;
    out_.add(wait);
    open_.erase(std::find(open_.begin(), open_.end(), wait.as(send_of(wait.kind()), wait.stage())));
  }

  enum class Wait { Hangs, MayStall, Passes };
  /// The effect of the wait for an open send in front of `node`.
  Wait wait_before(Action send, Node node) {
    const Message& message = message_of(send);
    order_.set_waiting(message.receive, kNone);
    const Wait wait = order_.leads(node, message.receive)   ? Wait::Hangs
                      : order_.leads(message.receive, node) ? Wait::Passes
                                                            : Wait::MayStall;
    order_.set_waiting(message.receive, message.behind_wait);
    return wait;
  }

  void make_room(Rank rank, Node node, Action send) {
    while (open_.size() >= most_) {
      auto chosen = open_.end();
      for (auto one = open_.begin(); one != open_.end(); ++one) {
        const Wait wait = wait_before(*one, node);
        if (wait == Wait::Hangs || (wait == Wait::MayStall && chosen != open_.end())) continue;
        chosen = one;
        if (wait == Wait::Passes) break;
      }
      if (chosen == open_.end()) refuse(rank, send);
      move_wait(*chosen, node);
      open_.erase(chosen);
    }
  }

  void move_wait(Action send, Node node) {
    Message& message = message_of(send);
    message.behind_wait = node;
    order_.set_waiting(message.receive, node);
    if (!order_.is_numbered_before(message.receive, node)) order_.number();
    was_moved_[id_of(send)] = 1;
    out_.add(send.as(wait_of(send.kind()), send.stage()));
  }

  [[noreturn]] void refuse(Rank rank, Action send) const {
    throw InputError(
        fmt::format("PyTorch 2.15 refuses max_outstanding_sends {}: on rank {}, before {}, none of the sends "
                    "that are open "
                    "({}) can be waited for without a hang; allow more",
                    most_, rank.value(), to_text(send), row_text(open_)));
  }

  const ActionLists& lists_;
  const Homes& homes_;
  std::size_t most_;
  Precedence order_;
  std::vector<Message> messages_;        // by id_of()
  std::vector<std::uint8_t> was_moved_;  // by id_of()
  std::vector<Action> open_;             // sends of the row without a wait so far, in their order
  ActionLists out_;
};

}  // namespace

ActionLists limit_open_sends(const ActionLists& lists, const Homes& homes, int most) {
  return SendBudget(lists, homes, most).limited();
}

}  // namespace pipeloom::torch
