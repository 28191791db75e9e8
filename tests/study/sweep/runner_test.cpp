#include "study/sweep/run/runner.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <random>
#include <string>

#include "study/run/evaluate.hpp"
#include "study/run/scenario_run.hpp"
#include "study/sweep/result/line_writer.hpp"
#include "study/sweep/result/result_file.hpp"
#include "study/text/numbers.hpp"
#include "support/catch.hpp"
#include "support/sweep_files.hpp"

namespace runner_test {

using namespace pipeloom;
using namespace pipeloom::sweep;
using test::lines_in;
using test::put;
using test::swept;
using test::text_of;

namespace {

SweepOptions into(const std::string& path, int threads = 1) {
  SweepOptions out;
  out.out = path;
  out.threads = threads;
  return out;
}

SweepOptions resuming(SweepOptions options) {
  options.existing = Existing::Resume;
  return options;
}

std::string refusal_of(const Grid& grid, const SweepOptions& options) {
  try {
    static_cast<void>(run_sweep(grid, options));
  } catch (const Error& error) {
    return error.line();
  }
  return "";
}

}  // namespace

TEST_CASE("A sweep writes a line for every point that holds, in grid order") {
  const test::Folder folder("sweep-order");
  const SweepSummary summary = run_sweep(test::small_grid(), into(folder / "r.jsonl"));
  CHECK(summary.points == 22);  // 2 schedules * (2 p with 4 m each, and p = 3 with 3)
  CHECK(summary.lines == 22);
  CHECK_FALSE(summary.stopped);
  ResultReader reader(folder / "r.jsonl");
  CHECK(reader.header().points == 22);
  CHECK(reader.header().metrics == std::vector<std::string>{"makespan", "bubble_ratio"});
  ResultLine line;
  std::uint64_t points = 0;
  std::uint64_t ok = 0;
  while (reader.next(line)) {
    CHECK(line.point == points++);
    CHECK(line.metrics.empty() == (line.status != "ok"));
    if (line.status == "ok") ++ok;
    // 1F1B with p = 2, m = 4 and F = B / 2 = 1: (m + p - 1) * 3.
    if (line.config[0].second == "\"1f1b\"" && line.config[1].second == "2" && line.config[2].second == "4")
      CHECK(line.metrics[0].second == "15.0");
  }
  CHECK(points == 22);
  CHECK(ok == 17);
  CHECK(summary.counts.ok == 17);
  CHECK(summary.counts.illegal == 5);
}

TEST_CASE("The bytes of a sweep do not depend on threads") {
  const test::Folder folder("sweep-threads");
  for (const ResultFormat format : {ResultFormat::JsonLines, ResultFormat::Csv}) {
    SweepOptions one = into(folder / (format == ResultFormat::Csv ? "c1" : "j1"), 1);
    SweepOptions many = into(folder / (format == ResultFormat::Csv ? "c8" : "j8"), 8);
    one.format = many.format = format;
    CHECK(swept(test::small_grid(), one) == swept(test::small_grid(), many));
  }
}

TEST_CASE("CSV and JSON lines hold the same") {
  const test::Folder folder("sweep-formats");
  SweepOptions csv = into(folder / "r.csv");
  csv.format = ResultFormat::Csv;
  static_cast<void>(swept(test::small_grid(), csv));
  static_cast<void>(swept(test::small_grid(), into(folder / "r.jsonl")));
  ResultReader a(folder / "r.csv");
  ResultReader b(folder / "r.jsonl");
  CHECK(a.format() == ResultFormat::Csv);
  CHECK(a.columns() == "point,key,schedule,ranks,microbatches,status,makespan,bubble_ratio,error");
  CHECK(a.header().line() == b.header().line());
  ResultLine left;
  ResultLine right;
  while (b.next(right)) {
    REQUIRE(a.next(left));
    CHECK(left.point == right.point);
    CHECK(left.key == right.key);
    CHECK(left.config == right.config);
    CHECK(left.status == right.status);
    CHECK(left.metrics == right.metrics);
    CHECK(left.error == right.error);
  }
  CHECK_FALSE(a.next(left));
}

TEST_CASE("A file that ends anywhere is completed to the same bytes") {
  const test::Folder folder("sweep-cut");
  const std::string path = folder / "r";
  for (const ResultFormat format : {ResultFormat::JsonLines, ResultFormat::Csv}) {
    SweepOptions options = into(path);
    options.format = format;
    options.existing = Existing::Overwrite;
    const std::string whole = swept(test::small_grid(), options);
    for (std::size_t size = 0; size <= whole.size(); size += size < 400 ? 41 : 97) {
      put(path, whole.substr(0, size));
      CHECK(swept(test::small_grid(), resuming(options)) == whole);
    }
  }
}

TEST_CASE("Everything from the first line that is not sound is written anew") {
  const test::Folder folder("sweep-damage");
  const SweepOptions options = into(folder / "r");
  const std::string whole = swept(test::small_grid(), options);
  const std::vector<std::string> lines = lines_in(whole);
  const auto with_line = [&](std::size_t i, const std::string& line) {
    std::string out;
    for (std::size_t k = 0; k < lines.size(); ++k) out += (k == i ? line : lines[k]) + '\n';
    return out;
  };
  std::string wrong_key = lines[9];
  wrong_key[wrong_key.find("\"key\": \"") + 8] ^= 1;
  std::string wrong_metric = lines[9];
  wrong_metric.replace(wrong_metric.find("makespan"), 8, "makespam");
  const std::vector<std::string> damaged = {
      with_line(9, wrong_key),
      with_line(9, wrong_metric),
      with_line(9, lines[8]),                            // there twice
      with_line(9, lines[10]),                           // one is missing
      with_line(9, lines[9] + " "),                      // a letter too many
      with_line(9, std::string(lines[9].size(), '\0')),  // what a disk leaves that had no time
      with_line(9, ""),
      with_line(1, "\xFF\xFE garbage"),
      whole + lines.back() + '\n',  // the last line again
      whole + "and more",
      whole + std::string(100'000, 'x'),
      whole.substr(0, whole.size() - 1),
  };
  for (const std::string& text : damaged) {
    put(options.out, text);
    const SweepSummary summary = run_sweep(test::small_grid(), resuming(options));
    CHECK(summary.lines == 22);
    CHECK(text_of(options.out) == whole);
  }
}

TEST_CASE("A resumed sweep evaluates only what is missing") {
  const test::Folder folder("sweep-rest");
  const SweepOptions options = into(folder / "r");
  const std::string whole = swept(test::small_grid(), options);
  std::string begun;
  for (std::size_t i = 0; i < 11; ++i) begun += lines_in(whole)[i] + '\n';  // the header and ten points
  put(options.out, begun + "{\"poi");
  const SweepSummary summary = run_sweep(test::small_grid(), resuming(options));
  CHECK(summary.resumed == 10);
  CHECK(summary.dropped == 5);
  CHECK(summary.counts.total() == 12);
  CHECK(text_of(options.out) == whole);
  CHECK(run_sweep(test::small_grid(), resuming(options)).counts.total() == 0);
  CHECK(text_of(options.out) == whole);
}

TEST_CASE("A file that belongs to something else is left alone") {
  const test::Folder folder("sweep-foreign");
  const SweepOptions options = into(folder / "r");
  const std::string whole = swept(test::small_grid(), options);
  CHECK(refusal_of(test::small_grid(), options) ==
        options.out +
            ": error: the file exists already; use --resume to go on with it, --force to overwrite it, or "
            "another name");

  SweepOptions metrics = resuming(options);
  metrics.metrics = {"makespan"};
  CHECK(
      refusal_of(test::small_grid(), metrics).find("its metrics are makespan, bubble_ratio, not makespan") !=
      std::string::npos);
  SweepOptions shard = resuming(options);
  shard.shard = Shard{1, 2};
  CHECK(refusal_of(test::small_grid(), shard).find("it holds the whole grid, not shard 1/2") !=
        std::string::npos);
  SweepOptions csv = resuming(options);
  csv.format = ResultFormat::Csv;
  CHECK(refusal_of(test::small_grid(), csv).find("another format") != std::string::npos);
  const Grid other = Grid::parse(
      R"({"base": {"schedule": "1f1b", "microbatches": 4}, "axes": {"ranks": [2]}, "metrics": ["makespan", "bubble_ratio"]})",
      "o");
  CHECK(refusal_of(other, resuming(options)).find("it belongs to another grid") != std::string::npos);
  CHECK(text_of(options.out) == whole);

  put(options.out, "notes of mine\n");
  CHECK(refusal_of(test::small_grid(), resuming(options)).find("it is no result of a sweep") !=
        std::string::npos);
  CHECK(text_of(options.out) == "notes of mine\n");
}

TEST_CASE("Two sweeps do not write one file") {
  const test::Folder folder("sweep-lock");
  const SweepOptions options = into(folder / "r");
  const std::string whole = swept(test::small_grid(), options);
  const int fd = ::open(options.out.c_str(), O_RDONLY);
  REQUIRE(::flock(fd, LOCK_EX | LOCK_NB) == 0);
  CHECK(refusal_of(test::small_grid(), resuming(options)) ==
        options.out +
            ": error: another sweep is writing this file; wait for it, stop it, or name another file");
  SweepOptions force = options;
  force.existing = Existing::Overwrite;
  CHECK_FALSE(refusal_of(test::small_grid(), force).empty());
  ::close(fd);
  CHECK(text_of(options.out) == whole);
  CHECK(refusal_of(test::small_grid(), force).empty());
}

TEST_CASE("A disk that refuses is an error of the system") {
  CHECK(refusal_of(test::small_grid(), into("/dev/full")) ==
        "error: cannot write '/dev/full': No space left on device");
  CHECK(refusal_of(test::small_grid(), into("/nowhere/r")) ==
        "error: cannot write '/nowhere/r': No such file or directory");
  CHECK(refusal_of(test::small_grid(), resuming(into("-"))).find("there is nothing to resume") !=
        std::string::npos);
}

TEST_CASE("A sweep that is told to stop leaves a prefix") {
  const test::Folder folder("sweep-stop");
  const std::string whole = swept(test::small_grid(), into(folder / "whole"));
  SweepOptions options = into(folder / "r", 2);
  std::atomic<bool> stop{true};
  options.stop = &stop;
  CHECK(run_sweep(test::small_grid(), options).stopped);
  // From the first report of progress on.
  stop = false;
  options.existing = Existing::Resume;
  options.progress = [&stop](const Progress&) { stop = true; };
  const SweepSummary summary = run_sweep(test::small_grid(), options);
  CHECK(whole.substr(0, text_of(options.out).size()) == text_of(options.out));
  CHECK(summary.stopped == (summary.lines < 22));
  stop = false;
  options.progress = {};
  CHECK(swept(test::small_grid(), options) == whole);
}

TEST_CASE("Progress counts points from the resumed ones to the last") {
  const test::Folder folder("sweep-progress");
  SweepOptions options = into(folder / "r", 2);
  Progress last;
  std::uint64_t before = 0;
  options.progress = [&](const Progress& progress) {
    CHECK(progress.done >= before);
    before = progress.done;
    last = progress;
  };
  static_cast<void>(run_sweep(test::small_grid(), options));
  CHECK(last.done == 22);
  CHECK(last.total == 22);
  CHECK(last.counts.total() == 22);
}

namespace {

/// 1F1B and ZB-H1 with 5 % noise under this transfer model; `more` is behind the base.
Grid noisy_grid(const std::string& model, const std::string& more) {
  return Grid::parse(R"({"base": {"ranks": 4, "microbatches": 8, "costs": {"forward": 1, "backward_input": 1,
      "backward_weight": 1, "noise": {"model": "lognormal", "sigma": 0.05},
      "transfer": {"latency": 0.1, "model": ")" +
                         model + R"("}}}, "axes": {"schedule": ["1f1b", "zb-h1"]})" + more + "}",
                     "g");
}

}  // namespace

TEST_CASE(
    "Points run scenarios where the grid or an option asks for them, with the numbers of one run each") {
  const test::Folder folder("sweep-scenarios");
  for (const char* model : {"latency", "blocking"}) {
    INFO(model);
    const Grid grid = noisy_grid(model, R"(, "scenarios": {"count": 20, "seed": 3})");
    const std::string file = folder / model;
    static_cast<void>(run_sweep(grid, into(file)));
    ResultReader reader(file);
    REQUIRE(reader.header().scenarios == study::ScenarioChoice{20, 3});
    CHECK(reader.header().metrics.size() == default_metrics().size() + scenario_metrics().size());
    ResultLine line;
    Combination combination;
    for (std::uint64_t point = 0; reader.next(line); ++point) {
      REQUIRE(grid.combination(point, combination));
      const Run run = study::evaluate(grid.config(combination));
      const study::ScenarioSummary summary = study::run_scenarios(run, {20, 3});
      const auto metric = [&](const std::string& name) {
        for (const auto& [known, value] : line.metrics)
          if (known == name) return value;
        return std::string("none");
      };
      CHECK(metric("makespan_p50") == format_ticks(summary.makespan.p50, TimeUnit::Unit));
      CHECK(metric("makespan_p95") == format_ticks(summary.makespan.p95, TimeUnit::Unit));
      CHECK(metric("makespan_p99") == format_ticks(summary.makespan.p99, TimeUnit::Unit));
      CHECK(std::stod(metric("bubble_ratio_p95")) == summary.bubble.p95);
    }
    // Another number of them, or another seed, is another result.
    Grid other = grid;
    other.set_scenarios({20, 4});
    CHECK(refusal_of(other, resuming(into(file)))
              .find("it has 20 scenarios of seed 3, not 20 scenarios of seed 4") != std::string::npos);
    CHECK(refusal_of(noisy_grid(model, ""), resuming(into(file))).find("not no scenarios") !=
          std::string::npos);
  }
}

TEST_CASE("Metrics of scenarios need some, and scenarios a metric") {
  CHECK_THROWS_WITH(metrics_of(noisy_grid("latency", ""), {"makespan_p95"}),
                    Catch::Contains("makespan_p95 is of scenarios, and there are none; give --scenarios N"));
  CHECK_THROWS_WITH(metrics_of(noisy_grid("latency", R"(, "scenarios": {"count": 2})"), {"makespan"}),
                    Catch::Contains("no metric is of them; add makespan_p50"));
  CHECK_THROWS_WITH(noisy_grid("latency", R"(, "scenarios": {"count": 0})"),
                    Catch::Contains("\"count\" of \"scenarios\""));
  CHECK_THROWS_WITH(noisy_grid("latency", R"(, "scenarios": {"seed": 1})"),
                    Catch::Contains("\"scenarios\" lacks \"count\""));
}

TEST_CASE("Rates need a model that some point names") {
  CHECK_THROWS_WITH(metrics_of(test::small_grid(), {"makespan", "mfu"}),
                    Catch::Contains("mfu is of a model, and no point names one; give costs.model"));
  for (const char* grid : {R"({"base": {"costs": {"model": "llama3-8b"}}, "axes": {"ranks": [2]}})",
                           R"({"base": {}, "axes": {"costs.model": ["llama3-8b", "gpt3-175b"]}})"})
    CHECK(metrics_of(Grid::parse(grid, "g.json"), {"mfu"}) == std::vector<std::string>{"mfu"});
}

TEST_CASE("A value that a point does not have is null in its line, and nothing in CSV and in the table") {
  for (const ResultFormat format : {ResultFormat::JsonLines, ResultFormat::Csv}) {
    const Grid grid = Grid::parse(R"({"base": {"schedule": "1f1b", "ranks": 2, "microbatches": 2},
      "axes": {"ranks": [2, 3]}})",
                                  "g.json");
    const LineWriter lines(format, grid, {"makespan", "headroom_bytes"});
    Outcome outcome;
    outcome.metrics = {"9.0", std::string(study::kNoValue)};
    std::string line;
    lines.append_outcome(line, outcome);
    CHECK(line ==
          (format == ResultFormat::Csv
               ? "ok,9.0,,\n"
               : "\"status\": \"ok\", \"metrics\": {\"makespan\": 9.0, \"headroom_bytes\": null}}\n"));
    CHECK(lines.is_outcome(line.substr(0, line.size() - 1)));
  }
}

TEST_CASE("Metrics may be chosen, each once") {
  const Grid grid = test::small_grid();
  CHECK(metrics_of(grid, {}) == std::vector<std::string>{"makespan", "bubble_ratio"});
  CHECK(metrics_of(grid, {"peak_live"}) == std::vector<std::string>{"peak_live"});
  CHECK_THROWS_WITH(metrics_of(grid, {"makespam"}), Catch::Contains("did you mean 'makespan'"));
  CHECK_THROWS_WITH(metrics_of(grid, {"makespan", "makespan"}), Catch::Contains("there twice"));
}

TEST_CASE("Pieces divide the combinations and know the points before them") {
  const Grid grid = test::small_grid();
  for (const std::uint64_t size : {1U, 5U, 7U, 24U, 100U}) {
    const Pieces pieces(grid, size, 3);
    CHECK(pieces.points() == 22);
    std::uint64_t next = 0;
    std::uint64_t points = 0;
    Combination buffer;
    for (std::uint64_t i = 0; i < pieces.count(); ++i) {
      const Piece piece = pieces.at(i);
      CHECK(piece.begin == next);
      CHECK(piece.first_point == points);
      for (next = piece.begin; next < piece.end; ++next)
        if (grid.combination(next, buffer)) CHECK(pieces.piece_of(points++) == i);
    }
    CHECK(next == 24);
    CHECK(points == 22);
    CHECK(pieces.piece_of(22) == pieces.count());
  }
}

TEST_CASE("Pieces are small enough to share out and few enough to remember") {
  CHECK(piece_size(40, 2) == 1);  // 40 long runs: one each
  CHECK(piece_size(115'536, 2) == 64);
  CHECK(piece_size(100'000'000, 64) == 1526);  // 65,536 pieces at most
  CHECK(piece_size(0, 1) == 1);
}

TEST_CASE("Pieces in any order become the file in order, each once") {
  const test::Folder folder("sweep-pieces");
  const Grid grid = test::small_grid();
  const std::string whole = swept(grid, into(folder / "whole"));
  const Pieces pieces(grid, 3, 1);
  const LineWriter lines(ResultFormat::JsonLines, grid, grid.metrics());
  ResultFile file(folder / "r", grid, Header::of(grid, grid.metrics(), pieces.points(), {}), lines,
                  Existing::Refuse);
  PieceWorker worker(grid, Evaluator(grid.metrics(), {}, Evaluator::make_cache()), lines, {});
  PrefixWriter writer(file, 0);
  std::vector<std::uint64_t> order;
  for (std::uint64_t i = 0; i < pieces.count(); ++i) order.insert(order.end(), {i, i});  // each comes twice
  std::mt19937 random(5);  // NOLINT(cert-msc51-cpp): the same order every time
  std::shuffle(order.begin(), order.end(), random);
  for (const std::uint64_t i : order) {
    writer.put(i, worker.run(pieces.at(i)));
    CHECK(whole.substr(0, text_of(folder / "r").size()) == text_of(folder / "r"));
  }
  CHECK(writer.next() == pieces.count());
  CHECK(writer.waiting_bytes() == 0);
  CHECK(writer.end_point() == 22);
  CHECK(text_of(folder / "r") == whole);
}

}  // namespace runner_test
