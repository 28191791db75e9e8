#pragma once

// Whether a model and a split make sense, before anything is counted. What passes here overflows nowhere.

#include "sim/model/model.hpp"

namespace pipeloom::model {

/// Throws InputError at `model.where` for the first thing that is wrong: a size that is not positive or beyond all models, a letter
/// without a kind or twice, more experts per token than there are, more than 2^62 parameters. A model of a profile alone needs letters and times.
void check(const Model& model);

/// Whether `model` has sizes, or only a profile of times: parameters, work and tensors need sizes.
[[nodiscard]] bool has_sizes(const Model& model);

/// Throws InputError at `where` for a split that the model cannot be cut into: degrees that do not divide heads, key/value heads, widths, experts
/// or tokens. REQUIRES: check(model) passed and it has sizes.
void check(const Model& model, const Split& split, const Where& where);

}  // namespace pipeloom::model
