#include "sim/io/hardware/table_reading.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/config/value_reading.hpp"

namespace pipeloom::io {
namespace {

using hardware::Hardware;
using model::Pass;

constexpr double kMicrosecond = 1e-6;
constexpr std::size_t kMaxRows = 10'000;
constexpr NumberRange kMicroseconds{0, 1e12};
constexpr NumberRange kShare{0, 4};  // of attention over the whole square, which may be above 1

/// Visits the rows of a table: each an array of `columns` values.
void for_each_row(const Value& rows, const std::string& key, std::size_t columns, std::string_view described,
                  const std::function<void(const std::vector<Value>&, const std::string&)>& visit) {
  const auto allowed = fmt::format("an array of rows [{}]", described);
  const auto& items = array_of(rows, key, allowed);
  if (items.size() > kMaxRows)
    throw InputError(rows.where(),
                     fmt::format("{} has {} rows; at most {} are allowed", key, items.size(), kMaxRows));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = fmt::format("{}.{}", key, i);
    if (!items[i].is(ValueKind::Array) || items[i].items().size() != columns)
      refuse_value(items[i], place, fmt::format("a row [{}]", described));
    visit(items[i].items(), place);
  }
}

Pass pass_of(const Value& value, bool with_weights) {
  std::vector<std::string> names = {"forward", "input"};
  if (with_weights) names.emplace_back("weight");
  return static_cast<Pass>(choice_in(value, "pass", names));
}

/// Visits the tables of "tables", having called `clear`, and then the table "measured".
void for_each_table(const Section& section, const std::function<void()>& clear,
                    const std::function<void(const Value&, const std::string&, bool)>& visit) {
  if (const Value* tables = section.find("tables")) {
    clear();
    const std::string key = section.path_of("tables");
    const auto& items = array_of(*tables, key, "an array of tables");
    for (std::size_t i = 0; i < items.size(); ++i) visit(items[i], fmt::format("{}.{}", key, i), false);
  }
  if (const Value* measured = section.find("measured")) visit(*measured, section.path_of("measured"), true);
}

/// Requires one of the kinds of rows that a table may hold.
[[noreturn]] void refuse_empty_table(const Section& table, std::string_view kinds) {
  throw InputError(table.where(),
                   fmt::format("the table {} has no rows; give it {}", table.path_of("rows"), kinds));
}

// Products.

struct GemmTableReader {
  Hardware& hardware;
  bool measured;
  std::size_t precision = 0;

  [[nodiscard]] double peak() const { return hardware.matrix_rate[precision]; }

  /// `value_of` makes a share of the peak of the last column and the FLOPs.
  void rows(const Value& value, const std::string& key, std::string_view described,
            const std::function<double(const Value&, const std::string&, double)>& value_of) const {
    for_each_row(value, key, 6, described, [&](const std::vector<Value>& row, const std::string& place) {
      const Pass pass = pass_of(row[0], true);
      model::Gemm gemm;
      gemm.groups = size_of(row[1], place);
      gemm.m = size_of(row[2], place);
      gemm.k = size_of(row[3], place);
      gemm.n = size_of(row[4], place);
      const auto own = hardware::product_of(gemm, pass);
      const auto groups = static_cast<double>(gemm.groups);
      auto& tables = hardware.gemm.tables[precision];
      auto& table = (gemm.groups > 1 ? tables.grouped : tables.by_pass)[static_cast<std::size_t>(pass)];
      table.add({groups, own.m, own.k, own.n, 1, 1},
                value_of(row[5], place, 2 * groups * own.m * own.k * own.n), measured);
    });
  }

  void ladders(const Section& table) const {
    const Value* ladder = table.find("m");
    if (ladder == nullptr)
      throw InputError(table.where(),
                       fmt::format("{} goes with {}", table.path_of("us_by_m"), table.path_of("m")));
    std::vector<double> m;
    for (const Value& item : array_of(*ladder, table.path_of("m"), "an array of sizes")) {
      m.push_back(static_cast<double>(size_of(item, table.path_of("m"))));
      if (m.size() > 1 && m.back() <= m[m.size() - 2])
        refuse_value(item, table.path_of("m"), "an ascending array");
    }
    for_each_row(*table.find("us_by_m"), table.path_of("us_by_m"), m.size() + 2,
                 "n, k, microseconds or null for each m", [&](const auto& row, const std::string& place) {
                   const auto n = static_cast<double>(size_of(row[0], place));
                   const auto k = static_cast<double>(size_of(row[1], place));
                   std::vector<hardware::GemmGrid::Point> points;
                   for (std::size_t i = 0; i < m.size(); ++i) {
                     if (row[i + 2].is(ValueKind::Null)) continue;
                     const double seconds = number_of(row[i + 2], place, kMicroseconds) * kMicrosecond;
                     points.push_back({m[i], 2 * m[i] * n * k / (seconds * peak())});
                   }
                   if (!points.empty()) hardware.gemm.tables[precision].grid.add(n, k, std::move(points));
                 });
  }
};

void read_gemm_table(const Value& value, const std::string& path, Hardware& hardware, bool measured) {
  const Section table(value, path, {"precision", "efficiency", "us", "m", "us_by_m"});
  GemmTableReader reader{hardware, measured};
  if (const Value* precision = table.find("precision"))
    reader.precision = choice_in(*precision, "precision", {"bf16", "fp8", "mxfp8"});
  if (reader.peak() <= 0)
    throw InputError(value.where(),
                     fmt::format("{0} is of {1} products, but matrix.{1}_tflops is not given; give it", path,
                                 name_of(static_cast<hardware::Precision>(reader.precision))));
  const Value* shares = table.find("efficiency");
  const Value* times = table.find("us");
  if (shares != nullptr)
    reader.rows(
        *shares, table.path_of("efficiency"), "pass, groups, m, k, n, share of the peak",
        [](const Value& share, const std::string& place, double) { return number_of(share, place, kShare); });
  if (times != nullptr)
    reader.rows(*times, table.path_of("us"), "pass, groups, m, k, n, microseconds",
                [&](const Value& us, const std::string& place, double flops) {
                  return flops / (number_of(us, place, kMicroseconds) * kMicrosecond * reader.peak());
                });
  if (table.find("us_by_m") != nullptr)
    reader.ladders(table);
  else if (shares == nullptr && times == nullptr)
    refuse_empty_table(table, "\"us\", \"efficiency\", or \"m\" with \"us_by_m\"");
}

// Attention.

model::CoreAttention attention_of(const std::vector<Value>& row, const std::string& place) {
  model::CoreAttention attention;
  attention.batch = size_of(row[1], place);
  attention.queries = attention.keys = size_of(row[2], place);
  attention.heads = size_of(row[3], place);
  attention.kv_heads = size_of(row[4], place);
  attention.qk_dim = size_of(row[5], place);
  attention.v_dim = size_of(row[6], place);
  return attention;
}

void read_attention_table(const Value& value, const std::string& path, Hardware& hardware, bool measured) {
  const Section table(value, path, {"efficiency", "us"});
  const auto read = [&](const Value& rows, std::string_view key, std::string_view unit, auto share_of_row) {
    for_each_row(rows, table.path_of(key), 8,
                 fmt::format("pass, batch, sequence, heads, kv_heads, qk_dim, v_dim, {}", unit),
                 [&](const std::vector<Value>& row, const std::string& place) {
                   const bool backward = pass_of(row[0], false) == Pass::BackwardInput;
                   const model::CoreAttention attention = attention_of(row, place);
                   const double flops =
                       attention.full_flops() * (backward ? hardware.attention.backward_factor : 1);
                   hardware.attention.by_direction[backward ? 1 : 0].add(
                       hardware::attention_shape(attention), share_of_row(row[7], place, flops), measured);
                 });
  };
  const Value* shares = table.find("efficiency");
  const Value* times = table.find("us");
  if (shares != nullptr)
    read(
        *shares, "efficiency", "share of the peak",
        [](const Value& share, const std::string& place, double) { return number_of(share, place, kShare); });
  if (times != nullptr)
    read(*times, "us", "microseconds", [&](const Value& us, const std::string& place, double flops) {
      return flops / (number_of(us, place, kMicroseconds) * kMicrosecond * hardware.matrix_rate[0]);
    });
  if (shares == nullptr && times == nullptr) refuse_empty_table(table, "\"us\" or \"efficiency\"");
}

// Collectives.

void read_collective_table(const Value& value, const std::string& path, Hardware& hardware, bool measured) {
  const Section table(value, path, {"us"});
  const Value* times = table.find("us");
  if (times == nullptr) refuse_empty_table(table, "\"us\"");
  for_each_row(*times, table.path_of("us"), 4, "operation, ranks, bytes, microseconds",
               [&](const std::vector<Value>& row, const std::string& place) {
                 const auto kind = static_cast<model::CollectiveKind>(choice_in(
                     row[0], "collective", {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}));
                 const std::int64_t ranks = size_of(row[1], place);
                 if (ranks < 2 || ranks > 1'000'000) refuse_value(row[1], place, "2 to 1000000 ranks");
                 hardware.collectives.add(kind, static_cast<int>(ranks),
                                          static_cast<double>(size_of(row[2], place)),
                                          number_of(row[3], place, kMicroseconds) * kMicrosecond, measured);
               });
}

}  // namespace

void read_gemm_tables(const Section& section, Hardware& hardware) {
  for_each_table(
      section, [&] { hardware.gemm.tables = {}; },
      [&](const Value& table, const std::string& path, bool measured) {
        read_gemm_table(table, path, hardware, measured);
      });
}

void read_attention_tables(const Section& section, Hardware& hardware) {
  for_each_table(
      section, [&] { hardware.attention.by_direction = {}; },
      [&](const Value& table, const std::string& path, bool measured) {
        read_attention_table(table, path, hardware, measured);
      });
}

void read_collective_tables(const Section& section, Hardware& hardware) {
  for_each_table(
      section, [&] { hardware.collectives = {}; },
      [&](const Value& table, const std::string& path, bool measured) {
        read_collective_table(table, path, hardware, measured);
      });
}

}  // namespace pipeloom::io
