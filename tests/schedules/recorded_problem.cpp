#include "schedules/recorded_problem.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "schedules/recorded.hpp"

namespace pipeloom::recorded {
namespace {

using Json = nlohmann::json;
using orders::StageWork;

std::size_t rank_of(const std::string& placement, std::size_t ranks, std::size_t stage) {
  if (placement == "V") return stage < ranks ? stage : 2 * ranks - 1 - stage;
  return stage % ranks;
}

/// A number of the case that is one for all stages or a list of them.
Ticks number(const Json& one, const char* key, std::size_t stage) {
  const Json& value = one[key];
  return value.is_array() ? value[stage].get<Ticks>() : value.get<Ticks>();
}

std::optional<Ticks> ticks(const Json& one, const char* key) {
  const Json value = one.value(key, Json());
  return value.is_number() ? std::optional(value.get<Ticks>()) : std::nullopt;
}

/// Memory: F takes m_b, I gives back m_b - m_w, W the rest. Cases of unequal stages say what each op adds.
void read_memory(const Json& one, std::size_t stage, StageWork& work) {
  if (one.contains("mem_f")) {
    work.held = number(one, "mem_f", stage);
    work.kept = work.held + number(one, "mem_b", stage);
  } else {
    work.held = number(one, "m_b", stage);
    work.kept = number(one, "m_w", stage);
  }
}

/// Limits: stated, or what the recorded order took.
std::vector<Bytes> limits_of(const Json& one, std::size_t ranks) {
  if (const Json limit = one.value("mem_limit", Json()); !limit.is_null())
    return limit.is_array() ? limit.get<std::vector<Bytes>>() : std::vector<Bytes>(ranks, limit.get<Bytes>());
  if (one.contains("inflight_limit"))
    return std::vector<Bytes>(ranks, one["inflight_limit"].get<Bytes>() * one["m_b"].get<Bytes>());
  std::vector<Bytes> peaks = one["peak_mem"];
  return std::vector<Bytes>(ranks, std::ranges::max(peaks));
}

orders::Problem problem_of(const Json& one) {
  const std::size_t ranks = one["p"];
  const bool adaptive = one.contains("inflight_limit");
  const std::size_t chunks = one.value("v", std::size_t{adaptive ? 2U : 1U});
  const std::string placement = one.value("placement", adaptive ? "V" : "linear");
  orders::Problem out;
  out.microbatches = one["m"];
  out.cut = !one.value("fused_bw", false);
  out.stages_of.resize(ranks);
  for (std::size_t s = 0; s < ranks * chunks; ++s) {
    StageWork work;
    work.rank = rank_of(placement, ranks, s);
    work.chunk = out.stages_of[work.rank].size();
    work.forward = number(one, "t_f", s);
    work.input = number(one, "t_b", s);
    work.weight = number(one, "t_w", s);
    read_memory(one, s, work);
    if (!out.cut) {
      work.input += std::exchange(work.weight, 0);
      work.kept = 0;
    }
    const auto hops_to = [&](std::size_t other) { return rank_of(placement, ranks, other) != work.rank; };
    if (s > 0 && hops_to(s - 1)) work.forward_delay = one["t_comm"];
    if (s + 1 < ranks * chunks && hops_to(s + 1)) work.gradient_delay = one["t_comm"];
    out.stages_of[work.rank].push_back(s);
    out.stages.push_back(work);
  }
  out.limit = limits_of(one, ranks);
  orders::set_objective(out, orders::Objective::Window);
  return out;
}

std::optional<Ticks> least_cost(const Json& one) {
  std::optional<Ticks> least;
  for (const char* key : {"cost", "list_scheduler_cost", "ilp_cost", "heuristic_cost"})
    if (const auto cost = ticks(one, key)) least = std::min(least.value_or(kMaxTicks), *cost);
  return least;
}

OrderCase order_case(const Json& one) {
  OrderCase out;
  out.id = one["id"];
  out.schedule = one.value("schedule", "ILP");
  out.linear = one.value("placement", "linear") == "linear" && !one.contains("inflight_limit");
  out.fused = one.value("fused_bw", false);
  out.limited = one.value("mem_limit", Json()).is_number();
  out.proven = one.value("proven", false);
  out.problem = problem_of(one);
  out.cost = ticks(one, "cost");
  out.makespan = ticks(one, "makespan");
  out.least = least_cost(one);
  out.packed = one.value("orders", std::vector<std::string>());
  return out;
}

}  // namespace

double OrderCase::share() const {
  const Bytes held = std::ranges::max(problem.stages, {}, &StageWork::held).held;
  return static_cast<double>(problem.limit.front()) / static_cast<double>(held) /
         static_cast<double>(problem.ranks());
}

std::optional<orders::Order> OrderCase::order() const {
  if (packed.empty()) return std::nullopt;
  // Letters of chunks 0 to 3 as in the README; the text of our own would need a schedule.
  const std::string passes = "FfGgBbCcWwVv";
  orders::Order out;
  for (const std::string& rank : packed) {
    std::vector<orders::Letter>& word = out.words.emplace_back();
    for (const char letter : unpacked(rank)) {
      const std::size_t at = passes.find(letter);
      if (at == std::string::npos) return std::nullopt;  // whole backwards
      word.push_back(orders::letter(at % 4, static_cast<orders::Pass>(at / 4)));
    }
  }
  return out;
}

std::vector<OrderCase> order_cases(const std::string& json_text) {
  const Json all = Json::parse(json_text);
  std::vector<OrderCase> out;
  for (const Json& one : all.is_array() ? all : all.value("cases", Json::array()))
    if (least_cost(one)) out.push_back(order_case(one));
  return out;
}

std::vector<OrderCase> golden_order_cases(const std::string& file) {
  return order_cases(read_text("zerobubble/" + file + ".json"));
}

std::vector<OrderCase> order_cases_in(const std::string& folder) {
  std::vector<OrderCase> out;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    std::ifstream in(file.path());
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    for (OrderCase& one : order_cases(text)) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace pipeloom::recorded
