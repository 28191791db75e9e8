#pragma once

// Which layers of a decoder have which parts, by the rules of its type.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/models/sizes.hpp"
#include "sim/io/models/types.hpp"

namespace pipeloom::io::models {

/// A most of layers that any model has.
inline constexpr std::int64_t kMostDecoderLayers = 4096;

/// The part of each layer by the rules `which` ("mixer", "feed") of a type, "" for none. The first rule that holds counts:
///
/// - a text: the same part for all;
/// - `by`: a key whose list (or text, by letters) has an entry for each layer, and a part for each entry; it holds where the list is there; with `more`
///   entries after the last layer's are passed over;
/// - else `on` for the layers that meet all conditions, `off` for the others: layers i with i mod `period` = `offset`, `from` and `to` (both included),
///   numbered `in` a list (from `base`) or an object's keys, `not_in` one, and `if` for all; it holds where the key that it `needs` is there.
///
/// `first` says another part for the first layer in place of the one that the rest says, `late` for all `late_from` a number on, `last` names the last layer's whatever the rest says. Throws InputError at the list for one that does not fit.
[[nodiscard]] std::vector<std::string> parts_of_layers(Sizes& sizes, const TypeRow& type,
                                                       std::string_view which, std::size_t count);

/// All parts that these rules name, for this file or another.
[[nodiscard]] std::vector<std::string> parts_named(const TypeRow& type, std::string_view which);

}  // namespace pipeloom::io::models
