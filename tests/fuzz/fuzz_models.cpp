// Model files of all three formats: whatever is read has passed its check, and counts without overflow.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pipeloom/error.hpp>
#include "sim/io/models/find_model.hpp"
#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/tensors.hpp"
#include "sim/model/work.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace pipeloom;
using fuzz::require;

void count(const model::Model& model) {
  require(model::parameters_of(model) >= model::active_parameters_of(model));
  model::Split split;
  split.sequence = 4096;
  model::check(model, split, {});
  for (const model::Layer& layer : model.kinds) {
    require(model::local_parameters(model, layer, split).all() == model::parameters_of(model, layer).all());
    for (const model::Gemm& gemm : model::work_of(model, layer, split).gemms)
      require(gemm.m > 0 && gemm.k > 0 && gemm.n > 0 && gemm.groups > 0);
    for (const model::KeptTensor& tensor :
         model::kept_tensors(model, layer, split, model::Recomputation::None))
      require(std::isfinite(tensor.bytes) && tensor.bytes > 0);
  }
  require(std::isfinite(model::flops_per_token(model, split.sequence)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const model::Model model = io::parse_model(text, "input");
    if (model::has_sizes(model)) count(model);
  } catch (const InputError& error) {
    fuzz::require_one_line(error.line());
  }
  return 0;
}
