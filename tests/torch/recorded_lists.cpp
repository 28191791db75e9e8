#include "torch/recorded_lists.hpp"

#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "support/catch.hpp"

namespace pipeloom::recorded {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(std::string(PIPELOOM_GOLDEN_DIR) + "/torch_lowered/" + path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Rows of comma-separated cells, strictly in our own text.
ActionLists lists_of(const std::string& text) {
  ActionLists lists;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    lists.begin_rank();
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      const std::string cell = line.substr(begin, end - begin);
      const auto parts = parse_cell(cell.empty() ? "-" : cell);
      INFO(cell);
      REQUIRE(!parts.empty());
      lists.add_cell(parts);
      begin = end + 1;
    }
  }
  return lists;
}

/// The parts of one schedule's file by name.
const std::map<std::string, std::string>& parts_of(const std::string& schedule) {
  static std::map<std::string, std::map<std::string, std::string>> files;
  auto& parts = files[schedule];
  if (!parts.empty()) return parts;
  std::istringstream lines(read_text(schedule + ".txt"));
  std::string name;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("== ", 0) == 0)
      name = line.substr(3);
    else
      parts[name] += line + '\n';
  return parts;
}

}  // namespace

const nlohmann::json& torch_index() {
  static const auto index = nlohmann::json::parse(read_text("index.json"));
  return index;
}

ActionLists torch_lists(const nlohmann::json& schedule, const std::string& kind) {
  const auto& parts = parts_of(schedule["schedule"]);
  const auto found = parts.find(schedule["id"].get<std::string>() + "." + kind);
  REQUIRE(found != parts.end());
  return lists_of(found->second);
}

bool has_kind(const nlohmann::json& schedule, const std::string& kind) {
  for (const auto& one : schedule["kinds"])
    if (one == kind) return true;
  return false;
}

std::string custom_text(const std::string& name) {
  return read_text("custom/" + name + ".csv");
}

std::string rows_text(const ActionLists& lists) {
  std::string text;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) text += row_text(lists.row(rank)) + '\n';
  return text;
}

}  // namespace pipeloom::recorded
