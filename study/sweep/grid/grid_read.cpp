// Grid::read and Grid::parse: read and check a file.
// Grid::of_options: axes as the command line gives them.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/io/config/value_reading.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/kinds.hpp"
#include "study/report/metric.hpp"
#include "study/sweep/grid/grid_keys.hpp"
#include "study/sweep/grid/grid_reader.hpp"

namespace pipeloom::sweep {

namespace {

using io::Value;
using io::ValueKind;

const Value& require(const Value& value, ValueKind kind, std::string_view what) {
  if (!value.is(kind)) io::refuse_value(value, std::string(what), io::name_of(kind));
  return value;
}

void require_keys(const Value& object, const std::string& what, const std::vector<std::string>& valid) {
  for (std::size_t i = 0; i < object.keys().size(); ++i)
    if (std::find(valid.begin(), valid.end(), object.keys()[i].name) == valid.end())
      throw InputError::unknown_name(object.where_key(i), "key of " + what,
                                     shortened(object.keys()[i].name, 64), valid);
}

void require_at_most(std::size_t count, std::size_t limit, const char* what, const Where& where) {
  if (count > limit)
    throw InputError(where, fmt::format("{} {}; at most {} are allowed: leave some out", count, what, limit));
}

/// A whole number from `least` to 9.2e18.
std::uint64_t read_whole(const Value& object, const char* of, const char* name, std::int64_t least) {
  const Value* value = object.find(name);
  if (value == nullptr)
    throw InputError(object.where(), fmt::format("\"{}\" lacks \"{}\"; add it", of, name));
  const auto number = value->is(ValueKind::Number) ? parse_nano(value->text()) : std::nullopt;
  if (!number || *number % kOne != 0 || *number / kOne < least)
    io::refuse_value(*value, fmt::format("\"{}\" of \"{}\"", name, of),
                     fmt::format("a whole number of {} or more", least));
  return static_cast<std::uint64_t>(*number / kOne);
}

}  // namespace

GridReader::GridReader(std::string path, const GridLimits& limits)
    : limits_(limits), content_(std::make_shared<GridContent>()) {
  content_->path = std::move(path);
}

void GridReader::read_base(const Value& value) {
  if (value.is(ValueKind::String)) {
    const std::string path = io::relative_to(value.where().file, value.text());
    try {
      content_->base = io::Document::parse(io::read_file(path), path);
    } catch (const InputError& error) {
      // A missing file is an error of the grid; an error inside a file is the file's.
      if (error.where().line > 0) throw;
      throw InputError(value.where(),
                       fmt::format("base names the file '{}': {}", shortened(path, 64), error.what()));
    }
  } else {
    content_->base = io::Document(require(value, ValueKind::Object, "\"base\" (or a file's name)"));
  }
  take_base();
}

void GridReader::take_base() {
  const Value& root = content_->base.root();
  if (io::is_schedule_file(root))
    throw InputError(root.where(),
                     "this is a schedule file, and a grid's base is a configuration; write {\"schedule\": "
                     "\"custom\", \"options\": {\"file\": NAME}}");
  require_type(root, "");
  io::inline_costs_file(content_->base);
  require_type(content_->base.root(), "");
}

std::uint32_t GridReader::key_number(const std::string& key) {
  const auto [found, is_new] = key_numbers_.emplace(key, static_cast<std::uint32_t>(content_->keys.size()));
  if (is_new) content_->keys.push_back(key);
  return found->second;
}

AxisKey GridReader::column(const std::string& key, const Value& values) {
  AxisKey out = read_axis_key(key, values);
  out.key = key_number(key);
  return out;
}

GridReader::Axes GridReader::read_product(const Value& object) {
  require(object, ValueKind::Object, "\"axes\" (or one of its products)");
  Axes out;
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    Axis axis;
    const std::string key = normal_key(object.keys()[i].name, object.where_key(i));
    axis.columns.push_back(column(key, object.items()[i]));
    out.push_back(std::make_shared<const Axis>(std::move(axis)));
  }
  return out;
}

std::shared_ptr<const Axis> GridReader::read_zip(const Value& object) {
  require(object, ValueKind::Object, "a zip");
  if (object.keys().empty()) io::refuse_value(object, "this zip", "an object with keys");
  Axis axis;
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const std::string key = normal_key(object.keys()[i].name, object.where_key(i));
    axis.columns.push_back(column(key, object.items()[i]));
    const AxisKey& first = axis.columns.front();
    if (axis.columns.back().size() != first.size())
      throw InputError(
          object.items()[i].where(),
          fmt::format("a zip of unequal lengths: {} has {} values, {} has {}; give every key as many",
                      first.name, first.size(), key, axis.columns.back().size()));
  }
  return std::make_shared<const Axis>(std::move(axis));
}

void GridReader::read_axes(const Value* axes, const Value* zips) {
  std::vector<Axes> products(1);
  if (axes != nullptr && axes->is(ValueKind::Array)) {
    if (axes->items().empty()) io::refuse_value(*axes, "\"axes\"", "an object, or an array of some");
    require_at_most(axes->items().size(), kMaxProducts, "products of axes", axes->where());
    products.clear();
    for (const Value& item : axes->items()) products.push_back(read_product(item));
  } else if (axes != nullptr) {
    products.front() = read_product(*axes);
  }
  Axes zipped;
  if (zips != nullptr)
    for (const Value& item : require(*zips, ValueKind::Array, "\"zip\"").items())
      zipped.push_back(read_zip(item));
  for (Axes& product : products) {
    Block block;
    block.axes = std::move(product);
    block.axes.insert(block.axes.end(), zipped.begin(), zipped.end());
    add_block(std::move(block));
  }
}

void GridReader::add_block(Block block) {
  const Where where = block.axes.empty() ? Where{} : block.axes.back()->columns.front().where;
  require_at_most(block.axes.size(), kMaxAxes, "axes", where);
  for (std::size_t axis = 0; axis < block.axes.size(); ++axis)
    for (std::size_t column = 0; column < block.axes[axis]->columns.size(); ++column)
      block.places.push_back({axis, column});
  require_at_most(block.places.size(), kMaxProductKeys, "keys in one product", where);
  const auto key = [&block](const Block::Place& place) {
    return block.axes[place.axis]->columns[place.column].key;
  };
  std::sort(block.places.begin(), block.places.end(),
            [&key](const auto& a, const auto& b) { return key(a) < key(b); });
  content_->blocks.push_back(std::move(block));
}

void GridReader::read_derived(const Value& object) {
  require(object, ValueKind::Object, "\"derive\"");
  require_at_most(object.keys().size(), kMaxDerived, "derived keys", object.where());
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const Value& value = object.items()[i];
    Rule rule;
    rule.name = normal_key(object.keys()[i].name, object.where_key(i));
    rule.where = value.where();
    const KeyRow row = row_of(rule.name);
    if (!row.is_place && (row.row->type == io::KeyType::Object || row.row->type == io::KeyType::Scales))
      throw InputError(
          object.where_key(i),
          fmt::format("{} cannot be derived: expressions give numbers and texts, and it is {}", rule.name,
                      row.row->type == io::KeyType::Object ? "an object" : "an array"));
    rule.is_flag = !row.is_place && row.row->type == io::KeyType::Flag;
    rule.expression = Expression::parse(
        require(value, ValueKind::String, fmt::format("the expression of {}", rule.name)).text(), rule.where);
    content_->derived.push_back(std::move(rule));
  }
  for (Rule& rule : content_->derived) rule.key = key_number(rule.name);
}

void GridReader::read_conditions(const Value& value) {
  const auto add = [this](const Value& text) {
    Rule rule;
    rule.where = text.where();
    rule.expression =
        Expression::parse(require(text, ValueKind::String, "a condition of \"where\"").text(), rule.where);
    content_->conditions.push_back(std::move(rule));
  };
  if (value.is(ValueKind::String)) return add(value);
  for (const Value& item : require(value, ValueKind::Array, "\"where\"").items()) add(item);
}

void GridReader::read_sample(const Value& object) {
  require(object, ValueKind::Object, "\"sample\"");
  require_keys(object, "\"sample\"", {"method", "points", "seed"});
  Sample sample;
  if (const Value* method = object.find("method")) {
    const std::string& name = require(*method, ValueKind::String, "\"method\" of \"sample\"").text();
    if (name != "random" && name != "lhs")
      throw InputError::unknown_name(method->where(), "sampling method", shortened(name, 64),
                                     {"random", "lhs"});
    sample.method = name == "lhs" ? Sample::Method::Latin : Sample::Method::Random;
  }
  sample.points = read_whole(object, "sample", "points", 1);
  if (object.find("seed") != nullptr) sample.seed = read_whole(object, "sample", "seed", 0);
  sample_where_ = object.where();
  content_->sample = sample;
}

void GridReader::read_metrics(const Value& value) {
  for (const Value& item : require(value, ValueKind::Array, "\"metrics\"").items()) {
    const std::string name(study::find_metric(require(item, ValueKind::String, "a metric").text(),
                                              item.where(), study::sweep_metrics())
                               .name);
    auto& metrics = content_->metrics;
    if (std::find(metrics.begin(), metrics.end(), name) != metrics.end())
      throw InputError(item.where(), fmt::format("the metric {} is there twice; name it once", name));
    metrics.push_back(name);
  }
}

void GridReader::read_scenarios(const Value& object) {
  require(object, ValueKind::Object, "\"scenarios\"");
  require_keys(object, "\"scenarios\"", {"count", "seed"});
  const std::uint64_t count = read_whole(object, "scenarios", "count", 1);
  if (count > study::kMostScenarios)
    throw InputError(object.where(), fmt::format("\"count\" of \"scenarios\" is {}; at most {} are run",
                                                 count, study::kMostScenarios));
  study::ScenarioChoice choice{.count = static_cast<int>(count)};
  if (object.find("seed") != nullptr) choice.seed = read_whole(object, "scenarios", "seed", 0);
  content_->scenarios = choice;
}

void GridReader::require_once() const {
  struct Set {
    std::string_view key;
    Where where;
  };
  for (const Block& block : content_->blocks) {
    std::vector<Set> set;
    for (const auto& axis : block.axes)
      for (const AxisKey& column : axis->columns) set.push_back({column.name, column.where});
    for (const Rule& rule : content_->derived) set.push_back({rule.name, rule.where});
    // '.' sorts before every other character of keys, so that a part of a key, if there is any, comes right after it.
    std::stable_sort(set.begin(), set.end(), [](const Set& a, const Set& b) { return a.key < b.key; });
    for (std::size_t i = 1; i < set.size(); ++i) {
      if (!overlap(set[i - 1].key, set[i].key)) continue;
      throw InputError(
          set[i].where,
          set[i - 1].key == set[i].key
              ? fmt::format("{} is set twice; let one axis, zip or derived key set it", set[i].key)
              : fmt::format("{} and {} are both set, but one is a part of the other; set one of them",
                            set[i - 1].key, set[i].key));
    }
  }
}

void GridReader::read(const Value& root) {
  require(root, ValueKind::Object, "a grid");
  require_keys(root, "a grid", {"base", "axes", "zip", "derive", "where", "sample", "metrics", "scenarios"});
  if (const Value* base = root.find("base")) read_base(*base);
  read_axes(root.find("axes"), root.find("zip"));
  if (const Value* derived = root.find("derive")) read_derived(*derived);
  if (const Value* conditions = root.find("where")) read_conditions(*conditions);
  if (const Value* sample = root.find("sample")) read_sample(*sample);
  if (const Value* metrics = root.find("metrics")) read_metrics(*metrics);
  if (const Value* scenarios = root.find("scenarios")) read_scenarios(*scenarios);
}

namespace {

using io::Value;
using io::ValueKind;

/// `text` as JSON, or nothing.
std::optional<io::Document> parsed(const std::string& text, const std::string& source) {
  try {
    return io::Document::parse(text, source);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// "1..8" or "1..8:2" as the text of a range object; "" for anything else.
std::string range_text(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) return {};
  const std::string_view from = text.substr(0, dots);
  std::string_view to = text.substr(dots + 2);
  std::string_view step = "1";
  if (const auto colon = to.find(':'); colon != std::string_view::npos) {
    step = to.substr(colon + 1);
    to = to.substr(0, colon);
  }
  if (!parse_nano(from) || !parse_nano(to) || !parse_nano(step)) return {};
  return fmt::format(R"({{"from": {}, "to": {}, "step": {}}})", from, to, step);
}

/// "a,b,c" as the text of an array: each item is JSON, or a bare word.
std::string list_text(std::string_view text, const std::string& source) {
  std::string out = "[";
  for (;;) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string item(text.substr(0, comma));
    if (out.size() > 1) out += ',';
    if (!item.empty() && parsed(item, source))
      out += item;
    else
      io::append_json_string(out, item);
    if (comma == text.size()) return out + "]";
    text.remove_prefix(comma + 1);
  }
}

/// The text of these values as a grid file would have it.
io::Document values_of(const std::string& text, const std::string& source) {
  if (const std::string range = range_text(text); !range.empty()) return io::Document::parse(range, source);
  if (auto whole = parsed(text, source)) {
    const Value& root = whole->root();
    if (root.is(ValueKind::Array) || (root.is(ValueKind::Object) && root.find("from") != nullptr))
      return *std::move(whole);
  }
  if (auto list = parsed("[" + text + "]", source); list && !list->root().items().empty())
    return *std::move(list);
  return io::Document::parse(list_text(text, source), source);
}

}  // namespace

Grid Grid::of_options(const io::Document& base, const std::vector<std::string>& axes,
                      const GridLimits& limits) {
  GridReader reader("--axis", limits);
  reader.set_base(base);
  Block block;
  for (const std::string& text : axes) {
    const auto equals = text.find('=');
    if (equals == std::string::npos)
      throw InputError(Where{"--axis"},
                       fmt::format("'{}' has no '='; write KEY=VALUES, such as ranks=4,8 or ranks=4..32:4",
                                   shortened(text, 80)));
    const std::string source = fmt::format("--axis {}", shortened(text.substr(0, equals), 80));
    const std::string key = normal_key(text.substr(0, equals), Where{source});
    const io::Document values = values_of(text.substr(equals + 1), source);
    Axis axis;
    axis.columns.push_back(reader.column(key, values.root()));
    block.axes.push_back(std::make_shared<const Axis>(std::move(axis)));
  }
  reader.add_block(std::move(block));
  return Grid(reader.finish());
}

}  // namespace pipeloom::sweep
