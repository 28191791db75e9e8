#include "gui/model/files/export.hpp"

#include <filesystem>
#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/draw/chart_list.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/model/session/command.hpp"
#include "sim/draw/tokens.hpp"
#include "sim/io/json/file.hpp"
#include "sim/kinds.hpp"
#include "study/document/html.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"
#include "support/window_scenes.hpp"

namespace export_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

using test::kOne;

/// F 1, B 2: rank 0 F0 0-1, F1 1-2, B0 4-6, B1 7-9; rank 1 F0 1-2, B0 2-4, F1 4-5, B1 5-7.
constexpr const char* kTwoRanks = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";

struct Folder {
  std::filesystem::path path = pipeloom::test::temporary_path("export");
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file(const char* name) const { return (path / name).string(); }
};

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::uint32_t png_number(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

}  // namespace

TEST_CASE("lengths on paper are 96 pixels an inch") {
  const ExportSize size{25.4, 12.7, ExportSize::Unit::Millimetres};
  CHECK(size.width_pixels() == 96);
  CHECK(size.height_pixels() == 48);
  CHECK(ExportSize{640, 0, ExportSize::Unit::Pixels}.width_pixels() == 640);
}

TEST_CASE("all of a run, or what is in view: range, ranks and theme") {
  Session session;
  test::open_in(session, test::run_of(kTwoRanks));
  session.view.range = {2.0 * kOne, 6.0 * kOne};
  session.view.hidden = {0};
  session.view.colour = GanttColour::Microbatch;
  session.preferences.dark = true;
  const ExportJob all = export_job(session, {});
  CHECK(all.active.scene.range == Span{0, 9 * kOne});
  CHECK(all.active.scene.ranks.empty());
  CHECK(all.active.scene.colour_by == draw::ColourBy::Microbatch);
  CHECK(all.active.scene.theme == draw::Theme::Dark);
  ExportOptions view;
  view.view_only = true;
  view.dark = false;
  view.caption = "a caption";
  const ExportJob seen = export_job(session, view);
  CHECK(seen.active.scene.range == Span{2 * kOne, 6 * kOne});
  CHECK(seen.active.scene.ranks == std::vector<int>{1});
  CHECK(seen.active.scene.theme == draw::Theme::Light);
  CHECK(seen.stack.back().scene.caption == "a caption");
}

TEST_CASE("of ranks that are hidden between others nothing is in a picture of what is in view") {
  Session session;
  test::open_in(session, test::run_of("0F0 | 1F0 | 2F0"));
  session.view.range = {0, 3.0 * kOne};
  session.view.hidden = {1};
  ExportOptions view;
  view.view_only = true;
  CHECK(export_job(session, view).active.scene.ranks == std::vector<int>{0, 2});
  session.view.order.move(2, 0, 3);
  CHECK(export_job(session, view).active.scene.ranks == std::vector<int>{2, 0});
  view.view_only = false;
  CHECK(export_job(session, view).active.scene.ranks == std::vector<int>{2, 0, 1});
}

TEST_CASE(
    "ranks that are folded are low in a picture of what is in view, and as high as others in one of all") {
  Session session;
  test::open_in(session, test::run_of("0F0 | 1F0 | 2F0"));
  session.view.collapsed = {1};
  ExportOptions options;
  options.view_only = true;
  CHECK(export_job(session, options).active.scene.folded == std::set<int>{1});
  options.view_only = false;
  CHECK(export_job(session, options).active.scene.folded.empty());
}

TEST_CASE("a picture has all runs on screen on one time scale, in the window's colours") {
  const Folder folder;
  Session session;
  test::open_in(session, test::run_of(kTwoRanks));
  test::open_in(session, test::run_of("0F0 0B0"));
  session.preferences.palette = "colour-blind";
  session.preferences.dark = true;
  const ExportJob job = export_job(session, {});
  REQUIRE(job.stack.size() == 2);
  // The second run ends at 3, the first at 9: both are drawn from 0 to 9.
  for (const ExportJob::Run& run : job.stack) CHECK(run.scene.range == Span{0, 9 * kOne});
  CHECK(what_is_written(session, job, "x.svg") == "2 runs");
  CHECK(what_is_written(session, job, "x.csv") == "scene, the active one of 2 runs");
  write_export(job, folder.file("both.svg"), io::Overwrite::No);
  const std::string svg = io::read_file(folder.file("both.svg"));
  CHECK(count(svg, ">rank 0<") == 2);
  CHECK(count(svg, ">rank 1<") == 1);
  const auto fill = [](draw::Palette palette) {
    return draw::to_hex(draw::kind_colour(draw::Theme::Dark, OpKind::Forward, 0, 1, palette));
  };
  CHECK(count(svg, fill(draw::Palette::ColourBlind)) > 0);
  CHECK(count(svg, fill(draw::Palette::Default)) == 0);

  ExportOptions one;
  one.active_only = true;
  session.active = 1;
  const ExportJob alone = export_job(session, one);
  REQUIRE(alone.stack.size() == 1);
  CHECK(alone.stack[0].run == session.runs[1].run);
  CHECK(alone.stack[0].scene.range == Span{0, 3 * kOne});
}

TEST_CASE("a picture has marks with their notes, the cursor, and what runs come to") {
  const Folder folder;
  Session session;
  test::open_in(session, test::run_of(kTwoRanks));
  test::open_in(session, test::run_of("0F0 0B0"));
  session.active = 0;
  session.preferences.dark = false;
  session.marks = {{2 * kOne, "first bubble", false}, {8 * kOne, "", false}, {20 * kOne, "far away", false}};
  session.part<ChartPart>().cursor = 3.0 * kOne;
  CHECK(picture_content(session, {}) == "2 runs, 0 units to 9 units, light, 2 marks, cursor");
  const ExportJob job = export_job(session, {});
  for (const ExportJob::Run& run : job.stack) {
    CHECK(run.scene.marks == std::vector<Ticks>{2 * kOne, 8 * kOne});
    CHECK(run.scene.cursor == 3 * kOne);
    REQUIRE_FALSE(run.scene.results.empty());
  }
  CHECK(job.stack[0].scene.results[0].starts_with("9.0 units"));
  CHECK(job.stack[0].scene.caption.empty());
  CHECK(job.stack[1].scene.caption == "Mark at 2 units: first bubble\nMark at 8 units\nCursor at 3 units");
  write_export(job, folder.file("marks.svg"), io::Overwrite::No);
  const std::string svg = io::read_file(folder.file("marks.svg"));
  CHECK(count(svg, ">Mark at 2 units: first bubble<") == 1);
  CHECK(count(svg, "far away") == 0);
  CHECK(count(svg, ">9.0 units") == 1);
  const std::string accent = draw::to_hex(draw::tokens_of(draw::Theme::Light).accent);
  CHECK(count(svg, accent) > 0);

  // The first mark and the cursor stand at the ends of [2, 3].
  session.view.range = {2.0 * kOne, 3.0 * kOne};
  ExportOptions view;
  view.view_only = true;
  CHECK(picture_content(session, view) == "2 runs, 2 units to 3 units, light, 1 mark, cursor");
  view.with_marks = false;
  CHECK(picture_content(session, view) == "2 runs, 2 units to 3 units, light");
  CHECK(export_job(session, view).stack.back().scene.caption.empty());
}

TEST_CASE("window, picture and page have one colour for each kind and each token") {
  for (const bool dark : {false, true}) {
    const draw::Theme theme = dark ? draw::Theme::Dark : draw::Theme::Light;
    const draw::Tokens& tokens = draw::tokens_of(theme);
    const ChartInk ink = make_ink(dark);
    CHECK(ink.accent == rgba(tokens.accent));
    CHECK(ink.good == rgba(tokens.good));
    CHECK(ink.bad == rgba(tokens.bad));
    CHECK(ink.background == rgba(tokens.ground));
    std::string style = study::page::style_sheet();
    const std::size_t second = style.find("prefers-color-scheme:dark");
    REQUIRE(second != std::string::npos);
    style = dark ? style.substr(second) : style.substr(0, second);
    CHECK(count(style, "--accent:" + draw::to_hex(tokens.accent)) > 0);
    CHECK(count(style, "--ground:" + draw::to_hex(tokens.ground)) > 0);
    CHECK(count(style, "--card:" + draw::to_hex(tokens.panel)) > 0);
    // The page's classes have the colours that the window's chart and a picture take.
    for (const OpKind kind : kAllOpKinds) {
      const draw::Colour window = gui::kind_colour("default", theme, kind, 0, 1);
      CHECK(count(style, study::page::op_class(kind, 0, 1) + "{color:" + draw::to_hex(window)) > 0);
    }
    const Folder folder;
    Session session;
    test::open_in(session, test::run_of(kTwoRanks));
    session.preferences.dark = dark;
    write_export(export_job(session, {}), folder.file("kinds.svg"), io::Overwrite::No);
    const std::string svg = io::read_file(folder.file("kinds.svg"));
    for (const OpKind kind : {OpKind::Forward, OpKind::Backward})
      CHECK(count(svg, draw::to_hex(gui::kind_colour("default", theme, kind, 0, 1))) > 4);
  }
}

TEST_CASE("slack that is not known is said") {
  Session session;
  test::open_in(session, test::run_of(kTwoRanks));
  session.view.colour = GanttColour::Slack;
  CHECK(what_is_written(session, export_job(session, {}), "x.svg") ==
        "coloured by kind where slack is not known");
  // Nor is it known of runs that have none: their levels are empty. What a search dims changes nothing in that.
  auto& part = session.part<ChartPart>();
  const std::uint64_t run = session.runs[0].run->id;
  part.slack[run] = std::make_shared<const std::vector<std::uint8_t>>();
  part.matches[run] = std::make_shared<const std::vector<std::size_t>>(1, 0);
  const ExportJob job = export_job(session, {});
  CHECK(what_is_written(session, job, "x.svg") == "coloured by kind where slack is not known");
  REQUIRE(job.stack[0].colours);
  CHECK(job.stack[0].colours->legend.empty());
}

TEST_CASE("pictures have the window's colours: slack, differences, what is dimmed") {
  const Folder folder;
  Session session;
  const RunPtr run = test::open_in(session, test::run_of(kTwoRanks));
  auto& part = session.part<ChartPart>();
  const auto written = [&] {
    write_export(export_job(session, {}), folder.file("x.svg"), io::Overwrite::Yes);
    return io::read_file(folder.file("x.svg"));
  };
  const auto hex = [](Rgba rgba) {
    return draw::to_hex({static_cast<std::uint8_t>(rgba), static_cast<std::uint8_t>(rgba >> 8U),
                         static_cast<std::uint8_t>(rgba >> 16U)});
  };
  // Seven ops are critical, one is as slack as can be.
  session.view.colour = GanttColour::Slack;
  std::vector<std::uint8_t> levels(run->schedule->num_ops(), 0);
  levels[1] = 255;
  part.slack[run->id] = std::make_shared<const std::vector<std::uint8_t>>(levels);
  CHECK(what_is_written(session, export_job(session, {}), "x.svg").empty());
  std::string svg = written();
  CHECK(count(svg, "Critical to slack") == 1);
  CHECK(count(svg, "Forward") == 0);
  CHECK(count(svg, hex(part.colours_of(session, *run).of_slack(0).fill)) >= 7);
  CHECK(count(svg, hex(part.colours_of(session, *run).of_slack(255).fill)) >= 1);
  // Against another run all are equal, but for one that it has not.
  session.view.colour = GanttColour::Kind;
  std::vector<std::int8_t> tints(run->schedule->num_ops(), 0);
  tints[2] = kNoCounterpart;
  part.tints[run->id] = std::make_shared<const std::vector<std::int8_t>>(tints);
  svg = written();
  for (const char* text : {"Shorter to longer", "Equal", "Only here"}) CHECK(count(svg, text) == 1);
  CHECK(count(svg, hex(part.colours_of(session, *run).of_tint(0).fill)) >= 7);
  // The legend switched backwards off: they are dimmed, and kinds are explained as ever.
  part.tints.clear();
  session.view.hidden_kinds = 1U << index_of(OpKind::Backward);
  svg = written();
  CHECK(count(svg, hex(part.colours_of(session, *run).dimmed().fill)) >= 4);
  CHECK(count(svg, hex(part.colours_of(session, *run).kind_fill(OpKind::Forward))) >= 4);
}

TEST_CASE("nothing open and nothing in view are said") {
  Session session;
  CHECK_THROWS_AS(export_job(session, {}), InputError);
  test::open_in(session, test::run_of(kTwoRanks));
  session.view.range = {20.0 * kOne, 30.0 * kOne};
  ExportOptions view;
  view.view_only = true;
  CHECK_THROWS_AS(export_job(session, view), InputError);
}

TEST_CASE("pictures have the size that was asked for") {
  const Folder folder;
  Session session;
  test::open_in(session, test::run_of(kTwoRanks));
  ExportOptions options;
  options.size = {400, 200, ExportSize::Unit::Pixels};
  const ExportJob job = export_job(session, options);
  write_export(job, folder.file("a.svg"), io::Overwrite::No);
  CHECK(io::read_file(folder.file("a.svg")).find("width=\"400\"") != std::string::npos);
  write_export(job, folder.file("a.png"), io::Overwrite::No);
  const std::string png = io::read_file(folder.file("a.png"));
  CHECK(png_number(png, 16) == 400);
  CHECK(png_number(png, 20) == 200);
  // 101.6 mm are 4 inches: 1200 dots at 300 an inch.
  options.size = {101.6, 50.8, ExportSize::Unit::Millimetres};
  write_export(export_job(session, options), folder.file("b.png"), io::Overwrite::No);
  CHECK(png_number(io::read_file(folder.file("b.png")), 16) == 1200);
  write_export(job, folder.file("a.pdf"), io::Overwrite::No);
  CHECK(io::read_file(folder.file("a.pdf")).starts_with("%PDF"));
}

TEST_CASE("a table has the ops that reach into the view") {
  const Folder folder;
  Session session;
  test::open_in(session, test::run_of(kTwoRanks));
  write_export(export_job(session, {}), folder.file("all.csv"), io::Overwrite::No);
  CHECK(count(io::read_file(folder.file("all.csv")), "\n") == 9);  // heading and 8 ops
  session.view.range = {2.0 * kOne, 4.0 * kOne};
  ExportOptions view;
  view.view_only = true;
  write_export(export_job(session, view), folder.file("view.csv"), io::Overwrite::No);
  CHECK(io::read_file(folder.file("view.csv")) == "rank,op,start,end\n1,1B0,2.0,4.0\n");
}

TEST_CASE("a text that nobody could read back is refused before anything is written") {
  const Folder folder;
  Session session;
  test::open_in(session, test::run_of(kTwoRanks));
  ExportJob job = export_job(session, {});
  auto many = std::make_shared<RunModel>(*job.active.run);
  many->timeline.steps = 10'000'000;
  job.active.run = many;
  // 8 ops of 1e7 steps are 8e7 times, with some 50 bytes for each: 4 GB.
  try {
    write_export(job, folder.file("many.jsonl"), io::Overwrite::No);
    FAIL("4 GB were written");
  } catch (const InputError& error) {
    CHECK(
        std::string(error.what()) ==
        "scene (8 ops, 10000000 steps) would fill a file of about 4.0 GB (3.7 GiB); at most 2.1 GB (2.0 GiB) "
        "are written, as no more is read: take fewer steps, microbatches or ranks, or draw a picture");
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("many.jsonl")));
  // A picture does not grow with the steps.
  write_export(job, folder.file("many.svg"), io::Overwrite::No);
  CHECK(std::filesystem::exists(folder.file("many.svg")));
}

TEST_CASE("rows for the clipboard are those in view, with a limit") {
  Session session;
  test::open_in(session, test::run_of(kTwoRanks));
  CHECK(count(visible_rows(session), "\n") == 9);
  CHECK(count(visible_rows(session, 3), "\n") == 4);
  session.view.range = {4.0 * kOne, 5.0 * kOne};
  CHECK(
      visible_rows(session) ==
      "rank\top\tstart (unit)\tend (unit)\tduration (unit)\n0\t0B0\t4.0\t6.0\t2.0\n1\t1F1\t4.0\t5.0\t1.0\n");
}

TEST_CASE("the commands write files and fill the clipboard") {
  const Folder folder;
  Session session;
  test::open_in(session, test::run_of(kTwoRanks));
  run_command(session, "export", folder.file("x.svg"));
  settle(session);
  CHECK(session.message.text == "wrote x.svg in " + folder_of(folder.file("x.svg")));
  CHECK(session.part<ExportPart>().wrote(folder.file("x.svg")));
  CHECK_FALSE(session.part<ExportPart>().wrote(folder.file("y.csv")));
  run_command(session, "export", folder.file("y.csv") + " view");
  settle(session);
  CHECK(std::filesystem::exists(folder.file("y.csv")));
  // What is there stays, unless one says so.
  run_command(session, "export", folder.file("x.svg"));
  settle(session);
  CHECK(session.message.text.find("exists already") != std::string::npos);
  run_command(session, "export", folder.file("x.svg") + " all --force");
  settle(session);
  CHECK(session.message.kind == MessageKind::Note);
  run_command(session, "export", folder.file("x.docx"));
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text.find(".svg") != std::string::npos);
  run_command(session, "copy-rows");
  REQUIRE(session.clipboard);
  CHECK(count(*session.clipboard, "\n") == 9);
}

}  // namespace export_test
