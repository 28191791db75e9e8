// Any bytes as a grid and as an expression. What is read holds its promises: a point's document is a configuration with the same key, and
// a small one runs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include "study/run/evaluate.hpp"
#include "study/sweep/grid/grid.hpp"
#include "study/text/expression.hpp"

namespace {

using namespace pipeloom;
using namespace pipeloom::sweep;

// A folder that does not exist: names of files in a grid lead nowhere.
constexpr const char* kPath = "/nowhere/at/all/grid.json";

void require_one_line(const Error& error) {
  if (error.line().find('\n') != std::string::npos) __builtin_trap();
}

void check_point(const Grid& grid, const Combination& point) {
  const std::string key = grid.key(point);
  if (key.size() != 16) __builtin_trap();
  for (const Setting& setting : point.settings)
    if (setting.key >= grid.keys().size()) __builtin_trap();
  const std::string document = grid.document(point).root().canonical_text();
  try {
    const Grid alone = Grid::parse("{\"base\": " + document + "}", kPath);
    Combination only;
    if (!alone.combination(0, only) || alone.key(only) != key) __builtin_trap();
  } catch (const InputError& error) {
    require_one_line(error);  // a derived value of the wrong type
  }
  try {
    const io::Config config = grid.config(point);
    Limits limits;
    limits.max_memory = 1 << 17;
    if (config.ranks <= 16 && config.chunks.value_or(1) <= 16) (void)study::evaluate(config, limits);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    require_one_line(error);
  }
}

void check_grid(std::string_view text) {
  GridLimits limits;
  limits.max_points = 100'000;
  const Grid grid = Grid::parse(text, kPath, limits);
  if (grid.hash() != Grid::parse(text, kPath, limits).hash()) __builtin_trap();
  const std::uint64_t step = 1 + grid.combinations() / 16;
  Combination point;
  for (std::uint64_t i = 0; i < grid.combinations(); i += step) try {
      if (grid.combination(i, point)) check_point(grid, point);
    } catch (const InputError& error) {
      require_one_line(error);
    }
}

void check_expression(std::string_view text) {
  const Expression expression = Expression::parse(text, Where{"expression"});
  const Operand value =
      expression.evaluate([](std::size_t i) { return Operand::number(static_cast<Nano>(i) * kOne / 2); });
  if (value.nano > kMaxNano || value.nano < -kMaxNano) __builtin_trap();
  (void)io::Document::parse(value.json(), "value");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto check : {check_grid, check_expression}) try {
      check(text);
    } catch (const InternalError&) {
      throw;  // a bug, whatever the input
    } catch (const Error& error) {
      require_one_line(error);
    }
  return 0;
}
