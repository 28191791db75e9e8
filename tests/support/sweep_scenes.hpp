#pragma once

// Results of sweeps as short texts.

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "study/sweep/result/table.hpp"

namespace pipeloom::test {

/// {"ranks", "4"} of "ranks=4"; values that are no JSON number or array become JSON strings.
inline std::pair<std::string, std::string> setting(const std::string& word) {
  const std::size_t at = word.find('=');
  std::string value = word.substr(at + 1);
  if (value.find_first_not_of("0123456789.-[],e") != std::string::npos) value = '"' + value + '"';
  return {word.substr(0, at), value};
}

/// A line a point, from 0: "schedule=gpipe ranks=4 : makespan=33.0" is ok; any other status stands in front of its message,
/// "ranks=5 : illegal needs an even number", or of the metrics for over_memory.
inline std::vector<sweep::ResultLine> lines_of(const std::string& text) {
  std::vector<sweep::ResultLine> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(':') == std::string::npos) continue;
    sweep::ResultLine& point = out.emplace_back();
    point.point = out.size() - 1;
    std::istringstream words(line);
    std::string word;
    while (words >> word && word != ":") point.config.push_back(setting(word));
    point.status = "ok";
    while (words >> word) {
      if (word.find('=') != std::string::npos)
        point.metrics.push_back(setting(word));
      else if (point.status == "ok")
        point.status = word;
      else
        point.error += (point.error.empty() ? "" : " ") + word;
    }
  }
  return out;
}

/// `axes` as a header has them; without any, every key is an axis.
inline sweep::ResultTable table_of(std::vector<std::string> metrics, const std::string& text,
                                   const std::string& base = "{}", const std::string& axes = "[]") {
  const std::vector<sweep::ResultLine> lines = lines_of(text);
  sweep::Header header;
  header.version = "1.0.0";
  header.grid = "0123456789abcdef";
  header.points = lines.size();
  header.metrics = std::move(metrics);
  header.axes_json = axes;
  header.base_json = base;
  sweep::ResultTable table(header);
  for (const sweep::ResultLine& line : lines) table.add(line, {});
  table.finish();
  return table;
}

}  // namespace pipeloom::test
