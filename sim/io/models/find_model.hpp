#pragma once

// Models by name or file.

#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/model/model.hpp"

namespace pipeloom::io {

/// A model file that travels inside the library.
struct ModelPreset {
  std::string_view name;  ///< "llama3-8b"
  std::string_view json;  ///< as read_model() takes it
};
[[nodiscard]] const std::vector<ModelPreset>& model_presets();
[[nodiscard]] std::vector<std::string> model_names();

/// The preset of this name in any case; else Megatron arguments, where `text` begins with "--"; else the file of this name: ours, a Hugging Face
/// config.json (or a folder that holds one) or Megatron arguments, told apart by content. Throws InputError: at `where` for a name that is none, with the
/// nearest and all presets, and in the file for what is wrong there.
[[nodiscard]] model::Model find_model(const std::string& text, const Where& where);

/// What a file of any of the three formats says; `name` is the file's in messages.
[[nodiscard]] model::Model parse_model(std::string_view text, const std::string& name);

}  // namespace pipeloom::io
