#pragma once

// A program: the instructions of every rank, message by message, so that a machine (or the program engine) can run it.
//
// A schedule gives the order of ops; a program adds when each tensor that crosses ranks is sent, received and waited for. It
// is made from a schedule by a message plan (sim/messages/message_plans.hpp, or a schedule's own) and holds, per rank, a list of
// instructions:
//
//   Run    an entry of the rank's queue
//   Post   a batch of sends and receives is handed over; the rank goes on
//   Wait   until every message of a batch is done
//
// A blocking group is a Post with its Wait directly after it; an asynchronous receive is a Post with a Wait in front of its consumer; an
// asynchronous send is a Post without a Wait.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/tensor_index.hpp"

namespace pipeloom {

/// A tensor on its way between two ranks: the output of F(s,u) for stage s+1, or the gradient that B or I of (s,u) returns to
/// stage s-1. `producer` is the op as it is in its queue.
struct MessageInfo {
  Op producer;
  Slot from;
  Slot to;
  Rank from_rank;
  Rank to_rank;
  std::uint32_t producer_op = 0;  ///< op index
  std::uint32_t consumer_op = 0;  ///< op index
  [[nodiscard]] bool is_forward() const { return producer.kind() == OpKind::Forward; }
};

using MessageId = std::uint32_t;
inline constexpr MessageId kNoMessage = ~MessageId{0};

/// Every tensor of a schedule that crosses ranks, numbered in the order of its producers in the queues (rank 0
/// first). REQUIRES: no structural errors; fewer than 2^32 ops.
class MessageTable {
 public:
  explicit MessageTable(const Schedule& schedule);

  [[nodiscard]] std::size_t size() const { return messages_.size(); }
  [[nodiscard]] const MessageInfo& operator[](MessageId id) const { return messages_[id]; }
  /// The message that op index i sends, or kNoMessage.
  [[nodiscard]] MessageId sent_by(std::size_t op_index) const { return sent_[op_index]; }
  /// The message that op index i needs from another rank, or kNoMessage.
  [[nodiscard]] MessageId needed_by(std::size_t op_index) const { return needed_[op_index]; }

 private:
  std::vector<MessageInfo> messages_;
  std::vector<MessageId> sent_;    // [op index]
  std::vector<MessageId> needed_;  // [op index]
};

/// One end of a message within a batch.
struct Endpoint {
  MessageId message = kNoMessage;
  bool is_send = false;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

class Program {
 public:
  enum class Code : std::uint8_t { Run, Post, Wait };
  struct Instruction {
    Code code = Code::Run;
    /// Run: op index of the entry's first op. Post, Wait: number of the batch.
    std::uint32_t index = 0;
    friend bool operator==(const Instruction&, const Instruction&) = default;
  };

  [[nodiscard]] const Schedule& schedule() const { return *schedule_; }
  [[nodiscard]] const std::shared_ptr<const Schedule>& shared_schedule() const { return schedule_; }
  [[nodiscard]] const MessageTable& messages() const { return *messages_; }
  [[nodiscard]] std::span<const Instruction> instructions(Rank rank) const {
    return std::span<const Instruction>(instructions_)
        .subspan(rank_begin_[rank.at()], rank_begin_[rank.at() + 1] - rank_begin_[rank.at()]);
  }
  /// Batches are numbered over all ranks, in the order in which they were posted rank by rank.
  [[nodiscard]] std::size_t num_batches() const { return batch_begin_.size() - 1; }
  [[nodiscard]] std::span<const Endpoint> batch(std::uint32_t number) const {
    return std::span<const Endpoint>(endpoints_)
        .subspan(batch_begin_[number], batch_begin_[number + 1] - batch_begin_[number]);
  }

 private:
  friend class ProgramBuilder;
  std::shared_ptr<const Schedule> schedule_;
  std::shared_ptr<const MessageTable> messages_;
  std::vector<Instruction> instructions_;
  std::vector<std::size_t> rank_begin_;  // p + 1 offsets into instructions_
  std::vector<Endpoint> endpoints_;
  std::vector<std::size_t> batch_begin_;  // batches + 1 offsets into endpoints_
};

/// Writes the instruction lists one after another, rank 0 first.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::shared_ptr<const Schedule> schedule);

  [[nodiscard]] const Schedule& schedule() const { return *program_.schedule_; }
  [[nodiscard]] const MessageTable& messages() const { return *program_.messages_; }

  /// Room for this many batches, each with a wait, to avoid growing; optional.
  void reserve(std::size_t batches);
  /// REQUIRES: called for 0, 1, .. p-1 in this order.
  void begin_rank(Rank rank);
  /// REQUIRES: `first_op` begins an entry of the rank's queue.
  void run(std::size_t first_op);
  /// Posts a batch and returns its number. An empty one is allowed and does nothing.
  std::uint32_t post(std::span<const Endpoint> endpoints);
  void wait(std::uint32_t batch);
  /// A blocking group: post and wait. Writes nothing if there are no endpoints.
  void exchange(std::span<const Endpoint> endpoints);

  /// REQUIRES: begin_rank was called for every rank.
  [[nodiscard]] Program build() &&;

 private:
  Program program_;
};

/// Returns the faults of a program, each naming rank and messages: "not-run" (an entry runs never or twice), "unsent",
/// "unreceived" (a message lacks one of its ends), "sent-early" (before its producer ran), "unwaited" (a consumer runs before
/// its receive was waited for), "mispaired": messages between two ranks carry no tags, so the n-th send of one pairs with the n-th
/// receive of the other; here those are different tensors. With `directions_apart` (a communicator per direction) activations and
/// gradients pair among themselves. Diagnostic::slot is the position in the rank's instruction list.
/// The first of each code and rank pair are listed; O(instructions).
[[nodiscard]] std::vector<Diagnostic> check_program(const Program& program, bool directions_apart = false);

/// One rank's list: entries as in queue_text; "[s0F0>1,r1B0<1]" a blocking group that sends the output of 0F0 to rank 1 and receives
/// that of 1B0 from rank 1; "<s0F0>1#3" and ">#3" an asynchronous batch, number 3 of the rank, and its wait.
[[nodiscard]] std::string program_text(const Program& program, Rank rank);
/// The instructions [first, last) of the rank, "?" after instruction `marked`; batches are numbered as in the whole list.
[[nodiscard]] std::string program_text(const Program& program, Rank rank, std::size_t first, std::size_t last,
                                       std::size_t marked);

}  // namespace pipeloom
