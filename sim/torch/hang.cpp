#include "sim/torch/hang.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kinds.hpp"

namespace pipeloom::torch {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

using Cell = std::vector<Action>;

std::vector<Cell> cells_of(const ActionLists& lists, Rank rank) {
  std::vector<Cell> cells;
  const auto row = lists.row(rank);
  for_each_cell(row, [&](std::size_t first, std::size_t last) {
    cells.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(first),
                       row.begin() + static_cast<std::ptrdiff_t>(last));
  });
  return cells;
}

std::size_t cell_at(const ActionLists& lists, Rank rank, std::size_t action) {
  std::size_t cell = 0;
  std::size_t found = 0;
  for_each_cell(lists.row(rank), [&](std::size_t first, std::size_t last) {
    if (lists.row_begin(rank) + first <= action && action < lists.row_begin(rank) + last) found = cell;
    ++cell;
  });
  return found;
}

bool is_backward(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::BackwardInput;
}

/// A gradient is made by B or by I; whichever of them is in the rows.
bool same_work(Action a, Action b) {
  if (a == b) return true;
  return is_backward(a.kind()) && is_backward(b.kind()) &&
         a.as(ActionKind::Backward, a.stage()) == b.as(ActionKind::Backward, b.stage());
}

/// The action that another one needs first, and its place.
struct Need {
  Action action;
  Rank rank;
};

std::optional<Need> need_of(Action action, Rank rank, const Homes& homes) {
  const Stage s = action.stage();
  const auto neighbour = [&](int step, ActionKind local, ActionKind receive) -> Need {
    const Stage other = s + step;
    if (homes.rank_of(other, action) == rank) return {action.as(local, other), rank};
    return {action.as(receive, s), rank};
  };
  const auto at_peer = [&](ActionKind kind) -> std::optional<Need> {
    const auto peer = homes.peer_of(action);
    if (!peer) return std::nullopt;
    return Need{action.as(kind, *peer), homes.rank_of(*peer, action)};
  };
  switch (action.kind()) {
    case ActionKind::Forward:
      if (homes.is_first(s)) return std::nullopt;
      return neighbour(-1, ActionKind::Forward, ActionKind::RecvForward);
    case ActionKind::Backward:
    case ActionKind::BackwardInput:
      if (homes.is_last(s)) return std::nullopt;
      return neighbour(1, ActionKind::Backward, ActionKind::RecvBackward);
    case ActionKind::SendForward:
      return Need{action.as(ActionKind::Forward, s), rank};
    case ActionKind::SendBackward:
      return Need{action.as(ActionKind::Backward, s), rank};
    case ActionKind::RecvForward:
      return at_peer(ActionKind::SendForward);
    case ActionKind::RecvBackward:
      return at_peer(ActionKind::SendBackward);
    case ActionKind::WaitSendForward:
      return at_peer(ActionKind::RecvForward);
    case ActionKind::WaitSendBackward:
      return at_peer(ActionKind::RecvBackward);
    default:
      return std::nullopt;
  }
}

/// Index into lists.actions() of the action that the rank waits at; its row's end if it is done.
std::size_t head_of(const ActionLists& lists, const Stuck& stuck, Rank rank) {
  return lists.row_begin(rank) + stuck.heads[rank.at()];
}

/// Index of the action in the rest of the rank's row, or kNowhere.
std::size_t find_ahead(const ActionLists& lists, const Stuck& stuck, Rank rank, Action action) {
  for (std::size_t i = head_of(lists, stuck, rank); i < lists.row_end(rank); ++i)
    if (same_work(lists.actions()[i], action)) return i;
  return kNowhere;
}

bool was_done(const ActionLists& lists, const Stuck& stuck, Rank rank, Action action) {
  for (std::size_t i = lists.row_begin(rank); i < head_of(lists, stuck, rank); ++i)
    if (same_work(lists.actions()[i], action)) return true;
  return false;
}

/// "RECV_F of stage 3 microbatch 1 from rank 1".
std::string phrase(Action action, const Homes& homes) {
  if (!is_transfer(action.kind()) && !is_send_wait(action.kind())) return to_text(action.with_joined(false));
  const auto peer = homes.peer_of(action);
  return fmt::format("{} of stage {} microbatch {}{}", name_of(action.kind()), action.stage().value(),
                     action.microbatch().value(),
                     !peer ? ""
                           : fmt::format(" {} rank {}", is_recv(action.kind()) ? "from" : "to",
                                         homes.rank_of(*peer, action).value()));
}

/// Tries changes with the dry run.
class EditSearch {
 public:
  EditSearch(const ActionLists& lists, const Homes& homes, const Stuck& stuck, std::size_t budget)
      : lists_(lists),
        homes_(homes),
        stuck_(stuck),
        hang_(explain_hang(lists, homes, stuck)),
        budget_(budget) {}

  std::optional<ListEdit> run() {
    for (const WaitNode<Action>& wait : hang_.nodes)
      if (wait.missing && is_transfer(wait.needs.kind()))
        if (const auto edit = insertion(wait); edit && helps(*edit)) return edit;
    for (const ListEdit& edit : moves())
      if (helps(edit)) return edit;
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool helps(const ListEdit& edit) {
    const std::size_t cost = 8 * lists_.num_actions();
    if (budget_ < cost) return false;
    budget_ -= cost;
    return !dry_run(edited(lists_, edit), homes_, KeepGrid::No).stuck;
  }

  /// An edit that inserts a send after its computation, or a receive where its rank got stuck.
  [[nodiscard]] std::optional<ListEdit> insertion(const WaitNode<Action>& wait) const {
    ListEdit edit{ListEdit::Kind::Insert, wait.on, wait.needs, 0, 0};
    if (is_recv(wait.needs.kind())) {
      edit.to = cell_at(lists_, wait.on, wait.at);
      return edit;
    }
    const auto maker = need_of(wait.needs, wait.on, homes_);
    const auto cells = cells_of(lists_, wait.on);
    for (std::size_t cell = 0; cell < cells.size(); ++cell)
      for (const Action part : cells[cell])
        if (maker && same_work(part, maker->action)) {
          edit.to = cell + 1;
          return edit;
        }
    return std::nullopt;
  }

  /// On every rank of the cycle: the cell that is waited for goes up to the head or above it, or the head's cell down to it or below.
  [[nodiscard]] std::vector<ListEdit> moves() const {
    constexpr std::size_t kMostFurther = 16;
    std::vector<ListEdit> out;
    for (const std::size_t i : hang_.cycle) {
      const WaitNode<Action>& wait = hang_.nodes[i];
      const std::size_t wanted = find_ahead(lists_, stuck_, wait.on, wait.needs);
      if (wanted == kNowhere) continue;
      const std::size_t head = cell_at(lists_, wait.on, head_of(lists_, stuck_, wait.on));
      const std::size_t target = cell_at(lists_, wait.on, wanted);
      const auto cells = cells_of(lists_, wait.on);
      if (target <= head) continue;
      for (std::size_t up = 0; up <= std::min(head, kMostFurther); ++up)
        out.push_back({ListEdit::Kind::Move, wait.on, cells[target].front(), target, head - up});
      for (std::size_t down = 0; down <= std::min(cells.size() - 1 - target, kMostFurther); ++down)
        out.push_back({ListEdit::Kind::Move, wait.on, cells[head].front(), head, target + down});
    }
    const auto length = [](const ListEdit& edit) {
      return edit.from > edit.to ? edit.from - edit.to : edit.to - edit.from;
    };
    std::stable_sort(out.begin(), out.end(),
                     [&](const ListEdit& a, const ListEdit& b) { return length(a) < length(b); });
    return out;
  }

  const ActionLists& lists_;
  const Homes& homes_;
  const Stuck& stuck_;
  ActionHang hang_;
  std::size_t budget_;
};

}  // namespace

ActionHang explain_hang(const ActionLists& lists, const Homes& homes, const Stuck& stuck) {
  ActionHang hang;
  for (const std::size_t done : stuck.heads) hang.done += done;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    std::size_t i = head_of(lists, stuck, rank);
    if (i >= lists.row_end(rank)) continue;
    // The part of the cell that is not ready; its need is not done.
    for (;; ++i) {
      const auto need = need_of(lists.actions()[i], rank, homes);
      if (need && !was_done(lists, stuck, need->rank, need->action)) {
        const bool missing = find_ahead(lists, stuck, need->rank, need->action) == kNowhere;
        hang.nodes.push_back({rank, i, need->action, need->rank, missing});
        break;
      }
      if (!lists.actions()[i].joined() || i + 1 >= lists.row_end(rank)) break;
    }
  }
  hang.cycle = cycle_of(hang.nodes);
  return hang;
}

std::vector<std::string> wait_lines(const ActionHang& hang, const ActionLists& lists, const Homes& homes) {
  return pipeloom::wait_lines(hang, [&](const WaitNode<Action>& node) {
    const std::string text =
        fmt::format("rank {} waits in {}", node.rank.value(), phrase(lists.actions()[node.at], homes));
    const std::string needed = to_text(node.needs.with_joined(false));
    if (node.missing) return text + fmt::format(", but rank {} has no {} ahead", node.on.value(), needed);
    return node.on == node.rank ? text + fmt::format(", which needs its own {} behind it", needed) : text;
  });
}

ActionLists edited(const ActionLists& lists, const ListEdit& edit) {
  ActionLists out;
  out.reserve(lists.num_actions() + 1);
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    out.begin_rank();
    auto cells = cells_of(lists, rank);
    const auto at = [&](std::size_t cell) { return cells.begin() + static_cast<std::ptrdiff_t>(cell); };
    if (rank == edit.rank && edit.kind == ListEdit::Kind::Insert)
      cells.insert(at(edit.to), Cell{edit.action});
    else if (rank == edit.rank && edit.from > edit.to)
      std::rotate(at(edit.to), at(edit.from), at(edit.from + 1));
    else if (rank == edit.rank)
      std::rotate(at(edit.from), at(edit.from + 1), at(edit.to + 1));
    for (const Cell& cell : cells) out.add_cell(cell);
  }
  return out;
}

std::optional<ListEdit> find_edit(const ActionLists& lists, const Homes& homes, const Stuck& stuck,
                                  std::size_t budget) {
  return EditSearch(lists, homes, stuck, budget).run();
}

std::string describe(const ListEdit& edit, const ActionLists& lists) {
  const auto cells = cells_of(lists, edit.rank);
  const auto text = [&](std::size_t cell) { return cell_text(cells[cell]); };
  const std::string action = to_text(edit.action.with_joined(false));
  if (edit.kind == ListEdit::Kind::Insert)
    return edit.to > 0 ? fmt::format("on rank {}, insert {} at position {}, behind {}", edit.rank.value(),
                                     action, edit.to, text(edit.to - 1))
                       : fmt::format("on rank {}, insert {} at the beginning", edit.rank.value(), action);
  return fmt::format("on rank {}, move {} from position {} to {}, {} {}", edit.rank.value(), text(edit.from),
                     edit.from, edit.to, edit.from > edit.to ? "in front of" : "behind", text(edit.to));
}

}  // namespace pipeloom::torch
