#include "study/pages/sweep_page.hpp"

#include <fstream>
#include <sstream>

#include "study/answers/select.hpp"
#include "study/document/formats.hpp"
#include "study/plots/point_heaps.hpp"
#include "study/plots/sweep_map.hpp"
#include "study/plots/sweep_scatter.hpp"
#include "support/catch.hpp"
#include "support/sweep_scenes.hpp"
#include "support/temporary.hpp"

namespace sweep_page_test {

using namespace pipeloom;
using namespace pipeloom::study::page;
using Catch::Matchers::Contains;
using sweep::ResultTable;
using test::table_of;

namespace {

const char* const kScene = R"(
  schedule=gpipe ranks=4 microbatches=8 : makespan=33.0 peak_bytes=8
  schedule=1f1b  ranks=4 microbatches=8 : makespan=33.0 peak_bytes=4
  schedule=zb-h2 ranks=4 microbatches=8 : makespan=27.5 peak_bytes=9
  schedule=gpipe ranks=8 microbatches=8 : makespan=45.0 peak_bytes=8
  schedule=1f1b  ranks=8 microbatches=8 : makespan=45.0 peak_bytes=8
  schedule=zb-h2 ranks=8 microbatches=8 : illegal needs 15 microbatches
)";

std::string markdown(const ResultTable& table, const SweepQuestion& question = {}) {
  SweepFindings found = sweep_findings(table, "r.jsonl", question);
  Page page{found.title, found.subtitle, found.lead, found.sections, "pipeloom"};
  std::ostringstream out;
  write_markdown(out, page);
  return out.str();
}

std::size_t occurrences(const std::string& text, const std::string& of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

ResultTable many_points(std::size_t points) {
  sweep::Header header;
  header.metrics = {"makespan", "peak_bytes"};
  header.base_json = "{}";
  header.points = points;
  ResultTable table(header);
  sweep::ResultLine line;
  line.status = "ok";
  for (std::size_t i = 0; i < points; ++i) {
    line.point = i;
    line.config = {{"options.group_size", std::to_string(i)}, {"schedule", i % 2 == 0 ? "\"a\"" : "\"b\""}};
    // All of them are on the front: the largest there can be.
    line.metrics = {{"makespan", std::to_string(i + 1) + ".0"}, {"peak_bytes", std::to_string(points - i)}};
    table.add(line, {});
  }
  return table;
}

}  // namespace

TEST_CASE("the page of a sweep says what is best, and what within less memory") {
  SweepQuestion question;
  question.metrics = {"makespan", "peak_bytes"};
  const std::string page = markdown(table_of({"makespan", "peak_bytes"}, kScene), question);
  CHECK_THAT(
      page, Contains("Lowest makespan: 27.5 with zb-h2, ranks 4 (peak\\_bytes 9 activations). With at most 4 "
                     "activations: 33.0 with 1f1b, ranks 4."));
  CHECK_THAT(page, Contains("6 points, 5 ok"));
  CHECK_THAT(page, Contains("| illegal | 1 | needs 15 microbatches | 5 |"));
}

TEST_CASE("a winner map in letters has ties and cells without an answer") {
  const ResultTable table = table_of({"makespan"}, R"(
    schedule=gpipe ranks=4 microbatches=8 : makespan=33.0
    schedule=1f1b  ranks=4 microbatches=8 : makespan=33.0
    schedule=gpipe ranks=4 microbatches=16 : makespan=60.0
    schedule=gpipe ranks=8 microbatches=16 : illegal no
  )");
  const auto map = winner_map(table, select_rows(table, {}), {});
  REQUIRE(map);
  CHECK(map_text(*map) ==
        "ranks\n"
        "    8   .   x\n"
        "    4  A=   B\n"
        "        8  16  microbatches\n");
  const std::string svg = map_svg(table, *map);
  CHECK(occurrences(svg, "class=\"no-answer\"") == 1);
  CHECK(occurrences(svg, "class=\"no-point\"") == 1);
  CHECK(map_signs(*map) ==
        " Hatched: shared, +n by so many more. Crossed out: no point has an answer. A dotted frame: left out "
        "by the grid.");
  CHECK(occurrences(svg, "class=\"tie-line\"") == 1);
  CHECK_THAT(svg, Contains("1f1b +1"));
  CHECK(letters_of(27) == "AB");
}

TEST_CASE("cells that the grid or a condition leaves out are not called refused") {
  const ResultTable table = table_of({"makespan"}, R"(
    schedule=gpipe ranks=4 microbatches=8  : makespan=33.0
    schedule=1f1b  ranks=4 microbatches=16 : makespan=60.0
    schedule=gpipe ranks=8 microbatches=16 : illegal no
  )");
  SweepQuestion question;
  question.where = {"makespan < 50"};
  const std::string page = markdown(table, question);
  CHECK_THAT(page,
             Contains("| no point has an answer | x | 1 |\n| left out by the conditions above | - | 1 |\n"
                      "| left out by the grid | . | 1 |\n"));
  sweep::Header part = table.header();
  part.points = 99;
  ResultTable unfinished(part);
  for (const sweep::ResultLine& line : test::lines_of("schedule=a ranks=4 microbatches=8 : makespan=1.0\n"
                                                      "schedule=b ranks=8 microbatches=9 : makespan=1.0"))
    unfinished.add(line, {});
  CHECK_THAT(markdown(unfinished), Contains("| not in this part of the result | . | 2 |"));
}

TEST_CASE("what is derived is told, and stands behind what it is derived from") {
  const ResultTable table = table_of({"makespan", "peak_live"}, R"(
    costs.forward=2 ranks=4 : makespan=33.0 peak_live=4
    costs.forward=1 ranks=8 : makespan=23.0 peak_live=8
  )",
                                     "{}", R"([{"key": "ranks", "points": 2}])");
  SweepQuestion question;
  question.metrics = {"peak_live"};
  const std::string page = markdown(table, question);
  CHECK_THAT(page, Contains("## Sweep of ranks\n"));
  CHECK_THAT(page, Contains("Derived from the axes: costs.forward."));
  CHECK_THAT(page, Contains("Lowest peak\\_live: 4 with ranks 4"));
  // What was asked for comes before the other metrics.
  CHECK_THAT(page, Contains("| no. | ranks | peak\\_live | makespan | costs.forward | point |"));
  CHECK_THAT(page, Contains("| ranks | 2 | 4, 8 |\n\nDerived: costs.forward, 1, 2."));
  CHECK_THAT(page, !Contains("| costs.forward | 2 |"));
}

TEST_CASE("conditions, groups and numbers of points are the reader's choice") {
  const ResultTable table = table_of({"makespan", "peak_bytes"}, kScene);
  SweepQuestion question;
  question.metrics = {"makespan"};
  question.where = {"peak_bytes <= 8"};
  question.group_by = "ranks";
  question.top = 2;
  const std::string page = markdown(table, question);
  CHECK_THAT(page, Contains("Only points where peak\\_bytes &lt;= 8: 4.") ||
                       Contains("Only points where peak\\_bytes \\<= 8: 4."));
  CHECK_THAT(page, Contains("| 4 | gpipe | 33.0 | 8 activations | 0 |\n| 4 | 1f1b | 33.0 | 4 activations | 1 "
                            "|\n| 8 | gpipe | 45.0"));
  question.where = {"peak_bytes < 0"};
  CHECK_THAT(markdown(table, question), Contains("No point fits the conditions."));
}

TEST_CASE("questions that a result cannot answer name the option and what there is") {
  const ResultTable table = table_of({"makespan", "peak_bytes"}, kScene);
  const auto refused = [&](auto change) {
    SweepQuestion question;
    change(question);
    try {
      (void)sweep_findings(table, "r.jsonl", question);
    } catch (const InputError& error) {
      return error.line();
    }
    return std::string("nothing");
  };
  CHECK_THAT(refused([](SweepQuestion& q) { q.metrics = {"makespam"}; }),
             Contains("--metric: error: ") && Contains("did you mean 'makespan'"));
  CHECK_THAT(refused([](SweepQuestion& q) {
               q.metrics = {"makespan", "makespan"};
             }),
             Contains("named twice"));
  CHECK_THAT(refused([](SweepQuestion& q) { q.x = "peak_bytes"; }), Contains("--x: error: "));
  CHECK_THAT(refused([](SweepQuestion& q) { q.group_by = "rank"; }), Contains("did you mean 'ranks'"));
  CHECK_THAT(refused([](SweepQuestion& q) { q.where = {"ranks <"}; }), Contains("--where"));
}

TEST_CASE("a page says when it has a part of a sweep only") {
  ResultTable whole = table_of({"makespan"}, "ranks=4 : makespan=1.0\nranks=8 : makespan=2.0");
  CHECK_THAT(markdown(whole), !Contains("not finished") && !Contains("shard"));
  sweep::Header header = whole.header();
  header.points = 9;
  ResultTable part(header);
  CHECK_THAT(markdown(part), Contains("not finished: 0 of 9 points") && Contains("No point has an answer."));
  header.shard = sweep::Shard{2, 3};
  CHECK_THAT(markdown(ResultTable(header)), Contains("shard 2/3 only"));
}

TEST_CASE("thousands of points keep the colours and marks of their series") {
  // Every makespan comes once with each schedule; peak_bytes takes ten values, so that points stand beside each other, not on top.
  sweep::Header header;
  header.metrics = {"makespan", "peak_bytes"};
  header.base_json = "{}";
  header.points = 3780;
  ResultTable table(header);
  const char* const schedules[] = {"\"a\"", "\"b\"", "\"c\""};
  sweep::ResultLine line;
  line.status = "ok";
  for (std::size_t i = 0; i < header.points; ++i) {
    line.point = i;
    line.config = {{"schedule", schedules[i % 3]}, {"ranks", std::to_string(i / 3)}};
    line.metrics = {{"makespan", std::to_string(100 + i / 3)}, {"peak_bytes", std::to_string(1 + i % 10)}};
    table.add(line, {});
  }
  const std::vector<sweep::Row> rows = select_rows(table, {});
  const Scatter picture = scatter(table, rows, {}, {"peak_bytes", "makespan", "schedule", "s"});
  CHECK(picture.merged);
  CHECK_THAT(picture.svg, !Contains("muted-ink\" x=\"0"));
  const std::size_t points = picture.svg.find("class=\"points\"");
  const std::string legend = picture.svg.substr(0, points);
  const std::string marks = picture.svg.substr(points);
  // A mark for each name of the legend, of another shape and colour each.
  CHECK_THAT(legend, !Contains(">schedule<"));
  CHECK_THAT(scatter(table, rows, {}, {"peak_bytes", "makespan", "ranks", "s"}).svg,
             Contains(">ranks</text>"));
  for (const char* mark : {"#s-m0\" x", "#s-m1\" x", "#s-m2\" x"}) CHECK(occurrences(legend, mark) == 1);
  for (const char* colour : {"class=\"s0 fill\"", "class=\"s1 fill\"", "class=\"s2 fill\""}) {
    CHECK(occurrences(legend, colour) == 1);
    CHECK(occurrences(marks, colour) > 100);
  }
  CHECK(occurrences(marks, "<use") <= 2000);
}

TEST_CASE("points on top of each other are one heap, as few as are asked for") {
  std::vector<PlacedPoint> points;
  for (std::uint32_t i = 0; i < 100; ++i) points.push_back({10.0 * (i % 10), 0, i / 50, i});
  // Ten places, two series, five points of a series at each place.
  const auto fine = point_heaps(points, 20);
  REQUIRE(fine.size() == 20);
  CHECK(fine.front().count == 5);
  CHECK(fine.front().first.row == 0);
  CHECK(fine[11].first.row == 51);
  CHECK(fine[11].x == 10);
  const auto coarse = point_heaps(points, 7);
  CHECK(coarse.size() <= 7);
  CHECK(coarse.front().count >= coarse.back().count);
  CHECK(point_heaps(points, 1).size() == 2);  // series are never mixed
  CHECK(point_heaps({}, 5).empty());
}

TEST_CASE("a page recommends what can be chosen, never a faster link or device") {
  const char* const scene = R"(
    schedule=a costs.transfer.latency=0 : makespan=10.0
    schedule=b costs.transfer.latency=0 : makespan=12.0
    schedule=a costs.transfer.latency=4 : makespan=20.0
    schedule=b costs.transfer.latency=4 : makespan=16.0
  )";
  const ResultTable table = table_of({"makespan"}, scene);
  // a: (10 + 20) / 2 = 15, at worst 20; b: (12 + 16) / 2 = 14, at worst 16.
  const std::string mean = markdown(table);
  CHECK_THAT(mean, Contains("Lowest makespan: 14 with b."));
  CHECK_THAT(mean, Contains("Ranked by the mean over 2 environments (costs.transfer.latency)"));
  SweepQuestion question;
  question.over = sweep::Over::Worst;
  CHECK_THAT(markdown(table, question), Contains("Lowest makespan: 16.0 with b."));
  question.decided = {"costs.transfer.latency"};
  CHECK_THAT(markdown(table, question), Contains("Lowest makespan: 10.0 with a, costs.transfer.latency 0."));
  question.decided = {"costs.forward"};
  CHECK_THROWS_WITH(markdown(table, question), Contains("unknown key of this result"));
  // What is best in each environment may be asked.
  SweepQuestion each;
  each.group_by = "costs.transfer.latency";
  const std::string page = markdown(table, each);
  CHECK_THAT(page, Contains("10.0"));
  CHECK_THAT(page, Contains("16.0"));
}

TEST_CASE("a page of environments alone recommends none of them") {
  const std::string page = markdown(table_of({"makespan"}, R"(
    costs.forward=1 : makespan=10.0
    costs.forward=2 : makespan=20.0
  )"));
  CHECK_THAT(page, Contains("Nothing to choose: points differ in costs.forward alone"));
  CHECK_THAT(page, Contains("mean makespan: 15"));
  CHECK(page.find("Lowest") == std::string::npos);
  CHECK(page.find("Best points") == std::string::npos);
}

TEST_CASE("a page does not grow with the number of points") {
  const ResultTable table = many_points(60'000);
  const SweepFindings found = sweep_findings(table, "r.jsonl", {});
  Page page{found.title, found.subtitle, found.lead, found.sections, "pipeloom"};
  std::ostringstream out;
  write_html(out, page);
  CHECK(out.str().size() < 1'200'000);
  CHECK_THAT(out.str(), Contains("60,000 on the Pareto front of 60,000 points"));
}

TEST_CASE("several results share a page, a file without a header is named") {
  const auto path = test::temporary_path("sweep.jsonl");
  {
    std::ofstream file(path);
    file
        << R"({"sweep": {"schema_version": 1, "version": "1.0.0", "grid": "00", "points": 1, "metrics": ["makespan"], "axes": [], "base": {}}})"
        << "\n"
        << R"({"point": 0, "key": "0123456789abcdef", "config": {"ranks": 4}, "status": "ok", "metrics": {"makespan": 33.0}})"
        << "\n";
  }
  const Page page = sweep_page({path.string(), path.string()}, {}, "pipeloom");
  CHECK(page.title == "2 sweeps");
  CHECK(page.sections.front().id == "sweep1");
  std::ostringstream once;
  std::ostringstream twice;
  write_html(once, page);
  write_html(twice, sweep_page({path.string(), path.string()}, {}, "pipeloom"));
  CHECK(once.str() == twice.str());
  std::filesystem::remove(path);
  CHECK(sweep::looks_like_result(R"({"sweep": {"schema_version": 1)"));
  CHECK(sweep::looks_like_result(R"(# {"sweep": {"schema_version": 1)"));
  CHECK_FALSE(sweep::looks_like_result(R"({"ranks": 4})"));
}

TEST_CASE("axes have round marks, logarithmic where values span decades") {
  using study::Unit;
  using sweep::Scale;
  const auto texts = [](const Scale& scale, std::size_t about) {
    std::vector<std::string> out;
    for (const auto& mark : scale.marks(about)) out.push_back(mark.text);
    return out;
  };
  CHECK(texts(Scale(0, 10, Unit::Count), 5) == std::vector<std::string>{"0", "2", "4", "6", "8", "10"});
  CHECK(texts(Scale(1, 1000, Unit::Count), 4) == std::vector<std::string>{"1", "10", "100", "1000"});
  const Scale bytes(1.0 * (1 << 20), 4.0 * (1 << 20), Unit::Bytes);
  CHECK(texts(bytes, 4) == std::vector<std::string>{"1 MiB", "2 MiB", "3 MiB", "4 MiB"});
  // Steps of a quarter, whole in powers of two.
  CHECK(texts(Scale(1.0 * (1 << 30), 1.5 * (1 << 30), Unit::Bytes), 3) ==
        std::vector<std::string>{"1 GiB", "1.25 GiB", "1.5 GiB"});
  CHECK(texts(Scale(0.05, 0.2, Unit::Ratio), 3) == std::vector<std::string>{"5 %", "10 %", "15 %", "20 %"});
  CHECK(texts(Scale(2e6, 4e6, Unit::PerSecond), 2) == std::vector<std::string>{"2 M", "3 M", "4 M"});
  const Scale one(5, 5, Unit::Count);
  CHECK(one.place(5) == 0.5);
  const Scale log(0.01, 100, Unit::Count);
  CHECK(log.is_log());
  CHECK(log.value_at(log.place(3)) == Approx(3));
}

}  // namespace sweep_page_test
