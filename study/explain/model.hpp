#pragma once

// One step as numbers that causes can change one by one: an exact simulator of a fixed order, in integer ticks.
//
//   start(e) = max(lane(previous of e) + v(e), max over messages (lane(producer) + latency + r)) + tau * receives(e) + u(e)
//   lane(e)  = end(e) + tau * sends(e),   end(e) = start(e) + duration(e)
//
// tau is the time that a message takes of a rank. u >= 0 and v, r <= 0 are what the rest does not say: residuals() finds them, and
// with them run() gives the very times they were found from.

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom::study::explain {

/// A prediction: its times, and what it says that ops and messages cost.
struct Predicted {
  Timeline timeline;
  /// Null where only times are known: latencies are then the smallest gaps of its messages.
  std::shared_ptr<const Costs> costs = {};
  Ticks rank_time = 0;  ///< tau
};

/// An op of an entry. `share` is its part of the entry's predicted time.
struct Part {
  Op op;
  double share = 1;
};

/// A tensor that an entry waits for from another rank.
struct Message {
  std::uint32_t producer = 0;  ///< entry
  std::uint32_t link = 0;
  Ticks latency = 0;  ///< predicted
};

struct Link {
  Rank from;
  Rank to;
  friend bool operator==(const Link&, const Link&) = default;
};

/// Entries of a schedule and what they wait for. Entries are numbered in queue order, rank by rank; all arrays are by entry.
struct Wiring {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  int ranks = 0;
  std::vector<Rank> rank;
  std::vector<Ticks> predicted;           ///< duration
  std::vector<std::uint32_t> part_begin;  ///< one more than entries
  std::vector<Part> parts;
  std::vector<std::uint32_t> message_begin;  ///< one more than entries
  std::vector<Message> messages;
  std::vector<std::int32_t> receives;
  std::vector<std::int32_t> sends;
  std::vector<Link> links;

  [[nodiscard]] std::size_t entries() const { return rank.size(); }
  [[nodiscard]] std::span<const Part> parts_of(std::size_t e) const {
    return std::span<const Part>(parts).subspan(part_begin[e], part_begin[e + 1] - part_begin[e]);
  }
};

/// An order of every rank's entries.
struct Order {
  std::vector<std::uint32_t> sequence;  ///< all entries, each behind what it waits for
  std::vector<std::uint32_t> previous;  ///< [entry]: the one before it on its rank, or kNone
};

/// [entry] start and end.
struct Times {
  std::vector<Ticks> start;
  std::vector<Ticks> end;
};

struct Residuals {
  std::vector<Ticks> late;   ///< u, [entry]
  std::vector<Ticks> lane;   ///< v, [entry]
  std::vector<Ticks> early;  ///< r, [message]
};

/// All that run() needs besides the wiring. Shapes: duration by entry, added by link.
struct World {
  const Order* order = nullptr;
  std::span<const Ticks> duration;
  std::span<const Ticks> added;  ///< to the predicted latency
  Ticks rank_time = 0;
  const Residuals* residuals = nullptr;
};

/// The first step of `timeline`, which is of the wiring's schedule, from its first start on.
[[nodiscard]] Times entry_times(const Wiring& wiring, const Timeline& timeline);

[[nodiscard]] Wiring wire(const Schedule& schedule, const Predicted& predicted);

/// Orders the entries of each rank by `start`, equal ones as they stand in the schedule. Throws InputError where ranks then wait for
/// each other in a cycle: such times cannot have been.
[[nodiscard]] Order order_by(const Wiring& wiring, std::span<const Ticks> start);
/// The schedule's own.
[[nodiscard]] Order order_of(const Wiring& wiring);

/// The times of `world`.
[[nodiscard]] Times run(const Wiring& wiring, const World& world);
/// Last end - first start, without keeping times. `lanes` and `ends` are scratch.
[[nodiscard]] Ticks step_time(const Wiring& wiring, const World& world, std::vector<Ticks>& ends,
                              std::vector<Ticks>& lanes);

/// What `world` without residuals lacks to give `times`.
[[nodiscard]] Residuals residuals_of(const Wiring& wiring, const World& world, const Times& times);

/// Last end - first start.
[[nodiscard]] Ticks length_of(const Times& times);

}  // namespace pipeloom::study::explain
