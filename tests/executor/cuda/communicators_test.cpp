// Communicators follow from messages and discipline.

#include "executor/cuda/exchange/communicators.hpp"

#include <string>
#include <vector>

#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cuda::communicators_test {
namespace {

MessageTable messages_of(std::string_view schedule, int p, int m, int v = 1) {
  return MessageTable(
      schedules::make(*schedules::find(schedule).generator, {.ranks = p, .microbatches = m, .chunks = v}));
}

std::vector<Rank> ranks(std::initializer_list<int> values) {
  std::vector<Rank> out;
  for (const int value : values) out.emplace_back(value);
  return out;
}

}  // namespace

TEST_CASE("one queue per rank: one communicator for all") {
  const CommunicatorLayout layout = communicators(messages_of("1f1b", 4, 8), QueueDiscipline::PerRank);
  REQUIRE(layout.all.size() == 1);
  CHECK(layout.all[0].members == ranks({0, 1, 2, 3}));
  CHECK_FALSE(layout.all[0].is_directed);
  CHECK(layout.of_message ==
        std::vector<std::uint32_t>(2 * 3 * 8, 0));  // 3 boundaries, 8 microbatches, both ways
}

TEST_CASE("one queue per direction: activations, then gradients") {
  const MessageTable messages = messages_of("1f1b", 4, 8);
  const CommunicatorLayout layout = communicators(messages, QueueDiscipline::PerDirection);
  REQUIRE(layout.all.size() == 2);
  CHECK(layout.all[0].members == ranks({0, 1, 2, 3}));
  CHECK(layout.all[1].members == ranks({0, 1, 2, 3}));
  for (MessageId id = 0; id < messages.size(); ++id)
    CHECK(layout.of_message[id] == (messages[id].is_forward() ? 0 : 1));
}

TEST_CASE("one queue per directed pair: both ways of every boundary, ordered by sender") {
  const CommunicatorLayout layout = communicators(messages_of("1f1b", 3, 4), QueueDiscipline::PerPair);
  REQUIRE(layout.all.size() == 4);
  CHECK(layout.all[0].members == ranks({0, 1}));  // 0 -> 1
  CHECK(layout.all[1].members == ranks({0, 1}));  // 1 -> 0
  CHECK(layout.all[2].members == ranks({1, 2}));  // 1 -> 2
  CHECK(layout.all[3].members == ranks({1, 2}));  // 2 -> 1
  CHECK(layout.all[1].is_directed);
  CHECK(communicators(messages_of("1f1b", 3, 4), QueueDiscipline::None).all.size() == 4);
}

TEST_CASE("interleaved stages close the ring") {
  const CommunicatorLayout layout =
      communicators(messages_of("interleaved-1f1b", 4, 8, 2), QueueDiscipline::PerPair);
  REQUIRE(layout.all.size() == 8);
  CHECK(layout.all[1].members == ranks({0, 3}));  // 0 -> 3: gradients of rank 0's second stage
}

TEST_CASE("ranks that hold replicas of a stage share a communicator behind all others") {
  const std::string name = GENERATE("dualpipe", "chimera");
  const Schedule schedule =
      schedules::make(*schedules::find(name).generator, {.ranks = 4, .microbatches = 8});
  // Stage s is on rank s and on rank 3 - s.
  const std::vector<RankPair> pairs = replica_pairs(schedule);
  CHECK(pairs == std::vector<RankPair>{{Rank(0), Rank(3)}, {Rank(1), Rank(2)}});
  const MessageTable messages(schedule);
  for (const QueueDiscipline queue : {QueueDiscipline::None, QueueDiscipline::PerRank,
                                      QueueDiscipline::PerDirection, QueueDiscipline::PerPair}) {
    const CommunicatorLayout plain = communicators(messages, queue);
    const CommunicatorLayout layout = communicators(messages, queue, pairs);
    CHECK(plain.of_pair.empty());
    CHECK(layout.of_message == plain.of_message);
    REQUIRE(layout.all.size() == plain.all.size() + 2);
    CHECK(layout.of_pair.at(pairs[0]) == plain.all.size());
    CHECK(layout.of_pair.at(pairs[1]) == plain.all.size() + 1);
    for (const RankPair& pair : pairs) {
      const Communicator& both = layout.all[layout.of_pair.at(pair)];
      CHECK(both.members == std::vector<Rank>{pair.first, pair.second});
      CHECK_FALSE(both.is_directed);
    }
  }
}

TEST_CASE("without replicas on other ranks, or without gradients, nobody shares more") {
  const auto make = [](const char* name) {
    return schedules::make(*schedules::find(name).generator, {.ranks = 4, .microbatches = 8});
  };
  CHECK(replica_pairs(make("1f1b")).empty());
  CHECK(replica_pairs(forward_only(make("dualpipe"))).empty());
}

TEST_CASE("every message's ends are members of its communicator") {
  for (const schedules::Generator& generator : schedules::runnable()) {
    Params params{.ranks = 4, .microbatches = 8, .chunks = generator.requirements.min_chunks};
    if (!schedules::refusal(generator, params).empty()) continue;
    INFO(generator.name);
    const MessageTable messages(schedules::make(generator, params));
    for (const QueueDiscipline queue :
         {QueueDiscipline::PerRank, QueueDiscipline::PerDirection, QueueDiscipline::PerPair}) {
      const CommunicatorLayout layout = communicators(messages, queue);
      for (MessageId id = 0; id < messages.size(); ++id) {
        const std::uint32_t on = layout.of_message[id];
        CHECK(layout.has(on, messages[id].from_rank));
        CHECK(layout.has(on, messages[id].to_rank));
        const auto at = static_cast<std::size_t>(layout.position_in(on, messages[id].to_rank));
        CHECK(layout.all[on].members[at] == messages[id].to_rank);
      }
    }
  }
}

}  // namespace pipeloom::executor::cuda::communicators_test
