#pragma once

// Actions of the ranks of a running pipeline: computations, the messages between them, and the movements of sharded
// parameters. A Schedule holds the computations and their order; an ActionLists holds everything that is issued.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/text.hpp"

namespace pipeloom {

/// The first nine are the kinds of ops, with the same numbers. SendForward and the others of a message carry the stage that sends,
/// respectively the one that receives: 3SEND_F1 on one rank pairs with 4RECV_F1 on another, 4SEND_B1 with 3RECV_B1.
enum class ActionKind : std::uint8_t {
  Forward,           ///< F
  Backward,          ///< B
  BackwardInput,     ///< I
  BackwardWeight,    ///< W
  Recompute,         ///< R, no action of PyTorch
  Offload,           ///< O, no action of PyTorch
  Reload,            ///< L, no action of PyTorch
  Output,            ///< S, no action of PyTorch
  OutputWeight,      ///< T, no action of PyTorch
  SendForward,       ///< SEND_F: the stage's output to the next stage
  RecvForward,       ///< RECV_F: the stage's input from the stage before
  SendBackward,      ///< SEND_B: the gradient of the stage's input to the stage before
  RecvBackward,      ///< RECV_B: the gradient of the stage's output from the next stage
  Unshard,           ///< UNSHARD: all-gather of the stage's parameters is started
  Reshard,           ///< RESHARD: the gathered parameters are freed; no traffic
  ReduceGrad,        ///< REDUCE_GRAD: the stage's gradients are reduced over the data-parallel ranks
  WaitSendForward,   ///< WAIT_SEND_F: the SEND_F of this stage and microbatch has been taken
  WaitSendBackward,  ///< WAIT_SEND_B: likewise the SEND_B
  WaitReduceGrad,    ///< WAIT_REDUCE_GRAD: the stage's REDUCE_GRAD is over
  Idle,              ///< a blank cell
};

inline constexpr std::size_t kActionKinds = 20;
/// Kinds that PyTorch's files have, in the order in which its parser tries them, and its text of each.
inline constexpr std::array<std::pair<ActionKind, std::string_view>, 14> kTorchActions = {{
    {ActionKind::WaitReduceGrad, "WAIT_REDUCE_GRAD"},
    {ActionKind::WaitSendForward, "WAIT_SEND_F"},
    {ActionKind::WaitSendBackward, "WAIT_SEND_B"},
    {ActionKind::ReduceGrad, "REDUCE_GRAD"},
    {ActionKind::Unshard, "UNSHARD"},
    {ActionKind::Reshard, "RESHARD"},
    {ActionKind::SendForward, "SEND_F"},
    {ActionKind::RecvForward, "RECV_F"},
    {ActionKind::SendBackward, "SEND_B"},
    {ActionKind::RecvBackward, "RECV_B"},
    {ActionKind::Forward, "F"},
    {ActionKind::BackwardInput, "I"},
    {ActionKind::Backward, "B"},
    {ActionKind::BackwardWeight, "W"},
}};

/// "F", "SEND_F", "UNSHARD"; "" for Idle.
[[nodiscard]] std::string_view name_of(ActionKind kind);

[[nodiscard]] constexpr bool is_op(ActionKind kind) {
  return static_cast<std::size_t>(kind) < kOpKinds;
}
[[nodiscard]] constexpr bool is_send(ActionKind kind) {
  return kind == ActionKind::SendForward || kind == ActionKind::SendBackward;
}
[[nodiscard]] constexpr bool is_recv(ActionKind kind) {
  return kind == ActionKind::RecvForward || kind == ActionKind::RecvBackward;
}
[[nodiscard]] constexpr bool is_transfer(ActionKind kind) {
  return is_send(kind) || is_recv(kind);
}
[[nodiscard]] constexpr bool is_send_wait(ActionKind kind) {
  return kind == ActionKind::WaitSendForward || kind == ActionKind::WaitSendBackward;
}
/// UNSHARD, RESHARD, REDUCE_GRAD, WAIT_REDUCE_GRAD: of a stage, for no microbatch.
[[nodiscard]] constexpr bool is_of_stage(ActionKind kind) {
  return kind == ActionKind::Unshard || kind == ActionKind::Reshard || kind == ActionKind::ReduceGrad ||
         kind == ActionKind::WaitReduceGrad;
}

/// An action, packed like an Op:
///
///   bits  0..19  microbatch (0 if none)
///   bits 20..39  stage (0 for Idle)
///   bits 40..55  sequence slice + 1; 0 where microbatches are not sliced
///   bits 56..60  kind
///   bit  61      for no microbatch
///   bit  63      joined: the next action of the row is another part of the same cell
///
/// Equality and order ignore `joined`.
class Action {
 public:
  /// Idle.
  constexpr Action() : bits_(word(ActionKind::Idle, Stage(0)) | kNoMicrobatchBit) {}
  /// REQUIRES: 0 <= stage, microbatch < kMaxIndex.
  constexpr Action(ActionKind kind, Stage stage, Microbatch microbatch)
      : bits_(word(kind, stage) | static_cast<std::uint64_t>(microbatch.value())) {}
  /// An action of no microbatch: 1UNSHARD.
  constexpr Action(ActionKind kind, Stage stage) : bits_(word(kind, stage) | kNoMicrobatchBit) {}
  constexpr explicit Action(Op op) : Action(static_cast<ActionKind>(op.kind()), op.stage(), op.microbatch()) {
    if (op.is_sliced()) bits_ |= static_cast<std::uint64_t>(op.slice() + 1) << kSliceShift;
    if (op.joined()) bits_ |= kJoinedBit;
  }

  [[nodiscard]] constexpr ActionKind kind() const {
    return static_cast<ActionKind>((bits_ >> kKindShift) & kKindMask);
  }
  [[nodiscard]] constexpr Stage stage() const {
    return Stage(static_cast<std::int32_t>((bits_ >> kStageShift) & kIndexMask));
  }
  [[nodiscard]] constexpr bool has_microbatch() const { return (bits_ & kNoMicrobatchBit) == 0; }
  /// 0 if there is none.
  [[nodiscard]] constexpr Microbatch microbatch() const {
    return Microbatch(static_cast<std::int32_t>(bits_ & kIndexMask));
  }
  [[nodiscard]] constexpr bool is_sliced() const { return slice_bits() != 0; }
  [[nodiscard]] constexpr int slice() const { return is_sliced() ? slice_bits() - 1 : 0; }
  /// The same microbatch and slice, of another kind and stage: the message that a computation needs or makes.
  [[nodiscard]] constexpr Action as(ActionKind kind, Stage stage) const {
    Action out;
    out.bits_ =
        (bits_ & ~(kJoinedBit | kKindMask << kKindShift | kIndexMask << kStageShift)) | word(kind, stage);
    return out;
  }
  [[nodiscard]] constexpr bool joined() const { return (bits_ & kJoinedBit) != 0; }
  [[nodiscard]] constexpr Action with_joined(bool joined) const {
    Action out;
    out.bits_ = joined ? (bits_ | kJoinedBit) : (bits_ & ~kJoinedBit);
    return out;
  }
  [[nodiscard]] constexpr bool is_idle() const { return kind() == ActionKind::Idle; }
  /// The op; joined like the action. REQUIRES: is_op(kind()) and has_microbatch().
  [[nodiscard]] constexpr Op op() const {
    Op op(static_cast<OpKind>(kind()), stage(), microbatch());
    if (is_sliced()) op = op.with_slice(slice());
    return op.with_joined(joined());
  }
  /// Equal for equal actions.
  [[nodiscard]] constexpr std::uint64_t key() const { return bits_ & ~kJoinedBit; }

  friend constexpr bool operator==(Action a, Action b) { return a.key() == b.key(); }
  friend constexpr auto operator<=>(Action a, Action b) { return a.key() <=> b.key(); }

 private:
  static constexpr int kStageShift = 20;
  static constexpr int kSliceShift = 40;
  static constexpr int kKindShift = 56;
  static constexpr std::uint64_t kKindMask = (1U << 5) - 1;
  static constexpr std::uint64_t kSliceMask = (1U << 16) - 1;
  static constexpr std::uint64_t kIndexMask = (1U << 20) - 1;
  static constexpr std::uint64_t kNoMicrobatchBit = std::uint64_t{1} << 61;
  static constexpr std::uint64_t kJoinedBit = std::uint64_t{1} << 63;

  [[nodiscard]] static constexpr std::uint64_t word(ActionKind kind, Stage stage) {
    return (static_cast<std::uint64_t>(stage.value()) << kStageShift) |
           (static_cast<std::uint64_t>(kind) << kKindShift);
  }
  [[nodiscard]] constexpr int slice_bits() const {
    return static_cast<int>((bits_ >> kSliceShift) & kSliceMask);
  }
  std::uint64_t bits_;
};

/// One row of actions per rank over one flat array. A *cell* is one action, or the parts of an overlapped group (all but
/// the last are joined). The order is not checked: a file may hold any.
class ActionLists {
 public:
  ActionLists() = default;
  /// The actions of rank r are actions[row_begin[r]] .. actions[row_begin[r + 1] - 1]. REQUIRES: row_begin is rising from 0 to the
  /// number of actions; no cell crosses the end of a row.
  ActionLists(std::vector<Action> actions, std::vector<std::size_t> row_begin)
      : actions_(std::move(actions)), row_begin_(std::move(row_begin)) {}

  [[nodiscard]] int ranks() const { return static_cast<int>(row_begin_.size()) - 1; }
  [[nodiscard]] std::size_t num_actions() const { return actions_.size(); }
  [[nodiscard]] std::span<const Action> actions() const { return actions_; }
  [[nodiscard]] std::size_t row_begin(Rank rank) const { return row_begin_[rank.at()]; }
  [[nodiscard]] std::size_t row_end(Rank rank) const { return row_begin_[rank.at() + 1]; }
  [[nodiscard]] std::span<const Action> row(Rank rank) const {
    return actions().subspan(row_begin(rank), row_end(rank) - row_begin(rank));
  }

  /// Starts the row of the next rank.
  void begin_rank() { row_begin_.push_back(actions_.size()); }
  /// Appends a cell of one action to the row begun last. REQUIRES: begin_rank() was called.
  void add(Action action) {
    actions_.push_back(action.with_joined(false));
    row_begin_.back() = actions_.size();
  }
  /// Appends a cell of several parts; nothing if there are none.
  void add_cell(std::span<const Action> parts);
  void reserve(std::size_t actions) { actions_.reserve(actions); }
  /// Puts the row's actions into another order. REQUIRES: `row` has as many actions as the row of that rank.
  void replace_row(Rank rank, std::span<const Action> row);

  /// Rows, cells and their actions.
  friend bool operator==(const ActionLists& a, const ActionLists& b);

 private:
  std::vector<Action> actions_;
  std::vector<std::size_t> row_begin_ = {0};
};

/// Calls fn(first, last) with indices [first, last) into `row` of each of its cells, in order.
template <class Fn>
void for_each_cell(std::span<const Action> row, Fn&& fn) {
  for (std::size_t first = 0; first < row.size();) {
    std::size_t last = first + 1;
    while (row[last - 1].joined() && last < row.size()) ++last;
    fn(first, last);
    first = last;
  }
}

// Text -----------------------------------------------------------------------------------------------------------------

inline constexpr int kMaxActionText = 40;
/// Writes "3SEND_F1", "1UNSHARD" or "" (Idle) at `out`; returns one past the end. REQUIRES: room for kMaxActionText characters.
char* write_action(char* out, Action action);
[[nodiscard]] std::string to_text(Action action);
/// A cell: "2F0", "(0F7;7B3)OVERLAP_F_B", "" if idle.
[[nodiscard]] std::string cell_text(std::span<const Action> parts);
/// The cells of a row, separated by one space; a blank cell is "-".
[[nodiscard]] std::string row_text(std::span<const Action> row);

/// Reads one action exactly as to_text() writes it: no spaces, no leading zeros, nothing after it; a microbatch where and only where
/// the kind has one. Not Idle.
[[nodiscard]] std::optional<Action> parse_action(std::string_view text);
/// Reads one cell exactly as cell_text() writes it, "-" as Idle. Empty when the text is none.
[[nodiscard]] std::vector<Action> parse_cell(std::string_view text);
/// Reads cells separated by spaces, ranks by `|`: "0F0 0SEND_F0 | 1RECV_F0 - 1F0". Throws InputError naming the word that does not parse.
[[nodiscard]] ActionLists parse_action_lists(std::string_view text);

// From and to schedules ------------------------------------------------------------------------------------------------

/// The computations of a schedule, with blanks where `blanks` has them. REQUIRES: *blanks fits the schedule.
[[nodiscard]] ActionLists to_actions(const Schedule& schedule, const IdleCells* blanks = nullptr);
/// The computations, everything else left out. The placement is that of the computations, as infer_placement() finds it (its
/// errors are thrown). Throws InputError for a computation without microbatch.
[[nodiscard]] Schedule to_schedule(const ActionLists& lists);
/// The blanks of lists; communication counts as nothing.
[[nodiscard]] IdleCells idle_cells(const ActionLists& lists);
/// The same rows without blank cells.
[[nodiscard]] ActionLists without_idle(const ActionLists& lists);

}  // namespace pipeloom
