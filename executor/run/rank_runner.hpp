#pragma once

// One rank of a run: its instructions, one by one, and the tensors that it holds between them.

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "executor/run/companion.hpp"
#include "executor/run/run_state.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom::executor {

class RankRunner {
 public:
  /// `state` outlives it.
  RankRunner(RunState& state, Rank rank);

  /// All steps. Throws Stopped if the run is stopped, and whatever the work throws.
  void run();

 private:
  void run_step(int step);
  void run_entry(std::size_t first, int step);
  /// Queues the copy that is instruction `at`: it runs on the lane, behind those before it.
  void start_copy(std::size_t at, int step);
  /// Waits for the copies back that the entry of instruction `at` needs.
  void wait_for_reloads(std::size_t at, int step);
  /// Waits for a copy and those before it.
  void wait_for_lane(Companion::Ticket ticket);
  void run_together(std::size_t first, std::size_t last, int step);
  void post(std::uint32_t batch, int step);
  void wait(std::uint32_t batch, int step);
  void meet(int step);
  /// What the op needs, taken out of what this rank holds.
  [[nodiscard]] Payload input_of(std::size_t op);
  void keep_output(std::size_t op, Payload output);

  RunState& state_;
  const Schedule& schedule_;
  const MessageTable& messages_;
  Rank rank_;
  TensorIndex tensors_;
  std::unordered_map<std::size_t, Payload> local_;     // by tensor: between two stages of this rank
  std::unordered_map<MessageId, Payload> to_be_sent_;  // outputs whose Post has not come
  std::unordered_map<MessageId, Payload> received_;    // inputs whose op has not come
  std::unordered_map<std::uint64_t, Companion::Ticket> reloads_;  // of this step, by key of the L
  Companion::Ticket last_copy_ = 0;
  std::unique_ptr<Companion> companion_;  // of ranks with groups that run together
  std::unique_ptr<Companion> lane_;       // of ranks with copies
};

}  // namespace pipeloom::executor
