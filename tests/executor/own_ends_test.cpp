// One rank's ends of messages: what may leave and what may be asked for.

#include "executor/process/own_ends.hpp"

#include <initializer_list>
#include <random>

#include "executor/two_messages.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::own_ends_test {
namespace {

using Actions = OwnEnds::Actions;

OwnEnds::Action ask(MessageInstance message) {
  return {OwnEnds::Action::What::Ask, message};
}
OwnEnds::Action send(MessageInstance message) {
  return {OwnEnds::Action::What::Send, message};
}
OwnEnds::Action received(MessageInstance message) {
  return {OwnEnds::Action::What::Received, message};
}

RunOptions options_of(QueueDiscipline queue, bool handshake = true) {
  RunOptions options;
  options.queue = queue;
  options.handshake = handshake;
  return options;
}

/// OwnEnds whose functions return what they would append.
class Ends {
 public:
  Ends(const Program& program, const RunOptions& options, Rank own) : ends_(plan_of(program, options), own) {}
  Actions post(std::uint32_t batch) {
    return call([&](Actions& out) { ends_.post(batch, 0, out); });
  }
  Actions asked(int from, MessageInstance message) {
    return call([&](Actions& out) { ends_.asked(Rank(from), message, out); });
  }
  Actions arrived(int from, MessageInstance message) {
    return call([&](Actions& out) { ends_.arrived(Rank(from), message, out); });
  }
  Actions left(MessageInstance message) {
    return call([&](Actions& out) { ends_.left(message, out); });
  }
  [[nodiscard]] const OwnEnds& ends() const { return ends_; }

 private:
  template <class Fn>
  static Actions call(Fn&& fn) {
    Actions out;
    fn(out);
    return out;
  }
  OwnEnds ends_;
};

/// Messages 0, 1 are 0F0 and 0F1, messages 2, 3 are 1B0 and 1B1. Each rank's batches are numbered behind those of rank 0.
Program program_of(std::initializer_list<std::initializer_list<Endpoint>> first,
                   std::initializer_list<std::initializer_list<Endpoint>> second) {
  ProgramBuilder out(std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1F1 1B0 1B1")));
  out.begin_rank(Rank(0));
  for (const auto& batch : first) out.post({batch.begin(), batch.size()});
  out.begin_rank(Rank(1));
  for (const auto& batch : second) out.post({batch.begin(), batch.size()});
  return std::move(out).build();
}

constexpr bool kSend = true;
constexpr bool kReceive = false;

}  // namespace

TEST_CASE("a receive asks when it is at the head of its queue, which is when the one before it is done") {
  const Program program = two_messages({0, 1});
  const auto queue =
      GENERATE(QueueDiscipline::PerPair, QueueDiscipline::PerRank, QueueDiscipline::PerDirection);
  Ends receiver(program, options_of(queue), Rank(1));
  CHECK(receiver.post(2) == Actions{ask(0)});
  CHECK(receiver.post(3).empty());
  CHECK(receiver.arrived(0, 0) == Actions{received(0), ask(1)});
  CHECK(receiver.arrived(0, 1) == Actions{received(1)});
}

TEST_CASE("without queues a receive asks at once, and tensors may come in any order") {
  const Program program = two_messages({0, 1});
  Ends receiver(program, options_of(QueueDiscipline::None), Rank(1));
  CHECK(receiver.post(2) == Actions{ask(0)});
  CHECK(receiver.post(3) == Actions{ask(1)});
  CHECK(receiver.arrived(0, 1) == Actions{received(1)});
  CHECK(receiver.arrived(0, 0) == Actions{received(0)});
}

TEST_CASE("a send leaves when it was asked for and the one before it has left") {
  const Program program = two_messages({0, 1});
  const auto queue =
      GENERATE(QueueDiscipline::PerPair, QueueDiscipline::PerRank, QueueDiscipline::PerDirection);
  Ends sender(program, options_of(queue), Rank(0));
  CHECK(sender.post(0).empty());
  CHECK(sender.post(1).empty());
  CHECK(sender.asked(1, 0) == Actions{send(0)});
  CHECK(sender.asked(1, 1).empty());
  CHECK(sender.left(0) == Actions{send(1)});
  CHECK(sender.ends().is_done(0));
  CHECK_FALSE(sender.ends().is_done(1));
}

TEST_CASE("without a handshake sends leave in turn unasked, and what comes early is kept") {
  const Program program = two_messages({0, 1});
  const RunOptions options = options_of(QueueDiscipline::PerPair, false);
  Ends sender(program, options, Rank(0));
  CHECK(sender.post(0) == Actions{send(0)});
  CHECK(sender.post(1).empty());
  CHECK(sender.left(0) == Actions{send(1)});
  Ends receiver(program, options, Rank(1));
  CHECK(receiver.arrived(0, 0).empty());
  CHECK(receiver.post(2) == Actions{received(0)});
  CHECK(receiver.post(3).empty());
  CHECK(receiver.arrived(0, 1) == Actions{received(1)});
}

TEST_CASE("one queue per rank holds a send behind a receive, others do not") {
  const Program program = program_of({{{2, kReceive}}, {{0, kSend}}}, {{{2, kSend}, {0, kReceive}}});
  const auto queue = GENERATE(QueueDiscipline::PerRank, QueueDiscipline::PerDirection,
                              QueueDiscipline::PerPair, QueueDiscipline::None);
  Ends rank(program, options_of(queue), Rank(0));
  CHECK(rank.post(0) == Actions{ask(2)});
  CHECK(rank.post(1).empty());
  if (queue == QueueDiscipline::PerRank) {
    CHECK(rank.asked(1, 0).empty());
    CHECK(rank.arrived(1, 2) == Actions{received(2), send(0)});
  } else {
    CHECK(rank.asked(1, 0) == Actions{send(0)});
    CHECK(rank.arrived(1, 2) == Actions{received(2)});
  }
}

TEST_CASE("the ends of one batch are at the head together, and the next batch waits for all") {
  // Rank 1: one batch of a send and two receives, then a send.
  const Program program = program_of({{{0, kSend}, {1, kSend}, {2, kReceive}, {3, kReceive}}},
                                     {{{2, kSend}, {0, kReceive}, {1, kReceive}}, {{3, kSend}}});
  Ends rank(program, options_of(QueueDiscipline::PerRank), Rank(1));
  CHECK(rank.asked(0, 2).empty());
  CHECK(rank.asked(0, 3).empty());
  CHECK(rank.post(1) == Actions{send(2), ask(0), ask(1)});
  CHECK(rank.post(2).empty());
  CHECK(rank.arrived(0, 0) == Actions{received(0)});
  CHECK(rank.arrived(0, 1) == Actions{received(1)});
  CHECK(rank.left(2) == Actions{send(3)});
}

TEST_CASE("the n-th tensor is the n-th receive's, whatever it was asked for by") {
  const Program program = two_messages({1, 0});
  const RunOptions options = options_of(QueueDiscipline::PerPair);
  Ends sender(program, options, Rank(0));
  CHECK(sender.post(0).empty());
  CHECK(sender.asked(1, 1) == Actions{send(0)});  // NCCL's kernels know no names
  Ends receiver(program, options, Rank(1));
  CHECK(receiver.post(2) == Actions{ask(1)});
  CHECK(receiver.arrived(0, 0).empty());
  CHECK(receiver.ends().mispairing() ==
        "rank 1 waits for the output of 0F1 from rank 0 in step 0 and gets the output of 0F0 from rank 0 in "
        "step "
        "0: sends and receives are in different orders");
}

TEST_CASE("frames that no rank of the run would send are named") {
  const Program program = two_messages({0, 1});
  Ends receiver(program, options_of(QueueDiscipline::None), Rank(1));
  CHECK_THROWS_WITH(receiver.arrived(0, 4), "rank 0 sent the tensor of message 4, but this run has only 4");
  CHECK_THROWS_WITH(receiver.arrived(0, 2),
                    "rank 0 sent rank 1 the tensor for the output of 1B0 from rank 1 in step 0 to rank 0");
  CHECK_THROWS_WITH(
      receiver.arrived(0, 0),
      "rank 0 sent the tensor for the output of 0F0 from rank 0 in step 0 before it was asked for");
  CHECK(receiver.post(3) == Actions{ask(1)});
  CHECK(receiver.arrived(0, 1) == Actions{received(1)});
  CHECK_THROWS_WITH(receiver.arrived(0, 1),
                    "rank 0 sent the tensor for the output of 0F1 from rank 0 in step 0 twice");
  CHECK_THROWS_WITH(
      receiver.asked(0, 0),
      "rank 0 sent rank 1 the word that it is ready for the output of 0F0 from rank 0 in step 0 to "
      "rank 1");
  Ends eager(program, options_of(QueueDiscipline::None, false), Rank(0));
  CHECK_THROWS_WITH(eager.asked(1, 0), "rank 1 sent the word that it is ready in a run without handshake");
}

TEST_CASE("whatever frames come, they are taken or named") {
  const Program program = program_of({{{0, kSend}, {2, kReceive}}, {{1, kSend}}, {{3, kReceive}}},
                                     {{{2, kSend}, {0, kReceive}}, {{1, kReceive}}, {{3, kSend}}});
  std::mt19937 random(11);
  const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    RunOptions options = options_of(static_cast<QueueDiscipline>(below(4)), below(2) == 0);
    const Rank own(static_cast<int>(below(2)));
    Ends rank(program, options, own);
    std::uint32_t posted = 0;
    for (int i = 0; i < 12; ++i) {
      Actions todo;
      try {
        const unsigned what = below(3);
        if (what == 0 && posted < 3) todo = rank.post(posted++ + (own == Rank(1) ? 3 : 0));
        if (what == 1) todo = rank.asked(1 - own.value(), below(5));
        if (what == 2) todo = rank.arrived(1 - own.value(), below(5));
      } catch (const WrongMessage&) {
        ++refused;
        break;
      }
      for (std::size_t n = 0; n < todo.size(); ++n) {
        REQUIRE(todo[n].message < 4);
        if (todo[n].what != OwnEnds::Action::What::Send) continue;
        const Actions more = rank.left(todo[n].message);
        todo.insert(todo.end(), more.begin(), more.end());
      }
    }
  }
  CHECK(refused > 1000);
}

}  // namespace pipeloom::executor::own_ends_test
