// Order and samples: point i of a grid against a naive expansion of the whole.

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "study/sweep/grid/grid.hpp"
#include "study/sweep/grid/grid_template.hpp"
#include "support/catch.hpp"

namespace grid_order_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

using Texts = std::vector<std::string>;
/// Key and value of everything that a point sets, by name.
using Point = std::map<std::string, std::string>;

Point point_of(const Grid& grid, const Combination& combination) {
  Point out;
  for (const Setting& setting : combination.settings) out[grid.keys()[setting.key]] = setting.json;
  return out;
}

std::vector<Point> points(const Grid& grid) {
  std::vector<Point> out;
  Combination combination;
  for (std::uint64_t i = 0; i < grid.combinations(); ++i)
    if (grid.combination(i, combination)) out.push_back(point_of(grid, combination));
  return out;
}

/// A grid as text and, expanded by nested loops, as points.
class RandomGrid {
 public:
  explicit RandomGrid(unsigned seed) : random_(seed) {
    Texts names = {"ranks",         "microbatches",   "chunks", "options.group_size",
                   "options.waves", "options.updates"};
    std::shuffle(names.begin(), names.end(), random_);
    const std::size_t zipped = below(3);
    const Texts of_zip(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(zipped));
    const Texts of_axes(names.begin() + static_cast<std::ptrdiff_t>(zipped), names.end());
    std::vector<Point> zip = {{}};
    std::string zip_text;
    if (!of_zip.empty()) zip_text = ", \"zip\": [" + make_zip(of_zip, zip) + "]";
    const std::size_t blocks = 1 + below(3);
    std::string axes;
    for (std::size_t block = 0; block < blocks; ++block) {
      std::vector<Point> product = {{}};
      axes += (block == 0 ? "" : ", ") + make_product(of_axes, product);
      add_product(product, zip);
    }
    text = R"({"base": {"ranks": 2, "microbatches": 3, "chunks": 1}, "axes": [)" + axes + "]" + zip_text +
           R"(, "where": ["(ranks + 2 * microbatches) % 3 != 0"]})";
  }

  std::string text;
  std::vector<Point> expected;

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  std::string make_zip(const Texts& names, std::vector<Point>& rows) {
    const std::size_t size = 1 + below(4);
    rows.assign(size, {});
    std::string out = "{";
    for (const std::string& name : names) {
      out += (out.size() == 1 ? "\"" : ", \"") + name + "\": [";
      for (std::size_t i = 0; i < size; ++i) {
        rows[i][name] = std::to_string(1 + below(9));
        out += (i == 0 ? "" : ", ") + rows[i][name];
      }
      out += "]";
    }
    return out + "}";
  }

  std::string make_product(Texts names, std::vector<Point>& product) {
    std::shuffle(names.begin(), names.end(), random_);
    names.resize(below(4));
    std::string out = "{";
    for (const std::string& name : names) {
      const std::size_t from = 1 + below(5);
      const std::size_t size = 1 + below(4);
      const bool is_range = below(2) == 0;
      std::vector<Point> next;
      for (const Point& point : product)
        for (std::size_t i = 0; i < size; ++i) {
          next.push_back(point);
          next.back()[name] = std::to_string(from + 2 * i);
        }
      product = std::move(next);
      std::string list;
      for (std::size_t i = 0; i < size; ++i) list += (i == 0 ? "" : ", ") + std::to_string(from + 2 * i);
      const std::string range = "{\"from\": " + std::to_string(from) +
                                ", \"step\": 2, \"to\": " + std::to_string(from + 2 * size - 1) + "}";
      out += (out.size() == 1 ? "\"" : ", \"") + name + "\": " + (is_range ? range : "[" + list + "]");
    }
    return out + "}";
  }

  void add_product(const std::vector<Point>& product, const std::vector<Point>& zip) {
    for (const Point& point : product)
      for (const Point& row : zip) {
        Point both = point;
        both.insert(row.begin(), row.end());
        const auto value = [&both](const char* name, int base) {
          return both.count(name) != 0 ? std::stoi(both[name]) : base;
        };
        const int ranks = value("ranks", 2);
        const int microbatches = value("microbatches", 3);
        if ((ranks + 2 * microbatches) % 3 != 0) expected.push_back(both);
      }
  }

  std::mt19937 random_;
};

/// How often each value of the first key comes, in order of the values' texts.
std::map<std::string, int> counts(const Grid& grid, const std::string& key) {
  std::map<std::string, int> out;
  for (const Point& point : points(grid)) ++out[point.at(key)];
  return out;
}

}  // namespace

TEST_CASE("points are those of nested loops, in their order") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const RandomGrid random(seed);
    CAPTURE(seed, random.text);
    REQUIRE(points(Grid::parse(random.text, "g")) == random.expected);
  }
}

TEST_CASE("splitmix64 is the published generator") {
  // Its first outputs for seed 0.
  CHECK(splitmix64(0, 0) == 0xE220A8397B1DCDAFULL);
  CHECK(splitmix64(0, 1) == 0x6E789E6AA1B965F4ULL);
}

TEST_CASE("a permutation gives every number once") {
  for (const std::uint64_t size : {1ULL, 2ULL, 3ULL, 5ULL, 64ULL, 100ULL, 1023ULL, 4097ULL}) {
    CAPTURE(size);
    std::set<std::uint64_t> seen;
    const Permutation order(42, size);
    for (std::uint64_t i = 0; i < size; ++i) seen.insert(order.at(i));
    CHECK(seen.size() == size);
    CHECK(*seen.rbegin() == size - 1);
  }
  CHECK(Permutation(1, 1000).at(0) != Permutation(2, 1000).at(0));
  CHECK(Permutation(1, 0xFFFFFFFFFFFFFFFFULL).at(7) < 0xFFFFFFFFFFFFFFFFULL);
}

TEST_CASE("a random sample draws different combinations, and a longer one begins with it") {
  const auto sample = [](int points, int seed) {
    return Grid::parse(
        R"({"base": {}, "axes": {"ranks": {"from": 1, "to": 50, "step": 1}, "chunks": [1, 2, 3, 4]},
                           "sample": {"method": "random", "points": )" +
            std::to_string(points) + ", \"seed\": " + std::to_string(seed) + "}}",
        "g");
  };
  const auto all = points(sample(200, 7));
  CHECK(std::set<Point>(all.begin(), all.end()).size() == 200);
  const auto some = points(sample(50, 7));
  CHECK(some.size() == 50);
  CHECK(std::equal(some.begin(), some.end(), all.begin()));
  CHECK(points(sample(50, 8)) != some);
  CHECK(points(sample(50, 7)) == some);
  // Neither grid order nor all alike.
  CHECK_FALSE(std::is_sorted(some.begin(), some.end()));
}

TEST_CASE("a Latin hypercube gives every value its share") {
  // 12 points: 4 values come three times, 5 values two or three times, of 100 values one from each twelfth.
  const Grid grid = Grid::parse(
      R"({"base": {}, "axes": {"chunks": [1, 2, 3, 4], "ranks": [1, 2, 3, 4, 5], "microbatches": {"from": 0, "to": 99, "step": 1}},
          "sample": {"method": "lhs", "points": 12, "seed": 3}})",
      "g");
  CHECK(grid.combinations() == 12);
  CHECK(counts(grid, "chunks") == std::map<std::string, int>{{"1", 3}, {"2", 3}, {"3", 3}, {"4", 3}});
  for (const auto& [value, count] : counts(grid, "ranks")) CHECK((count == 2 || count == 3));
  std::set<int> strata;
  for (const Point& point : points(grid)) {
    // Stratum s holds the values from floor(100 s / 12) on.
    const int value = std::stoi(point.at("microbatches"));
    int stratum = 0;
    while (stratum < 11 && 100 * (stratum + 1) / 12 <= value) ++stratum;
    strata.insert(stratum);
  }
  CHECK(strata.size() == 12);
}

TEST_CASE("the products of a union have their shares of a Latin hypercube, in file order") {
  const Grid grid = Grid::parse(
      R"({"base": {}, "axes": [{"ranks": {"from": 1, "to": 30, "step": 1}}, {"chunks": {"from": 1, "to": 10, "step": 1}}],
          "sample": {"method": "lhs", "points": 8, "seed": 3}})",
      "g");
  // 30 of 40 combinations: 6 of 8 points.
  const auto all = points(grid);
  REQUIRE(all.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(all[i].count("ranks") == (i < 6 ? 1U : 0U));
  // More points than combinations: a hypercube has its corners several times.
  CHECK(
      points(Grid::parse(
                 R"({"base": {}, "axes": {"ranks": [1, 2]}, "sample": {"method": "lhs", "points": 6}})", "g"))
          .size() == 6);
}

}  // namespace grid_order_test
