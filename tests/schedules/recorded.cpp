#include "schedules/recorded.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include <pipeloom/schedule.hpp>
#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::recorded {
namespace {

std::ifstream open(const std::string& path) {
  std::ifstream file(std::string(PIPELOOM_GOLDEN_DIR) + "/" + path);
  REQUIRE(file);
  return file;
}

/// "3.7" with kind F -> "3F7".
std::string op_text(char kind, const std::string& stage_and_microbatch, int step, int offset) {
  const auto dot = stage_and_microbatch.find('.');
  const int stage = std::stoi(stage_and_microbatch.substr(0, dot)) * step + offset;
  return fmt::format("{}{}{}", stage, kind == 'D' ? 'I' : kind, stage_and_microbatch.substr(dot + 1));
}

std::string word_text(const std::string& word, int step, int offset) {
  const auto plus = word.find('+');
  const auto slash = word.find('/');
  if (plus == std::string::npos && slash == std::string::npos)
    return op_text(word[0], word.substr(1), step, offset);
  const std::string first = word.substr(1, std::min(plus, slash) - 1);
  const std::string second = plus == std::string::npos ? word.substr(slash + 1) : word.substr(plus + 2);
  return fmt::format("({};{})OVERLAP_F_B", op_text('F', first, step, offset),
                     op_text('B', second, step, offset));
}

constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// FIPS 180-4, section 6.2.2, for one block of 64 bytes.
void add_block(std::array<std::uint32_t, 8>& state, const std::string& text, std::size_t begin) {
  std::array<std::uint32_t, 64> w = {};
  for (std::size_t i = 0; i < 64; ++i)
    w[i / 4] = (w[i / 4] << 8) | static_cast<unsigned char>(text[begin + i]);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15];
    const std::uint32_t b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + kRoundConstants[i] + w[i];
    const std::uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = std::exchange(g, std::exchange(f, std::exchange(e, d + t1)));
    d = std::exchange(c, std::exchange(b, std::exchange(a, t1 + t2)));
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

}  // namespace

std::string read_text(const std::string& path) {
  auto file = open(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> read_lines(const std::string& path) {
  auto file = open(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::string our_text(const std::string& order, int stage_step, int stage_offset) {
  std::istringstream words(order);
  std::string text;
  for (std::string word; words >> word;)
    text += (text.empty() ? "" : " ") + word_text(word, stage_step, stage_offset);
  return text;
}

std::string unpacked(const std::string& packed) {
  std::string text;
  for (std::size_t at = 0; at < packed.size();) {
    const bool many = packed[at] == '(';
    const std::size_t end = many ? packed.find(')', at) : at + 1;
    const std::string unit = many ? packed.substr(at + 1, end - at - 1) : packed.substr(at, 1);
    at = many ? end + 1 : end;
    std::size_t digits = at;
    while (digits < packed.size() && std::isdigit(static_cast<unsigned char>(packed[digits])) != 0) ++digits;
    const int times = digits == at ? 1 : std::stoi(packed.substr(at, digits - at));
    for (int i = 0; i < times; ++i) text += unit;
    at = digits;
  }
  return text;
}

std::string zero_bubble_text(const std::string& packed, const Placement& placement, Rank rank) {
  const std::string letters = "FBWXfbwxGCVYgcvy";  // four of each chunk, in the order of kinds
  const std::string kinds = "FIWB";
  const auto stages = placement.stages_of(rank);
  std::array<int, 16> next = {};
  std::string text;
  for (const char letter : unpacked(packed)) {
    const std::size_t which = letters.find(letter);
    REQUIRE(which != std::string::npos);
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", stages.at(which / 4).value(), kinds[which % 4],
                        next[which]++);
  }
  return text;
}

Terms ZeroBubbleCase::terms(const Placement& placement) const {
  Terms terms{.costs = uniform_costs(placement, costs), .memory = default_memory(placement)};
  terms.memory.activation.assign(terms.memory.activation.size(), activation);
  terms.memory.released_at_input.assign(terms.memory.activation.size(), activation - until_weight);
  return terms;
}

std::vector<ZeroBubbleCase> zero_bubble_cases(const std::string& file) {
  std::vector<ZeroBubbleCase> cases;
  for (const auto& one : nlohmann::json::parse(read_text("zerobubble/" + file + ".json"))) {
    const Ticks input = one["t_b"];
    const Ticks weight = one["t_w"];
    ZeroBubbleCase& read = cases.emplace_back(
        ZeroBubbleCase{.id = one["id"],
                       .params = {.ranks = one["p"], .microbatches = one["m"], .chunks = one["v"]},
                       .costs = {.forward = one["t_f"],
                                 .backward = input + weight,
                                 .backward_input = input,
                                 .backward_weight = weight,
                                 .delay = one["t_comm"]},
                       .activation = one["m_b"],
                       .until_weight = one["m_w"],
                       .limit = {},
                       .cost = one["cost"],
                       .makespan = one["makespan"],
                       .window = one["stage_window"],
                       .first_start = one["first_start"],
                       .peak_bytes = one["peak_mem"],
                       .peak_live = one["peak_inflight"],
                       .bubbles = one.value("combo_bubbles", std::vector<Ticks>()),
                       .setting_costs = one.value("combo_costs", std::vector<Ticks>()),
                       .orders = one["orders"]});
    // 1F1B-I, GIS and GIS-H say how large their groups are, or mean p.
    if (one.contains("group")) read.params.options.group_size = one["group"].get<int>();
    if (one.contains("mem_limit")) read.limit = one["mem_limit"];
  }
  return cases;
}

void check_zero_bubble_case(const ZeroBubbleCase& one, const Schedule& schedule) {
  INFO(one.id);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    CHECK(queue_text(schedule, rank) ==
          zero_bubble_text(one.orders.at(rank.at()), schedule.placement(), rank));

  const Terms terms = one.terms(schedule.placement());
  Simulator simulator;
  const auto outcome = simulator.evaluate(schedule, terms.costs, terms.memory);
  REQUIRE(std::holds_alternative<Totals>(outcome));
  const Totals& totals = std::get<Totals>(outcome);
  std::vector<Ticks> window;
  for (std::size_t r = 0; r < totals.busy.size(); ++r)
    window.push_back(totals.last_end[r] - totals.first_start[r]);
  CHECK(totals.makespan == one.makespan);
  CHECK(totals.first_start == one.first_start);
  CHECK(window == one.window);
  CHECK(*std::max_element(window.begin(), window.end()) == one.cost);
  CHECK(totals.peak_live == one.peak_live);
  CHECK(totals.peak_activation_bytes == one.peak_bytes);
}

std::string ppviz_text(const Schedule& schedule) {
  const auto word = [](Op op) {
    const char kind = op.kind() == OpKind::BackwardInput ? 'D' : letter_of(op.kind());
    return fmt::format("{}{}.{}", kind, op.stage().value(), op.microbatch().value());
  };
  std::string text;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    if (rank.value() > 0) text += '\n';
    const auto queue = schedule.queue(rank);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (i > 0) text += queue[i - 1].joined() ? '+' : ' ';
      text += word(queue[i]);
    }
  }
  return text;
}

std::string sha256(const std::string& text) {
  std::string padded = text + '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = text.size() * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>((bits >> shift) & 0xFF);
  std::array<std::uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (std::size_t begin = 0; begin < padded.size(); begin += 64) add_block(state, padded, begin);
  std::string hex;
  for (const std::uint32_t word : state) hex += fmt::format("{:08x}", word);
  return hex;
}

Schedule make_named(const std::string& name, Params params) {
  const auto found = schedules::find(name);
  if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
  return schedules::make(*found.generator, params);
}

Totals evaluate(const Schedule& schedule, const Costs& costs) {
  Simulator simulator;
  auto outcome = simulator.evaluate(schedule, costs, default_memory(schedule.placement()));
  REQUIRE(std::holds_alternative<Totals>(outcome));
  return std::get<Totals>(outcome);
}

Bytes most_held(const MemoryModel& memory, std::span<const Op> queue) {
  Bytes held = 0;
  Bytes most = 0;
  for (const Op op : queue) {
    const Bytes all = memory.activation[op.stage().at()];
    const Bytes released = memory.released_at_input[op.stage().at()];
    if (op.kind() == OpKind::Forward) held += all;
    if (op.kind() == OpKind::BackwardInput) held -= released;
    if (op.kind() == OpKind::BackwardWeight) held -= all - released;
    most = std::max(most, held);
  }
  CHECK(held == 0);
  return most;
}

}  // namespace pipeloom::recorded
