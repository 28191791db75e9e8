#include "sim/draw/ansi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace pipeloom::draw {
namespace {

int distance(Colour a, Colour b) {
  const int red = a.red - b.red;
  const int green = a.green - b.green;
  const int blue = a.blue - b.blue;
  return red * red + green * green + blue * blue;
}

/// Nearest of the cube's levels 0, 95, 135, 175, 215, 255.
int cube_level(int channel) {
  return channel < 48 ? 0 : channel < 115 ? 1 : (channel - 35) / 40;
}
std::uint8_t cube_value(int level) {
  return static_cast<std::uint8_t>(level == 0 ? 0 : 55 + 40 * level);
}

/// Not a continuation byte of UTF-8.
bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

std::string escape(int layer, const std::optional<Colour>& colour, TerminalColour mode) {
  if (!colour) return fmt::format("\x1b[{}m", layer + 1);  // 39 and 49: the terminal's own
  if (mode == TerminalColour::Ansi256) return fmt::format("\x1b[{};5;{}m", layer, ansi256(*colour));
  return fmt::format("\x1b[{};2;{};{};{}m", layer, colour->red, colour->green, colour->blue);
}

}  // namespace

int ansi256(Colour colour) {
  const int red = cube_level(colour.red);
  const int green = cube_level(colour.green);
  const int blue = cube_level(colour.blue);
  const Colour cube{cube_value(red), cube_value(green), cube_value(blue)};
  // Greys are 8, 18, .. 238.
  const int mean = (colour.red + colour.green + colour.blue) / 3;
  const int grey = std::clamp((mean - 3) / 10, 0, 23);
  const auto value = static_cast<std::uint8_t>(8 + 10 * grey);
  if (distance({value, value, value}, colour) < distance(cube, colour)) return 232 + grey;
  return 16 + 36 * red + 6 * green + blue;
}

void append_cells(std::string& out, const std::vector<Cell>& cells, TerminalColour colour) {
  std::optional<Colour> text;
  std::optional<Colour> ground;
  bool changed = false;
  for (const Cell& cell : cells) {
    if (colour != TerminalColour::None) {
      if (cell.text != text) out += escape(38, cell.text, colour);
      if (cell.ground != ground) out += escape(48, cell.ground, colour);
      changed = changed || cell.text != text || cell.ground != ground;
      text = cell.text;
      ground = cell.ground;
    }
    out += cell.glyph;
  }
  if (changed && (text || ground)) out += "\x1b[0m";
}

void append_legend(std::string& out, const std::vector<LegendCells>& items, int indent, int width,
                   TerminalColour colour) {
  constexpr int kGap = 3;
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  out += margin;
  int column = indent;
  const auto new_line = [&] {
    out += '\n' + margin;
    column = indent;
  };
  for (const LegendCells& item : items) {
    const int length = static_cast<int>(item.cells.size()) + columns_of(item.text);
    if (column > indent && column + kGap + length > width) {
      new_line();
    } else if (column > indent) {
      out += std::string(kGap, ' ');
      column += kGap;
    }
    append_cells(out, item.cells, colour);
    column += static_cast<int>(item.cells.size());
    // An item longer than a line breaks between words.
    for (std::size_t begin = 0; begin < item.text.size();) {
      const std::size_t end = std::min(item.text.find(' ', begin + 1), item.text.size());
      std::string word = item.text.substr(begin, end - begin);
      if (column > indent && column + columns_of(word) > width) {
        new_line();
        if (word.front() == ' ') word.erase(0, 1);
      }
      out += word;
      column += columns_of(word);
      begin = end;
    }
  }
  out += '\n';
}

std::string level_glyph(std::int64_t part, std::int64_t whole, bool unicode) {
  constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  if (unicode) {
    if (part == whole) return kBlocks[7];
    return kBlocks[static_cast<std::size_t>(std::clamp(std::lround(share * 8), 1L, 7L)) - 1];
  }
  return part == whole ? "#" : share > 2.0 / 3 ? "%" : share > 1.0 / 3 ? "+" : ":";
}

int columns_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string clipped(std::string_view text, int columns) {
  int column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_character(text[i]) && column++ == columns) return std::string(text.substr(0, i));
  }
  return std::string(text);
}

}  // namespace pipeloom::draw
