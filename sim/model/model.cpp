#include "sim/model/model.hpp"

#include <algorithm>

namespace pipeloom::model {

const Layer* Model::find(char letter) const {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const Layer& layer) { return layer.letter == letter; });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace pipeloom::model
