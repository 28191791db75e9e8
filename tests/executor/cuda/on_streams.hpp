#pragma once

// Runs a schedule's ops on the streams of a device without anything else between them than the events that its dependency graph asks for:
// per rank one stream for ops, one for the other parts of overlapped groups, one for copies (O, L).

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "executor/cuda/layers/queued_layers.hpp"
#include "executor/layers/gradient_check.hpp"
#include "sim/kinds.hpp"
#include "sim/tensor_index.hpp"
#include "tests/support/dag_paths.hpp"

namespace pipeloom::executor::cuda {

/// The engine has wait_until_done(engine, stream).
template <class Engine, class T>
class OnStreams {
 public:
  using Stream = typename Engine::Stream;

  /// REQUIRES: three streams per rank, which outlive it.
  OnStreams(Engine& engine, std::vector<Stream> streams, const LayersConfig& config, const Schedule& schedule)
      : engine_(engine),
        streams_(std::move(streams)),
        schedule_(schedule),
        dag_(schedule_),
        tensors_(schedule_),
        events_(dag_.num_entries()) {
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      ranks_.push_back(std::make_unique<QueuedLayers<Engine, T>>(engine, config, schedule_, rank));
  }
  OnStreams(const OnStreams&) = delete;
  OnStreams& operator=(const OnStreams&) = delete;

  void run(int step) {
    for (const Vertex entry : test::topological_order(dag_)) {
      events_[entry].clear();
      for (std::size_t i = dag_.first_op(entry); i < dag_.last_op(entry); ++i)
        run_op(entry, schedule_.ops()[i], i - dag_.first_op(entry), step);
    }
    for (const Stream stream : streams_) wait_until_done(engine_, stream);
    for (const auto& rank : ranks_) rank->end_step(step);
  }

  [[nodiscard]] Gradients gradients() {
    std::vector<RankGradients> all;
    for (const auto& rank : ranks_) all.push_back(rank->gradients());
    return collect_gradients(schedule_, all);
  }
  [[nodiscard]] QueuedLayers<Engine, T>& rank(std::size_t which) { return *ranks_[which]; }

 private:
  void run_op(Vertex entry, Op op, std::size_t part, int step) {
    const std::size_t rank = schedule_.home_of(op).at();
    const auto lane = is_copy(op.kind()) ? std::size_t{2} : part == 0 ? std::size_t{0} : std::size_t{1};
    const Stream stream = streams_[rank * 3 + lane];
    for (auto e = dag_.in_begin(entry); e < dag_.in_begin(entry + 1); ++e)
      if (dag_.edge(e).source < dag_.num_entries())
        for (const typename Engine::Event& event : events_[dag_.edge(e).source]) engine_.wait(stream, event);
    const std::size_t elements = ranks_[rank]->elements_into(op);
    typename Engine::Buffer input;
    if (elements > 0) input = std::exchange(there_[tensors_.input_of(op)], {});
    typename Engine::Buffer out = ranks_[rank]->run(op, step, std::move(input), elements, stream);
    if (!out.empty()) there_[tensors_.output_of(op)] = std::move(out);
    engine_.record(events_[entry].emplace_back(), stream);
  }

  Engine& engine_;
  std::vector<Stream> streams_;  // [rank * 3 + lane]
  Schedule schedule_;
  Dag dag_;
  TensorIndex tensors_;
  std::vector<std::vector<typename Engine::Event>> events_;  // [entry]
  std::map<std::size_t, typename Engine::Buffer> there_;     // [tensor]
  std::vector<std::unique_ptr<QueuedLayers<Engine, T>>> ranks_;
};

}  // namespace pipeloom::executor::cuda
