// What reading one value of a key does to a configuration: keys know that themselves (Key::patch). A test holds it against the reader.

#include <algorithm>
#include <charconv>

#include "sim/io/config/config.hpp"
#include "sim/io/config/key.hpp"
#include "study/sweep/grid/grid_template.hpp"

namespace pipeloom::sweep {
bool Patch::apply(io::Config& config, std::string_view json, const Where& where) const {
  if (!key->patch(*key, config, index, json, where)) return false;
  const bool has_place = key->group == io::KeyClass::Shape || key->group == io::KeyClass::Option;
  if (has_place) config.given.move(io::id_of(*key), where);
  return true;
}

std::string_view Patch::placeholder() const {
  return key->type == io::KeyType::Text ? "\"gpipe\"" : "1";
}

std::optional<Patch> find_patch(std::string_view path) {
  if (const io::Key* key = io::find_config_key(path))
    return key->patches_whole && key->patchable ? std::optional(Patch{key, io::kWhole}) : std::nullopt;
  const auto dot = std::min(path.rfind('.'), path.size());
  const io::Key* key = io::find_config_key(path.substr(0, dot));
  const std::string_view digits = path.substr(std::min(dot + 1, path.size()));
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (key == nullptr || !key->patches_entries || error != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return Patch{key, index};
}

}  // namespace pipeloom::sweep
