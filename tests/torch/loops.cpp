#include "torch/loops.hpp"

#include <algorithm>
#include <initializer_list>

namespace pipeloom::torch {
namespace {

/// The row of one rank: its stage is its own number.
class Row {
 public:
  Row(int rank, int ranks, StepLoop& out) : stage_(rank), ranks_(ranks), out_(out) {
    out.lists.begin_rank();
    out.batches.emplace_back();
  }

  void run(ActionKind kind, int microbatch) { add(action(kind, microbatch)); }
  void reduce() { add(Action(ActionKind::ReduceGrad, Stage(stage_))); }

  [[nodiscard]] Action recv_forward(int k) const {
    return stage_ == 0 ? Action() : action(ActionKind::RecvForward, k);
  }
  [[nodiscard]] Action send_forward(int k) const {
    return is_last() ? Action() : action(ActionKind::SendForward, k);
  }
  [[nodiscard]] Action recv_backward(int k) const {
    return is_last() ? Action() : action(ActionKind::RecvBackward, k);
  }
  [[nodiscard]] Action send_backward(int k) const {
    return stage_ == 0 ? Action() : action(ActionKind::SendBackward, k);
  }
  /// One batch of messages; those at the ends of the pipeline are idle and left out.
  void batch(std::initializer_list<Action> messages) {
    const std::size_t begin = size_;
    for (const Action message : messages)
      if (!message.is_idle()) add(message);
    if (size_ > begin) out_.batches.back().emplace_back(begin, size_);
  }

 private:
  [[nodiscard]] bool is_last() const { return stage_ + 1 == ranks_; }
  [[nodiscard]] Action action(ActionKind kind, int k) const { return {kind, Stage(stage_), Microbatch(k)}; }
  void add(Action action) {
    out_.lists.add(action);
    ++size_;
  }

  int stage_;
  int ranks_;
  StepLoop& out_;
  std::size_t size_ = 0;
};

void add_1f1b_row(Row& row, int warmup, int m) {
  for (int k = 0; k < warmup; ++k) {
    row.batch({row.recv_forward(k)});
    row.run(ActionKind::Forward, k);
    if (k + 1 < warmup) row.batch({row.send_forward(k)});
  }
  row.batch({row.send_forward(warmup - 1), row.recv_backward(0)});
  int b = 0;
  for (int f = warmup; f < m; ++f, ++b) {
    row.run(ActionKind::Backward, b);
    row.batch({row.send_backward(b), row.recv_forward(f)});
    row.run(ActionKind::Forward, f);
    row.batch({row.send_forward(f), row.recv_backward(b + 1)});
  }
  for (; b < m; ++b) {
    row.run(ActionKind::Backward, b);
    row.batch({row.send_backward(b)});
    if (b + 1 < m) row.batch({row.recv_backward(b + 1)});
  }
  row.reduce();
}

}  // namespace

StepLoop gpipe_loop(int ranks, int microbatches) {
  StepLoop out;
  for (int rank = 0; rank < ranks; ++rank) {
    Row row(rank, ranks, out);
    for (int k = 0; k < microbatches; ++k) {
      row.batch({row.recv_forward(k)});
      row.run(ActionKind::Forward, k);
      row.batch({row.send_forward(k)});
    }
    for (int k = 0; k < microbatches; ++k) {
      row.batch({row.recv_backward(k)});
      row.run(ActionKind::Backward, k);
      row.batch({row.send_backward(k)});
    }
    row.reduce();
  }
  return out;
}

StepLoop one_f_one_b_loop(int ranks, int microbatches) {
  StepLoop out;
  for (int rank = 0; rank < ranks; ++rank) {
    Row row(rank, ranks, out);
    add_1f1b_row(row, std::min(microbatches, ranks - rank), microbatches);
  }
  return out;
}

}  // namespace pipeloom::torch
