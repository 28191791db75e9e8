#pragma once

// What lies between entries of a rank that waited for nothing: launches, a host that is late. It is a pause of its rank, whatever link the next
// message comes over.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/units.hpp>
#include "study/explain/model.hpp"
#include "study/explain/worlds.hpp"

namespace pipeloom::study::explain {

/// [rank]. What is free of messages tells, else what waits for messages that were there long before. A gap is no less than nothing: less than
/// 0.2 % of a usual op is none. `base` are the residuals of the prediction.
[[nodiscard]] std::vector<RankGaps> find_gaps(const Wiring& wiring, const Residuals& base,
                                              const std::vector<MeasuredStep>& steps, Ticks rank_time);

/// What ranks were idle for between entries, but for what `findings` have: their links, the time of messages and hiccups. One cause for all ranks
/// where most pause alike; those that pause otherwise have their own.
[[nodiscard]] std::vector<Pause> find_pauses(const Wiring& wiring, const Residuals& base,
                                             const std::vector<MeasuredStep>& steps,
                                             const std::vector<RankGaps>& gaps, const Findings& findings);

/// Which pause, if any, makes up for an op cause that makes its ops shorter: ranges that end before their work does are followed by a gap. By
/// number in findings.pauses.
[[nodiscard]] std::optional<std::size_t> made_up_by(const Wiring& wiring, const Findings& findings,
                                                    const OpCause& faster);

// Single ops that took far longer than their repeats, and single pauses before them.

/// One cause per rank. `findings` has everything but the hiccups; a rank with gaps everywhere has none, and a warning says so.
[[nodiscard]] std::vector<Hiccup> find_hiccups(const Wiring& wiring, const Times& predicted,
                                               const Residuals& base, const std::vector<MeasuredStep>& steps,
                                               const Findings& findings, std::vector<std::string>& warnings);

}  // namespace pipeloom::study::explain
