#pragma once

// A decoder of Hugging Face's, layer by layer, by the rules of its type.

#include <string>

#include "sim/io/json/json_value.hpp"
#include "sim/io/models/sizes.hpp"
#include "sim/io/models/types.hpp"
#include "sim/model/model.hpp"

namespace pipeloom::io::models {

/// Reads what `object` says of a decoder of this type into `out`: its sizes, kinds of layers and their order. `path` is the object's in messages; `whole` is
/// the type of the file that it is part of (of the same name where it is the file). What the class passes over, and what it keeps beside its parameters,
/// become warnings. Throws InputError at the value for what the class would not take, and for a key whose effect is not known here.
void read_decoder(const Value& object, const std::string& path, const TypeRow& type, const TypeRow& whole,
                  model::Model& out);

}  // namespace pipeloom::io::models
