#pragma once

// A moment of the active run: the bytes, the running ops and the next ops of every rank. It can be put anywhere, steps from one start of
// an op to the next, and plays, over the measured range where there is one.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gui/model/answer/steady.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"
#include "sim/dependency.hpp"
#include "sim/memory.hpp"

namespace pipeloom::gui {

/// The ops of a rank at a moment.
struct QueueMoment {
  std::vector<Op> now;   ///< under way
  std::vector<Op> next;  ///< the first few of its queue that did not start
  /// The first few of the ops that did not start and whose input from another rank is there.
  std::vector<Op> received;
};

/// The number of microbatches that each rank has in flight at any moment of the first step: from the start of their F to the end of the op that frees
/// them.
class InFlight {
 public:
  /// O(ops).
  explicit InFlight(RunPtr run);
  /// O(log ops).
  [[nodiscard]] int at(Rank rank, Ticks time) const;
  /// O(log ops).
  [[nodiscard]] QueueMoment queue_at(Rank rank, Ticks time) const;
  [[nodiscard]] const std::optional<Steady>& steady() const { return steady_; }
  /// Starts of ops of all ranks around a time; nothing where there is none. O(ranks log ops).
  [[nodiscard]] std::optional<Ticks> next_start(Ticks time) const;
  [[nodiscard]] std::optional<Ticks> start_before(Ticks time) const;

 private:
  struct Sums {
    int taken = 0;
    int given = 0;
  };
  /// Sums before every kEvery-th work op.
  static constexpr std::size_t kEvery = 256;
  [[nodiscard]] std::size_t count(std::size_t rank, Ticks time, bool starts) const;
  [[nodiscard]] Sums before(std::size_t rank, std::size_t position) const;

  [[nodiscard]] bool has_received(std::size_t op, Ticks time) const;

  RunPtr run_;
  std::shared_ptr<const MemoryModel> memory_;
  ActivationEffects effects_;
  std::optional<DependencyMap> dependencies_;  // not of runs with very many ops
  std::optional<Steady> steady_;
  std::vector<std::vector<std::uint32_t>> work_;  // [rank]: op indices of all ops but copies
  std::vector<std::vector<Sums>> sums_;           // [rank]
};

class Cursor : public Part {
 public:
  explicit Cursor(Session&) {}

  [[nodiscard]] std::optional<Ticks> time(Session& session) const;
  /// Within the active run; nothing takes it away.
  void put(Session& session, std::optional<double> time);
  /// Moves to the next start of an op of any rank, or to the previous one.
  void step(Session& session, bool forward);
  void play(Session& session, bool on);
  /// Measures one period of the steady state and plays it, as soon as it is found.
  void play_steady(Session& session);
  [[nodiscard]] bool playing() const { return playing_; }
  /// Null until a job has made it.
  [[nodiscard]] const InFlight* in_flight() const { return in_flight_.get(); }
  /// Bytes that the rank holds then; nullopt where sizes are not known.
  [[nodiscard]] static std::optional<Bytes> held(const RunModel& run, Rank rank, Ticks time);

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "cursor"; }
  /// {"time", "playing", "in_flight": [per rank], "memory_bytes": [per rank], "queues": [per rank: {"now", "next", "received"}],
  /// "steady": {"start", "period", "microbatches"} or null}, or null.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  void ask(Session& session);
  void start_steady(Session& session);

  std::optional<double> time_;
  bool playing_ = false;
  bool steady_wanted_ = false;
  std::uint64_t asked_ = 0;
  std::shared_ptr<const InFlight> in_flight_;
};

/// Seconds in which a whole run, or range, is played.
inline constexpr double kPlaySeconds = 10;

}  // namespace pipeloom::gui
