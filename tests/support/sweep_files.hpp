#pragma once

// Sweeps in files, for tests.

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "study/sweep/run/runner.hpp"
#include "support/temporary.hpp"

namespace pipeloom::test {

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void put(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// 2 * 3 * 4 combinations of which 22 hold: p = 3 has no room for m = 16. dualpipe-v needs m >= 2 p - 1, so 5 of them are
/// illegal: m = 2 with every p, m = 4 with p = 3 and 4.
inline sweep::Grid small_grid() {
  return sweep::Grid::parse(R"({
    "base": {"costs": {"forward": 1, "backward_input": 1, "backward_weight": 1}},
    "axes": {"schedule": ["1f1b", "dualpipe-v"], "ranks": [2, 3, 4], "microbatches": [2, 4, 8, 16]},
    "where": ["ranks != 3 || microbatches < 16"], "metrics": ["makespan", "bubble_ratio"]})",
                            "small.json");
}

/// Runs a grid into a file and gives what the file holds then.
inline std::string swept(const sweep::Grid& grid, sweep::SweepOptions options) {
  static_cast<void>(sweep::run_sweep(grid, options));
  return text_of(options.out);
}

inline std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    out.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return out;
}

}  // namespace pipeloom::test
