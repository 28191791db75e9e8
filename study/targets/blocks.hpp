#pragma once

// Texts to paste, one file for the language of each target.

#include <string>
#include <vector>

#include "study/targets/layers_told.hpp"
#include "study/targets/own_order.hpp"
#include "study/targets/verdict.hpp"

namespace pipeloom::study {

/// A deployment that a target takes, with the findings about it.
struct Taken {
  const Target& target;
  const Deployment& deployment;
  const LayersTold& layers;
  const OwnOrder* own = nullptr;  ///< null: the order comes from a file
  int group_size = 0;             ///< N of Megatron-LM's interleaved orders

  [[nodiscard]] int ranks() const { return deployment.order->ranks(); }
  [[nodiscard]] int chunks() const { return deployment.order->placement().chunks(); }
  [[nodiscard]] int microbatches() const { return deployment.order->microbatches(); }
  [[nodiscard]] bool splits_backward() const { return deployment.order->contains(OpKind::BackwardInput); }
  /// The file that the order is in: the one that was asked for, or the name to ask for.
  [[nodiscard]] std::string csv() const;
};

[[nodiscard]] ToRun python_block(const Taken& taken);
[[nodiscard]] ToRun torchtitan_block(const Taken& taken);
[[nodiscard]] ToRun areal_block(const Taken& taken);
[[nodiscard]] ToRun megatron_block(const Taken& taken);

/// The requirements on PyTorch of a backward split into I and W, with their cost as far as it is known.
[[nodiscard]] std::string compile_need(const Taken& taken);
/// That the order has to be written to a file, unless that is asked for already; "" otherwise.
[[nodiscard]] std::string file_need(const Taken& taken);
/// That FSDP shards weights, gradients and states, and the ZeRO stage that the numbers assume, if that is another. "" otherwise.
[[nodiscard]] std::string sharding_need(const Taken& taken);

/// That embedding and head have to have weights of their own, where the model's are shared and the target refuses that beside a pipeline. "" otherwise.
[[nodiscard]] std::string tied_need(const Taken& taken);
/// The models that the target has, if these are few and a model is named. "" otherwise.
[[nodiscard]] std::string family_need(const Taken& taken);

/// "[[0, 7], [1, 6]]".
[[nodiscard]] std::string json_lists(const std::vector<std::vector<int>>& lists);
/// "[["a", "b"], ["c"]]".
[[nodiscard]] std::string json_lists(const std::vector<std::vector<std::string>>& lists);

}  // namespace pipeloom::study
