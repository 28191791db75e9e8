// Any bytes as what a connection says: cut into frames in one piece and in many; each read as every letter that ranks write, written again,
// and taken where it is meant for.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "executor/net/meeting_letters.hpp"
#include "executor/net/wire.hpp"
#include "executor/process/letters.hpp"
#include "executor/process/own_ends.hpp"
#include "sim/messages/message_plans.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace pipeloom;
using namespace pipeloom::executor;
using namespace pipeloom::executor::net;
using pipeloom::fuzz::require;
using Bytes = pipeloom::executor::net::Bytes;

struct Cut {
  std::vector<Frame> frames;
  bool is_malformed = false;
};

/// `bytes` in pieces of `size`.
Cut cut(std::span<const std::byte> bytes, std::size_t size) {
  FrameCutter cutter;
  Cut result;
  try {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(size, bytes.size()));
      for (Frame& frame : cutter.feed(piece, kMostLetterBytes)) result.frames.push_back(std::move(frame));
      bytes = bytes.subspan(piece.size());
    }
  } catch (const MalformedBytes&) {
    result.is_malformed = true;
  }
  return result;
}

/// Frames are what the bytes say, in their order.
void check_prefix(const std::vector<Frame>& frames, std::span<const std::byte> bytes) {
  for (const Frame& frame : frames) {
    const Bytes again = encode(frame);
    require(again.size() <= bytes.size() && std::equal(again.begin(), again.end(), bytes.begin()));
    bytes = bytes.subspan(again.size());
  }
}

template <typename Function>
void allow_malformed(const Function& fn) {
  try {
    fn();
  } catch (const MalformedBytes&) {
    return;
  }
}

/// The body as one of everything, in an order that follows from the kind.
void read_numbers(const Frame& frame) {
  Reader in(frame.body);
  for (unsigned next = frame.kind;; next = next * 5 + 1) {
    switch (next % 8) {
      case 0:
        (void)in.u8();
        break;
      case 1:
        (void)in.u32();
        break;
      case 2:
        (void)in.u64();
        break;
      case 3:
        (void)in.i64();
        break;
      case 4:
        (void)in.f64();
        break;
      case 5:
        (void)in.text();
        break;
      case 6:
        (void)in.floats();
        break;
      default:
        (void)in.times();
        break;
    }
  }
}

/// A letter that was read is written and read again as the same.
template <typename Read, typename Write>
void check_letter(const Bytes& body, const Read& read, const Write& write) {
  allow_malformed([&] {
    const Bytes once = write(read(body));
    require(write(read(once)) == once);
  });
}

/// What ranks write while they meet, and rank 0's answer to who calls it.
void check_meeting(const Frame& frame) {
  const Hello host{.size = 3, .agreements = {{"version", "1"}}};
  allow_malformed([&] {
    const Hello hello = hello_in(frame);
    const std::string why = difference(host, hello);
    if (!why.empty()) pipeloom::fuzz::require_one_line(why);
    require(difference(hello, hello).empty() || hello.rank < 1 || hello.rank >= hello.size);
  });
  const auto as = [&frame](const auto& read) {
    return [&frame, read](const Bytes& body) { return read(Frame{frame.kind, body}); };
  };
  const auto write = [](const auto& what) { return letter(what).body; };
  check_letter(frame.body, as(hello_in), write);
  check_letter(frame.body, as(table_in), write);
  check_letter(frame.body, as(call_in), write);
  check_letter(frame.body, as(text_in), [&frame](const std::string& text) {
    return net::letter(static_cast<net::LetterKind>(frame.kind), text).body;
  });
}

/// Two ranks that send each other activations and gradients.
std::shared_ptr<const RunPlan> plan_of(const RunOptions& options) {
  const auto schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1"));
  const Program program = async_plan(schedule, {});
  const std::vector<std::size_t> elements(program.messages().size(), 1);
  return std::make_shared<const RunPlan>(RunPlan{program, options, {}, elements});
}

/// What processes of a run write to each other, and where ranks then are.
void check_run_letters(const Frame& frame) {
  static const auto plan = plan_of({});
  constexpr int kRanks = 2;
  check_letter(
      frame.body, [](const Bytes& body) { return read_beat(body, kRanks); },
      [](const std::vector<Whereabouts>& all) { return beat_letter(all).body; });
  allow_malformed([&] {
    constexpr Ticks kNow = 1000;
    for (const Whereabouts& news : read_beat(frame.body, kRanks)) {
      Progress progress;
      take(news, progress, kNow);
      require(progress.since <= kNow && progress.copy_since <= kNow);
      const Whereabouts told = whereabouts(progress, news.rank, kNow);
      require(told.age == news.age && told.copy_age == news.copy_age && told.step == news.step);
    }
  });
  check_letter(
      frame.body, [](const Bytes& body) { return read_complaint(body, kRanks); },
      [](const Complaint& complaint) { return failed_letter(complaint).body; });
  check_letter(
      frame.body, [](const Bytes& body) { return read_failure(body, kRanks); },
      [](const Failure& failure) { return stop_letter(failure).body; });
  check_letter(
      frame.body, [](const Bytes& body) { return record_from(body, *plan, Rank(1)); },
      [](const RankRecord& record) { return to_bytes(record, *plan, Rank(1)); });
}

/// One rank of a run, whose peer says `frames`: what is ready, and what comes (executor/process/socket_exchange.hpp).
class Besieged {
 public:
  Besieged(const std::shared_ptr<const RunPlan>& plan, Rank own)
      : steps_(plan->all_steps()), own_(own), ends_(plan, own) {
    for (const auto& what : plan->program.instructions(own))
      if (what.code == Program::Code::Post) batches_.push_back(what.index);
  }

  void hear(const std::vector<Frame>& frames) {
    for (const Frame& frame : frames) try {
        Reader in(frame.body);
        const Rank peer(1 - own_.value());
        OwnEnds::Actions todo;
        if (frame.kind % 4 == 0) post(todo);
        if (frame.kind % 4 == 1) ends_.asked(peer, in.u32(), todo);
        if (frame.kind % 4 == 2) ends_.arrived(peer, in.u32(), todo);
        carry_out(std::move(todo));
      } catch (const MalformedBytes&) {
        continue;
      } catch (const WrongMessage& wrong) {
        pipeloom::fuzz::require_one_line(wrong.what());
      }
  }

 private:
  void post(OwnEnds::Actions& todo) {
    const int step = static_cast<int>(posted_ / batches_.size());
    if (step >= steps_) return;
    ends_.post(batches_[posted_++ % batches_.size()], step, todo);
  }

  /// Tensors leave at once.
  void carry_out(OwnEnds::Actions todo) {
    for (std::size_t i = 0; i < todo.size(); ++i) {
      const OwnEnds::Action action = todo[i];
      require(ends_.is_posted(action.message));
      if (action.what == OwnEnds::Action::What::Send) ends_.left(action.message, todo);
      require(action.what == OwnEnds::Action::What::Ask || ends_.is_done(action.message));
    }
  }

  int steps_;
  Rank own_;
  OwnEnds ends_;
  std::vector<std::uint32_t> batches_;  // in the order in which they are posted
  std::size_t posted_ = 0;
};

/// Every discipline, with a handshake and without.
std::vector<std::shared_ptr<const RunPlan>> all_plans() {
  std::vector<std::shared_ptr<const RunPlan>> plans;
  for (const QueueDiscipline queue : {QueueDiscipline::None, QueueDiscipline::PerRank,
                                      QueueDiscipline::PerDirection, QueueDiscipline::PerPair})
    for (const bool handshake : {false, true})
      plans.push_back(plan_of({.warmup_steps = 0, .steps = 2, .queue = queue, .handshake = handshake}));
  return plans;
}

void check_run(const std::vector<Frame>& frames) {
  static const auto plans = all_plans();
  for (const auto& plan : plans)
    for (const Rank own : {Rank(0), Rank(1)}) Besieged(plan, own).hear(frames);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::size_t piece = std::to_integer<std::size_t>(bytes.front()) + 1;
  const auto stream = bytes.subspan(1);
  const Cut whole = cut(stream, size);
  const Cut pieces = cut(stream, piece);
  require(whole.is_malformed == pieces.is_malformed);
  // A piece that turns out malformed takes its frames with it.
  require(whole.is_malformed || whole.frames.size() == pieces.frames.size());
  check_prefix(whole.frames, stream);
  check_prefix(pieces.frames, stream);
  for (const Frame& frame : pieces.frames) {
    check_meeting(frame);
    check_run_letters(frame);
    allow_malformed([&] { read_numbers(frame); });
  }
  check_run(pieces.frames);
  return 0;
}
