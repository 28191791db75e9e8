#pragma once

// Encoders (vision and audio towers) in front of a decoder, by the rules of their types.

#include "sim/io/models/sizes.hpp"
#include "sim/io/models/types.hpp"
#include "sim/model/model.hpp"

namespace pipeloom::io::models {

/// Puts the tower of a file of this type in front of the decoder that `out` has already: what makes its input before its first layer, the projector after its
/// last. REQUIRES: out.hidden and out.layers are read, and `whole` is of the file's outermost object. Throws InputError for a tower that is not known, with
/// those that are.
///
/// Rows of files without a tower say `patches`, the weights that make states of patches, with `says`. Others say in `read`: `tower` (the key of the tower's object), `encoders` (types that it may have, the usual one first) `projector`, an object of
/// `after` (products) and `tables`, `merge`, a size that products may name, `told`, switches that the
/// encoder's expressions know by name, `says`, a warning, and `also`, a row of encoders.def that says the same of a second tower (`joined` where its states are
/// put beside the first's). Rows of encoders say `encoder`, an object of expressions over their own keys:
///
/// | key | meaning |
/// | --- | --- |
/// | `count` `hidden` `heads` `kv_heads` `head_dim` `ffn` `norm` `place` `tokens` | sizes of the layers, and their norms (`place` may be `around`); without kv_heads all heads have keys, without tokens there are rows x columns |
/// | `rows` `columns` | patches of an image; `height` and `width` are its pixels where it may have any size, and a warning says them unless the file has `image_size` (with `warns` always) |
/// | `qkv_bias` `key_bias` `output_bias` `head_norms` `wide_norms` `gated` `bias` | switches of the layers |
/// | `before` `after` | products: `inputs` `outputs` `tokens` `bias` `activation` |
/// | `tables` `first_tables` `last_tables` `tap_tables` | weights of no product, of each layer, the first, the last, and those in `tapped` |
/// | `window` `whole` `tapped` | tokens that attention sees, and keys of lists: layers that see all, and layers with a projector of their own |
/// | `whole_period` `whole_tables` | where that list is missing, the period of layers that see all, as the last does; weights of no product that only these have |
/// | `merging` `merger` `merger_tables` `merged_tokens` | a layer inside, the products and weights after it that merge tokens, and how many there are then |
///
/// All know the names `decoder_width`, `rows`, `columns`; projectors `encoder_width` and `encoder_tokens` too.
void add_tower(Sizes& whole, const TypeRow& type, model::Model& out);

}  // namespace pipeloom::io::models
