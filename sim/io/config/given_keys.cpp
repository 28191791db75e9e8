#include <algorithm>

#include "sim/io/config/config.hpp"

namespace pipeloom::io {
namespace {

template <class Places>
auto find_in(Places& places, KeyId id) {
  return std::find_if(places.begin(), places.end(), [id](const auto& place) { return place.first == id; });
}

}  // namespace

bool GivenKeys::has(std::string_view path) const {
  const Key* key = find_config_key(path);
  return key != nullptr && has(id_of(*key));
}

const Where* GivenKeys::find(KeyId id) const {
  if (const auto moved = find_in(moved_, id); moved != moved_.end()) return &moved->second;
  if (places_ == nullptr) return nullptr;
  const auto found = find_in(*places_, id);
  return found == places_->end() ? nullptr : &found->second;
}

const Where& GivenKeys::place_of(std::string_view path) const {
  for (;;) {
    const Key* key = find_config_key(path);
    const Where* found = key != nullptr ? find(id_of(*key)) : nullptr;
    if (found != nullptr) return *found;
    const auto dot = path.rfind('.');
    if (dot == std::string_view::npos) return root_;
    path = path.substr(0, dot);
  }
}

void GivenKeys::add_root(const Where& where) {
  root_ = where;
  places_ = std::make_shared<Places>();
}

void GivenKeys::add(KeyId id, const Where& where) {
  given_.set(id);
  places_->emplace_back(id, where);
}

void GivenKeys::move(KeyId id, const Where& where) {
  const auto moved = find_in(moved_, id);
  if (moved == moved_.end())
    moved_.emplace_back(id, where);
  else
    moved->second = where;
}

}  // namespace pipeloom::io
