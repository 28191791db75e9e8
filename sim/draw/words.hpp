#pragma once

// The words that pictures have in common: files, pages, terminal and window say the same.

#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>

namespace pipeloom::draw {

/// "Input gradient (I)": a kind in the legend.
[[nodiscard]] std::string kind_label(OpKind kind);

/// "Idle: warmup": a cause in the legend.
[[nodiscard]] std::string idle_label(IdleCause cause);

inline constexpr const char* kCriticalPathLabel = "Critical path";

/// "rank 3": in front of its row.
[[nodiscard]] std::string rank_label(Rank rank);

/// The number written on an op: its microbatch, "12", and the slice of a sliced sequence, "12.3".
[[nodiscard]] std::string op_number(Op op);
/// A text as long as the longest op_number of a schedule, so that boxes of one size have all their numbers or none.
[[nodiscard]] std::string widest_op_number(const Schedule& schedule);

/// A limit per rank: "85.9 GB (80.0 GiB)", or the smallest and the largest where ranks differ. REQUIRES: not empty.
[[nodiscard]] std::string limit_text(const std::vector<Bytes>& limit);

/// "ms", "units".
[[nodiscard]] std::string_view unit_words(TimeUnit unit);
/// "Time (ms)", "Time (units)".
[[nodiscard]] std::string axis_title(TimeUnit unit);

}  // namespace pipeloom::draw
