#pragma once

// The tensors that one rank holds between its instructions, of any type: Payload on the host (executor/run/rank_runner.cpp),
// DeviceTensor on a GPU (executor/cuda/run/device_runner.hpp). They run the ops and move the messages; the place of each tensor is decided here.

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "executor/run/work.hpp"
#include "sim/messages/program.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom::executor {

/// The first op after the entry that begins with op `first`.
[[nodiscard]] inline std::size_t end_of_entry(const Schedule& schedule, std::size_t first) {
  while (schedule.ops()[first].joined()) ++first;
  return first + 1;
}

/// A key that is the same for all ops of a pass: the ops that wait for an L find it by this key.
[[nodiscard]] inline std::uint64_t reload_key(Op op) {
  return op.as(OpKind::Forward).key();
}

/// `Tensor` can be moved, and has is_empty(). A default one is empty.
template <class Tensor>
class HeldTensors {
 public:
  /// `program` outlives it.
  explicit HeldTensors(const Program& program) : program_(program), tensors_(program.schedule()) {}

  /// Returns the tensor that the op needs, and no longer holds it; empty: it needs none.
  [[nodiscard]] Tensor input_of(std::size_t op) {
    const MessageId message = program_.messages().needed_by(op);
    if (message != kNoMessage) return take_from(received_, message);
    const Op what = program_.schedule().ops()[op];
    if (!takes_tensor(what, program_.schedule().stages())) return {};
    return take_from(local_, tensors_.input_of(what));
  }
  void keep_output(std::size_t op, Tensor output) {
    const MessageId message = program_.messages().sent_by(op);
    if (message != kNoMessage)
      to_be_sent_[message] = std::move(output);
    else if (!output.is_empty())
      local_[tensors_.output_of(program_.schedule().ops()[op])] = std::move(output);
  }

  /// The tensors of a batch's sends, in its order, taken out of the held ones: for its Post.
  [[nodiscard]] std::vector<Tensor> take_sends(std::uint32_t batch) {
    std::vector<Tensor> sends;
    for (const Endpoint& end : program_.batch(batch))
      if (end.is_send) sends.push_back(take_from(to_be_sent_, end.message));
    return sends;
  }
  /// Keeps what take(message) returns for each receive of a batch, after its Wait.
  template <class Take>
  void keep_received(std::uint32_t batch, Take&& take) {
    for (const Endpoint& end : program_.batch(batch))
      if (!end.is_send) received_[end.message] = take(end.message);
  }

 private:
  template <class Key>
  using Map = std::unordered_map<Key, Tensor>;

  template <class Key>
  static Tensor take_from(Map<Key>& map, Key key) {
    const auto found = map.find(key);
    if (found == map.end()) return {};
    Tensor tensor = std::move(found->second);
    map.erase(found);
    return tensor;
  }

  const Program& program_;
  TensorIndex tensors_;
  Map<std::size_t> local_;     // by tensor: between two stages of this rank
  Map<MessageId> to_be_sent_;  // outputs whose Post has not come
  Map<MessageId> received_;    // inputs whose op has not come
};

}  // namespace pipeloom::executor
