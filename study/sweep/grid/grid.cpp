// Grid::config and Grid::document: the base with a combination's settings on top.
// Identity of a grid and its points: Grid::key, hash, and the axes in the header of a result.
// Grid::combination: the values of the i-th combination, computed from i.

#include "study/sweep/grid/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/sweep/grid/axis.hpp"
#include "study/sweep/grid/grid_content.hpp"
#include "study/sweep/grid/grid_keys.hpp"
#include "study/sweep/grid/grid_reader.hpp"
#include "study/sweep/grid/grid_template.hpp"
#include "study/text/fingerprint.hpp"

namespace pipeloom::sweep {

namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

void GridReader::count() {
  constexpr Wide kMost = ~std::uint64_t{0};
  Wide total = 0;
  for (Block& block : content_->blocks) {
    Wide size = 1;
    for (const auto& axis : block.axes) size = std::min(size * axis->size(), kMost + 1);
    block.begin = static_cast<std::uint64_t>(std::min(total, kMost));
    block.size = static_cast<std::uint64_t>(std::min(size, kMost));
    total = std::min(total + size, kMost + 1);
  }
  const Where where{content_->path};
  if (total > kMost)
    throw InputError(where, fmt::format("the grid has more than 1.8e19 combinations; at most {} are "
                                        "allowed: give fewer values",
                                        limits_.max_points));
  content_->total = static_cast<std::uint64_t>(total);
  const auto& sample = content_->sample;
  if (sample && sample->points > content_->total && sample->method == Sample::Method::Random)
    throw InputError(
        sample_where_,
        fmt::format("a sample of {} points is more than the {} combinations that there are; leave "
                    "\"sample\" out",
                    sample->points, content_->total));
  content_->combinations = sample ? sample->points : content_->total;
  if (content_->combinations > limits_.max_points)
    throw InputError(where, fmt::format("the grid has {} combinations; at most {} are allowed: give fewer "
                                        "values, \"sample\" some, or raise the limit (--max-points)",
                                        content_->combinations, limits_.max_points));
}

std::shared_ptr<const GridContent> GridReader::finish() {
  require_once();
  count();
  require_paths(*content_);
  link_rules(*content_);
  add_identity(*content_);
  content_->templates = std::make_shared<const Templates>(*content_);
  return content_;
}

Grid Grid::read(const std::string& path, const GridLimits& limits) {
  return parse(io::read_file(path), path == "-" ? "standard input" : path, limits);
}

Grid Grid::parse(std::string_view text, const std::string& path, const GridLimits& limits) {
  GridReader reader(path, limits);
  const io::Document document = io::Document::parse(text, path);
  reader.read(document.root());
  return Grid(reader.finish());
}

const std::vector<std::string>& Grid::keys() const {
  return content_->keys;
}

Grid::Grid(std::shared_ptr<const GridContent> content)
    : content_(std::move(content)), scenarios_(content_->scenarios) {}

const std::vector<std::string>& Grid::metrics() const {
  return content_->metrics;
}

std::uint64_t Grid::combinations() const {
  return content_->combinations;
}

bool Grid::has_conditions() const {
  return !content_->conditions.empty();
}

const std::string& Grid::hash() const {
  return content_->hash;
}

const std::string& Grid::axes_json() const {
  return content_->axes_json;
}

const std::string& Grid::base_json() const {
  return content_->base_json;
}

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

/// Adds the content of the files that a value at `key` names.
void add_named_files(study::Fingerprint& hash, const io::Value& value, std::string_view key) {
  for (const std::string& path : io::named_files(value, key)) {
    try {
      hash.add(study::fingerprint(io::read_file(path)));
    } catch (const Error&) {
      hash.add("none;");  // the points that need it will say so
    }
  }
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
    add_named_files(hash, value.value, column.name);
  }
  hash.add(";");
}

/// Everything that decides the number of points and their content.
std::string grid_hash(const GridContent& content) {
  study::Fingerprint hash;
  std::string base;
  append_plain_json(base, content.base.root(), true);
  hash.add(base);
  add_named_files(hash, content.base.root(), "");
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

namespace {

__extension__ using Wide = unsigned __int128;

/// The block that holds combination `index` of the union.
const Block& block_of(const GridContent& content, std::uint64_t index) {
  const auto after = std::upper_bound(content.blocks.begin(), content.blocks.end(), index,
                                      [](std::uint64_t i, const Block& block) { return i < block.begin; });
  return *(after - 1);
}

void locate_flat(const GridContent& content, std::uint64_t index, Position& out) {
  const Block& block = block_of(content, index);
  out.block = &block;
  std::uint64_t rest = index - block.begin;
  for (std::size_t axis = block.axes.size(); axis-- > 0;) {
    const std::uint64_t size = block.axes[axis]->size();
    out.digits[axis] = rest % size;
    rest /= size;
  }
}

/// First sample point of the block that begins at combination `begin`: every block gets its share, in file order.
std::uint64_t first_point(const GridContent& content, std::uint64_t begin) {
  return static_cast<std::uint64_t>(static_cast<Wide>(content.sample->points) * begin / content.total);
}

void locate_latin(const GridContent& content, std::uint64_t index, Position& out) {
  std::size_t number = content.blocks.size() - 1;
  while (first_point(content, content.blocks[number].begin) > index) --number;
  const Block& block = content.blocks[number];
  const std::uint64_t first = first_point(content, block.begin);
  const bool last = number + 1 == content.blocks.size();
  const std::uint64_t end =
      last ? content.sample->points : first_point(content, content.blocks[number + 1].begin);
  out.block = &block;
  for (std::size_t axis = 0; axis < block.axes.size(); ++axis)
    out.digits[axis] = latin_value(splitmix64(content.sample->seed, number * kMaxAxes + axis), index - first,
                                   end - first, block.axes[axis]->size());
}

/// Values of one combination, as expressions see them.
class PointValues {
 public:
  PointValues(const GridContent& content, const Position& at) : content_(content), at_(at) {
    if (!content.derived.empty()) derived_.resize(content.derived.size());
  }

  void derive() {
    for (const std::size_t i : content_.derive_order) derived_[i] = evaluate(content_.derived[i]);
  }

  [[nodiscard]] bool holds() const {
    return std::all_of(content_.conditions.begin(), content_.conditions.end(),
                       [this](const Rule& rule) { return evaluate(rule).is_true(); });
  }

  [[nodiscard]] const Operand& derived(std::size_t i) const { return derived_[i]; }

 private:
  [[nodiscard]] Operand evaluate(const Rule& rule) const {
    return rule.expression.evaluate([this, &rule](std::size_t i) { return value(rule.names[i]); });
  }

  [[nodiscard]] Operand value(std::size_t name) const {
    const Source& source = at_.block->sources[name];
    switch (source.kind) {
      case Source::Kind::AxisKey:
        return column_value(source, name);
      case Source::Kind::Derived:
        return derived_[source.index];
      case Source::Kind::Constant:
        return source.constant;
      case Source::Kind::Chunks:
        return Operand::number(chunks() * kOne);
      case Source::Kind::Absent:
        break;
    }
    throw InputError(
        fmt::format("{} has no value here; set it in the base or an axis", content_.names[name]));
  }

  [[nodiscard]] Operand column_value(const Source& source, std::size_t name) const {
    const std::uint64_t digit = at_.digits[source.axis];
    const AxisKey& column = at_.block->axes[source.axis]->columns[source.index];
    if (column.range) return Operand::number(column.range->value(digit));
    const auto& operand = source.inner.empty() ? column.list[digit].operand : source.inner[digit];
    if (operand) return *operand;
    throw InputError(
        column.where,
        fmt::format("an expression uses {}, but where {} is {} it is no number of nine decimals, text "
                    "or truth",
                    content_.names[name], column.name, shortened(column.list[digit].json, 80)));
  }

  [[nodiscard]] bool has(std::size_t name) const {
    return at_.block->sources[name].kind != Source::Kind::Absent;
  }

  /// A whole number within an int, or 0.
  [[nodiscard]] int count(std::size_t name) const {
    if (!has(name)) return 0;
    const Operand operand = value(name);
    const Nano whole = operand.nano / kOne;
    return operand.is_text || whole < 0 || whole > kMaxIndex ? 0 : static_cast<int>(whole);
  }

  [[nodiscard]] int chunks() const {
    const ChunkNames& names = content_.chunk_names;
    const std::string schedule = has(names.schedule) ? value(names.schedule).text : std::string();
    io::Config config;
    config.ranks = count(names.ranks);
    config.microbatches = count(names.microbatches);
    for (const auto& [key, name] : names.options)
      if (has(name)) (void)key->patch(*key, config, io::kWhole, value(name).json(), {});
    return default_chunks(schedule, config);
  }

  const GridContent& content_;
  const Position& at_;
  std::vector<Operand> derived_;  // in file order
};

void append_settings(const GridContent& content, const Position& at, const PointValues& values,
                     Combination& out) {
  const Block& block = *at.block;
  out.settings.resize(block.places.size() + content.derived.size());
  std::size_t next = 0;
  for (const auto& [axis, index] : block.places) {
    const AxisKey& column = block.axes[axis]->columns[index];
    Setting& setting = out.settings[next++];
    setting.key = column.key;
    setting.json.clear();
    if (column.range)
      append_nano(setting.json, column.range->value(at.digits[axis]));
    else
      setting.json = column.list[at.digits[axis]].json;
  }
  for (std::size_t i = 0; i < content.derived.size(); ++i) {
    Setting& setting = out.settings[next++];
    setting.key = content.derived[i].key;
    const Operand& value = values.derived(i);
    if (content.derived[i].is_flag)
      setting.json = value.is_true() ? "true" : "false";
    else
      setting.json = value.json();
  }
}

/// "combination 17 (ranks = 4, chunks = 2)": the axes' values.
std::string described(const GridContent& content, std::uint64_t index, const Position& at) {
  std::string text;
  for (const auto& [axis, number] : at.block->places) {
    const AxisKey& column = at.block->axes[axis]->columns[number];
    const std::uint64_t digit = at.digits[axis];
    if (!text.empty()) text += ", ";
    text += fmt::format("{} = {}", content.keys[column.key],
                        column.range ? nano_text(column.range->value(digit)) : column.list[digit].json);
  }
  return fmt::format("combination {} ({})", index, shortened(text, 200));
}

}  // namespace

void locate(const GridContent& content, std::uint64_t index, Position& out) {
  if (!content.sample)
    locate_flat(content, index, out);
  else if (content.sample->method == Sample::Method::Latin)
    locate_latin(content, index, out);
  else
    locate_flat(content, Permutation(content.sample->seed, content.total).at(index), out);
}

bool Grid::combination(std::uint64_t index, Combination& out) const {
  const GridContent& content = *content_;
  if (index >= content.combinations)
    throw InternalError(fmt::format("combination {} of a grid that has {}", index, content.combinations));
  Position at;
  locate(content, index, at);
  out.index = index;
  PointValues values(content, at);
  try {
    values.derive();
    if (!values.holds()) return false;
  } catch (const InputError& error) {
    throw InputError(error.where(), fmt::format("{}, in {}", error.what(), described(content, index, at)));
  }
  append_settings(content, at, values, out);
  return true;
}

}  // namespace pipeloom::sweep
