// How far off a table is where it has no row: each row of the presets' tables is asked for while it is left out. The limits are what was measured.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sim/hardware/hardware.hpp"
#include "sim/io/hardware/embedded.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::hardware_tables_test {
namespace {

using hardware::Basis;
using hardware::GemmGrid;
using hardware::Shape;
using hardware::ShapeTable;

/// Errors of one table, in percent of what was predicted.
struct Errors {
  std::vector<double> percent;

  void add(double measured, double predicted) { percent.push_back(std::abs(measured / predicted - 1) * 100); }
  [[nodiscard]] double median() const {
    std::vector<double> sorted = percent;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double error : percent) sum += error;
    return sum / static_cast<double>(percent.size());
  }
};

void check_errors(const std::string& what, const Errors& errors, double median, double mean) {
  INFO(what << ": " << errors.percent.size() << " rows, median " << errors.median() << " %, mean "
            << errors.mean() << " %");
  CHECK(errors.median() <= median);
  CHECK(errors.mean() <= mean);
}

Document document_of(std::string_view name) {
  for (const EmbeddedHardware& file : embedded_hardware())
    if (file.name == name) return Document::parse(file.text, std::string(name));
  throw InputError("no such preset");
}

/// The rows under "efficiency" or "us" of the first table of a section that has such.
std::vector<Value> rows_of(const Document& document, const char* section, const char* key) {
  for (const Value& table : document.root().find(section)->find("tables")->items())
    if (const Value* rows = table.find(key)) return rows->items();
  return {};
}

double at(const Value& row, std::size_t column) {
  return row.items()[column].number();
}

struct Row {
  Shape shape = {};
  double value = 0;
};

Errors left_out(const std::vector<Row>& rows) {
  Errors errors;
  for (std::size_t out = 0; out < rows.size(); ++out) {
    ShapeTable table;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (i != out) table.add(rows[i].shape, rows[i].value);
    errors.add(rows[out].value, table.find(rows[out].shape)->value);
  }
  return errors;
}

/// Products of the training table of one pass, grouped ones apart.
std::vector<Row> products(const std::vector<Value>& rows, const std::string& pass, bool grouped) {
  const auto index = pass == "forward" ? 0 : pass == "input" ? 1 : 2;
  std::vector<Row> out;
  for (const Value& row : rows) {
    if (row.items()[0].text() != pass || (at(row, 1) > 1) != grouped) continue;
    const model::Gemm gemm{.what = "",
                           .m = static_cast<std::int64_t>(at(row, 2)),
                           .k = static_cast<std::int64_t>(at(row, 3)),
                           .n = static_cast<std::int64_t>(at(row, 4))};
    const auto own = hardware::product_of(gemm, static_cast<model::Pass>(index));
    out.push_back({{at(row, 1), own.m, own.k, own.n, 1, 1}, at(row, 5)});
  }
  return out;
}

std::vector<Row> attention(const std::vector<Value>& rows, const std::string& pass, bool times) {
  std::vector<Row> out;
  for (const Value& row : rows) {
    if (row.items()[0].text() != pass) continue;
    const Shape shape = {at(row, 1), at(row, 2), at(row, 3), at(row, 4), at(row, 5), at(row, 6)};
    // A share of any peak: 2 products over the square, divided by the time.
    const double flops = shape[0] * shape[1] * shape[1] * shape[2] * (shape[4] + shape[5]);
    out.push_back({shape, times ? flops / at(row, 7) : at(row, 7)});
  }
  return out;
}

/// A pair of n and k of the grid with its times.
struct Pair {
  double n = 0;
  double k = 0;
  std::vector<GemmGrid::Point> ladder;
};

std::vector<Pair> pairs_of(const Value& table) {
  std::vector<Pair> pairs;
  const auto& m = table.find("m")->items();
  for (const Value& row : table.find("us_by_m")->items()) {
    Pair pair{at(row, 0), at(row, 1), {}};
    for (std::size_t i = 0; i < m.size(); ++i)
      if (!row.items()[i + 2].is(ValueKind::Null))
        pair.ladder.push_back({m[i].number(), m[i].number() * pair.n * pair.k / at(row, i + 2)});
    pairs.push_back(pair);
  }
  return pairs;
}

Errors pairs_left_out(const std::vector<Pair>& pairs) {
  Errors errors;
  for (std::size_t out = 0; out < pairs.size(); ++out) {
    GemmGrid grid;
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if (i != out) grid.add(pairs[i].n, pairs[i].k, pairs[i].ladder);
    for (const GemmGrid::Point& point : pairs[out].ladder)
      errors.add(point.efficiency, grid.find(point.m, pairs[out].k, pairs[out].n)->value);
  }
  return errors;
}

/// Each size between two others of the same operation and ranks.
Errors sizes_left_out(const std::vector<Value>& rows) {
  Errors errors;
  for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
    const auto same = [&](std::size_t other) {
      return rows[other].items()[0].text() == rows[i].items()[0].text() &&
             at(rows[other], 1) == at(rows[i], 1);
    };
    if (!same(i - 1) || !same(i + 1)) continue;
    hardware::CollectiveTable table;
    for (const std::size_t j : {i - 1, i + 1})
      table.add(model::CollectiveKind::AllReduce, 2, at(rows[j], 2), at(rows[j], 3));
    errors.add(at(rows[i], 3), table.find(model::CollectiveKind::AllReduce, at(rows[i], 2), 2)->value);
  }
  return errors;
}

}  // namespace

TEST_CASE("products of the training table that is left out one by one") {
  const auto rows = rows_of(document_of("b200"), "gemm", "efficiency");
  check_errors("forward", left_out(products(rows, "forward", false)), 7.0, 12.4);
  check_errors("gradient of the input", left_out(products(rows, "input", false)), 4.6, 9.1);
  check_errors("gradient of the weights", left_out(products(rows, "weight", false)), 5.4, 10.7);
  check_errors("experts forward", left_out(products(rows, "forward", true)), 17.0, 20.6);
  check_errors("experts, gradient of the input", left_out(products(rows, "input", true)), 14.8, 15.0);
}

TEST_CASE("pairs of the grid of products that are left out one by one") {
  struct Limit {
    const char* device;
    const char* precision;
    double median;
    double mean;
  };
  const Limit limits[] = {{"a100", "bf16", 2.6, 5.1}, {"h100", "bf16", 2.6, 3.9}, {"h100", "fp8", 3.5, 5.1},
                          {"h200", "bf16", 2.8, 3.9}, {"h200", "fp8", 3.3, 5.0},  {"b200", "bf16", 3.6, 5.1},
                          {"b200", "fp8", 5.0, 7.0}};
  for (const Limit& limit : limits) {
    const Document document = document_of(limit.device);
    for (const Value& table : document.root().find("gemm")->find("tables")->items())
      if (table.find("precision") != nullptr && table.find("precision")->text() == limit.precision)
        check_errors(std::string(limit.device) + " " + limit.precision, pairs_left_out(pairs_of(table)),
                     limit.median, limit.mean);
  }
}

TEST_CASE("attention shapes that are left out one by one") {
  const auto training = rows_of(document_of("b200"), "attention", "efficiency");
  check_errors("b200 forward", left_out(attention(training, "forward", false)), 12.0, 16.6);
  check_errors("b200 backward", left_out(attention(training, "input", false)), 7.5, 10.7);
  check_errors("a100", left_out(attention(rows_of(document_of("a100"), "attention", "us"), "forward", true)),
               3.1, 4.9);
  check_errors("h100", left_out(attention(rows_of(document_of("h100"), "attention", "us"), "forward", true)),
               6.8, 8.7);
  check_errors("h200", left_out(attention(rows_of(document_of("h200"), "attention", "us"), "forward", true)),
               6.0, 7.7);
  check_errors("b200", left_out(attention(rows_of(document_of("b200"), "attention", "us"), "forward", true)),
               7.9, 10.3);
}

TEST_CASE("sizes of collectives that are left out one by one") {
  check_errors("a100", sizes_left_out(rows_of(document_of("a100"), "collectives", "us")), 6.0, 9.0);
  check_errors("h100", sizes_left_out(rows_of(document_of("h100"), "collectives", "us")), 4.0, 6.8);
  check_errors("h200", sizes_left_out(rows_of(document_of("h200"), "collectives", "us")), 5.4, 6.8);
  check_errors("b200", sizes_left_out(rows_of(document_of("b200"), "collectives", "us")), 5.9, 9.1);
}

TEST_CASE("rows of a table are what the device takes, to the last digit") {
  const auto b200 = find_hardware("b200", {});
  // [4096, 8192] x [8192, 10240] forward is 0.6452 of 2250 TFLOP/s in the training table.
  const auto hit =
      time_of(*b200, model::Gemm{.what = "qkv", .m = 4096, .k = 8192, .n = 10240}, model::Pass::Forward);
  CHECK(hit.basis == Basis::Table);
  CHECK(hit.seconds == Approx(2.0 * 4096 * 8192 * 10240 / (0.6452 * 2250e12)).epsilon(1e-12));
  // H100: 1024 x 1024 takes 6.1 us at m = 1024, an all-gather of 1 kB over 2 devices 5.24 us.
  const auto h100 = find_hardware("h100", {});
  const auto grid =
      time_of(*h100, model::Gemm{.what = "", .m = 1024, .k = 1024, .n = 1024}, model::Pass::Forward);
  CHECK(grid.basis == Basis::Table);
  CHECK(grid.seconds == Approx(6.1e-6).epsilon(1e-12));
  const auto gather = time_of(*h100, model::CollectiveKind::AllGather, 1024, 2, 8);
  CHECK(gather.basis == Basis::Table);
  CHECK(gather.seconds == Approx(5.24e-6 * h100->collective_factor).epsilon(1e-12));
  // 8 heads and one of keys over 1024 tokens: 29.25 us.
  const model::CoreAttention attention{
      .batch = 1, .queries = 1024, .keys = 1024, .heads = 8, .kv_heads = 1, .qk_dim = 128, .v_dim = 128};
  CHECK(time_of(*h100, attention, model::Pass::Forward).seconds == Approx(29.25e-6).epsilon(1e-12));
}

TEST_CASE("twice the tokens never take less time on a preset") {
  for (const std::string& name : hardware_names()) {
    const auto device = find_hardware(name, {});
    for (const auto pass : {model::Pass::Forward, model::Pass::BackwardInput, model::Pass::BackwardWeight})
      for (const std::int64_t n : {1024, 6000, 28672}) {
        double before = 0;
        for (std::int64_t m = 512; m <= 65536; m *= 2) {
          const double seconds =
              time_of(*device, model::Gemm{.what = "", .m = m, .k = 8192, .n = n}, pass).seconds;
          INFO(name << " m " << m << " n " << n << " pass " << static_cast<int>(pass));
          CHECK(seconds > before);
          before = seconds;
        }
      }
    for (const int ranks : {2, 3, 8, 16, 256}) {
      double before = 0;
      for (double bytes = 4096; bytes < 1e10; bytes *= 4) {
        const double seconds = time_of(*device, model::CollectiveKind::AllReduce, bytes, ranks, 8).seconds;
        INFO(name << " bytes " << bytes << " ranks " << ranks);
        CHECK(seconds >= 0.75 * before);  // small ones are measured with noise
        if (bytes > 1e8) CHECK(seconds > before);
        before = seconds;
      }
    }
  }
}

}  // namespace pipeloom::io::hardware_tables_test
