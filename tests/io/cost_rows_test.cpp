// Tables of op costs: rows in a configuration, and files of them.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/io/config/config.hpp"
#include "sim/io/config/effective_config.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace pipeloom::io::cost_rows_test {
namespace {

constexpr Ticks kMs = 1'000'000'000;

Config read(const std::string& costs, const std::string& file = "c.json") {
  const std::string text = R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": )" + costs + "}";
  return read_run_config(Document::parse(text, file).root());
}

std::string error_of(const std::string& costs, const std::string& file = "c.json") {
  try {
    static_cast<void>(read(costs, file));
  } catch (const InputError& error) {
    return error.line();
  }
  return "";
}

/// A folder with one file and a configuration beside it, whose costs name the file.
struct Folder {
  Folder(const std::string& name, const std::string& text)
      : path(test::temporary_path("rows")),
        config((path / "run.json").string()),
        costs(R"({"time_unit": "ms", "table": ")" + name + "\"}") {
    std::filesystem::create_directories(path);
    std::ofstream(path / name) << text;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path path;
  std::string config;
  std::string costs;

  [[nodiscard]] std::vector<cost::CostRow> rows() const { return *read(costs, config).costs.table; }
  /// Without the folder in front.
  [[nodiscard]] std::string error() const {
    const std::string line = error_of(costs, config);
    const std::string folder = path.string() + "/";
    return line.starts_with(folder) ? line.substr(folder.size()) : line;
  }
};

void check_rows(const std::vector<cost::CostRow>& rows) {
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].kind == OpKind::Forward);
  CHECK(rows[0].stage == 3);
  CHECK_FALSE(rows[0].microbatch.has_value());
  CHECK(rows[0].number == 2 * kMs + kMs / 2);
  CHECK_FALSE(rows[1].kind.has_value());
  CHECK(rows[1].microbatch == 7);
  CHECK(rows[1].number == 40 * kMs);
}

}  // namespace

TEST_CASE("a table is rows, comma-separated values, lines of JSON or a file with an array") {
  const std::string lines = R"({"kind": "F", "stage": 3, "time": 2.5})"
                            "\n"
                            R"({"microbatch": 7, "time": "40ms"})"
                            "\n";
  check_rows(
      *read(
           R"({"time_unit": "ms", "table": [{"kind": "F", "stage": 3, "time": 2.5}, {"microbatch": 7, "time": 40}]})")
           .costs.table);
  check_rows(Folder("t.csv", "kind, stage,microbatch,time\r\nF,3,,2.5\n\n,,7,40ms\n").rows());
  check_rows(Folder("t.jsonl", lines).rows());
  check_rows(
      Folder("t.json", R"([{"kind": "F", "stage": 3, "time": 2.5}, {"microbatch": 7, "time": 40}])").rows());
}

TEST_CASE("a row with the time of overlapped pairs is written as it was read") {
  const io::Config config = read(
      R"({"time_unit": "ms", "exceptions": [{"kind": "F", "stage": 3, "microbatch": 7, "overlapped": 31.5}]})");
  const cost::CostRow& row = config.costs.exceptions->at(0);
  CHECK(row.of_group);
  CHECK_FALSE(row.is_factor);
  CHECK(row.number == 31 * kMs + kMs / 2);
  CHECK(changed_text("costs.exceptions", config) ==
        R"([{"kind": "F", "stage": 3, "microbatch": 7, "overlapped": 31.5}])");
}

TEST_CASE("a wrong row is named with its place") {
  CHECK(error_of(R"({"exceptions": [{"stage": 1}]})") ==
        "c.json:1:78: error: a row of costs.exceptions needs \"time\", \"factor\" or \"overlapped\", one of "
        "them");
  CHECK(error_of(R"({"exceptions": [{"stage": 1, "time": 1, "factor": 2}]})").ends_with("one of them"));
  CHECK(error_of(R"({"exceptions": [{"stage": 1, "time": 1, "overlapped": 2}]})").ends_with("one of them"));
  CHECK(error_of(R"({"exceptions": [{"kind": "B", "overlapped": 2}]})")
            .ends_with("a pair is named by its forward: with \"overlapped\" the kind is F, or left out"));
  CHECK(error_of(R"({"exceptions": [{"slice": 1, "overlapped": 2}]})")
            .ends_with("\"overlapped\" is the time of whole pairs; leave the slice out"));
  CHECK(error_of(R"({"table": [{"overlapped": 2}]})")
            .find("unknown key of a row of costs.table 'overlapped'") != std::string::npos);
  CHECK(error_of(R"({"table": [{"factor": 2}]})").find("unknown key of a row of costs.table 'factor'") !=
        std::string::npos);
  CHECK(error_of(R"({"exceptions": [{"kind": "X", "time": 1}]})")
            .ends_with("kind is 'X'; it must be one of F, B, I, W, R, O, L, S, T"));
  CHECK(error_of(R"({"exceptions": [{"stage": -1, "time": 1}]})")
            .find("stage is '-1'; it must be a whole number") != std::string::npos);
  CHECK(error_of(R"({"table": "nowhere.csv"})").find("costs.table names the file 'nowhere.csv'") !=
        std::string::npos);
  CHECK(Folder("t.csv", "kind,time\nF,1\nB\n").error() ==
        "t.csv:3: error: the line has 1 cells, but the first line names 2; give one for each (an empty one "
        "names all)");
  CHECK(Folder("t.csv", "kind,stage\n").error().starts_with("t.csv:1: error: there is no column 'time'"));
  CHECK(Folder("t.csv", "kind,kind,time\n").error() ==
        "t.csv:1: error: column 'kind' stands twice; leave one out");
  CHECK(Folder("t.csv", "kind,time\nF,fast\n").error() ==
        "t.csv:2: error: time is 'fast'; it must be a time of 0 or more, such as 23.6");
  CHECK(Folder("t.jsonl", "{\"time\": 1}\n{\"time\": -1}\n")
            .error()
            .starts_with("t.jsonl:2:10: error: time is -1"));
}

TEST_CASE("files of tables as spreadsheets and calculators write them") {
  const Folder marked("t.csv", "\xEF\xBB\xBFkind,time\nF,2\n");
  REQUIRE(marked.rows().size() == 1);
  CHECK(marked.rows()[0].number == 2 * kMs);
  CHECK(Folder("t.csv", "").error().starts_with("t.csv: error: the table is empty"));
  // 1/3 and 2/3 ms are no whole picoseconds: one line says so of both.
  const Folder rounded("t.csv", "stage,time\n0,0.33333333333\n1,0.66666666667\n2,1\n");
  const std::vector<std::string> warnings = read(rounded.costs, rounded.config).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(
      warnings[0].ends_with("t.csv:2: time is 0.33333333333, more digits than are kept; it was rounded; so "
                            "were 1 more of costs.table"));
}

TEST_CASE("a time with a unit in a table's file sets the unit of the configuration") {
  for (const auto& [name, text] : {std::pair("t.csv", "kind,time\nF,5ms\n"),
                                   std::pair("t.jsonl", "{\"kind\": \"F\", \"time\": \"5ms\"}\n")}) {
    const Folder folder(name, text);
    const Config config = read("{\"table\": \"" + std::string(name) + "\"}", folder.config);
    CHECK(config.costs.unit == TimeUnit::Millisecond);
    CHECK(config.costs.table->front().number == 5 * kMs);
  }
  const Folder plain("t.csv", "kind,time\nF,5\n");
  CHECK(read("{\"table\": \"t.csv\"}", plain.config).costs.unit == TimeUnit::Unit);
}

TEST_CASE("factors of noise come from a file") {
  for (const auto& [name, text] :
       {std::pair("noise.json", "[0.9, 1.2]"), std::pair("noise.txt", "0.9\n1.2\n")}) {
    const Folder folder(name, text);
    const Config config =
        read(R"({"noise": {"model": "empirical", "file": ")" + std::string(name) + "\"}}", folder.config);
    CHECK(config.costs.noise->factors == std::vector<Scale>{kUnitScale / 10 * 9, kUnitScale / 10 * 12});
  }
  CHECK(error_of(R"({"noise": {"model": "empirical"}})")
            .ends_with("costs.noise of the model empirical needs \"factors\" or \"file\", one of the two"));
  CHECK(error_of(R"({"noise": {"model": "empirical", "file": "nowhere.txt"}})")
            .find("costs.noise.file names the file 'nowhere.txt'") != std::string::npos);
}

TEST_CASE("a wrong link is named with its place") {
  CHECK(error_of(R"({"transfer": {"links": [{"from": 1, "latency": 2}]}})")
            .ends_with("a link needs \"from\" and \"to\", two different ranks"));
  CHECK(error_of(R"({"transfer": {"links": [{"from": 1, "to": 2, "speed": 2}]}})")
            .find("unknown key of a link 'speed'") != std::string::npos);
  CHECK(error_of(R"({"transfer": {"links": {"latency": [1, 2]}}})").find("an array of rows") !=
        std::string::npos);
  CHECK(error_of(R"({"transfer": {"links": [{"from": 1, "to": 2, "bandwidth_gbps": "400Gbit/s"}]}})")
            .find("needs a real time unit") != std::string::npos);
}

}  // namespace pipeloom::io::cost_rows_test
