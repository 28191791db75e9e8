// Sources of the names in a grid's expressions: axes, derived keys, the base, defaults.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/kinds.hpp"
#include "study/run/make_schedule.hpp"
#include "study/sweep/grid/grid_content.hpp"
#include "study/sweep/grid/grid_keys.hpp"

namespace pipeloom::sweep {
namespace {

using io::Value;
using io::ValueKind;

/// The value at a dotted path, by index in arrays, or null.
const Value* find_path(const Value& root, std::string_view path) {
  const Value* at = &root;
  for (;;) {
    const auto dot = std::min(path.find('.'), path.size());
    const std::string_view part = path.substr(0, dot);
    if (at->is(ValueKind::Array)) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
      if (error != std::errc{} || end != part.data() + part.size() || index >= at->items().size())
        return nullptr;
      at = &at->items()[index];
    } else {
      at = at->find(part);
    }
    if (at == nullptr || dot == path.size()) return at;
    path.remove_prefix(dot + 1);
  }
}

/// The default that the table of keys states for every schedule, if it is a number, a choice or a truth.
std::optional<Operand> plain_default(std::string_view name) {
  const auto [row, is_place] = row_of(name);
  if (is_place || row->default_text.empty()) return std::nullopt;
  const std::string_view text = row->default_text;
  if (const auto number = parse_nano(text)) return Operand::number(*number);
  if (row->type == io::KeyType::Flag) return Operand::number(text == "true" ? kOne : 0);
  if (row->form->is_listed) return Operand::of_text(std::string(text));
  return std::nullopt;
}

/// Links the rules of one grid.
class Linker {
 public:
  explicit Linker(GridContent& content) : content_(content) {}

  void link() {
    for (Rule& rule : content_.derived) take_names(rule);
    for (Rule& rule : content_.conditions) take_names(rule);
    used_ = content_.names.size();
    if (uses("chunks")) add_chunk_names();
    find_derived();
    for (Block& block : content_.blocks)
      for (std::size_t name = 0; name < content_.names.size(); ++name)
        block.sources.push_back(source(block, name));
    order_derived();
  }

 private:
  std::size_t name_number(const std::string& name, const Where& where) {
    auto& names = content_.names;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    if (names.size() == kMaxNames)
      throw InputError(
          where,
          fmt::format("expressions use more than {} keys; at most that many are read: use fewer", kMaxNames));
    names.push_back(name);
    wheres_.push_back(where);
    return names.size() - 1;
  }

  void take_names(Rule& rule) {
    for (const std::string& key : rule.expression.keys())
      rule.names.push_back(name_number(normal_key(key, rule.where), rule.where));
  }

  [[nodiscard]] bool uses(std::string_view name) const {
    return std::find(content_.names.begin(), content_.names.end(), name) != content_.names.end();
  }

  void add_chunk_names() {
    ChunkNames& names = content_.chunk_names;
    names.schedule = name_number("schedule", {});
    names.ranks = name_number("ranks", {});
    names.microbatches = name_number("microbatches", {});
    for (const io::Key& key : io::config_keys())
      if (key.decides_chunks) names.options.emplace_back(&key, name_number(std::string(key.path), {}));
  }

  void find_derived() {
    for (const std::string& name : content_.names) {
      const auto found = std::find_if(content_.derived.begin(), content_.derived.end(),
                                      [&name](const Rule& rule) { return rule.name == name; });
      derived_.push_back(static_cast<std::size_t>(found - content_.derived.begin()));
    }
  }

  [[nodiscard]] Source source(const Block& block, std::size_t number) const {
    const std::string& name = content_.names[number];
    if (const std::size_t i = derived_[number]; i < content_.derived.size())
      return {Source::Kind::Derived, 0, i, {}, {}};
    for (const auto& [axis, index] : block.places) {
      const AxisKey& column = block.axes[axis]->columns[index];
      if (column.name == name) return {Source::Kind::AxisKey, axis, index, {}, {}};
      if (overlap(column.name, name) && column.name.size() < name.size() && !column.range)
        return {Source::Kind::AxisKey, axis, index, {}, inner_values(column, number)};
    }
    if (const Value* value = find_path(content_.base.root(), name)) {
      const auto operand = operand_of(*value);
      if (!operand)
        throw InputError(wheres_[number],
                         fmt::format("{} is {} in the base; expressions know numbers of nine decimals, texts "
                                     "and truths",
                                     name, value->described()));
      return {Source::Kind::Constant, 0, 0, *operand, {}};
    }
    return missing(number);
  }

  /// The source of a name that neither varies nor is in the base.
  [[nodiscard]] Source missing(std::size_t number) const {
    const std::string& name = content_.names[number];
    if (number >= used_) return {};
    if (name == "chunks") return {Source::Kind::Chunks, 0, 0, {}, {}};
    if (auto value = plain_default(name)) return {Source::Kind::Constant, 0, 0, *std::move(value), {}};
    const auto* row = row_of(name).row;
    throw InputError(
        wheres_[number],
        fmt::format("an expression uses {}, which neither varies nor stands in the base, and its "
                    "default is no plain number or text ({}); set it in the base or an axis",
                    name, row->default_text.empty() ? "it is required" : row->default_text));
  }

  [[nodiscard]] std::vector<std::optional<Operand>> inner_values(const AxisKey& column,
                                                                 std::size_t number) const {
    const std::string& name = content_.names[number];
    std::vector<std::optional<Operand>> out;
    for (const ListValue& value : column.list) {
      const Value* inner = find_path(value.value, std::string_view(name).substr(column.name.size() + 1));
      out.push_back(inner != nullptr ? operand_of(*inner) : plain_default(name));
    }
    return out;
  }

  /// True if some block takes the default of "chunks", which depends on other names.
  [[nodiscard]] bool takes_default_chunks() const {
    const auto& names = content_.names;
    const auto chunks =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), "chunks") - names.begin());
    return chunks < names.size() &&
           std::any_of(content_.blocks.begin(), content_.blocks.end(), [chunks](const Block& block) {
             return block.sources[chunks].kind == Source::Kind::Chunks;
           });
  }

  /// Positions of the derived keys that the value of this name needs first.
  void needs_of_name(std::size_t name, std::vector<std::size_t>& out) const {
    if (derived_[name] < content_.derived.size()) out.push_back(derived_[name]);
    if (!default_chunks_ || content_.names[name] != "chunks") return;
    const ChunkNames& names = content_.chunk_names;
    for (const std::size_t other : {names.schedule, names.ranks, names.microbatches})
      needs_of_name(other, out);
    for (const auto& [key, other] : names.options) needs_of_name(other, out);
  }

  void order_derived() {
    default_chunks_ = takes_default_chunks();
    states_.assign(content_.derived.size(), State::New);
    for (std::size_t i = 0; i < content_.derived.size(); ++i) visit(i);
  }

  void visit(std::size_t i) {
    if (states_[i] == State::Done) return;
    path_.push_back(i);
    if (states_[i] == State::Open) fail_cycle(i);
    states_[i] = State::Open;
    std::vector<std::size_t> needs;
    for (const std::size_t name : content_.derived[i].names) needs_of_name(name, needs);
    for (const std::size_t need : needs) visit(need);
    states_[i] = State::Done;
    path_.pop_back();
    content_.derive_order.push_back(i);
  }

  [[noreturn]] void fail_cycle(std::size_t i) const {
    std::string text;
    for (auto at = std::find(path_.begin(), path_.end(), i); at != path_.end(); ++at) {
      if (!text.empty()) text += " -> ";
      text += content_.derived[*at].name;
    }
    throw InputError(content_.derived[i].where,
                     fmt::format("derived keys form a cycle: {}; each may use only keys that do not need it",
                                 shortened(text, 400)));
  }

  enum class State : std::uint8_t { New, Open, Done };

  GridContent& content_;
  std::vector<Where> wheres_;         // of the first use, by name
  std::vector<std::size_t> derived_;  // by name: position of the derived key, or their count
  std::size_t used_ = 0;              // names that expressions use; those above are looked at by Chunks only
  bool default_chunks_ = false;
  std::vector<State> states_;
  std::vector<std::size_t> path_;
};

}  // namespace

void link_rules(GridContent& content) {
  Linker(content).link();
}

int default_chunks(const std::string& schedule, const io::Config& config) {
  if (schedule == io::kCustomSchedule)
    throw InputError("chunks of the schedule custom are its file's; set chunks in the base or an axis");
  const schedules::Found found = schedules::find(schedule);
  try {
    return study::params_of(config, found).chunks;
  } catch (const ScheduleError&) {
    // The framework refuses these parameters; running the point says so.
    return schedules::default_chunks(found.generator->requirements, config.options.variant);
  }
}

}  // namespace pipeloom::sweep
