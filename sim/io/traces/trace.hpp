#pragma once

// What the profilers and timers of real training runs say about a pipeline: ranges of time with names, per rank. Every reader of such
// files gives a Trace; assemble() makes a timeline of it.

#include <cstdint>
#include <string>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom::io {

/// What a format does not say.
inline constexpr std::int32_t kUnknown = -1;

/// Whether an op's time may hold a wait for a message.
enum class WaitInside : std::uint8_t {
  None,     ///< it begins when its input was there
  Unknown,  ///< its range may hold the wait, and the trace does not show its end
  OfNext,  ///< the second op of its pair waits inside a range of both: this one ends when that wait ends, at the latest
};

/// One op as it ran. Times are ticks from the origin of its rank: of a second (1 tick = 1 ps), or of the abstract unit where that is the trace's.
/// There are many: small fields lie together.
struct TraceOp {
  OpKind kind = OpKind::Forward;
  WaitInside wait = WaitInside::None;
  /// One entry with the op in front of it, though they ran one after the other.
  bool is_joined = false;
  std::int32_t stage = kUnknown;
  /// Which of the rank's own stages; counts where the stage is unknown.
  std::int32_t chunk = kUnknown;
  std::int32_t microbatch = kUnknown;
  /// Of the microbatch's sequence; kUnknown where it is not cut.
  std::int32_t slice = kUnknown;
  std::int32_t step = kUnknown;
  Ticks start = 0;
  Ticks end = 0;
};

/// One side of a message, as long as its rank's range for it took, the wait for the other side included.
struct TraceMessage {
  /// Of the op that made the tensor (of a send) or wants it (of a receive).
  std::int32_t stage = kUnknown;
  std::int32_t microbatch = kUnknown;
  std::int32_t step = kUnknown;
  bool is_gradient = false;
  bool is_receive = false;
  Ticks start = 0;
  Ticks end = 0;
};

/// Whose times a rank's are.
enum class TimesOf : std::uint8_t {
  Device,        ///< or of a timer that waited for it
  Host,          ///< of a machine whose host does the work
  HostOfDevice,  ///< the host starts work on a device and does not wait for it
};

/// One rank's part of a trace, ops in any order.
struct RankTrace {
  /// As the file has it: of a run with replicas of the pipeline, the rank among all. kUnknown where no file says it: read_trace() then counts
  /// by stages.
  std::int32_t rank = 0;
  TimesOf times_of = TimesOf::Device;
  /// Ops that begin when their message was there, not when their range began.
  std::size_t num_waits_off = 0;
  /// Ops as long as a range of PyTorch on the host, which holds what its runtime does around a pass.
  std::size_t num_around = 0;
  std::string file;
  /// What time 0 of its ops is on a clock that all ranks share, nanoseconds; 0 where there is none.
  std::int64_t origin_ns = 0;
  std::vector<TraceOp> ops;
  std::vector<TraceMessage> messages;
  /// The file ended before its text did.
  bool is_truncated = false;
};

/// How a chunk of a rank becomes a stage where only the chunk is known, p ranks.
enum class ChunkOrder : std::uint8_t {
  Loop,  ///< stage = chunk p + rank
  Wave,  ///< the same for even chunks, (chunk + 1) p - 1 - rank for odd ones
};

struct Trace {
  /// Name of the format it was read from.
  std::string format;
  /// In which its times are best shown.
  TimeUnit unit = TimeUnit::Millisecond;
  ChunkOrder chunk_order = ChunkOrder::Loop;
  /// By rank, each once.
  std::vector<RankTrace> ranks;
  /// It is of torch.distributed.pipelining, as the names of its ranges say.
  bool is_of_torch = false;
  /// Times count from the beginning of each step, so where the steps stand to each other is not known.
  bool has_step_clocks = false;
  /// How many ranks the run had, as its files say; kUnknown if they do not.
  std::int32_t expected_ranks = kUnknown;
  /// "file: ..." lines for stderr: what was passed over, what was chosen.
  std::vector<std::string> warnings;
};

}  // namespace pipeloom::io
