#pragma once

// Real work: every stage is a stack of blocks (executor/layers/block.hpp), every op does the arithmetic of its kind.
//
//   F   runs the blocks and keeps what the backward needs; only its input where an R follows; nothing in a forward-only schedule
//   R   runs the blocks again from the kept input, and keeps the rest
//   B   gradient of the input and, block by block, of the weights
//   I   gradient of the input; keeps what W needs
//   W   gradient of the weights
//   O   everything kept of the pass moves into one other buffer, which is not counted as activations; L moves it back
//
// Keys and values of the attention of slice j are also there for later slices, which may run while slice j is on the host or
// forgotten but for its input. So where there are several slices, they stay on the device from F(j) until B or I of slice j, whatever
// R, O and L do; and so do the gradients that later slices have added to them. With one slice they are part of what its pass keeps.
//
// Gradients add up over all microbatches, slices and updates of a step, on every rank for the stages (and replicas) that it holds.
// The weights never change: every step is the same, and its gradients can be compared with those of a run without a pipeline
// (executor/layers/gradient_check.hpp). The first op of the next step clears them.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "executor/layers/model.hpp"
#include "executor/run/pass_table.hpp"
#include "executor/run/work.hpp"

namespace pipeloom::executor {

class LayerRank;

class Layers : public Work {
 public:
  explicit Layers(const LayersConfig& config) : config_(config) {}

  [[nodiscard]] const LayersConfig& config() const { return config_; }
  /// width times the rows of the producer's slice.
  [[nodiscard]] std::size_t message_elements(const Schedule& schedule, Op producer) const override;
  /// A LayerRank. Throws InputError as require_possible() does. The schedule need not outlive it.
  [[nodiscard]] std::unique_ptr<RankWork> rank_work(const Schedule& schedule, Rank rank) override;

 private:
  LayersConfig config_;
};

/// Bytes that the passes of a rank hold, op by op, and their peak. Counts as the simulator does: memory that an overlapped group frees
/// counts as held until all of its ops have ended, whichever ends first. Its owner's lock guards all but peak().
class ByteAccount {
 public:
  ByteAccount(const Schedule& schedule, Rank rank) {
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     if (last - first == 1) return;
                     for (std::size_t i = first; i < last; ++i)
                       group_of_[schedule.ops()[i].key()] = groups_.size();
                     groups_.push_back({.parts = static_cast<int>(last - first)});
                   });
  }

  /// Every op of the rank's queue runs once from here on.
  void begin_step() {
    for (Group& group : groups_) group.running = group.parts;
  }

  /// The op has ended, and so much more is held than before, or less.
  void change(Op op, std::ptrdiff_t bytes) {
    held_ += std::max<std::ptrdiff_t>(bytes, 0);
    peak_ = std::max(peak_.load(), static_cast<std::size_t>(held_));
    const std::ptrdiff_t freed = std::max<std::ptrdiff_t>(-bytes, 0);
    const auto found = group_of_.find(op.key());
    if (found == group_of_.end()) {
      held_ -= freed;
      return;
    }
    Group& group = groups_[found->second];
    group.freed += freed;
    if (--group.running == 0) held_ -= std::exchange(group.freed, 0);
  }

  [[nodiscard]] std::size_t peak() const { return peak_; }

 private:
  struct Group {
    int parts = 0;
    int running = 0;           // of this step, not ended
    std::ptrdiff_t freed = 0;  // by those that ended
  };

  std::unordered_map<std::uint64_t, std::size_t> group_of_;  // by key of the op
  std::vector<Group> groups_;
  std::ptrdiff_t held_ = 0;
  std::atomic<std::size_t> peak_ = 0;
};

/// One rank's stages. Several threads may run different passes of it at once.
class LayerRank : public RankWork {
 public:
  LayerRank(const LayersConfig& config, const Schedule& schedule, Rank rank);

  /// Also throws std::runtime_error where `input` has another size than the op needs.
  Payload run(Op op, int step, Payload input) override;
  /// Throws std::runtime_error if a pass was begun and not ended.
  void end_step(int step) override;
  /// The most that passes kept from one op to the next; memory that an op needs only while it runs is not counted.
  [[nodiscard]] std::size_t peak_bytes() const override { return account_.peak(); }

  [[nodiscard]] std::span<float> weight_gradient(std::size_t local) override {
    return stages_[local].gradient;
  }
  [[nodiscard]] RankGradients gradients() const override;

  /// Slots of this rank as Placement::slots_of() lists them.
  [[nodiscard]] const std::vector<Slot>& slots() const { return table_.slots(); }
  /// The gradient of the step that was run last; elements as stage_parameters() has them. `local` is an index of slots().
  [[nodiscard]] std::span<const float> gradient(std::size_t local) const { return stages_[local].gradient; }
  /// Loss of every unit whose last F this rank ran, else 0; [unit].
  [[nodiscard]] std::span<const double> losses() const { return losses_; }

 private:
  struct Pass {
    bool in_use = false;             // by an op that runs now
    Tensor input;                    // where R will need it
    Tensor error;                    // gradient of the loss, on the last stage
    std::vector<BlockTape> tapes;    // [block]
    Tensor host;                     // O to L
    std::vector<std::size_t> sizes;  // of the tensors in it
    std::size_t bytes = 0;           // as counted in account_
    StageKeys* keys = nullptr;       // of all slices; null without attention
    bool owns_keys = false;          // there are no other slices
  };
  struct StageCopy {
    Stage stage;
    std::vector<float> parameters;
    std::vector<float> gradient;
    std::unique_ptr<std::mutex> adding = std::make_unique<std::mutex>();
  };

  /// The pass that the op is about. Throws std::runtime_error if it is not the op's turn, or another thread is at the pass.
  [[nodiscard]] Pass& claim(Op op, int step);
  /// Counts the bytes that it holds now, and the op's change of shared_bytes().
  void release(Op op, Pass& pass, std::ptrdiff_t more_shared);
  /// Bytes of the keys up to the op's slice that other passes use too, where the op may change them.
  [[nodiscard]] static std::size_t shared_bytes(Op op, const Pass& pass);
  void begin_step(int step);
  [[nodiscard]] PassState state_of(Op op) const { return table_.state_of(table_.pass_of(op)); }
  [[nodiscard]] RowRange rows_of(Op op) const;
  [[nodiscard]] bool is_last(Op op) const { return op.stage().value() + 1 == sizes_.stages; }
  [[nodiscard]] bool is_last_slice(Op op) const { return op.slice() + 1 == sizes_.slices; }
  [[nodiscard]] static bool slices_are_in_order(Op op, const Pass& pass);
  void require_size(Op op, const Payload& input) const;

  Payload dispatch(Op op, StageCopy& stage, Pass& pass, Payload input);
  Payload run_forward(Op op, const StageCopy& stage, Pass& pass, Payload input);
  void run_again(Op op, const StageCopy& stage, Pass& pass);
  void drop_keys(Op op, Pass& pass) const;
  Payload run_backward(Op op, StageCopy& stage, Pass& pass, Payload input) const;

  LayersConfig config_;
  PipelineSizes sizes_;
  Rank rank_;
  std::vector<StageCopy> stages_;  // [local slot]
  std::vector<Pass> passes_;       // [PassTable::pass_of()]
  std::vector<double> losses_;     // [unit]
  std::vector<StageKeys> keys_;    // [local slot * microbatches + microbatch]; empty without attention

  std::mutex mutex_;  // guards the members below; the state of a pass is read by the op that uses it
  PassTable table_;
  int step_ = -1;
  ByteAccount account_;
};

}  // namespace pipeloom::executor
