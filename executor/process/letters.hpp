#pragma once

// The letters that the processes of a run send over their control connections: while it runs, and at the end the record of each rank.

#include <cstdint>
#include <string>
#include <vector>

#include "executor/net/wire.hpp"
#include "executor/run/run_plan.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

enum class LetterKind : std::uint8_t {
  Here = 1,   ///< at the barrier; to the coordinator
  Go,         ///< all are
  Beat,       ///< Whereabouts: of the writer; from the coordinator of all ranks
  Failed,     ///< Complaint; to the coordinator
  Stop,       ///< Failure; from the coordinator
  Ping,       ///< asks for the coordinator's time
  Pong,       ///< i64 time
  Share,      ///< a part of a gathered record: u8 1 if it is the last, bytes; to the coordinator
  Remains,    ///< the same after a failure
  Broadcast,  ///< bytes; from the coordinator
  Bye,        ///< nothing more is sent; from the coordinator
};

/// The position of a rank in its run, without a clock in common.
struct Whereabouts {
  Rank rank;
  int step = 0;
  std::uint64_t instruction = 0;
  Progress::Doing doing = Progress::Doing::Waiting;
  Ticks age = 0;                           ///< how long already
  std::uint64_t copy = Progress::kNoCopy;  ///< as Progress::copy
  Ticks copy_age = 0;
};
[[nodiscard]] Whereabouts whereabouts(const Progress& progress, Rank rank, Ticks now);
void take(const Whereabouts& news, Progress& progress, Ticks now);

/// A failure that a rank noticed, of itself or another.
struct Complaint {
  Rank rank;
  std::string what;
};

[[nodiscard]] net::Frame letter(LetterKind kind, net::Bytes body = {});
[[nodiscard]] net::Frame beat_letter(const std::vector<Whereabouts>& all);
[[nodiscard]] net::Frame failed_letter(const Complaint& complaint);
[[nodiscard]] net::Frame stop_letter(const Failure& failure);

/// Throw net::MalformedBytes for bytes that the functions above would not write, or a rank that is not below `ranks`.
[[nodiscard]] std::vector<Whereabouts> read_beat(const net::Bytes& body, int ranks);
[[nodiscard]] Complaint read_complaint(const net::Bytes& body, int ranks);
[[nodiscard]] Failure read_failure(const net::Bytes& body, int ranks);

/// A rank's record, on its way to the coordinator. It has the times of the rank's own ops and messages only.
[[nodiscard]] net::Bytes to_bytes(const RankRecord& record, const RunPlan& plan, Rank rank);

/// Throws net::MalformedBytes for anything that to_bytes() would not write for this plan and rank.
[[nodiscard]] RankRecord record_from(std::span<const std::byte> bytes, const RunPlan& plan, Rank rank);

}  // namespace pipeloom::executor
