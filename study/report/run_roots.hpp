#pragma once

// The root causes of a run's idle time, in words and as JSON: the same for the report, the tables, the pages and the window.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <pipeloom/run.hpp>
#include "sim/io/json/json_writer.hpp"
#include "sim/roots/root_causes.hpp"
#include "study/run/repeated/repeated_run.hpp"

namespace pipeloom::study {

/// Reports and tables of runs with more ops leave roots out: finding them takes O(ops) and 16 bytes of each.
inline constexpr std::size_t kMostReportedRootOps = kLongRun;
/// A sentence names at most kMostRootsListed roots; after the first, none below a share of kSmallRoot of the idle time.
inline constexpr std::size_t kMostRootsListed = 3;
inline constexpr double kSmallRoot = 0.05;

/// The idle time of the first step by root cause, the largest first; amounts sum to the idle time exactly. Empty if nothing is idle, if the run
/// hangs, if it has more ops than kMostReportedRootOps, or if its idle spans are not known (times that were read, without costs). Of measured runs hops take no time, so that what passes on the way is the message's.
[[nodiscard]] std::vector<RootCause> roots_of(const Run& run);

/// "B and F of stage 3 take 1.6 x as long as the others' (41.2 % of the bubble); the pipeline fills (30.0 %)". "" of none.
[[nodiscard]] std::string roots_text(const Schedule& schedule, std::span<const RootCause> roots);

/// An array of {"kind", "what", "amount", "share", "rank", "op"}: share of the idle time, the rank where the largest part is seen, null for no op.
void write_roots(io::JsonWriter& out, const Schedule& schedule, std::span<const RootCause> roots,
                 TimeUnit unit);

}  // namespace pipeloom::study
