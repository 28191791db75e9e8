// Any bytes as a layout string: read, written back, checked for a few numbers of ranks, and used as `layout` uses it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/layout/advice.hpp"
#include "sim/layout/layer_split.hpp"
#include "sim/layout/megatron_layout.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace pipeloom;
using namespace pipeloom::layout;
using fuzz::require;

/// Larger layouts are only read: so there are many inputs a second.
constexpr std::size_t kMostWritten = 1 << 14;
/// Of larger layouts only the string is tried: names of modules are many, and each place is counted from the first letter.
constexpr std::size_t kMostLetters = 1024;

/// Letters and stages stand in the string, in its order.
void check_places(const MegatronLayout& parsed, std::string_view text) {
  for (std::size_t stage = 0; stage < parsed.stages.size(); ++stage) {
    const Where where = parsed.place(stage);
    require(where.column >= 1 && static_cast<std::size_t>(where.column) <= text.size() + 1);
  }
}

int sum_of(const std::vector<StageContent>& contents, int StageContent::*part) {
  return std::accumulate(contents.begin(), contents.end(), 0,
                         [part](int sum, const StageContent& one) { return sum + one.*part; });
}

/// The model that the layout is of, and no other.
void check_model(const MegatronLayout& parsed, int ranks, int layers, int mtp) {
  (void)contents_of(parsed, ranks, {layers, mtp});
  for (const LayoutModel& other : {LayoutModel{layers + 1, mtp}, LayoutModel{layers, mtp + 1}}) try {
      (void)contents_of(parsed, ranks, other);
      require(false);
    } catch (const InputError& error) {
      fuzz::require_one_line(error.line());
    }
}

/// What stages hold, as frameworks name it: each layer in one of them.
void check_modules(const std::vector<StageContent>& contents) {
  std::vector<int> layers;
  for (const StageContent& stage : contents) layers.push_back(stage.layers);
  const int all = sum_of(contents, &StageContent::layers);
  const LayerWeights ones{std::vector<std::int64_t>(static_cast<std::size_t>(all), 1)};
  require(stage_weights(ones, layers) == std::vector<std::int64_t>(layers.begin(), layers.end()));
  require(first_layers(contents).back() + layers.back() == all);
  for (const Framework framework : {Framework::Torchtitan, Framework::Areal, Framework::Megatron}) {
    const ModuleNames names = module_names(framework, false);
    const auto modules = modules_of(contents, names);
    const auto ranges = modules_of(contents, names, true);
    require(modules.size() == contents.size() && ranges.size() == contents.size());
    std::ptrdiff_t named = 0;
    for (std::size_t stage = 0; stage < contents.size(); ++stage) {
      require(ranges[stage].size() <= modules[stage].size());
      named += std::count_if(modules[stage].begin(), modules[stage].end(),
                             [&names](const std::string& one) { return one.starts_with(names.layer); });
    }
    require(named == all);
  }
}

void check_use(const MegatronLayout& parsed, int ranks) {
  const std::vector<StageContent> contents = contents_of(parsed, ranks);
  const int stages = static_cast<int>(contents.size());
  require(layout_of(contents) == parsed);
  require(layout_refusal(Placement::loop(ranks, stages / ranks)).empty());
  check_model(parsed, ranks, sum_of(contents, &StageContent::layers), sum_of(contents, &StageContent::mtp));
  check_modules(contents);
  fuzz::require_one_line(microbatch_advice(ranks, stages, std::nullopt).text);
  fuzz::require_one_line(megatron_microbatch_advice(ranks, stages).text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const MegatronLayout parsed = parse_megatron_layout(text, "layout");
    std::size_t letters = parsed.stages.size();
    for (const std::string& stage : parsed.stages) letters += stage.size();
    if (letters > kMostWritten) return 0;
    require(parse_megatron_layout(to_text(parsed)) == parsed);
    if (letters > kMostLetters) return 0;
    check_places(parsed, text);
    for (const int ranks : {1, 2, 3, 8}) try {
        check_use(parsed, ranks);
      } catch (const InputError& error) {
        fuzz::require_one_line(error.line());
      }
  } catch (const InputError& error) {
    require(error.where().column > 0);
    fuzz::require_one_line(error.line());
  }
  return 0;
}
