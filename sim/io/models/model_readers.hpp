#pragma once

// Readers of model files, one format a source. What they return has passed model::check().

#include <string>
#include <string_view>

#include "sim/io/json/json_value.hpp"
#include "sim/model/model.hpp"

namespace pipeloom::io {

/// Our own format: docs/models.md. Sizes, a profile of measured times, or both. Times are decimal numbers in "time_unit" ("unit", whose
/// numbers have no length, "s", "ms", "us", "ns"), or texts with a unit such as "2.68ms". Throws InputError at the first thing that is wrong, unknown keys
/// included.
[[nodiscard]] model::Model read_model(const Value& root);

/// Hugging Face's config.json, by "model_type". Keys that say nothing of sizes are passed over; a model type that is not known throws InputError. The
/// default sequence is max_position_embeddings, at most 8192.
[[nodiscard]] model::Model read_hugging_face(const Value& root);

/// Megatron-LM's arguments, one behind the other with blanks or line ends between: "--num-layers 32 --hidden-size 4096 ...". Comments
/// from '#' to the end of the line, and backslashes at ends of lines, are passed over, and so are options that say nothing of sizes. `name` is the file's in
/// messages.
[[nodiscard]] model::Model read_megatron(std::string_view text, const std::string& name);

}  // namespace pipeloom::io
