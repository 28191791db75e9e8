#pragma once

// Work of the ranks of `pipeloom run`: busy work for a given time, or layers.

#include <memory>
#include <optional>
#include <string>

#include <pipeloom/costs.hpp>
#include "cli/option_list.hpp"
#include "executor/layers/layers.hpp"
#include "executor/run/run.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::cli {

/// Texts of the command line, checked by the functions below.
struct WorkArguments {
  std::string work = "busy";
  std::optional<std::string> message_size;
  std::optional<std::string> width;
  std::optional<std::string> rows;
  std::optional<std::string> blocks;
  std::optional<std::string> heads;
  std::optional<std::string> seed;
  bool integers = false;
  std::optional<std::string> precision;

  [[nodiscard]] bool is_layers() const { return work == "layers"; }
};
/// --work, --message-size, --width, --rows, --blocks, --heads, --seed, --integers, --precision.
void add_work_options(OptionList& list, WorkArguments& arguments);

/// Throws InputError for values that are wrong and options that belong to the other work.
void require_consistent(const WorkArguments& arguments);

/// Values of the options of layers, and of busy work: elements of each message.
[[nodiscard]] executor::LayersConfig layers_config(const WorkArguments& arguments);
[[nodiscard]] std::size_t busy_elements(const WorkArguments& arguments);

/// `costs` are for busy work only: how long its ops last.
[[nodiscard]] std::unique_ptr<executor::Work> make_work(const WorkArguments& arguments,
                                                        const Schedule& schedule, const Costs& costs);

/// Memory of the work's activations, as far as the simulator can predict it: executor::layer_memory(); nullopt for busy work.
[[nodiscard]] std::optional<MemoryModel> memory_of_work(const WorkArguments& arguments,
                                                        const Schedule& schedule);

/// Throws InputError where the layers of all ranks, or of `only` that one, would need more than `limit` bytes: an estimate of weights,
/// gradients and predicted peaks, made before anything is allocated. Also throws as executor::require_possible().
void require_room(const WorkArguments& arguments, const pipeloom::Run& run, std::optional<Rank> only,
                  double limit);

/// A text of all that the work depends on, except the costs of busy work: "layers of width 64, ..".
[[nodiscard]] std::string text_of(const WorkArguments& arguments);

/// A line that says that gradients are those of a run without a pipeline; "" for busy work and forward-only schedules. Throws
/// SystemError if they are not.
[[nodiscard]] std::string gradients_page(const WorkArguments& arguments, const Schedule& schedule,
                                         const executor::RunResult& result);

}  // namespace pipeloom::cli
