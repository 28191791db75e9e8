#include "torch/recorded_lists.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
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

const nlohmann::json& torch_index() {
  static const auto index = nlohmann::json::parse(read_text("index.json"));
  return index;
}

TorchSchedule schedule_of(const nlohmann::json& one) {
  TorchSchedule out;
  out.id = one["id"];
  out.name = one["schedule"];
  out.ranks = one["pp"];
  out.stages = one["num_stages"];
  out.microbatches = one["microbatches"];
  out.rank_of_stage = one["stage_to_rank"].get<std::vector<int>>();
  out.kinds = one["kinds"].get<std::vector<std::string>>();
  if (one["p2p_sim_steps"].is_number()) out.dry_run_steps = one["p2p_sim_steps"];
  out.peak_stage_microbatch = one["peak_live_stage_microbatch"].get<std::vector<std::int32_t>>();
  out.peak_microbatch = one["peak_live_microbatch"].get<std::vector<std::int32_t>>();
  if (!one.contains("runtime_p2p_batches")) return out;
  for (int rank = 0; rank < out.ranks; ++rank) {
    out.batches.emplace_back();
    for (const auto& batch : one["runtime_p2p_batches"][std::to_string(rank)]) {
      const std::size_t begin = batch[0];
      out.batches.back().emplace_back(begin, begin + batch[1].get<std::size_t>());
    }
  }
  return out;
}

CustomFile custom_file_of(const nlohmann::json& one) {
  CustomFile out;
  out.name = one["name"];
  out.lowered = one["format"] == "compute_comms";
  out.ranks = one["pp"];
  out.stages = out.ranks * one["stages_per_rank"].get<int>();
  out.microbatches = one["microbatches"];
  const auto& expect = one["expect"];
  out.ok = expect["ok"];
  if (out.ok)
    out.rank_of_stage = expect["stage_to_rank"].get<std::vector<int>>();
  else
    out.phase = expect["phase"];
  if (!out.ok) out.exception = expect["error"];
  out.dry_run = expect.value("p2p_sim", "");
  out.dry_run_steps = expect.value("p2p_sim_steps", 0);
  return out;
}

}  // namespace

bool TorchSchedule::has(const std::string& kind) const {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

ActionLists TorchSchedule::lists(const std::string& kind) const {
  const auto& parts = parts_of(name);
  const auto found = parts.find(id + "." + kind);
  REQUIRE(found != parts.end());
  return lists_of(found->second);
}

const std::vector<TorchSchedule>& torch_schedules() {
  static const auto schedules = [] {
    std::vector<TorchSchedule> out;
    for (const auto& one : torch_index()["schedules"]) out.push_back(schedule_of(one));
    return out;
  }();
  return schedules;
}

std::map<std::string, ActionLists> lists_of_file(const std::string& file) {
  std::map<std::string, ActionLists> out;
  for (const auto& [name, text] : parts_of(file)) out.emplace(name, lists_of(text));
  return out;
}

std::string CustomFile::text() const {
  return read_text("custom/" + name + ".csv");
}

std::vector<CustomFile> custom_files() {
  std::vector<CustomFile> out;
  for (const auto& one : torch_index()["custom"]) out.push_back(custom_file_of(one));
  return out;
}

std::vector<RefusedRun> refused_runs() {
  std::vector<RefusedRun> out;
  for (const auto& one : torch_index()["rejected"])
    out.push_back({one["schedule"], one["pp"], one["stages_per_rank"], one["microbatches"]});
  return out;
}

std::string rows_text(const ActionLists& lists) {
  std::string text;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) text += row_text(lists.row(rank)) + '\n';
  return text;
}

}  // namespace pipeloom::recorded
