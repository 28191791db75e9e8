#include "sim/io/models/find_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/models/model_readers.hpp"

namespace pipeloom::io {
namespace {

/// A file of sizes is small.
constexpr std::size_t kMostModelBytes = std::size_t{16} << 20;

/// Names without what only tells sizes apart that stand alone here.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"qwen3-30b", "qwen3-30b-a3b"},
                                                                      {"qwen3-235b", "qwen3-235b-a22b"}};

const ModelPreset* model_preset(std::string_view text) {
  std::string name = lower(text);
  for (const auto& [alias, meant] : kAliases)
    if (name == alias) name = meant;
  const auto& presets = model_presets();
  const auto found = std::find_if(presets.begin(), presets.end(),
                                  [&](const ModelPreset& preset) { return preset.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

bool begins_with_options(std::string_view text) {
  return trimmed(text, " \t\r\n").starts_with("--");
}

[[noreturn]] void refuse_name(const std::string& text, const Where& where) {
  const std::vector<std::string> names = model_names();
  const std::string nearest = nearest_name(text, names);
  throw InputError(
      where, fmt::format(
                 "'{}' is no model and no file; {}models: {}; or give a file (ours, a "
                 "config.json of Hugging Face, Megatron arguments)",
                 shortened(text, 80),
                 nearest.empty() ? std::string() : fmt::format("did you mean '{}'? ", shortened(nearest, 80)),
                 join(names, ", ")));
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelPreset& preset : model_presets()) names.emplace_back(preset.name);
  return names;
}

model::Model parse_model(std::string_view text, const std::string& name) {
  const std::size_t mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // of UTF-8, as some editors write it
  const std::string_view content = trimmed(text.substr(mark), " \t\r\n");
  // JSON of ours may begin with a comment.
  if (!content.starts_with("{") && !content.starts_with("/") && !content.starts_with("["))
    return read_megatron(text, name);
  const Document document = Document::parse(text, name);
  const Value& root = document.root();
  const bool foreign = root.is(ValueKind::Object) &&
                       (root.find("model_type") != nullptr || root.find("architectures") != nullptr);
  return foreign ? read_hugging_face(root) : read_model(root);
}

model::Model find_model(const std::string& text, const Where& where) {
  if (const ModelPreset* preset = model_preset(text))
    return read_model(Document::parse(preset->json, std::string(preset->name)).root());
  if (begins_with_options(text)) return read_megatron(text, where.text());
  std::error_code ignored;
  std::filesystem::path path(text);
  if (text.find('\0') != std::string::npos || !std::filesystem::exists(path, ignored))
    refuse_name(text, where);
  if (std::filesystem::is_directory(path, ignored)) path /= "config.json";
  return parse_model(read_file(path.string(), kMostModelBytes), path.string());
}

}  // namespace pipeloom::io
