#include "sim/io/config/codecs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/cost_rows.hpp"

namespace pipeloom::io {

std::optional<std::int64_t> exact_number(std::string_view json, std::int64_t scale) {
  const auto number = parse_fixed(json, scale);
  if (!number || number->rounded || number->value < 0) return std::nullopt;
  return number->value;
}

namespace codec {
namespace {

/// `put` writes one of the numbers.
template <class Numbers, class Put>
void write_array(TextWriter& out, const Numbers& numbers, const Put& put) {
  out << '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out << ", ";
    put(numbers[i]);
  }
  out << ']';
}

/// One number if all are alike, else an array.
template <class Numbers, class Put>
void write_numbers(TextWriter& out, const Numbers& numbers, const Put& put) {
  const bool uniform =
      std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end();
  if (uniform && !numbers.empty()) return put(numbers.front());
  write_array(out, numbers, put);
}

template <class Put>
void write_stages(const cost::StageNumbers& numbers, TextWriter& out, const Put& put) {
  if (numbers.form == cost::StageNumbers::Form::Scalar) return put(numbers.scalar);
  write_numbers(out, numbers.array, put);
}

template <class Cell, class Put>
void write_matrix(TextWriter& out, const std::vector<std::vector<Cell>>& rows, const Put& put) {
  write_array(out, rows, [&](const std::vector<Cell>& row) { write_array(out, row, put); });
}

/// Rows of cells; `cell_of(value, path)` reads one.
template <class CellOf>
auto matrix_of(const Value& value, const std::string& key, const CellOf& cell_of) {
  constexpr std::string_view kAllowed =
      "an array of rows, each an array of numbers, such as [[1, 2], [2, 1]]";
  std::vector<std::vector<std::int64_t>> rows;
  if (!value.is(ValueKind::Array) || value.items().empty()) refuse_value(value, key, kAllowed);
  for (const Value& row : value.items()) {
    if (!row.is(ValueKind::Array)) refuse_value(row, key, kAllowed);
    for (auto& cells = rows.emplace_back(); const Value& cell : row.items())
      cells.push_back(cell_of(cell, key));
  }
  return rows;
}

/// The same of links between ranks: cells on the diagonal are of no link, and may be null or 0.
template <class CellOf>
auto link_matrix_of(const Value& value, const std::string& key, const CellOf& cell_of) {
  const auto is_diagonal = [&value](const Value& cell) {
    const auto& rows = value.items();
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (i < rows[i].items().size() && &rows[i].items()[i] == &cell) return true;
    return false;
  };
  return matrix_of(value, key, [&](const Value& cell, const std::string& path) -> std::int64_t {
    const auto number = cell.is(ValueKind::Number) ? parse_fixed(cell.text(), kUnitScale) : std::nullopt;
    const bool none = cell.is(ValueKind::Null) || (number && number->value == 0);
    return none && is_diagonal(cell) ? 0 : cell_of(cell, path);
  });
}

bool store(std::int64_t& out, std::optional<std::int64_t> number) {
  if (number) out = *number;
  return number.has_value();
}

}  // namespace

bool Text::patch(std::string& member, std::size_t index, std::string_view json, const Context&) {
  if (index != kWhole || json.size() < 2 || json.front() != '"' || json.find('\\') != std::string_view::npos)
    return false;
  member = json.substr(1, json.size() - 2);
  return true;
}

std::string_view Choice::choice_at(const KeyRow& row, std::size_t place) {
  std::string_view rest = row.choices;
  for (; place > 0; --place) rest.remove_prefix(rest.find('|') + 1);
  return rest.substr(0, rest.find('|'));
}

void Flag::read(bool& member, const Value& value, const ReadContext& context) {
  if (!value.is(ValueKind::Bool)) refuse_value(value, context.key.path, "true or false");
  member = value.text() == "true";
}

bool StageNumbers::patch_in(cost::StageNumbers* numbers, std::size_t index, std::string_view json,
                            std::int64_t scale, const Where& where) {
  if (numbers == nullptr) return false;
  if (index != kWhole)
    return index < numbers->array.size() && store(numbers->array[index], exact_number(json, scale));
  numbers->where = where;
  return numbers->form == cost::StageNumbers::Form::Scalar &&
         store(numbers->scalar, exact_number(json, scale));
}

void StageTimes::write_in(TextWriter& out, const cost::StageNumbers& numbers, TimeUnit unit) {
  write_stages(numbers, out, [&](Ticks ticks) { out.ticks(ticks, unit); });
}

void StageBytes::write_in(TextWriter& out, const cost::StageNumbers& numbers) {
  write_stages(numbers, out, [&](std::int64_t bytes) { out << bytes; });
}

void Overlapped::read(Member& member, const Value& value, const ReadContext& context) {
  const std::string key(context.key.path);
  cost::OverlapSpec& out = member.emplace();
  if (value.is(ValueKind::String) && !parse_time_literal(value.text())) {
    if (value.text() == "sequential")
      out.rule = OverlapRule::Sequential;
    else if (value.text() != "sum")
      throw InputError::unknown_name(value.where(), key, shortened(value.text(), 64), {"sequential", "sum"});
    return;
  }
  const Value* factor = value.find("factor");
  const Value* saving = value.find("saving");
  const Value* pairs = value.find("pairs");
  if (pairs != nullptr && value.keys().size() == 1) {
    out.rule = OverlapRule::Explicit;
    out.pairs = matrix_of(*pairs, key + ".pairs", [&](const Value& cell, const std::string& path) {
      return time_of(cell, path, context);
    });
    out.pairs_where = pairs->where();
    return;
  }
  if (factor == nullptr && saving == nullptr && pairs == nullptr) {
    out.rule = OverlapRule::Explicit;
    out.duration = stage_numbers_of(value, context, true);
    return;
  }
  if (value.keys().size() != 1)
    refuse_value(value, key,
                 "an object with one key, \"factor\", \"saving\" or \"pairs\", or with \"default\" and "
                 "\"stages\"");
  out.rule = factor ? OverlapRule::Factor : OverlapRule::Saving;
  if (factor) out.factor = scale_of(*factor, key + ".factor", context);
  if (saving) out.saving = time_of(*saving, key + ".saving", context);
}

void Overlapped::write(TextWriter& out, const Member& member, const Context& context) {
  switch (member->rule) {
    case OverlapRule::Sum:
      out << "\"sum\"";
      return;
    case OverlapRule::Sequential:
      out << "\"sequential\"";
      return;
    case OverlapRule::Factor:
      (out << "{\"factor\": ").ticks(member->factor, kNano) << '}';
      return;
    case OverlapRule::Saving:
      (out << "{\"saving\": ").ticks(member->saving, context.unit) << '}';
      return;
    case OverlapRule::Explicit:
      if (member->pairs.empty()) return StageTimes::write(out, member->duration, context);
      out << "{\"pairs\": ";
      write_matrix(out, member->pairs, [&](Ticks ticks) { out.ticks(ticks, context.unit); });
      out << '}';
      return;
  }
}

void Limit::read(Member& member, const Value& value, const ReadContext& context) {
  const std::string_view key = context.key.path;
  member.reset();
  if (value.is(ValueKind::Null)) return;
  cost::LimitSpec& out = member.emplace();
  out.where = value.where();
  out.per_rank = value.is(ValueKind::Array);
  if (out.per_rank && value.items().empty())
    refuse_value(value, key, "a number of bytes, an array of one per rank, or null");
  if (!out.per_rank) out.bytes.push_back(bytes_of(value, key, context));
  for (const Value& item : value.items()) out.bytes.push_back(bytes_of(item, key, context));
}

void Limit::write(TextWriter& out, const Member& member, const Context&) {
  if (!member) {
    out << "null";
    return;
  }
  write_numbers(out, member->bytes, [&](std::int64_t bytes) { out << bytes; });
}

bool Limit::patch(Member& member, std::size_t index, std::string_view json, const Context& context) {
  if (index != kWhole || !member) return false;
  member->where = context.where;
  return !member->per_rank && store(member->bytes.front(), exact_number(json, 1));
}

void Scales::write(TextWriter& out, const cost::ScaleSpec& member, const Context&) {
  write_array(out, member.array, [&](Scale scale) { out.ticks(scale, kNano); });
}

bool Scales::patch(cost::ScaleSpec& member, std::size_t index, std::string_view json, const Context&) {
  return index < member.array.size() && store(member.array[index], exact_number(json, kUnitScale));
}

namespace {
constexpr std::string_view kSlicesAllowed =
    "a number of equal slices from 1 to 65535, or an array of one positive whole weight per slice";
}

void Slices::read(Member& member, const Value& value, const ReadContext& context) {
  const std::string_view key = context.key.path;
  if (!value.is(ValueKind::Array)) {
    member = equal_slices(static_cast<int>(count_of(value, context)));
    return;
  }
  member.clear();
  for (const Value& item : value.items()) {
    const auto weight = parse_fixed(item.is(ValueKind::Number) ? item.text() : "", 1);
    if (!weight || weight->rounded || weight->value < 1 || weight->value > kMaxIndex)
      refuse_value(item, key, kSlicesAllowed);
    member.push_back(weight->value);
  }
  if (member.empty() || member.size() > kMaxSlices) refuse_value(value, key, kSlicesAllowed);
}

void Slices::write(TextWriter& out, const Member& member, const Context&) {
  write_array(out, member, [&](std::int64_t weight) { out << weight; });
}

std::size_t Slices::hash(const Member& member) {
  std::size_t hash = member.size();
  for (const std::int64_t weight : member) hash = hash * 31 + static_cast<std::size_t>(weight);
  return hash;
}

void GroupSize::read(Member& member, const Value& value, const ReadContext& context) {
  if (!value.is(ValueKind::Array)) {
    member = static_cast<int>(count_of(value, context));
    return;
  }
  std::vector<int> sizes;
  for (const Value& item : value.items()) sizes.push_back(static_cast<int>(count_of(item, context)));
  if (sizes.empty())
    refuse_value(
        value, context.key.path,
        "a whole number of microbatches, or an array with one for each group, which sum to microbatches");
  member = std::move(sizes);
}

bool GroupSize::patch(Member& member, std::size_t index, std::string_view json, const Context& context) {
  const auto number = index == kWhole ? Count::exact(json, context) : std::nullopt;
  if (number) member = static_cast<int>(*number);
  return number.has_value();
}

std::size_t GroupSize::hash(const Member& member) {
  std::size_t hash = member ? static_cast<std::size_t>(member->largest()) : static_cast<std::size_t>(-1);
  if (member)
    for (const int size : member->sizes()) hash = hash * 31 + static_cast<std::size_t>(size);
  return hash;
}

void Rows::write(TextWriter& out, const cost::CostRows& member, const Context& context) {
  write_rows(out, *member, context.unit);
}

void Exceptions::read(cost::CostRows& member, const Value& value, const ReadContext& context) {
  member = rows_of(value, context, RowNumber::TimeOrFactor);
}

void Table::read(cost::CostRows& member, const Value& value, const ReadContext& context) {
  member =
      value.is(ValueKind::String) ? rows_of_file(value, context) : rows_of(value, context, RowNumber::Time);
}

namespace {

std::int32_t rank_of(const Value& value, std::string_view name) {
  const auto number = parse_fixed(value.is(ValueKind::Number) ? value.text() : "", 1);
  if (!number || number->rounded || number->value < 0 || number->value >= kMaxIndex)
    refuse_value(value, name, "the number of a rank");
  return static_cast<std::int32_t>(number->value);
}

cost::LinkException link_of(const Value& value, const ReadContext& context) {
  if (!value.is(ValueKind::Object))
    refuse_value(value, "a link", "an object such as {\"from\": 6, \"to\": 7, \"latency\": 0.1}");
  cost::LinkException out;
  out.where = value.where();
  bool has_from = false;
  bool has_to = false;
  for (std::size_t i = 0; i < value.keys().size(); ++i) {
    const std::string& name = value.keys()[i].name;
    const Value& item = value.items()[i];
    if (name == "from") {
      out.from = rank_of(item, name);
      has_from = true;
    } else if (name == "to") {
      out.to = rank_of(item, name);
      has_to = true;
    } else if (name == "oneway") {
      Flag::read(out.oneway, item, context);
    } else if (name == "latency") {
      out.link.latency = time_of(item, name, context);
    } else if (name == "bandwidth_gbps") {
      out.link.bits_per_second = rate_of(item, name, context);
    } else if (name == "bytes") {
      out.bytes = bytes_of(item, name, context);
    } else {
      throw InputError::unknown_name(value.where_key(i), "key of a link", shortened(name, 64),
                                     {"from", "to", "latency", "bandwidth_gbps", "bytes", "oneway"});
    }
  }
  if (!has_from || !has_to || out.from == out.to)
    throw InputError(out.where, "a link needs \"from\" and \"to\", two different ranks");
  return out;
}

}  // namespace

namespace {

constexpr std::array<std::string_view, 5> kNoiseModels = {"constant", "normal", "lognormal", "empirical",
                                                          "hiccup"};

NoiseModel noise_model_of(const Value& value) {
  const auto found = value.is(ValueKind::String)
                         ? std::find(kNoiseModels.begin(), kNoiseModels.end(), value.text())
                         : kNoiseModels.end();
  if (found == kNoiseModels.end())
    throw InputError::unknown_name(value.where(), "costs.noise.model", shortened(value.text(), 64),
                                   {kNoiseModels.begin(), kNoiseModels.end()});
  return static_cast<NoiseModel>(found - kNoiseModels.begin());
}

/// The keys that a model needs, and may have.
std::vector<std::string> noise_keys(NoiseModel model) {
  switch (model) {
    case NoiseModel::Constant:
      return {};
    case NoiseModel::Normal:
    case NoiseModel::Lognormal:
      return {"sigma"};
    case NoiseModel::Empirical:
      return {"factors", "file"};
    case NoiseModel::Hiccup:
      return {"period", "time", "ranks"};
  }
  return {};
}

void read_noise_member(pipeloom::Noise& out, std::string_view name, const Value& value,
                       const ReadContext& context) {
  const std::string key = fmt::format("costs.noise.{}", name);
  if (name == "sigma") {
    out.sigma = scale_of(value, key, context);
    if (out.sigma > kUnitScale) refuse_value(value, key, "a number from 0 to 1");
  } else if (name == "period" || name == "time") {
    (name == "time" ? out.time : out.period) = time_of(value, key, context);
  } else if (name == "file") {
    if (!value.is(ValueKind::String)) refuse_value(value, key, "the name of a file");
    const Document document = document_of_file(value, key);
    read_noise_member(out, "factors", document.root(), context);
  } else {
    if (!value.is(ValueKind::Array) || value.items().empty())
      refuse_value(value, key, "an array with at least one number");
    for (const Value& item : value.items()) {
      if (name == "ranks")
        out.ranks.emplace_back(rank_of(item, key));
      else
        out.factors.push_back(scale_of(item, key, context));
    }
  }
}

}  // namespace

void Noise::read(cost::CostSpec& member, const Value& value, const ReadContext& context) {
  if (!value.is(ValueKind::Object)) refuse_value(value, context.key.path, context.key.form->kinds_text);
  const Value* model = value.find("model");
  if (model == nullptr)
    throw InputError(value.where(), fmt::format("costs.noise lacks \"model\"; give it, one of {}",
                                                fmt::join(kNoiseModels, ", ")));
  pipeloom::Noise& out = member.noise.emplace();
  member.noise_where = value.where();
  out.model = noise_model_of(*model);
  const std::vector<std::string> keys = noise_keys(out.model);
  for (std::size_t i = 0; i < value.keys().size(); ++i) {
    const std::string& name = value.keys()[i].name;
    if (name == "model") continue;
    if (std::find(keys.begin(), keys.end(), name) == keys.end())
      throw InputError::unknown_name(value.where_key(i),
                                     fmt::format("key of costs.noise of the model {}", model->text()),
                                     shortened(name, 64), keys);
    read_noise_member(out, name, value.items()[i], context);
  }
  const bool is_empirical = out.model == NoiseModel::Empirical;
  if (is_empirical && (value.find("factors") == nullptr) == (value.find("file") == nullptr))
    throw InputError(value.where(),
                     "costs.noise of the model empirical needs \"factors\" or \"file\", one of the two");
  for (const std::string& key : keys)
    if (!is_empirical && key != "ranks" && value.find(key) == nullptr)
      throw InputError(value.where(),
                       fmt::format("costs.noise of the model {} needs \"{}\"; give it", model->text(), key));
  if (out.model == NoiseModel::Hiccup && out.time >= out.period)
    throw InputError(value.where(), "costs.noise: a hiccup's time must be less than its period");
}

void Noise::write(TextWriter& out, const cost::CostSpec& member, const Context& context) {
  const pipeloom::Noise& noise = *member.noise;
  out << "{\"model\": \"" << kNoiseModels[static_cast<std::size_t>(noise.model)] << '"';
  if (noise.model == NoiseModel::Normal || noise.model == NoiseModel::Lognormal)
    (out << ", \"sigma\": ").ticks(noise.sigma, kNano);
  if (!noise.factors.empty())
    write_array(out << ", \"factors\": ", noise.factors, [&](Scale factor) { out.ticks(factor, kNano); });
  if (noise.model == NoiseModel::Hiccup) {
    (out << ", \"period\": ").ticks(noise.period, context.unit);
    (out << ", \"time\": ").ticks(noise.time, context.unit);
  }
  if (!noise.ranks.empty())
    write_array(out << ", \"ranks\": ", noise.ranks, [&](Rank rank) { out << rank.value(); });
  out << '}';
}

void Links::read(cost::TransferSpec& member, const Value& value, const ReadContext& context) {
  const std::string key(context.key.path);
  member.links.clear();
  member.matrix = {};
  if (value.is(ValueKind::Array)) {
    for (const Value& item : value.items()) member.links.push_back(link_of(item, context));
    return;
  }
  if (!value.is(ValueKind::Object)) refuse_value(value, key, std::string(context.key.form->kinds_text));
  member.matrix.where = value.where();
  for (std::size_t i = 0; i < value.keys().size(); ++i) {
    const std::string& name = value.keys()[i].name;
    const std::string path = key + "." + name;
    if (name == "latency")
      member.matrix.latency = link_matrix_of(
          value.items()[i], path,
          [&](const Value& cell, const std::string& of) { return time_of(cell, of, context); });
    else if (name == "bandwidth_gbps")
      member.matrix.bits_per_second = link_matrix_of(
          value.items()[i], path,
          [&](const Value& cell, const std::string& of) { return rate_of(cell, of, context); });
    else
      throw InputError::unknown_name(value.where_key(i), "key of " + key, shortened(name, 64),
                                     {"latency", "bandwidth_gbps"});
  }
}

void Links::write(TextWriter& out, const cost::TransferSpec& member, const Context& context) {
  const auto time = [&](Ticks ticks, TextWriter& to) { to.ticks(ticks, context.unit); };
  const auto rate = [](std::int64_t bits, TextWriter& to) { to.ticks(bits, kNano); };
  if (!member.links.empty())
    return write_array(out, member.links, [&](const cost::LinkException& one) {
      out << "{\"from\": " << one.from << ", \"to\": " << one.to;
      if (one.link.latency) time(*one.link.latency, out << ", \"latency\": ");
      if (one.link.bits_per_second) rate(*one.link.bits_per_second, out << ", \"bandwidth_gbps\": ");
      if (one.bytes) out << ", \"bytes\": " << *one.bytes;
      out << (one.oneway ? ", \"oneway\": true}" : "}");
    });
  out << '{';
  const auto matrix = [&](const char* name, const auto& rows, const auto& put) {
    if (rows.empty()) return;
    out << name;
    write_matrix(out, rows, [&](std::int64_t cell) { put(cell, out); });
  };
  matrix("\"latency\": ", member.matrix.latency, time);
  matrix(member.matrix.latency.empty() ? "\"bandwidth_gbps\": " : ", \"bandwidth_gbps\": ",
         member.matrix.bits_per_second, rate);
  out << '}';
}

}  // namespace codec
}  // namespace pipeloom::io
