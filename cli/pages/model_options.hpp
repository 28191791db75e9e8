#pragma once

// Options of commands that are about a model on devices.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/option_list.hpp"
#include "cli/options.hpp"
#include "sim/io/config/config.hpp"

namespace pipeloom::cli {

/// Everything as it was typed: the reader of configurations checks it.
struct ModelOptions {
  std::string model;
  std::optional<std::string> hardware, precision, tp, dp, cp, ep, zero, seq, micro_batch, global_batch,
      recompute;
  std::optional<std::string> schedule, ranks, microbatches, chunks, layers, limit;
  std::vector<std::string> set;
};

/// All of them, MODEL too.
void add_model_options(OptionList& list, ModelOptions& options);
/// Adds the options of hardware and execution, below a heading unless that is empty.
void add_device_options(OptionList& list, ModelOptions& options, const std::string& heading);
/// Option and value of these, and of --limit.
[[nodiscard]] std::vector<std::pair<const char*, const std::optional<std::string>*>> device_options(
    const ModelOptions& options);

/// A configuration as a tree, and the origins of values that were not typed.
struct ModelDocument {
  io::Document document;
  std::vector<std::pair<std::string, std::string>> origins;
};
/// The options on top of `document`. Defaults: 1f1b, 8 ranks, and four microbatches for each rank unless there is a global batch; a schedule
/// file states its own. Without a model on the command line, the document's, or none. Throws InputError at the option.
[[nodiscard]] ModelDocument document_of(const ModelOptions& options, io::Document document);

/// A configuration, and the origins of values that were not typed.
struct ModelRequest {
  io::Config config;
  std::vector<std::pair<std::string, std::string>> origins;
};
/// document_of() a model, read. Throws InputError at the option.
[[nodiscard]] ModelRequest request_of(const ModelOptions& options);

}  // namespace pipeloom::cli
