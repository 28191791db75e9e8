#pragma once

// One rank's stages (executor/layers/layers.hpp, LayerRank) as work that is queued on the streams of a device; Engine and T as in queued_block.hpp.
//
// Two parts of a group may come with different streams. They share weights, which no op writes, and gradients of weights: every block's
// addition waits for the event after the previous addition, in the order in which the ops were given. Tensors are freed in the order of
// the stream that used them last.
//
// Between devices, a message may hold up a stream until a rank elsewhere reaches it. Everything that could make the host wait for the device
// (a kernel's first launch, pinned memory) happens before the first op, by a rehearsal: else two ranks could wait for each other.

#include <cstddef>
#include <span>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "executor/cuda/layers/queued_block.hpp"
#include "executor/layers/model.hpp"
#include "executor/run/pass_table.hpp"
#include "executor/run/work.hpp"

namespace pipeloom::executor::cuda {

/// REQUIRES: the engine, and every stream that it is given, outlive it.
template <class Engine, class T>
class QueuedLayers {
 public:
  using Buffer = typename Engine::Buffer;
  using Stream = typename Engine::Stream;

  /// Makes weights, inputs and targets on the host and copies them to the device, once, and rehearses.
  QueuedLayers(Engine& engine, const LayersConfig& config, const Schedule& schedule, Rank rank);

  /// As DeviceRankWork::run(); `input` holds `elements` numbers. Throws std::runtime_error as LayerRank::run() does.
  Buffer run(Op op, int step, Buffer input, std::size_t elements, Stream stream);
  /// As DeviceRankWork::weight_gradient() and add().
  [[nodiscard]] std::span<float> weight_gradient(std::size_t local, Stream stream);
  void add(std::span<const float> from, std::span<float> to, Stream stream);
  void end_step(int step) const { table_.require_ended(step); }
  [[nodiscard]] std::size_t peak_bytes() const { return peak_bytes_; }
  /// REQUIRES: the device has ended the step.
  [[nodiscard]] RankGradients gradients() const;

  /// Elements of the tensor that `op` gives to another stage; 0: none.
  [[nodiscard]] std::size_t elements_from(Op op) const;
  /// ... that it takes from another stage.
  [[nodiscard]] std::size_t elements_into(Op op) const;

 private:
  using Tape = QueuedTape<Engine>;
  /// Memory of the host that offloaded passes take in turn.
  struct HostSpace {
    typename Engine::HostBuffer memory;
    typename Engine::Event read;  ///< after the last copy out of it
  };
  struct Pass {
    Buffer input;                    // where R will need it
    Buffer error;                    // gradient of the loss, on the last stage
    std::vector<Tape> tapes;         // [block]
    HostSpace host;                  // O to L
    std::vector<std::size_t> sizes;  // of the tensors in it
    std::size_t bytes = 0;           // as counted in held_bytes_
  };
  struct StageCopy {
    Buffer parameters;  // T
    Buffer gradient;    // float
    typename Engine::Event added;
    std::size_t elements = 0;

    [[nodiscard]] std::span<const T> weights(const BlockShape& shape, std::size_t block) const {
      return {parameters.template as<T>() + block * shape.parameters(), shape.parameters()};
    }
    [[nodiscard]] std::span<float> slopes(const BlockShape& shape, std::size_t block) const {
      return {gradient.template as<float>() + block * shape.parameters(), shape.parameters()};
    }
  };

  Buffer upload_as_t(std::span<const float> values);
  void upload_rows(const Schedule& schedule);
  /// Runs every kernel and product on zeros; returns the bytes of one block's tape after F.
  std::size_t rehearse(std::size_t rows);
  /// Takes memory of the host for as many passes as the queue has there at once.
  void take_host_memory(std::span<const Op> queue, std::size_t tape_bytes);
  void begin_step(int step, Stream stream);
  [[nodiscard]] RowRange rows_of(Op op) const { return rows_of_slice(config_, op.slice(), sizes_.slices); }
  [[nodiscard]] bool is_last(Op op) const { return op.stage().value() + 1 == sizes_.stages; }
  [[nodiscard]] QueuedBlock<Engine, T> block(Op op, Stream stream) {
    return {engine_, shape_, rows_of(op).size(), stream};
  }

  Buffer dispatch(Op op, StageCopy& stage, Pass& pass, Buffer input, Stream stream);
  Buffer forward(Op op, const StageCopy& stage, Pass& pass, Buffer input, Stream stream);
  void run_again(Op op, const StageCopy& stage, Pass& pass, Stream stream);
  Buffer backward(Op op, StageCopy& stage, Pass& pass, Buffer input, Stream stream);
  void backward_weight(Op op, StageCopy& stage, Pass& pass, Stream stream);
  Buffer through_blocks(Op op, const StageCopy& stage, Buffer x, std::vector<Tape>& tapes, Stream stream);
  void add_weight_gradient(Op op, StageCopy& stage, std::vector<Tape>& tapes, Stream stream);
  void subtract_target(Op op, Buffer& y, double* loss, Stream stream);
  void offload(Pass& pass, Stream stream);
  void reload(Pass& pass, Stream stream);
  [[nodiscard]] HostSpace take_space(std::size_t bytes);
  [[nodiscard]] Buffer copy_of(const void* from, std::size_t bytes, Stream stream);
  void count_bytes(Pass& pass);
  /// Calls fn(buffer) for everything that a pass keeps.
  template <class Fn>
  static void for_each_kept(Pass& pass, Fn&& fn) {
    fn(pass.input);
    fn(pass.error);
    for (Tape& tape : pass.tapes) for_each_buffer(tape, fn);
  }

  Engine& engine_;
  LayersConfig config_;
  BlockShape shape_;
  PipelineSizes sizes_;
  PassTable table_;
  std::vector<StageCopy> stages_;  // [local slot]
  std::vector<Pass> passes_;       // [PassTable::pass_of()]
  std::vector<Buffer> inputs_;     // [microbatch] T, where stage 0 of its replica is here
  std::vector<Buffer> targets_;    // [microbatch] float, likewise of the last stage
  Buffer losses_;                  // double, [unit]
  std::vector<HostSpace> spaces_;  // those that no pass has
  int step_ = -1;
  std::size_t held_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
};

}  // namespace pipeloom::executor::cuda

// Its templates' bodies.
#include "executor/cuda/layers/queued_layers_impl.hpp"
