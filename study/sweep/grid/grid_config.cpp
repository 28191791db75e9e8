// Grid::config and Grid::document: the base with a combination's settings on top.

#include <fmt/format.h>

#include <utility>

#include "study/sweep/grid/grid_template.hpp"

namespace pipeloom::sweep {

io::Document document_of(const GridContent& content, const Combination& combination) {
  Position at;
  locate(content, combination.index, at);
  const Block& block = *at.block;
  io::Document document = content.base;
  for (std::size_t i = 0; i < combination.settings.size(); ++i) {
    const Setting& setting = combination.settings[i];
    const std::string& key = content.keys[setting.key];
    if (i < block.places.size()) {
      const auto& [axis, index] = block.places[i];
      const AxisKey& column = block.axes[axis]->columns[index];
      if (!column.range) {
        document.set(key, column.list[at.digits[axis]].value, column.where.file);
        continue;
      }
    }
    // A number or a text that was calculated: names of files in it are relative to the grid.
    document.set(key, setting.json, content.path);
  }
  return document;
}

namespace {

void require_path(io::Document base, const std::string& key, const Where& where) {
  try {
    base.set(key, "0", "");
  } catch (const InputError& error) {
    throw InputError(where, fmt::format("{} cannot be set on top of the base: {}", key, error.what()));
  }
}

}  // namespace

void require_paths(const GridContent& content) {
  // No key is a part of another one of its product, so that each can be tried alone, once.
  std::vector<bool> tried(content.keys.size());
  for (const Block& block : content.blocks)
    for (const auto& [axis, index] : block.places) {
      const AxisKey& column = block.axes[axis]->columns[index];
      if (tried[column.key]) continue;
      tried[column.key] = true;
      require_path(content.base, column.name, column.where);
    }
  for (const Rule& rule : content.derived) require_path(content.base, rule.name, rule.where);
}

io::Document Grid::document(const Combination& combination) const {
  return document_of(*content_, combination);
}

io::Config Grid::config(const Combination& combination) const {
  if (auto config = content_->templates->config(*content_, combination)) return *std::move(config);
  return io::read_run_config(document_of(*content_, combination).root());
}

}  // namespace pipeloom::sweep
