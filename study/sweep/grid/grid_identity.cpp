// Who a grid and its points are: Grid::key, hash, and what the header of a result says of the axes.

#include <fmt/format.h>

#include "sim/io/json/file.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/sweep/grid/grid_content.hpp"
#include "study/sweep/grid/grid_keys.hpp"
#include "study/sweep/grid/leaves.hpp"
#include "study/text/fingerprint.hpp"

namespace pipeloom::sweep {
namespace {

using io::json_string;

/// [{"key": "ranks", "points": 29}, {"keys": ["ranks", "microbatches"], "points": 2}]
std::string block_json(const Block& block) {
  std::string out = "[";
  for (const auto& axis : block.axes) {
    if (out.size() > 1) out += ", ";
    if (axis->columns.size() == 1) {
      out += fmt::format("{{\"key\": {}", json_string(axis->columns.front().name));
    } else {
      std::string keys;
      for (const AxisKey& column : axis->columns)
        keys += (keys.empty() ? "" : ", ") + json_string(column.name);
      out += fmt::format("{{\"keys\": [{}]", keys);
    }
    out += fmt::format(", \"points\": {}}}", axis->size());
  }
  return out + "]";
}

std::string axes_json(const GridContent& content) {
  if (content.blocks.size() == 1) return block_json(content.blocks.front());
  std::string out = "[";
  for (const Block& block : content.blocks) out += (out.size() > 1 ? ", " : "") + block_json(block);
  return out + "]";
}

/// What the files hold that "options.file" names, below a value that stands at `key`.
void add_schedule_files(study::Fingerprint& hash, const io::Value& value, std::string_view key) {
  if (key == "options.file" && value.is(io::ValueKind::String) && value.text() != "-") {
    try {
      hash.add(study::fingerprint(io::read_file(io::relative_to(value.where().file, value.text()))));
    } catch (const Error&) {
      hash.add("none;");  // the points that need it will say so
    }
    return;
  }
  if (const io::Value* options = key.empty() ? value.find("options") : nullptr)
    add_schedule_files(hash, *options, "options");
  if (const io::Value* file = key == "options" ? value.find("file") : nullptr)
    add_schedule_files(hash, *file, "options.file");
}

void add_column(study::Fingerprint& hash, const AxisKey& column) {
  hash.add(column.name);
  if (column.range) {
    const Range& range = *column.range;
    hash.add(fmt::format(" from {} by {}/{}, {} values;", nano_text(range.from), nano_text(range.span),
                         nano_text(range.parts), range.size));
    return;
  }
  for (const ListValue& value : column.list) {
    hash.add(" ");
    hash.add(value.json);
    hash.add(value.leaves);
    add_schedule_files(hash, value.value, column.name);
  }
  hash.add(";");
}

/// Everything that decides which points there are, and what they are.
std::string grid_hash(const GridContent& content) {
  study::Fingerprint hash;
  std::string base;
  append_plain_json(base, content.base.root(), true);
  hash.add(base);
  add_schedule_files(hash, content.base.root(), "");
  for (const Block& block : content.blocks) {
    hash.add("block;");
    for (const auto& axis : block.axes) {
      hash.add("axis;");
      for (const AxisKey& column : axis->columns) add_column(hash, column);
    }
  }
  for (const Rule& rule : content.derived)
    hash.add(fmt::format("derive {} = {};", rule.name, rule.expression.text()));
  for (const Rule& rule : content.conditions) hash.add(fmt::format("where {};", rule.expression.text()));
  if (const auto& sample = content.sample)
    hash.add(fmt::format("sample {} {} {};", static_cast<int>(sample->method), sample->points, sample->seed));
  return hash.text();
}

}  // namespace

void add_identity(GridContent& content) {
  content.axes_json = axes_json(content);
  append_plain_json(content.base_json, content.base.root(), false);
  content.hash = grid_hash(content);
  for (Block& block : content.blocks) {
    std::vector<std::string_view> set;
    for (const auto& axis : block.axes)
      for (const AxisKey& column : axis->columns) set.emplace_back(column.name);
    for (const Rule& rule : content.derived) set.emplace_back(rule.name);
    block.base_leaves = leaf_sum(content.base.root(), "", set);
  }
}

std::string Grid::key(const Combination& combination) const {
  const GridContent& content = *content_;
  Position at;
  locate(content, combination.index, at);
  const Block& block = *at.block;
  std::uint64_t sum = block.base_leaves;
  for (std::size_t i = 0; i < combination.settings.size(); ++i) {
    const Setting& setting = combination.settings[i];
    if (i < block.places.size()) {
      const auto& [axis, index] = block.places[i];
      const AxisKey& column = block.axes[axis]->columns[index];
      if (!column.range) {
        sum += column.list[at.digits[axis]].leaves;
        continue;
      }
    }
    const std::string& name = content.keys[setting.key];
    if (name == "schedule" && setting.json.front() == '"')
      sum += leaf_hash(name,
                       json_string(schedule_identity(io::Document::parse(setting.json, name).root().text())));
    else
      sum += leaf_hash(name, setting.json);
  }
  return identity_text(sum);
}

}  // namespace pipeloom::sweep
