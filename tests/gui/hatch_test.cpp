#include "gui/model/draw/hatch.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"

namespace hatch_test {

using namespace pipeloom::gui;

namespace {

const Rgba kForward = rgba(200, 0, 0);
const Rgba kBackward = rgba(0, 100, 0);
const Rgba kWeight = rgba(0, 0, 50);
const std::vector<Rgba> kColours = {kForward, kBackward, kWeight};
using Shares = std::array<float, 3>;

unsigned alpha(Rgba texel) {
  return texel >> 24U;
}

/// Texels of these columns, the first of which is number `first`, with nothing beside them.
std::vector<HatchedTexel> hatched(const std::vector<Shares>& columns, std::int64_t first = 0, int step = 1) {
  std::vector<float> shares(kHatchMargin * 3, 0);
  for (const Shares& column : columns) shares.insert(shares.end(), column.begin(), column.end());
  shares.resize(shares.size() + kHatchMargin * 3, 0);
  std::vector<HatchedTexel> out(columns.size());
  hatch(shares, kColours, first, step, out);
  return out;
}

std::ptrdiff_t count(const HatchedTexel& texel, Rgba colour) {
  return std::count(texel.begin(), texel.end(), colour);
}

/// Forwards of a pixel and backwards of two, half a pixel off: a third of all time is forward.
std::vector<Shares> steady(std::size_t columns) {
  std::vector<Shares> out;
  for (std::size_t i = 0; i < columns; ++i)
    out.push_back(i % 3 == 2 ? Shares{0, 1, 0} : Shares{0.5F, 0.5F, 0});
  return out;
}

}  // namespace

TEST_CASE("a steady state is diagonal bands in the colours of its kinds, as wide as their shares",
          "[chart]") {
  const auto texels = hatched(steady(60));
  for (std::size_t i = 20; i < 40; ++i) {
    INFO(i);
    // A third of 12 and two thirds, though every third column is backward only.
    CHECK(count(texels[i], kForward) == 4);
    CHECK(count(texels[i], kBackward) == 8);
    for (std::size_t y = 0; y + 1 < kHatch; ++y) CHECK(texels[i + 1][y] == texels[i][y + 1]);
  }
  // On a display of twice as many pixels a band moves every other column.
  const auto doubled = hatched(steady(60), 0, 2);
  CHECK(doubled[20] == doubled[21]);
  CHECK(doubled[22][0] == doubled[21][1]);
}

TEST_CASE("columns of one kind beside each other stay as they are", "[chart]") {
  std::vector<Shares> columns(10, Shares{1, 0, 0});
  columns.push_back({0.5F, 0.5F, 0});
  columns.insert(columns.end(), 10, Shares{0, 1, 0});
  columns.push_back({0, 0, 0});
  const auto texels = hatched(columns);
  CHECK(count(texels[9], kForward) == 12);
  CHECK(count(texels[10], kForward) == 6);
  CHECK(count(texels[10], kBackward) == 6);
  CHECK(count(texels[11], kBackward) == 12);
  CHECK(count(texels[21], 0) == 12);
}

TEST_CASE("a short op among others has a band of its own", "[chart]") {
  std::vector<Shares> columns = steady(60);
  // Two thousandths of what is around.
  columns[30] = {0.5F, 0.45F, 0.05F};
  const auto texels = hatched(columns);
  CHECK(count(texels[30], kWeight) == 1);
  CHECK(count(texels[5], kWeight) == 0);
}

TEST_CASE("what moves into view continues the bands", "[chart]") {
  std::vector<Shares> columns = steady(100);
  columns[50] = {0.2F, 0.3F, 0};
  const auto whole = hatched(columns, -7);
  // The same columns, asked for in part: number 33 is the column 40.
  std::vector<float> shares;
  for (std::size_t i = 40 - kHatchMargin; i < 60 + kHatchMargin; ++i)
    shares.insert(shares.end(), columns[i].begin(), columns[i].end());
  std::vector<HatchedTexel> part(20);
  hatch(shares, kColours, 33, 1, part);
  CHECK(std::equal(part.begin(), part.end(), whole.begin() + 40));
}

TEST_CASE("texels are as opaque as their column is busy", "[chart]") {
  CHECK(alpha(hatched({{0.001F, 0, 0}})[0][0]) == 77);    // 0.3 of 255
  CHECK(alpha(hatched({{0.99F, 0, 0}})[0][0]) == 219);    // 0.86 of 255
  CHECK(alpha(hatched({{0.2F, 0.3F, 0}})[0][0]) == 128);  // half of it
  // A gap by itself is a column of its own, many are as many as there are: 1 and 0.6 by turns are 0.8, 204 of 255, give or take one column of 25.
  std::vector<Shares> columns = steady(60);
  columns[30] = {0.2F, 0.3F, 0};
  CHECK(alpha(hatched(columns)[29][0]) == 255);
  CHECK(alpha(hatched(columns)[30][0]) == 128);
  for (std::size_t i = 0; i < columns.size(); ++i)
    columns[i] = i % 2 == 0 ? Shares{0.5F, 0.5F, 0} : Shares{0.3F, 0.3F, 0};
  const auto gaps = hatched(columns);
  for (std::size_t i = 20; i < 40; ++i) CHECK(std::abs(static_cast<int>(alpha(gaps[i][0])) - 204) <= 3);
}

}  // namespace hatch_test
