#include "study/sweep/result/result.hpp"

#include <cstdlib>

#include "study/sweep/result/line_writer.hpp"
#include "support/catch.hpp"
#include "support/sweep_files.hpp"

namespace result_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

const Where kWhere{"r.jsonl", 7};

std::string refusal_of(const std::string& line) {
  try {
    static_cast<void>(read_line(line, kWhere));
  } catch (const InputError& error) {
    return error.line();
  }
  return "";
}

using Variables = std::vector<std::pair<const char*, const char*>>;

/// Sets variables of the environment while it lives.
class Environment {
 public:
  explicit Environment(Variables variables) : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name, value, 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) ::unsetenv(name);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  Variables variables_;
};

}  // namespace

TEST_CASE("A line of a result reads back") {
  const ResultLine ok =
      read_line(R"({"point": 17, "key": "00000000000000ff", "config": {"ranks": 4, "costs.forward": [1,2]}, )"
                R"("status": "ok", "metrics": {"makespan": 33.0, "bubble_ratio": 0.2727}})",
                kWhere);
  CHECK(ok.point == 17);
  CHECK(ok.key == "00000000000000ff");
  CHECK(ok.config ==
        std::vector<std::pair<std::string, std::string>>{{"ranks", "4"}, {"costs.forward", "[1,2]"}});
  CHECK(ok.status == "ok");
  CHECK(ok.metrics ==
        std::vector<std::pair<std::string, std::string>>{{"makespan", "33.0"}, {"bubble_ratio", "0.2727"}});
  CHECK(ok.error.empty());

  const ResultLine illegal = read_line(
      R"({"point": 0, "key": "1", "config": {}, "status": "illegal", "error": "say \"no\""})", kWhere);
  CHECK(illegal.config.empty());
  CHECK(illegal.error == "say \"no\"");
}

TEST_CASE("A damaged line is refused with its place and what to do") {
  CHECK(refusal_of(R"({"point": 17, "key": "ff", "config": {"ranks": 4}, "sta)") ==
        "r.jsonl:7:50: error: this line of a sweep's result is damaged: ', \"status\": ' is missing here; "
        "`pipeloom sweep --resume` "
        "writes the file anew from this line on");
  CHECK(refusal_of(R"({"point": 17, "key": "ff", "config": {}, "status": "fine"})")
            .find("there is no status 'fine'") != std::string::npos);
  for (const char* line :
       {"", "{}", "null", R"({"point": 017, "key": "ff", "config": {}, "status": "ok"})",
        R"({"point": 1, "key": "ff", "config": {}, "status": "ok"} )",
        R"({"point": 1, "key": "ff", "config": {}, "status": "ok", "metrics": {"makespan": "3"}})"})
    CHECK_FALSE(refusal_of(line).empty());
}

TEST_CASE("A header reads back and is written as it was") {
  Header header;
  header.version = "1.2.3";
  header.grid = "0123456789abcdef";
  header.points = 24;
  header.metrics = {"makespan", "peak_live"};
  header.axes_json = R"([{"key": "ranks", "points": 3}])";
  header.base_json = R"({"microbatches":8})";
  CHECK(
      header.line() ==
      R"({"sweep": {"schema_version": 1, "version": "1.2.3", "grid": "0123456789abcdef", "points": 24, "metrics": ["makespan", )"
      R"("peak_live"], "axes": [{"key": "ranks", "points": 3}], "base": {"microbatches":8}}})");
  CHECK(read_header(header.line(), kWhere).line() == header.line());
  header.shard = Shard{3, 7};
  CHECK(header.line().substr(header.line().size() - 18) == R"(, "shard": "3/7"}})");
  CHECK(read_header(header.line(), kWhere).line() == header.line());
}

TEST_CASE("What is no header is called so") {
  const auto refusal = [](const std::string& line) {
    try {
      static_cast<void>(read_header(line, {"x", 1}));
    } catch (const InputError& error) {
      return error.line();
    }
    return std::string();
  };
  CHECK(refusal("rank,op,start,end") ==
        "x:1: error: this is no result of a sweep: its first line is no header; give a file that `pipeloom "
        "sweep` or `pipeloom merge` has "
        "written");
  CHECK(refusal(R"({"sweep": {"schema_version": 2, )")
            .find("its schema_version is 2, and this program reads version 1") != std::string::npos);
  CHECK(refusal(R"({"sweep": {"schema_version": 1, "ver)").find("its header is damaged") !=
        std::string::npos);
}

TEST_CASE("A key belongs to one shard") {
  // 0xff = 255 = 36 * 7 + 3: the fourth of seven.
  for (int i = 1; i <= 7; ++i) CHECK(Shard{i, 7}.has("00000000000000ff") == (i == 4));
  CHECK(Shard{1, 1}.has("ffffffffffffffff"));
}

TEST_CASE("Shards are named from 1") {
  CHECK(Shard::parse("3/7") == Shard{3, 7});
  CHECK(Shard::parse("1/1").text() == "1/1");
  for (const char* text :
       {"", "3", "0/7", "8/7", "a/7", "3/", "/7", "3/0", "3/7/1", "-1/7", "3/10000000", "auto", "3 /7"})
    CHECK_THROWS_AS(Shard::parse(text), InputError);
}

TEST_CASE("Schedulers and launchers number the shards") {
  CHECK_THROWS_AS(Shard::parse("auto/4"), InputError);
  {
    const Environment slurm(
        Variables{{"SLURM_ARRAY_TASK_ID", "5"}, {"SLURM_ARRAY_TASK_MIN", "3"}, {"RANK", "0"}});
    CHECK(Shard::parse("auto/4") == Shard{3, 4});
    CHECK_THROWS_WITH(Shard::parse("auto/2"),
                      Catch::Contains("SLURM_ARRAY_TASK_ID = 5 makes this shard 3 of 2"));
  }
  {
    const Environment steps(Variables{
        {"SLURM_ARRAY_TASK_ID", "9"}, {"SLURM_ARRAY_TASK_MIN", "1"}, {"SLURM_ARRAY_TASK_STEP", "4"}});
    CHECK(Shard::parse("auto/3") == Shard{3, 3});
  }
  {
    const Environment kubernetes(Variables{{"JOB_COMPLETION_INDEX", "0"}});
    CHECK(Shard::parse("auto/4") == Shard{1, 4});
  }
  {
    // One task alone has a number too, but there is nothing to divide.
    const Environment one(Variables{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"RANK", "3"}});
    CHECK(Shard::parse("auto/4") == Shard{4, 4});
  }
  {
    const Environment tasks(Variables{{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}});
    CHECK(Shard::parse("auto/4") == Shard{3, 4});
  }
  {
    const Environment broken(Variables{{"RANK", "two"}});
    CHECK_THROWS_WITH(Shard::parse("auto/4"), Catch::Contains("RANK is 'two'"));
  }
}

TEST_CASE("Both formats of a line hold the same") {
  const Grid grid = Grid::parse(
      R"({"base": {"microbatches": 8}, "axes": {"schedule": ["1f1b"], "ranks": [2, 4]}})", "g.json");
  Combination combination;
  REQUIRE(grid.combination(1, combination));
  Outcome outcome;
  outcome.metrics = {"12.5", "0.25"};
  const LineWriter json(ResultFormat::JsonLines, grid, {"makespan", "bubble_ratio"});
  const LineWriter csv(ResultFormat::Csv, grid, {"makespan", "bubble_ratio"});
  const auto line = [&](const LineWriter& writer) {
    std::string out;
    writer.append_identity(out, combination, 1, "00000000000000ff");
    const std::size_t rest = out.size();
    writer.append_outcome(out, outcome);
    CHECK(writer.is_outcome(std::string_view(out).substr(rest, out.size() - rest - 1)));
    CHECK_FALSE(writer.is_outcome(std::string_view(out).substr(rest, out.size() - rest - 2)));
    return out;
  };
  CHECK(
      line(json) ==
      R"({"point": 1, "key": "00000000000000ff", "config": {"schedule": "1f1b", "ranks": 4}, "status": "ok", )"
      "\"metrics\": {\"makespan\": 12.5, \"bubble_ratio\": 0.25}}\n");
  CHECK(line(csv) == "1,00000000000000ff,1f1b,4,ok,12.5,0.25,\n");

  outcome.status = Status::OverMemory;
  outcome.error = "rank 0 needs \"more\",\nmuch more";
  CHECK(
      line(json) ==
      R"({"point": 1, "key": "00000000000000ff", "config": {"schedule": "1f1b", "ranks": 4}, "status": "over_memory", )"
      R"("metrics": {"makespan": 12.5, "bubble_ratio": 0.25}, "error": "rank 0 needs \"more\",?much more"})"
      "\n");
  CHECK(line(csv) ==
        "1,00000000000000ff,1f1b,4,over_memory,12.5,0.25,\"rank 0 needs \"\"more\"\",?much more\"\n");

  outcome.status = Status::Illegal;
  CHECK(line(csv) == "1,00000000000000ff,1f1b,4,illegal,,,\"rank 0 needs \"\"more\"\",?much more\"\n");
}

}  // namespace result_test
