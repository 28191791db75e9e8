#pragma once

// From a row, a codec and a member of Config to a Key. For keys.cpp; a row with a member of another type than the codec stores does not
// compile.

#include <type_traits>
#include <utility>

#include "sim/io/config/codecs.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/config/key.hpp"

namespace pipeloom::io {

/// The path from an object to a member: MemberAt<&Config::step, &Steps::count>; a number is a subscript.
template <auto first, auto... rest>
struct MemberAt {
  static constexpr auto& of(auto& object) {
    auto& next = step(object);
    if constexpr (sizeof...(rest) == 0)
      return next;
    else
      return MemberAt<rest...>::of(next);
  }

 private:
  static constexpr auto& step(auto& object) {
    if constexpr (std::is_member_object_pointer_v<decltype(first)>)
      return object.*first;
    else
      return object[static_cast<std::size_t>(first)];
  }
};

namespace detail {

template <class Codec, class Place>
using MemberOf = std::remove_cvref_t<decltype(Place::of(std::declval<Config&>()))>;

template <class Codec, class Place>
void read(Config& config, const Value& value, const ReadContext& context) {
  Codec::read(Place::of(config), value, context);
}
template <class Codec, class Place>
bool has(const Config& config) {
  return Codec::has(Place::of(config));
}
template <class Codec, class Place>
void take(Config& config, const Config& from) {
  Place::of(config) = Place::of(from);
}
template <class Codec, class Place>
std::string_view word(const Config& config) {
  return Codec::word(Place::of(config));
}
template <class Codec, class Place>
void write(const Key& key, TextWriter& out, const Config& config) {
  Codec::write(out, Place::of(config), codec::Context{key, config.costs.unit});
}
template <class Codec, class Place>
bool patch(const Key& key, Config& config, std::size_t index, std::string_view json, const Where& where) {
  return Codec::patch(Place::of(config), index, json, codec::Context{key, config.costs.unit, where});
}
template <class Codec, class Place>
std::size_t mix(const ScheduleOptions& options, std::size_t hash) {
  hash = (hash ^ Codec::hash(Place::of(options))) * 0x9E3779B97F4A7C15U;
  return hash ^ hash >> 29;
}

}  // namespace detail

/// The key whose value lives at `Place` of Config.
template <class Codec, class Place>
constexpr Key key(const KeyRow& row) {
  static_assert(Codec::template kStores<detail::MemberOf<Codec, Place>>,
                "the codec stores another type than the member has");
  Key out{row};
  out.type = Codec::kType;
  out.form = &Codec::kForm;
  out.read = detail::read<Codec, Place>;
  out.has = detail::has<Codec, Place>;
  if constexpr (codec::is_group<Codec>)
    out.word = detail::word<Codec, Place>;
  else
    out.write = detail::write<Codec, Place>;
  out.patches_whole = Codec::kPatchesWhole;
  out.patches_entries = Codec::kPatchesEntries;
  if constexpr (Codec::kPatchesWhole || Codec::kPatchesEntries) out.patch = detail::patch<Codec, Place>;
  return out;
}

/// The key of an option: its value lives at these members, from ScheduleOptions on.
template <class Codec, auto... members>
constexpr Key option(KeyRow row) {
  row.group = KeyClass::Option;
  row.role = KeyRole::Decision;
  Key out = key<Codec, MemberAt<&Config::options, members...>>(row);
  out.take = detail::take<Codec, MemberAt<&Config::options, members...>>;
  out.mix = detail::mix<Codec, MemberAt<members...>>;
  return out;
}

/// A key that only holds further keys.
constexpr Key group(const KeyRow& row) {
  Key out{row};
  out.form = &codec::kGroupForm;
  return out;
}

}  // namespace pipeloom::io
