#include "study/pages/run_page.hpp"

#include <algorithm>
#include <list>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/link.hpp>
#include <pipeloom/schedule.hpp>
#include "study/document/formats.hpp"
#include "study/page/page_support.hpp"
#include "study/plots/gantt_svg.hpp"
#include "study/plots/time_chart.hpp"
#include "study/run/input.hpp"
#include "support/catch.hpp"

namespace run_page_test {

using namespace pipeloom;
using namespace pipeloom::study;
using namespace pipeloom::study::page;
using namespace pipeloom::page_tests;

namespace {

Run run_of(const std::string& config, const std::string& title = "run.json") {
  Request input;
  input.file = title;
  input.text = config;
  return load_run(input, {}, TimeUnit::Unit);
}

std::string config(const char* schedule, int ranks, int microbatches, const std::string& more = "") {
  return "{\"schedule\": \"" + std::string(schedule) + "\", \"ranks\": " + std::to_string(ranks) +
         ", \"microbatches\": " + std::to_string(microbatches) + more + "}";
}

std::string html_of(const Page& page) {
  std::ostringstream out;
  write_html(out, page);
  return out.str();
}

std::string markdown_of(const Page& page) {
  std::ostringstream out;
  write_markdown(out, page);
  return out.str();
}

std::int64_t number(const XmlElement& element, const char* name) {
  return std::stoll(element.attributes.at(name));
}

/// Boxes of ops: those that carry a number.
std::vector<const XmlElement*> boxes(const XmlDocument& page) {
  std::vector<const XmlElement*> found;
  for (const XmlElement* rect : page.all("rect"))
    if (rect->attributes.count("data-n") == 1) found.push_back(rect);
  return found;
}

bool has_text(const XmlDocument& page, const char* element, const std::string& words) {
  for (const XmlElement* one : page.all(element))
    if (one->text.find(words) != std::string::npos) return true;
  return false;
}

/// A timeline of one rank whose ops are at [start, end).
Timeline timeline_of(const std::string& schedule, const std::vector<Span>& times) {
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(parse_schedule(schedule));
  for (const Span& span : times) {
    timeline.start.push_back(span.start);
    timeline.end.push_back(span.end);
  }
  return timeline;
}

Gantt gantt_of(const Timeline& timeline) {
  GanttInput input;
  input.timeline = &timeline;
  return draw_gantt(input);
}

}  // namespace

TEST_CASE("A page of a run says the answer first and shows every op") {
  // 1F1B with B twice as long as F: makespan (m + p - 1) * 3 = 33, bubble (p - 1) / (m + p - 1) = 3 / 11.
  const Run run = run_of(config("1f1b", 4, 8));
  const std::string text = html_of(run_page(run, Medium::Html));
  const XmlDocument page = read_xml(text);
  REQUIRE(page.error == "");
  CHECK(has_text(page, "h1", "1f1b on 4 ranks, 8 microbatches"));
  CHECK(has_text(page, "dd", "33.0"));
  CHECK(has_text(page, "dd", "27.3 %"));
  // 2 kinds * 4 stages * 8 microbatches.
  const auto found = boxes(page);
  CHECK(found.size() == 64);
  std::set<std::string> titles;
  for (const XmlElement* box : found) {
    titles.insert(box->text);
    CHECK(number(*box, "x") >= 0);
    CHECK(number(*box, "width") > 0);
    CHECK(number(*box, "x") + number(*box, "width") <= kPlotUnits);
  }
  CHECK(titles.size() == 64);
  // The third forward of rank 1 is the run's (2 + 1)-th unit: 3.0 to 4.0.
  CHECK(titles.count("1F2: forward, rank 1, stage 1, microbatch 2\n3.0 to 4.0, takes 1.0") == 1);
  CHECK(text == html_of(run_page(run_of(config("1f1b", 4, 8)), Medium::Html)));
}

TEST_CASE("Every schedule's page is well-formed") {
  for (const char* schedule :
       {"gpipe", "zb-h1", "interleaved-1f1b", "dualpipe", "dualpipe-v", "seq-1f1b", "zbv"}) {
    const std::string more = std::string(schedule) == "seq-1f1b" ? ", \"options\": {\"slices\": 2}" : "";
    INFO(schedule);
    const Run run = run_of(config(schedule, 4, 8, more));
    CHECK(read_xml(html_of(run_page(run, Medium::Html))).error == "");
    CHECK(!markdown_of(run_page(run, Medium::Markdown)).empty());
  }
}

TEST_CASE("Above 4,000 ops a rank and kind is one path, in which every op is") {
  // 2 * 4 * 1,250 = 10,000 ops.
  const Run run = run_of(config("1f1b", 4, 1250));
  const std::string text = html_of(run_page(run, Medium::Html));
  const XmlDocument page = read_xml(text);
  REQUIRE(page.error == "");
  CHECK(boxes(page).empty());
  std::size_t paths = 0;
  for (const XmlElement* path : page.of_class("dense")) {
    if (path->text.find(" ops, busy") == std::string::npos) continue;
    ++paths;
    CHECK(path->text.find("1,250 ops, busy") != std::string::npos);
    const std::string& d = path->attributes.at("d");
    CHECK(std::count(d.begin(), d.end(), 'h') == 1250);
  }
  CHECK(paths == 8);
  CHECK(text.size() < 1'000'000);
}

TEST_CASE("The size of a page is that of its pictures, not of the run") {
  // 2 * 16 * 31,250 = 1e6 ops.
  const Run run = run_of(config("1f1b", 16, 31250));
  const std::string text = html_of(run_page(run, Medium::Html));
  CHECK(run.timeline.schedule->num_ops() == 1'000'000);
  CHECK(text.size() < 3'000'000);
  // Ops side by side are not alone.
  const std::size_t hairs = text.find("class=\"hair", text.find("id=\"timeline\""));
  CHECK(hairs == std::string::npos);
  CHECK(markdown_of(run_page(run, Medium::Markdown)).size() < 20'000);
}

TEST_CASE("Ranks share rows where there are too many, and tables show some") {
  // 600 ranks in at most 256 rows: three to a row.
  const Run run = run_of(config("gpipe", 600, 4));
  const std::string text = html_of(run_page(run, Medium::Html));
  const XmlDocument page = read_xml(text);
  REQUIRE(page.error == "");
  CHECK(has_text(page, "title", "ranks 0 to 2: forward"));
  CHECK(has_text(page, "title", "ranks 597 to 599: forward"));
  CHECK(has_text(page, "caption", "of 600 ranks"));
  CHECK(text.size() < 6'000'000);
}

TEST_CASE("A lone op and a lone gap too thin to be seen are a pixel wide") {
  // 10 long ops with 1e9 ticks; between two of them one op of 100 ticks, alone among idle time; then a gap of 100 ticks.
  const Ticks long_op = 1'000'000'000;
  const Ticks thin = 100'000;
  const Timeline timeline = timeline_of("0F0 0F1 0F2 0F3 0F4", {{0, long_op},
                                                                {2 * long_op, 2 * long_op + thin},
                                                                {3 * long_op, 4 * long_op},
                                                                {4 * long_op, 5 * long_op},
                                                                {5 * long_op + thin, 6 * long_op}});
  const XmlDocument picture = read_xml(gantt_of(timeline).figure.markup);
  REQUIRE(picture.error == "");
  const auto hairs = picture.of_class("hair");
  REQUIRE(hairs.size() == 1);
  // At 2 of 6 of the plot's width.
  CHECK(hairs[0]->attributes.at("d").substr(0, 8) == "M333333 ");
  const auto gaps = picture.of_class("gap");
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0]->attributes.at("d").substr(0, 7) == "M833350");
}

TEST_CASE("Names cannot become markup anywhere") {
  const std::string name = "<script>alert('1')</script>\" onload=\"x&y.json";
  std::list<Run> runs;
  runs.push_back(run_of(config("1f1b", 2, 4), name));
  runs.push_back(run_of(config("gpipe", 2, 4), name + "2"));
  for (const Page& page : {run_page(runs.front(), Medium::Html), compare_page(runs, Medium::Html)}) {
    const XmlDocument read = read_xml(html_of(page));
    CHECK(read.error == "");
    CHECK(read.all("script").size() == 1);
    for (const XmlElement& element : read.elements) CHECK(element.attributes.count("onload") == 0);
  }
  CHECK(markdown_of(compare_page(runs, Medium::Markdown)).find("<script") == std::string::npos);
}

TEST_CASE("A run over its limit says so first, and shows the limit") {
  // 1F1B's first rank holds p = 4 activations.
  const Run run = run_of(config("1f1b", 4, 8, R"(, "memory": {"limit_bytes": 3})"));
  const XmlDocument page = read_xml(html_of(run_page(run, Medium::Html)));
  REQUIRE(page.error == "");
  CHECK(has_text(page, "dd", "limit 3 activations of a stage, over by 1 activation of a stage"));
  CHECK(page.of_class("limit-line").size() == 4);
  const XmlDocument fine = read_xml(
      html_of(run_page(run_of(config("1f1b", 4, 8, R"(, "memory": {"limit_bytes": 4})")), Medium::Html)));
  CHECK(has_text(fine, "dd", "limit 4 activations of a stage, headroom 0 activations of a stage"));
}

TEST_CASE("A model's run says its rates, and memory by category") {
  const std::string model = R"(, "costs": {"model": "llama3-8b", "hardware": "h100"})";
  const std::string page = markdown_of(run_page(run_of(config("1f1b", 4, 8, model)), Medium::Markdown));
  for (const char* words : {"Rates and memory", "tokens per second", "MFU", "until I", "optimizer"})
    CHECK_THAT(page, Catch::Matchers::Contains(words));
  CHECK_THAT(markdown_of(run_page(run_of(config("1f1b", 4, 8)), Medium::Markdown)),
             !Catch::Matchers::Contains("Rates and memory"));
}

TEST_CASE("A timeline that was read has what times alone tell") {
  Request input;
  input.file = "measured.jsonl";
  input.text =
      "{\"time_unit\":\"ms\"}\n"
      "{\"rank\":0,\"op\":\"0F0\",\"start\":0,\"end\":1}\n{\"rank\":0,\"op\":\"0B0\",\"start\":4,\"end\":6}\n"
      "{\"rank\":1,\"op\":\"1F0\",\"start\":1,\"end\":2}\n{\"rank\":1,\"op\":\"1B0\",\"start\":2,\"end\":4}"
      "\n";
  const Run run = load_run(input, {}, TimeUnit::Unit);
  const XmlDocument page = read_xml(html_of(run_page(run, Medium::Html)));
  REQUIRE(page.error == "");
  CHECK(has_text(page, "dd", "6.0 ms"));
  // Busy 3 of 6 on both ranks.
  CHECK(has_text(page, "dd", "50.0 %"));
  CHECK(boxes(page).size() == 4);
}

TEST_CASE("A comparison has one scale, linked, and says what is better") {
  std::list<Run> runs;
  runs.push_back(run_of(config("1f1b", 4, 8), "a/1f1b.json"));
  runs.push_back(run_of(config("zb-h1", 4, 8), "a/zb.json"));
  const XmlDocument page = read_xml(html_of(compare_page(runs, Medium::Html)));
  REQUIRE(page.error == "");
  CHECK(has_text(page, "h1", "zb.json against 1f1b.json"));
  CHECK(has_text(page, "td", "better"));
  CHECK(has_text(page, "li", "idle time is "));
  const auto charts = page.of_class("zoom");
  REQUIRE(charts.size() == 2);
  CHECK(charts[0]->attributes.at("data-to") == charts[1]->attributes.at("data-to"));
  CHECK(charts[0]->attributes.at("data-link") == charts[1]->attributes.at("data-link"));
  // 64 ops of 1F1B and 96 of ZB-H1, the latter within 27 of 33 units.
  const auto found = boxes(page);
  REQUIRE(found.size() == 160);
  for (std::size_t i = 64; i < 160; ++i)
    CHECK(number(*found[i], "x") + number(*found[i], "width") <= kPlotUnits * 27 / 33 + 1);
}

TEST_CASE("A comparison shows what is left below a limit, as in the terminal") {
  // The first rank of 1F1B holds p = 4 activations, that of GPipe all m = 8: 5 of 9 and 1 of 9 are left.
  std::list<Run> runs;
  runs.push_back(run_of(config("1f1b", 4, 8, R"(, "memory": {"limit_bytes": 9})"), "1f1b.json"));
  runs.push_back(run_of(config("gpipe", 4, 8, R"(, "memory": {"limit_bytes": 9})"), "gpipe.json"));
  const XmlDocument page = read_xml(html_of(compare_page(runs, Medium::Html)));
  CHECK(has_text(page, "tr", "headroom_bytes5 activations of a stage1 activation of a stage"));
  CHECK_THAT(markdown_of(compare_page(runs, Medium::Markdown)),
             Catch::Matchers::Contains("headroom\\_bytes"));
}

TEST_CASE("A comparison with a measured run says where the difference comes from") {
  std::list<Run> runs;
  runs.push_back(run_of(config("1f1b", 4, 8), "predicted.json"));
  Run slow = run_of(config("1f1b", 4, 8, R"(, "costs": {"rank_scale": [1, 1, 1, 1.2]})"), "measured.jsonl");
  Run measured;
  measured.title = slow.title;
  measured.source = RunSource::TimelineFile;
  measured.schedule = slow.schedule;
  measured.timeline = slow.timeline;
  runs.push_back(measured);
  const XmlDocument page = read_xml(html_of(compare_page(runs, Medium::Html)));
  CHECK(page.error == "");
  // 20 % of F + B for each of 8 microbatches: 8 * 0.2 * 3.
  CHECK(has_text(page, "tr", "rank 3 is slower by 20.0 % (or stage 3)+4.8"));
  CHECK_THAT(markdown_of(compare_page(runs, Medium::Markdown)),
             Catch::Matchers::Contains("Where the difference comes from"));
}

TEST_CASE("Runs on unequal clocks have scales of their own") {
  std::list<Run> runs;
  runs.push_back(run_of(config("1f1b", 2, 4), "units.json"));
  runs.push_back(run_of(
      config("1f1b", 2, 4, R"(, "costs": {"time_unit": "ms", "forward": 1, "backward": 2})"), "ms.json"));
  const XmlDocument page = read_xml(html_of(compare_page(runs, Medium::Html)));
  REQUIRE(page.error == "");
  const auto charts = page.of_class("zoom");
  REQUIRE(charts.size() == 2);
  CHECK(charts[0]->attributes.at("data-link") != charts[1]->attributes.at("data-link"));
  CHECK(has_text(page, "li", "times cannot be compared"));
}

TEST_CASE("The configuration's table has every key and where it comes from") {
  const Run run = run_of(config("Interleaved1F1B", 4, 8));
  const XmlDocument page = read_xml(html_of(run_page(run, Medium::Html)));
  CHECK(has_text(page, "th", "options.group_size"));
  CHECK(has_text(page, "td", "default of Interleaved1F1B"));
  CHECK(has_text(page, "th", "memory.limit_bytes"));
}

TEST_CASE("A page of a run tells of its scenarios") {
  // Without noise every step is the same: (m + p - 1)(F + B) = 5 * 3 units.
  Run run = run_of(config("gpipe", 2, 4, R"(, "costs": {"noise": {"model": "constant"}})"));
  const ScenarioSummary scenarios = run_scenarios(run, {8, 3});
  const std::string text = markdown_of(run_page(run, Medium::Markdown, &scenarios));
  CHECK(text.find("## Steps that vary") != std::string::npos);
  CHECK(text.find("8 scenarios, seed 3: durations vary as costs.noise says.") != std::string::npos);
  CHECK(text.find("| makespan | 15.0 | 15.0 | 15.0 | 15.0 |") != std::string::npos);
  CHECK(text.find("| stage 1 |") != std::string::npos);
  CHECK(read_xml(html_of(run_page(run, Medium::Html, &scenarios))).error == "");
  CHECK(markdown_of(run_page(run, Medium::Markdown)).find("Steps that vary") == std::string::npos);
}

namespace {

/// Addresses of the links that lead out of the page.
std::vector<std::string> links_of(const Page& page) {
  const XmlDocument read = read_xml(html_of(page));
  CHECK(read.error == "");
  std::vector<std::string> found;
  for (const XmlElement* link : read.all("a"))
    if (const std::string& to = link->attributes.at("href"); !to.starts_with('#')) found.push_back(to);
  return found;
}

std::list<Run> runs_of(const std::vector<std::string>& configs) {
  std::list<Run> runs;
  for (const std::string& text : configs) runs.push_back(run_of(text));
  return runs;
}

}  // namespace

TEST_CASE("the page of a configuration opens it in the browser") {
  const std::string zb = config("zb-h1", 4, 8);
  const std::list<Run> runs = runs_of({config("1f1b", 4, 8), zb});
  Page page = compare_page(runs, Medium::Html);
  CHECK(links_of(page).empty());
  add_link(page, runs, "https://example.org/p/");
  REQUIRE(links_of(page).size() == 1);
  const std::string link = links_of(page).front();
  CHECK(link.starts_with("https://example.org/p/#c=1."));
  const Link read = read_link(link);
  CHECK(read.config == R"({"schedule":"1f1b","ranks":4,"microbatches":8})");
  CHECK(read.compare == R"({"schedule":"zb-h1","ranks":4,"microbatches":8})");
  CHECK(markdown_of(page).find("[Open in the browser](<" + link + ">)") != std::string::npos);
}

TEST_CASE("a page without a configuration that a link holds has no such line") {
  const std::string one = config("1f1b", 4, 8);
  for (const std::list<Run>& runs : {runs_of({one, one, one}), runs_of({"0F0,0B0\n1F0,1B0\n"})}) {
    Page page;
    add_link(page, runs, "");
    CHECK(page.lead.empty());
  }
  Page page;
  CHECK_THROWS_AS(add_link(page, runs_of({one}), "javascript:x"), InputError);
}

}  // namespace run_page_test
