#pragma once

// Both directions of every dependency: the ops that an op waits for, and those that wait for it. DependencyMap (sim/dependency.hpp) has the one
// direction, and only what an engine waits for: no op of the same pass on the same rank.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/kinds.hpp"

namespace pipeloom {

/// The reason for which one op comes after another.
enum class DependencyKind : std::uint8_t {
  Queue,       ///< comes before it in its rank's queue: no dependency of data
  Activation,  ///< output of F for the next stage's F, or for its own backward, R, O
  Gradient,    ///< of B or I, for the stage before, or for its own W
  Slice,       ///< its neighbour slice of the same microbatch
  Reload,      ///< its activation is back on the device
  Sum,         ///< of S or T over all stages, of which it is a part
};
/// "queue", "activation", "gradient", "slice", "reload", "sum over stages".
[[nodiscard]] std::string_view name_of(DependencyKind kind);

/// One end of a dependency of data, seen from an op.
struct Dependency {
  std::size_t op = 0;  ///< index of the op at the other end
  DependencyKind kind = DependencyKind::Activation;
};

/// Op -> op index: one array over (kind, stage, unit) for the kinds that the schedule has. At most 8 bytes per op for schedules that run
/// every unit on every stage. Answers take O(their length).
///
/// REQUIRES: no structural errors, fewer than 2^32 - 1 ops; the schedule outlives it.
class Dependencies {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  /// O(ops).
  explicit Dependencies(const Schedule& schedule);

  /// Op index; kNone if no queue has it.
  [[nodiscard]] std::size_t find(Op op) const;
  /// The same for an op like `like` of another kind, stage and slice, which may be beyond the schedule's.
  [[nodiscard]] std::size_t find(OpKind kind, std::int32_t stage, Op like, int slice) const;

  /// The ops that `op` waits for, those of other entries on its rank too.
  [[nodiscard]] std::vector<Dependency> needs(Op op) const;
  /// The ops that wait for `op`.
  [[nodiscard]] std::vector<Dependency> needed_by(Op op) const;

 private:
  using List = std::vector<Dependency>;
  void add(List& out, OpKind kind, std::int32_t stage, Op like, int slice, DependencyKind why) const;
  /// The ops of that stage and slice that make such a tensor: F, or B and I.
  void add_makers(List& out, TensorKind tensor, std::int32_t stage, Op like, int slice,
                  DependencyKind why) const;
  void add_all(List& out, OpKind kind, Op like) const;
  void add_readers(List& out, Op op) const;

  const Schedule* schedule_;
  OpKind turning_;                        // whose end lets the last stage go backward
  std::array<int, kOpKinds> table_of_{};  // [kind]: which table, -1 for none
  std::vector<std::uint32_t> index_;      // [(table * stages + stage) * units + unit]
};

}  // namespace pipeloom
