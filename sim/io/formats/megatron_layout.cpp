// The format megatron-layout: the placement of a schedule as Megatron-LM's layout string.

#include "sim/layout/megatron_layout.hpp"

#include <fmt/format.h>

#include <ostream>

#include <pipeloom/error.hpp>
#include "sim/io/formats/formats.hpp"

namespace pipeloom::io {
namespace {

/// One decoder layer per stage: a schedule knows no layers.
void write_megatron_layout(std::ostream& out, const Placement& placement) {
  const std::string refusal = layout::layout_refusal(placement);
  if (!refusal.empty())
    throw InputError(
        Where{"megatron-layout"},
        fmt::format("there is no layout string for this placement: {}; write another format", refusal));
  const std::vector<int> layers(static_cast<std::size_t>(placement.stages()), 1);
  out << layout::to_text(layout::layout_of(layout::contents_of(layers))) << '\n';
}

}  // namespace

Format megatron_layout_format() {
  Format format;
  format.name = "megatron-layout";
  format.summary = "Megatron-LM's layout string for the placement, one layer per stage";
  format.read_instead = "a layout string has no order of ops; see `pipeloom layout --megatron-layout STRING`";
  format.write = [](std::ostream& out, const Exported& exported) {
    write_megatron_layout(out, exported.schedule->placement());
  };
  return format;
}

}  // namespace pipeloom::io
