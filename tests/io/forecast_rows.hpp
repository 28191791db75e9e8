#pragma once

// Iterations that others measured (tests/golden/forecast), and what their forecasts need.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io::forecast {

inline Document recorded(const std::string& name) {
  const std::string path = std::string(PIPELOOM_GOLDEN_DIR) + "/forecast/" + name;
  return Document::parse(read_file(path), path);
}

inline std::int64_t whole(const Value& row, std::string_view key) {
  return static_cast<std::int64_t>(row.find(key)->number());
}

/// What a stage takes for a microbatch, seconds.
struct StageTime {
  double forward = 0;
  double backward = 0;
};

/// The step of 1F1B over unequal stages: rank r runs min(p - 1 - r, m) forwards, then forward and backward in turns, then the backwards that
/// are left. Messages take no time but what is in the stages.
inline double one_f_one_b(const std::vector<StageTime>& stages, std::int64_t microbatches) {
  const auto p = static_cast<std::int64_t>(stages.size());
  const auto index = [&](std::int64_t stage, std::int64_t microbatch) {
    return static_cast<std::size_t>(stage * microbatches + microbatch);
  };
  std::vector<double> forward(index(p, 0), -1);
  std::vector<double> backward(index(p, 0), -1);
  struct Place {
    std::int64_t forwards = 0;
    std::int64_t backwards = 0;
    double time = 0;
  };
  std::vector<Place> ranks(stages.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int64_t s = 0; s < p; ++s) {
      Place& at = ranks[static_cast<std::size_t>(s)];
      const StageTime& take = stages[static_cast<std::size_t>(s)];
      while (at.backwards < microbatches) {
        const bool is_forward =
            at.forwards < microbatches && at.forwards - at.backwards <= std::min(p - 1 - s, microbatches);
        const std::int64_t mb = is_forward ? at.forwards : at.backwards;
        double ready = 0;
        if (is_forward) {
          if (s > 0) ready = forward[index(s - 1, mb)];
        } else {
          ready = s + 1 < p ? backward[index(s + 1, mb)] : forward[index(s, mb)];
        }
        if (ready < 0) break;
        at.time = std::max(at.time, ready) + (is_forward ? take.forward : take.backward);
        (is_forward ? forward : backward)[index(s, mb)] = at.time;
        ++(is_forward ? at.forwards : at.backwards);
        moved = true;
      }
    }
  }
  double end = 0;
  for (const Place& rank : ranks) end = std::max(end, rank.time);
  return end;
}

/// Errors of forecasts in percent of what was measured.
struct Errors {
  std::vector<double> percent;

  void add(double measured, double forecast) { percent.push_back((forecast / measured - 1) * 100); }
  [[nodiscard]] std::vector<double> sizes() const {
    std::vector<double> out;
    for (const double error : percent) out.push_back(std::abs(error));
    std::sort(out.begin(), out.end());
    return out;
  }
  [[nodiscard]] double median() const {
    const auto sorted = sizes();
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double error : percent) sum += std::abs(error);
    return sum / static_cast<double>(percent.size());
  }
  [[nodiscard]] double largest() const { return sizes().back(); }
};

/// One line for people who run the test with PIPELOOM_FORECASTS set.
inline void print(const std::string& what, const Errors& errors) {
  if (std::getenv("PIPELOOM_FORECASTS") == nullptr) return;
  std::cout << what << ": " << errors.percent.size() << " rows, median " << errors.median() << " %, mean "
            << errors.mean() << " %, max " << errors.largest() << " %\n";
}

}  // namespace pipeloom::io::forecast
