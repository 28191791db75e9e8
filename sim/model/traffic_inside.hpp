#pragma once

// Elementwise traffic of a rank, by the two lists of docs/models.md. Bytes per pass.

#include <vector>

#include "sim/model/work.hpp"

namespace pipeloom::model {

void add_layer_traffic(std::vector<Traffic>& out, const Model& model, const Layer& layer, const Split& split);
void add_embedding_traffic(std::vector<Traffic>& out, const Model& model, const Split& split);
void add_final_norm_traffic(std::vector<Traffic>& out, const Model& model, const Split& split);
void add_loss_traffic(std::vector<Traffic>& out, const Model& model, const Split& split);
void add_mtp_traffic(std::vector<Traffic>& out, const Model& model, const Split& split);

}  // namespace pipeloom::model
