#include "sim/draw/terminal.hpp"

#include <pipeloom/error.hpp>
#include "draw/scenes.hpp"
#include "sim/draw/ansi.hpp"
#include "support/catch.hpp"

namespace terminal_test {

using namespace pipeloom;
using namespace pipeloom::draw;

namespace {

int widest_line(const std::string& chart) {
  int widest = 0;
  for (std::size_t begin = 0; begin < chart.size();) {
    const std::size_t end = chart.find('\n', begin);
    widest = std::max(widest, columns_of(std::string_view(chart).substr(begin, end - begin)));
    begin = end + 1;
  }
  return widest;
}

/// `chart` without escape sequences.
std::string plain(const std::string& chart) {
  std::string out;
  for (std::size_t i = 0; i < chart.size(); ++i) {
    if (chart[i] == '\x1b') {
      i = chart.find('m', i);
    } else {
      out += chart[i];
    }
  }
  return out;
}

}  // namespace

TEST_CASE("1F1B of four ranks at 80 columns", "[draw]") {
  const Timeline timeline = run(
      "0F0 0F1 0F2 0F3 0B0 0F4 0B1 0F5 0B2 0B3 0B4 0B5 | 1F0 1F1 1F2 1B0 1F3 1B1 1F4 1B2 1F5 1B3 1B4 1B5 |"
      " 2F0 2F1 2B0 2F2 2B1 2F3 2B2 2F4 2B3 2F5 2B4 2B5 | 3F0 3B0 3F1 3B1 3F2 3B2 3F3 3B3 3F4 3B4 3F5 3B5");
  // (m + p - 1)(F + B) = 27 units, two columns each.
  CHECK(terminal_chart(timeline, {}) ==
        "rank 0 F0F1F2F3............B0--F4B1--F5B2--..B3--..B4--..B5--\n"
        "rank 1 ..F0F1F2........B0--F3B1--F4B2--F5B3--..B4--..B5--....\n"
        "rank 2 ....F0F1....B0--F2B1--F3B2--F4B3--F5B4--..B5--........\n"
        "rank 3 ......F0B0--F1B1--F2B2--F3B3--F4B4--F5B5--............\n"
        "       0         5         10        15        20        25 units\n"
        "       F forward   B backward   . idle\n");
}

TEST_CASE("a group is one X with its numbers where these fit", "[draw]") {
  const Timeline timeline = run("0F0 (0F1;0B0)OVERLAP_F_B 0I1 0W1");
  // 1 + 3 + 1 + 1 units, four columns each: enough for a label and two more.
  CHECK(terminal_chart(timeline, {.title = "A group"}) ==
        "A group\n"
        "rank 0 F0--X1/0========I1--W1--\n"
        "       0   1   2   3   4   5   6 units\n"
        "       F forward   B backward   I input gradient   W weight gradient\n"
        "       X overlapped: X1/0 is F1 with B0   . idle\n");
  // 6 units on 13 columns, two each: six for the group. The legend has no indent left and breaks between words.
  CHECK(terminal_chart(timeline, {.width = 20}) ==
        "rank 0 F0X1/0==I1W1\n"
        "       0   2   4   6\n"
        "F forward\n"
        "B backward\n"
        "I input gradient\n"
        "W weight gradient\n"
        "X overlapped: X1/0\n"
        "is F1 with B0\n"
        ". idle\n"
        "time in units\n");
}

TEST_CASE("a group names its forward first, in whichever order it is written", "[draw]") {
  const Timeline timeline = run("0F0 (0F1;0B0)OVERLAP_F_B 0F2 (0B1;0F3)OVERLAP_F_B");
  // 1 + 3 + 1 + 3 units, four columns each.
  const std::string chart = terminal_chart(timeline, {});
  CHECK(chart.substr(0, chart.find('\n')) == "rank 0 F0--X1/0========F2--X3/1========");
}

TEST_CASE("a group too narrow for its numbers is an X", "[draw]") {
  // 9 units on 13 columns: one each, three for the group.
  const std::string chart =
      terminal_chart(run("0F0 0F1 0F2 (0F3;0B0)OVERLAP_F_B 0I1 0W1 0I2"), {.width = 20});
  CHECK(chart.substr(0, chart.find('\n')) == "rank 0 FFFX==IWI");
  CHECK(chart.find("X overlapped\n") != std::string::npos);
}

TEST_CASE("columns that several ops share show how busy they are", "[draw]") {
  // 70 F of 1 unit, then 70 B of 2: 210 units on 33 columns, about six ops in each.
  std::string text;
  for (int k = 0; k < 70; ++k) text += "0F" + std::to_string(k) + " ";
  for (int k = 0; k < 70; ++k) text += "0B" + std::to_string(k) + " ";
  const std::string chart = terminal_chart(run(text), {.width = 40, .unicode = false});
  // F until 70 of 210 units, which is column 11 of 33; no column holds both kinds.
  CHECK(chart ==
        "rank 0 FFFFFFFFFFFBBBBBBBBBBBBBBBBBBBBBB\n"
        "       0       50      100     150 units\n"
        "       F forward   B backward   . idle\n");
}

TEST_CASE("a busy share is drawn full or empty only if it is", "[draw]") {
  CHECK(level_glyph(1, 1000, true) == "▁");
  CHECK(level_glyph(999, 1000, true) == "▇");
  CHECK(level_glyph(1000, 1000, true) == "█");
  CHECK(level_glyph(1, 1000, false) == ":");
  CHECK(level_glyph(999, 1000, false) == "%");
  CHECK(level_glyph(7, 7, false) == "#");
}

TEST_CASE("ranks beyond the limit are counted, lines keep the width", "[draw]") {
  std::string text;
  for (int r = 0; r < 100; ++r) {
    text += (r > 0 ? " | " : "");
    for (int k = 0; k < 20; ++k) text += std::to_string(r) + "F" + std::to_string(k) + " ";
  }
  const Timeline timeline = run(text);
  for (const int width : {20, 23, 27, 40, 57, 80, 133, 400}) {
    TerminalOptions options;
    options.width = width;
    options.max_ranks = 12;
    options.title = "A title that is much longer than forty columns and is cut";
    const std::string chart = terminal_chart(timeline, options);
    CHECK(widest_line(chart) <= width);
    CHECK(chart.find("... 88 more ranks\n") != std::string::npos);
    CHECK(chart.find("rank 11 ") != std::string::npos);
    CHECK(chart.find("rank 12 ") == std::string::npos);
  }
}

TEST_CASE("colour changes nothing but colour: the same letters in the same columns", "[draw]") {
  const Timeline timeline = run(kTwoRanks);
  const std::string without = terminal_chart(timeline, {});
  for (const TerminalColour colour : {TerminalColour::Ansi256, TerminalColour::TrueColour}) {
    const std::string with = plain(terminal_chart(timeline, {.colour = colour}));
    const std::string first = without.substr(0, without.find('\n'));
    std::string expected = first;
    for (char& c : expected) {
      if (c == '.' || c == '-') c = ' ';
    }
    CHECK(with.substr(0, with.find('\n')) == expected);
  }
  CHECK(without.find('\x1b') == std::string::npos);
}

TEST_CASE("escape sequences appear where a colour changes and are reset", "[draw]") {
  std::string out;
  const Colour blue{0, 0x72, 0xb2};
  append_cells(out, {{"F", Colour{255, 255, 255}, blue}, {"0", Colour{255, 255, 255}, blue}, {" ", {}, {}}},
               TerminalColour::TrueColour);
  CHECK(out == "\x1b[38;2;255;255;255m\x1b[48;2;0;114;178mF0\x1b[39m\x1b[49m ");
  out.clear();
  append_cells(out, {{"F", {}, blue}}, TerminalColour::Ansi256);
  CHECK(out == "\x1b[48;5;25mF\x1b[0m");      // 25 = 16 + 36*0 + 6*1 + 3
  CHECK(ansi256({0x80, 0x80, 0x80}) == 244);  // grey 8 + 10 * 12
}

TEST_CASE("no line is wider than the terminal, however narrow", "[draw]") {
  const Timeline timeline = run("0F0 (0F1;0B0)OVERLAP_F_B 0I1 0W1");
  for (const TerminalColour colour : {TerminalColour::None, TerminalColour::TrueColour}) {
    for (int width = 1; width < 60; ++width) {
      CHECK(widest_line(plain(terminal_chart(timeline, {.width = width, .colour = colour}))) <= width);
    }
  }
  CHECK(terminal_chart(timeline, {.width = 19}) == "needs 20 columns\n");
}

TEST_CASE("an empty range is refused", "[draw]") {
  CHECK_THROWS_AS(terminal_chart(run(kTwoRanks), {.range = Span{5, 5}}), InputError);
}

}  // namespace terminal_test
