#pragma once

// Tensors that two ranks give each other outside the program's messages.

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <pipeloom/op.hpp>
#include "executor/run/work.hpp"

namespace pipeloom::executor {

/// What is given from one rank to another is taken in the same order. Any thread.
class Swaps {
 public:
  void give(Rank from, Rank to, Payload tensor);
  /// Waits for the next one. Nothing if the run was stopped.
  [[nodiscard]] std::optional<Payload> take(Rank from, Rank to);
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<Rank, Rank>, std::deque<Payload>> given_;  // [from, to]
  bool stopped_ = false;
};

}  // namespace pipeloom::executor
