#include "schedules/recorded_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::recorded {
namespace {

std::string op_word(Op op, const Words& words) {
  const int stage = op.stage().value();
  return fmt::format("{}{}.{}", letter_of(op.kind()), words.ring > 0 ? stage / words.ring : stage,
                     op.microbatch().value());
}

std::string message_word(const Program& program, const Endpoint& end, const Words& words) {
  const MessageInfo& message = program.messages()[end.message];
  const char letter = end.is_send ? 's' : 'r';
  if (words.ring > 0) return fmt::format("{}{}", letter, end.is_send == message.is_forward() ? 'n' : 'p');
  const Stage own = program.schedule().placement().stage_of(end.is_send ? message.from : message.to);
  return fmt::format("{}{}{}.{}{}{}", letter, message.is_forward() ? 'F' : 'B', own.value(),
                     message.producer.microbatch().value(), end.is_send ? '>' : '<',
                     (end.is_send ? message.to_rank : message.from_rank).value());
}

std::string entry_word(const Program& program, std::size_t op, const Words& words) {
  const auto ops = program.schedule().ops();
  const std::string first = op_word(ops[op], words);
  if (!ops[op].joined()) return first;
  return fmt::format("X{}/{}", first.substr(1), op_word(ops[op + 1], words).substr(1));
}

}  // namespace

std::string canonical(const std::string& text) {
  std::istringstream in(text);
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  std::map<std::string, std::size_t> number;
  std::string out;
  for (std::size_t at = 0; at < words.size(); ++at) {
    std::string word = words[at];
    if (const auto hash = word.find('#'); hash != std::string::npos) {
      const std::string old = word.substr(hash);
      if (word[0] == '<' && at + 1 < words.size() && words[at + 1] == ">" + old) {
        word = "[" + word.substr(1, hash - 1) + "]";
        ++at;
      } else {
        word =
            fmt::format("{}#{}", word.substr(0, hash), number.try_emplace(old, number.size()).first->second);
      }
    }
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

std::string words_of(const Program& program, Rank rank, const Words& words) {
  std::string text;
  for (const auto& [code, index] : program.instructions(rank)) {
    std::string ends;
    if (code == Program::Code::Post)
      for (const Endpoint& end : program.batch(index))
        ends += (ends.empty() ? "" : ",") + message_word(program, end, words);
    text += text.empty() ? "" : " ";
    if (code == Program::Code::Run)
      text += entry_word(program, index, words);
    else
      text += fmt::format("{}{}#{}", code == Program::Code::Post ? '<' : '>', ends, index);
  }
  return canonical(text);
}

Ticks replay(const Program& program, const std::function<Ticks(std::size_t)>& duration, Ticks latency) {
  const auto ranks = static_cast<std::size_t>(program.schedule().ranks());
  std::vector<Ticks> now(ranks, 0);
  std::vector<std::size_t> at(ranks, 0);
  std::map<std::pair<MessageId, bool>, Ticks> posted;
  const auto is_done = [&](const Endpoint& end) {
    return posted.count({end.message, true}) + posted.count({end.message, false}) == 2;
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto list = program.instructions(Rank(static_cast<std::int32_t>(r)));
      for (; at[r] < list.size(); ++at[r], progress = true) {
        const auto [code, index] = list[at[r]];
        if (code == Program::Code::Run) {
          now[r] += duration(index);
          continue;
        }
        const auto batch = program.batch(index);
        if (code == Program::Code::Post) {
          for (const Endpoint& end : batch) posted[{end.message, end.is_send}] = now[r];
          continue;
        }
        if (!std::all_of(batch.begin(), batch.end(), is_done)) break;
        for (const Endpoint& end : batch)
          for (const bool is_send : {false, true})
            now[r] = std::max(now[r], posted[{end.message, is_send}] + latency);
      }
    }
  }
  for (std::size_t r = 0; r < ranks; ++r)
    REQUIRE(at[r] == program.instructions(Rank(static_cast<std::int32_t>(r))).size());
  return *std::max_element(now.begin(), now.end());
}

}  // namespace pipeloom::recorded
