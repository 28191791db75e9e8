// Grid::combination: what the i-th combination sets, computed from i.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/printable.hpp"
#include "study/sweep/grid/grid_content.hpp"
#include "study/sweep/grid/grid_sample.hpp"

namespace pipeloom::sweep {
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
