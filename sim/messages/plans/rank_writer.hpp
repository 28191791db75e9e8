#pragma once

// Code that all message plans share. Private to sim/plans.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "sim/messages/program.hpp"

namespace pipeloom::plans {

/// A batch of the few messages that go with one or two ops; adding kNoMessage adds nothing.
class Group {
 public:
  Group& send(MessageId message) { return add(message, true); }
  Group& receive(MessageId message) { return add(message, false); }
  [[nodiscard]] std::span<const Endpoint> endpoints() const {
    return std::span<const Endpoint>(ends_).first(size_);
  }

 private:
  Group& add(MessageId message, bool is_send) {
    if (message != kNoMessage) ends_[size_++] = {message, is_send};
    return *this;
  }
  std::array<Endpoint, 4> ends_;
  std::size_t size_ = 0;
};

/// Writes a framework's plan: the plan names the ops whose turn it is by the framework's rules, and the writer checks that the
/// queue agrees. R runs right before the entry that follows it in the queue, O and L right after the entry before them, so that
/// the plan needs to know none of them.
class RankWriter {
 public:
  /// `plan` is for error texts: "Megatron-LM's 1F1B".
  RankWriter(std::shared_ptr<const Schedule> schedule, std::string_view plan);

  [[nodiscard]] const Schedule& schedule() const { return out_.schedule(); }
  [[nodiscard]] const MessageTable& messages() const { return out_.messages(); }
  [[nodiscard]] ProgramBuilder& out() { return out_; }

  void begin_rank(Rank rank);
  /// First op of the next entry that is none of R, O and L; the end of the queue if there is none.
  [[nodiscard]] std::size_t next() const;
  /// Runs the entry that begins with this op. Throws ScheduleError unless it is next().
  void run(std::size_t first_op);
  /// Runs the rest of the queue. Throws ScheduleError if that is more than R, O and L.
  void end_rank();
  void exchange(const Group& group) { out_.exchange(group.endpoints()); }

  [[noreturn]] void refuse_shape(std::string_view why) const;

 private:
  void run_entry();

  ProgramBuilder out_;
  std::string_view plan_;
  Rank rank_{-1};
  std::size_t cursor_ = 0;  // op index
  std::size_t end_ = 0;     // of the rank's queue
};

}  // namespace pipeloom::plans
